// Convolution as an implicit matrix product: for each group, C[features, positions] = W[features, window] · X[window, positions].
// The positions of all images are one dimension, so that small images fill vectors too.
#include "cpu/convolution/convolution.h"

#include <numeric>

#include "cpu/convolution/convolution_windows.h"
#include "cpu/matmul/matmul.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

SmallVector<int64_t> strides_of(RankedTensorType t) {
  SmallVector<int64_t> s(t.getRank(), 1);
  for (int64_t d = t.getRank() - 2; d >= 0; --d) s[d] = s[d + 1] * t.getDimSize(d + 1);
  return s;
}

}  // namespace

Geometry::Geometry(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  auto input = shaped(op.getLhs()), kernel = shaped(op.getRhs()), output = cast<RankedTensorType>(op.getType());
  in_type = input.getElementType(), kernel_type = kernel.getElementType(), out_type = output.getElementType();
  auto is = strides_of(input), ks = strides_of(kernel), os = strides_of(output);
  auto or_one = [](std::optional<ArrayRef<int64_t>> a, size_t i) { return a ? (*a)[i] : 1; };
  for (size_t i = 0; i < dims.getInputSpatialDimensions().size(); ++i) {
    int64_t x = dims.getInputSpatialDimensions()[i], w = dims.getKernelSpatialDimensions()[i], y = dims.getOutputSpatialDimensions()[i];
    axes.push_back({input.getDimSize(x), kernel.getDimSize(w), output.getDimSize(y), is[x], ks[w], os[y], or_one(op.getWindowStrides(), i),
                    op.getPadding() ? op.getPadding()->getValues<int64_t>()[2 * i] : 0, or_one(op.getRhsDilation(), i),
                    input.getDimSize(x) == 1 ? 1 : or_one(op.getLhsDilation(), i), op.getWindowReversal() && (*op.getWindowReversal())[i]});
  }
  groups = op.getFeatureGroupCount(), batch_groups = op.getBatchGroupCount();
  images = input.getDimSize(dims.getInputBatchDimension()) / batch_groups;
  in_features = kernel.getDimSize(dims.getKernelInputFeatureDimension());
  features = kernel.getDimSize(dims.getKernelOutputFeatureDimension()) / (groups * batch_groups);
  in_image = is[dims.getInputBatchDimension()], in_feature = is[dims.getInputFeatureDimension()];
  out_image = os[dims.getOutputBatchDimension()], out_feature = os[dims.getOutputFeatureDimension()];
  kernel_in = ks[dims.getKernelInputFeatureDimension()], kernel_out = ks[dims.getKernelOutputFeatureDimension()];
}

SmallVector<int64_t> Geometry::sizes(int64_t Axis::*size) const {
  return llvm::map_to_vector(axes, [&](const Axis& a) { return a.*size; });
}

bool Geometry::is_dense(int64_t Axis::*size, int64_t Axis::*stride) const {
  int64_t expected = 1;
  for (const Axis& a : llvm::reverse(axes)) {
    if (a.*size != 1 && a.*stride != expected) return false;
    expected *= a.*size;
  }
  return true;
}

std::vector<Geometry> Geometry::phases() const {
  int64_t count = 1;
  bool possible = true;
  for (const Axis& a : axes) count *= a.base_dilation, possible &= a.base_dilation == 1 || a.step == 1;
  std::vector<Geometry> result{*this};
  if (!possible || count > kMostPhases) return result;
  for (size_t d = 0; d < axes.size(); ++d) {
    const Axis& a = axes[d];
    if (a.base_dilation == 1) continue;
    std::vector<Geometry> finer;
    for (const Geometry& g : result)
      for (int64_t first = 0; first < std::min(a.base_dilation, a.out); ++first) {
        // Output first + u · base dilation sees, through place w of the window, the dilated input's first - low + w · dilation + u · base dilation.
        auto meets = [&](int64_t w) { return (first - a.low + w * a.dilation) % a.base_dilation == 0; };
        int64_t w = 0, period = a.base_dilation / std::gcd(a.base_dilation, a.dilation);
        while (w < std::min(period, a.window) && !meets(w)) ++w;
        Geometry& phase = finer.emplace_back(g);
        Axis& p = phase.axes[d];
        p.out_first = first, p.out_step = a.base_dilation, p.out = ceil_div(a.out - first, a.base_dilation);
        p.dilation = period * a.dilation / a.base_dilation, p.base_dilation = 1, p.window_stride = a.window_stride * period;
        if (w < a.window && meets(w)) {
          p.window = ceil_div(a.window - w, period), p.low = -((first - a.low + w * a.dilation) / a.base_dilation);
          phase.kernel_first += a.window_stride * (a.reversed ? a.window - 1 - w - period * (p.window - 1) : w);
        } else {
          p.window = 1, p.low = 0, phase.in_features = 0;  // nothing: a sum over no channels
        }
      }
    result = std::move(finer);
  }
  return result;
}

std::vector<Geometry> Geometry::strips() const {
  constexpr int64_t kMostStrips = 8, kLeastPositions = 64;
  constexpr double kLeastPadding = 0.125;
  if (axes.empty() || axes[0].base_dilation != 1 || axes[0].out_step != 1) return {*this};
  const Axis& a = axes[0];
  // The places [first, end) of an output's window that meet the input.
  auto places_of = [&](int64_t out) {
    auto meets = [&](int64_t place) {
      int64_t at = out * a.step - a.low + place * a.dilation;
      return at >= 0 && at < a.in;
    };
    int64_t first = 0, end = a.window;
    while (first < end && !meets(first)) ++first;
    while (end > first && !meets(end - 1)) --end;
    return std::pair(first, end);
  };
  // Of the outputs from one on.
  auto strip_from = [&](int64_t out) {
    Geometry strip(*this);
    Axis& b = strip.axes[0];
    const auto [first, end] = places_of(out);
    b.out = 1, b.out_first = a.out_first + out;
    while (out + b.out < a.out && places_of(out + b.out) == std::pair(first, end)) ++b.out;
    if (first == end) {
      b.window = 1, b.low = 0, strip.in_features = 0;  // a sum over no channels
    } else {
      b.window = end - first, b.low = a.low - out * a.step - first * a.dilation;
      strip.kernel_first += a.window_stride * (a.reversed ? a.window - end : first);
    }
    return strip;
  };
  std::vector<Geometry> result;
  double places = 0;
  for (int64_t out = 0; out < a.out; out += result.back().axes[0].out) {
    result.push_back(strip_from(out));
    const Geometry& strip = result.back();
    if (int64_t(result.size()) > kMostStrips || strip.image_size() * images < kLeastPositions) return {*this};
    places += strip.in_features ? double(strip.axes[0].out * strip.axes[0].window) : 0;
  }
  if (places > (1 - kLeastPadding) * double(a.out * a.window)) return {*this};
  return result;
}

PlacesInInput::PlacesInInput(KernelEmitter& k, const Axis& a, IR out) : k(k), a(a), above(k.b.CreateSub(k.i64(a.low), k.mul(out, a.step))) {
  auto steps = [&](IR elements) { return k.b.CreateUDiv(k.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, elements, k.i64(0)), k.i64(a.dilation)); };
  first = steps(k.add(above, k.i64(a.dilation - 1)));
  end = k.min(k.i64(a.window), steps(k.add(above, k.i64(a.in - 1 + a.dilation))));
}

IR lanes_within_line(KernelEmitter& k, IR first, int64_t size, int lanes) {
  IR at = k.sequence(k.b.CreateTrunc(first, k.b.getInt32Ty()), lanes);
  return k.b.CreateICmpULT(at, k.splat(k.b.getInt32(uint32_t(size)), lanes));
}
IR mask_within_line(KernelEmitter& k, IR first, int64_t size, int lanes, Type element) { return k.mask(lanes_within_line(k, first, size, lanes), element); }

namespace {

class ImplicitProduct {
 public:
  ImplicitProduct(KernelContext& c, ConvolutionOp op, const Geometry& g)
      : c_(c), k_(c.k), b_(c.k.b), op_(op), g_(g), window_(g.sizes(&Axis::window)), positions_(g.sizes(&Axis::out)), image_size_(g.image_size()), window_size_(g.window_size()) {}

  void run() {
    MatmulSpec spec;
    const bool line = product_shape(op_) && !features_first() && is_line(g_, k_);
    const int64_t images = line ? g_.images : 1;  // that are batches, and not columns
    auto group_of = [&](IR batch) { return images > 1 ? b_.CreateUDiv(batch, k_.i64(images)) : batch; };
    auto column_of = [&](IR batch, IR n) { return images > 1 ? k_.add(k_.mul(b_.CreateURem(batch, k_.i64(images)), image_size_), n) : n; };
    spec.batch = g_.groups * g_.batch_groups * images;
    spec.m = g_.features, spec.n = g_.images / images * image_size_, spec.k = g_.in_features * window_size_;
    spec.a_type = g_.kernel_type, spec.b_type = g_.in_type, spec.type = g_.out_type;
    spec.any_n = k_.any_size && !features_first();
    spec.a = c_.buffer(op_.getRhs()), spec.b = c_.buffer(op_.getLhs());
    bool pairs = Panels(k_, spec).kind == Panels::PairsOfBf16;
    if (!line && !is_large_window(g_) && std::min(spec.m, spec.k) >= kLeastSplitConvolution) spec.float_parts = parts_of_floats(op_.getPrecisionConfig());
    Windows windows(k_, g_, spec.b, pairs);
    if (line) pack_lines(windows, spec);
    else if (is_large_window(g_)) pack_large_windows(windows, spec);
    else if (pairs && g_.is_undilated()) pack_pairs(windows, spec);
    else if (windows.is_pointwise()) pack_pixels(windows, spec);
    else pack_windows(windows, spec);
    if (!g_.axes.empty()) spec.b_spread = g_.axes.back().step;
    spec.a_offset = [&](IR batch, IR m, IR k) { return kernel_offset(group_of(batch), m, k); };
    bool forward = llvm::none_of(g_.axes, [](const Axis& a) { return a.reversed; }), channels_follow = g_.in_features == 1 || g_.kernel_in == window_size_;
    spec.a_unit_k = forward && g_.is_dense(&Axis::window, &Axis::window_stride) && (spec.k_run || channels_follow), spec.a_unit_m = g_.kernel_out == 1;
    spec.store_vectors = product_shape(op_).has_value() && !is_phase();
    if (!features_first() && g_.images > images) spec.n_run = image_size_;
    auto feature = [&](IR batch, IR m) { return k_.add(k_.mul(group_of(batch), g_.features), m); };
    spec.store = [&](IR batch, IR m, IR n, IR sum, int lanes) { store(feature(batch, m), column_of(batch, n), sum, lanes); };
    spec.streams = epilogue_streams(c_.fusion);
    if (spec.store_vectors) spec.prefetch = [&](IR batch, IR m, IR n, bool to_write) { ask_for(feature(batch, m), column_of(batch, n), to_write); };
    emit_matmul(c_, spec);
  }

 private:
  IR kernel_offset(IR group, IR m, IR k) {
    auto at = delinearise(k_, window_, b_.CreateURem(k, k_.i64(window_size_)));
    IR offset = k_.add(k_.i64(g_.kernel_first), k_.mul(k_.add(k_.mul(group, g_.features), m), g_.kernel_out));
    offset = k_.add(offset, k_.mul(b_.CreateUDiv(k, k_.i64(window_size_)), g_.kernel_in));
    for (auto [axis, i] : llvm::zip(g_.axes, at))
      offset = k_.add(offset, k_.mul(axis.reversed ? b_.CreateSub(k_.i64(axis.window - 1), i.base) : i.base, axis.window_stride));
    return offset;
  }
  // Positions of each image before a strip.
  int64_t skipped() const { return g_.axes.empty() ? 0 : g_.axes[0].out_first * g_.axes[0].out_stride; }
  bool is_phase() const { return llvm::any_of(g_.axes, [](const Axis& a) { return a.out_step != 1; }); }
  void store(IR feature, IR n, IR sum, int lanes) {
    IR image = b_.CreateUDiv(n, k_.i64(image_size_)), position = b_.CreateURem(n, k_.i64(image_size_));
    auto shape = product_shape(op_);
    auto in_image = [&] {  // a position as an offset
      IR offset = k_.i64(0);
      for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, positions_, position))) offset = k_.add(offset, k_.mul(k_.add(k_.i64(a.out_first), k_.mul(i.base, a.out_step)), a.out_stride));
      return offset;
    };
    if (!shape) return k_.store(g_.out_type, sum, c_.buffer(op_.getResult()), k_.add(k_.add(k_.mul(image, g_.out_image), k_.mul(feature, g_.out_feature)), in_image()), lanes);
    position = is_phase() ? in_image() : k_.add(position, k_.i64(skipped()));
    if (features_first()) return emit_epilogue(c_, feature, is_phase() ? k_.add(k_.mul(image, g_.out_image), position) : n, sum, lanes);
    emit_epilogue(c_, k_.add(k_.mul(image, g_.groups * g_.features), feature), position, sum, lanes);
  }
  // Asks for what the epilogue reads from position n on.
  void ask_for(IR feature, IR n, bool to_write) {
    if (features_first()) return prefetch_epilogue(c_, feature, n, to_write);
    IR image = b_.CreateUDiv(n, k_.i64(image_size_)), position = k_.add(b_.CreateURem(n, k_.i64(image_size_)), k_.i64(skipped()));
    prefetch_epilogue(c_, k_.add(k_.mul(image, g_.groups * g_.features), feature), position, to_write);
  }
  bool features_first() { return op_.getDimensionNumbers().getOutputFeatureDimension() == 0; }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  ConvolutionOp op_;
  const Geometry& g_;
  SmallVector<int64_t> window_, positions_;
  int64_t image_size_, window_size_;
};

}  // namespace

bool is_plain(ConvolutionOp op) {
  return op.getBatchGroupCount() == 1 && all_ones(op.getLhsDilation()) && !(op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true));
}
bool is_depthwise(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  int64_t channels = shaped(op.getLhs()).getDimSize(dims.getInputFeatureDimension());
  return channels > 1 && int64_t(op.getFeatureGroupCount()) == channels && shaped(op.getRhs()).getDimSize(dims.getKernelOutputFeatureDimension()) == channels;
}
bool is_pointwise(ConvolutionOp op) {
  return llvm::all_of(Geometry(op).axes, [](const Axis& a) { return a.window == 1 && a.step == 1 && a.in == a.out && a.base_dilation == 1 && a.low == 0; });
}

llvm::Error emit_convolution(KernelContext& c) {
  auto op = cast<ConvolutionOp>(c.fusion.product);
  Geometry g(op);
  StorePositions store = [&](IR image, IR feature, IR position, IR sum, int lanes) {
    emit_epilogue(c, c.k.add(c.k.mul(image, g.groups * g.features), feature), position, sum, lanes);
  };
  if (is_channels_last(op)) return emit_channels_last(c, op, g), llvm::Error::success();
  bool by_planes = product_shape(op) && op.getDimensionNumbers().getOutputBatchDimension() == 0;
  if (by_planes && is_direct(g, c.k.target)) {
    (is_depthwise_in_place(g, c.k.target) ? emit_depthwise_in_place : emit_direct)(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()), store);
  } else if (by_planes && is_winograd(g, c.k)) {
    emit_winograd(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()), store);
  } else if (product_shape(op) && !by_planes && is_depthwise_gradient(g, c.k.target)) {
    emit_depthwise_gradient(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()));
  } else if (product_shape(op) && op.getDimensionNumbers().getOutputFeatureDimension() == 0 && is_winograd_gradient(g, c.k)) {
    emit_winograd_gradient(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()));
  } else {
    Kernel whole = c.kernel;
    // What comes features first is numbered through all images, and lines are packed whole.
    auto parts_of = [&](const Geometry& phase) { return op.getDimensionNumbers().getOutputFeatureDimension() == 0 || is_line(phase, c.k) ? std::vector<Geometry>{phase} : phase.strips(); };
    for (const Geometry& phase : g.phases())
      for (const Geometry& part : parts_of(phase)) {
        c.kernel.scratch_bytes = 0;
        ImplicitProduct(c, op, part).run();
        whole.tasks = std::max(whole.tasks, c.kernel.tasks), whole.cost += c.kernel.cost, whole.scratch_bytes = std::max(whole.scratch_bytes, c.kernel.scratch_bytes);
      }
    c.kernel = whole;
  }
  return llvm::Error::success();
}

}  // namespace cresset::cpu
