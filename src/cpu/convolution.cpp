// Convolution as an implicit matrix product: for each group, C[features, positions] = W[features, window] · X[window, positions].
// The positions of all images are one dimension, so that small images fill vectors too. A panel of X is packed straight from
// the input, a vector of positions at a time: what lies in the padding is masked, so the input itself is never padded.
#include "cpu/convolution.h"

#include <numeric>

#include "cpu/matmul.h"

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
                    or_one(op.getLhsDilation(), i), op.getWindowReversal() && (*op.getWindowReversal())[i]});
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
  constexpr int64_t kMost = 16;  // each is code of its own
  int64_t count = 1;
  bool possible = true;
  for (const Axis& a : axes) count *= a.base_dilation, possible &= a.base_dilation == 1 || a.step == 1;
  std::vector<Geometry> result{*this};
  if (!possible || count > kMost) return result;
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

namespace {

constexpr int64_t kLargeWindow = 16;   // as many places as the widest vector has lanes

class ImplicitProduct {
 public:
  ImplicitProduct(KernelContext& c, ConvolutionOp op, const Geometry& g) : c_(c), k_(c.k), b_(c.k.b), op_(op), g_(g) {}

  void run() {
    window_ = g_.sizes(&Axis::window), positions_ = g_.sizes(&Axis::out);
    image_size_ = product(positions_), window_size_ = product(window_);
    MatmulSpec spec;
    spec.batch = g_.groups * g_.batch_groups;
    spec.m = g_.features, spec.n = g_.images * product(positions_), spec.k = g_.in_features * product(window_);
    spec.a_type = g_.kernel_type, spec.b_type = g_.in_type, spec.type = g_.out_type;
    spec.a = c_.buffer(op_.getRhs()), spec.b = c_.buffer(op_.getLhs());
    spec.a_offset = [&](IR group, IR m, IR k) { return kernel_offset(group, m, k); };
    bool pairs = Panels(k_, spec).depth > 1;
    read_ = pairs ? IntegerType::get(op_.getContext(), 16) : g_.in_type, packed_ = pairs ? b_.getInt16Ty() : k_.compute_type(g_.out_type);
    bool forward = llvm::none_of(g_.axes, [](const Axis& a) { return a.reversed; });
    spec.a_unit_k = forward && g_.is_dense(&Axis::window, &Axis::window_stride) && (g_.in_features == 1 || g_.kernel_in == window_size_);
    if (is_large_window()) {
      spec.a_unit_k = forward && g_.is_dense(&Axis::window, &Axis::window_stride);
      spec.k_run = window_size_, spec.k_unit = kLargeWindow;
      spec.pack_b = [&](const MatmulSpec::Block& block) { pack_along_windows(block); };
      spec.pack_scratch = masks_size(), spec.column_scratch = 2 * 8;
    } else if (pairs && llvm::all_of(g_.axes, [](const Axis& a) { return a.base_dilation == 1; })) {
      if (is_unrolled()) spec.k_unit = period();
      spec.panel_by_panel = spec.packs_units = true;
      spec.pack_b = [&](const MatmulSpec::Block& block) { pack_pairs(block); };
      spec.b_offset = [&](IR group, IR k, IR n) { return window_size_ == 1 ? pixel(group, k, n) : element_of_window(group, k, n); };
      spec.pack_scratch = kMostVectors * noted_places() * 4;
    } else if (is_pointwise()) {
      spec.panel_by_panel = true;
      spec.pack_b = [&](const MatmulSpec::Block& block) { pack_pixels(block); };
      spec.b_offset = [&](IR group, IR k, IR n) { return pixel(group, k, n); };
      if (is_flat() && g_.images == 1 && k_.memory_type(read_) == packed_) spec.b_pitch = g_.in_feature;
    } else {
      // Whole windows, if they are small: then their masks serve all the channels of a block.
      whole_windows_ = window_size_ <= 512;
      if (whole_windows_) spec.k_unit = window_size_;
      spec.panel_by_panel = true;
      spec.pack_b = [&](const MatmulSpec::Block& block) { pack_windows(block); };
      spec.b_offset = [&](IR group, IR k, IR n) { return element_of_window(group, k, n); };
    }
    if (!g_.axes.empty()) spec.b_spread = g_.axes.back().step;
    spec.store_vectors = product_shape(op_).has_value() && !is_phase();
    if (!features_first() && g_.images > 1) spec.n_run = image_size_;
    spec.store = [&](IR group, IR m, IR n, IR sum, int lanes) { store(k_.add(k_.mul(group, g_.features), m), n, sum, lanes); };
    spec.streams = epilogue_streams(c_.fusion);
    if (spec.store_vectors) spec.prefetch = [&](IR group, IR m, IR n, bool to_write) { ask_for(k_.add(k_.mul(group, g_.features), m), n, to_write); };
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
    if (is_phase()) position = in_image();
    if (features_first()) return emit_epilogue(c_, feature, is_phase() ? k_.add(k_.mul(image, g_.out_image), position) : n, sum, lanes);
    emit_epilogue(c_, k_.add(k_.mul(image, g_.groups * g_.features), feature), position, sum, lanes);
  }
  // Asks for what the epilogue reads from position n on.
  void ask_for(IR feature, IR n, bool to_write) {
    if (features_first()) return prefetch_epilogue(c_, feature, n, to_write);
    prefetch_epilogue(c_, k_.add(k_.mul(b_.CreateUDiv(n, k_.i64(image_size_)), g_.groups * g_.features), feature), b_.CreateURem(n, k_.i64(image_size_)), to_write);
  }
  bool features_first() { return op_.getDimensionNumbers().getOutputFeatureDimension() == 0; }
  // Whether positions n … n + lanes - 1 (as far as they exist) belong to one image.
  IR within_image(IR n, int64_t lanes) {
    if (g_.images == 1 || image_size_ % lanes == 0) return b_.getTrue();
    if (image_size_ < lanes) return b_.getFalse();
    return b_.CreateICmpULE(b_.CreateURem(n, k_.i64(image_size_)), k_.i64(image_size_ - lanes));
  }

  // Whether neighbouring positions read neighbouring elements: a window moves by one, and a row ends where the input's does.
  bool is_flat() const {
    for (auto [i, a] : llvm::enumerate(g_.axes))
      if (a.step != 1 || a.base_dilation != 1 || (i > 0 && a.in != a.out)) return false;
    return g_.is_dense(&Axis::in, &Axis::in_stride);
  }

  // A vector of positions: where their windows begin.
  struct Lanes {
    IR n;                       // the first
    IR exists, image;           // offset of the image
    SmallVector<IR> origin;     // in the dilated, unpadded input
    IR inside, run;             // whether all of all windows lies in the image, and whether lanes are as far apart as neighbours in a row
    IR offset = nullptr;        // of each lane's window
    IR first = nullptr;         // and of the first one's
  };
  Lanes lanes_at(IR group, IR n, int lanes) {
    auto splat = [&](int64_t v) { return k_.splat(k_.i64(v), lanes); };
    // 32 bits are divided by a fraction of the instructions that 64 are.
    auto* narrow = k_.vector(g_.images * image_size_ < INT32_MAX / 2 ? b_.getInt32Ty() : b_.getInt64Ty(), lanes);
    auto divide = [&](IR x, int64_t by) {
      auto* size = llvm::ConstantInt::get(narrow, by);
      return std::pair(b_.CreateUDiv(x, size), b_.CreateURem(x, size));
    };
    auto wide = [&](IR x) { return b_.CreateZExt(x, k_.vector(b_.getInt64Ty(), lanes)); };
    IR all = k_.sequence(n, lanes);
    auto [image, position] = divide(b_.CreateTrunc(all, narrow), image_size_);
    Lanes result{n, b_.CreateICmpULT(all, splat(g_.images * image_size_)), wide(image), {}, nullptr, nullptr};
    if (g_.batch_groups > 1) result.image = b_.CreateAdd(result.image, k_.splat(k_.mul(group, g_.images), lanes));
    result.image = b_.CreateMul(result.image, splat(g_.in_image));
    result.origin.resize(g_.axes.size());
    for (size_t d = g_.axes.size(); d-- > 0;) {
      const Axis& a = g_.axes[d];
      IR i = position;
      if (d) std::tie(position, i) = divide(position, a.out);
      result.origin[d] = b_.CreateSub(b_.CreateMul(wide(i), splat(a.step)), splat(a.low));
    }
    IR inside = result.exists, offset = result.image;
    for (auto [a, x] : llvm::zip(g_.axes, result.origin)) {
      int64_t last = a.reach() - (a.window - 1) * a.dilation;  // from where on a window ends outside
      inside = b_.CreateAnd(inside, last > 0 && a.base_dilation == 1 ? b_.CreateICmpULT(x, splat(last)) : llvm::Constant::getNullValue(inside->getType()));
      offset = b_.CreateAdd(offset, b_.CreateMul(x, splat(a.in_stride)));
    }
    result.inside = b_.CreateAndReduce(inside);
    IR first = b_.CreateExtractElement(offset, uint64_t(0)), steps = k_.sequence(k_.i64(0), lanes);
    result.run = g_.axes.empty() ? static_cast<IR>(b_.getFalse())
                                 : b_.CreateAndReduce(b_.CreateICmpEQ(offset, b_.CreateAdd(k_.splat(first, lanes), b_.CreateMul(steps, splat(g_.axes.back().step * g_.axes.back().in_stride)))));
    result.offset = offset, result.first = first;
    return result;
  }

  //===-- Pixels: each column of the block is one place in each channel ---------------------------------------------===//

  bool is_pointwise() const {
    return window_size_ == 1 && llvm::all_of(g_.axes, [](const Axis& a) { return a.low == 0 && a.base_dilation == 1 && (a.out - 1) * a.step < a.in; });
  }

  // An element of the input as an offset.
  IR pixel(IR group, IR channel, IR n) {
    IR image = b_.CreateUDiv(n, k_.i64(image_size_)), position = b_.CreateURem(n, k_.i64(image_size_));
    if (g_.groups > 1) channel = k_.add(channel, k_.mul(group, g_.in_features));
    if (g_.batch_groups > 1) image = k_.add(image, k_.mul(group, g_.images));
    IR offset = k_.add(k_.mul(image, g_.in_image), k_.mul(channel, g_.in_feature));
    for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, positions_, position))) offset = k_.add(offset, k_.mul(i.base, a.step * a.in_stride));
    return offset;
  }

  // A place of the window, from where the window begins without padding.
  IR place(IR w) {
    IR offset = k_.i64(0);
    for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, window_, w))) offset = k_.add(offset, k_.mul(k_.add(k_.mul(i.base, a.dilation), k_.i64(-a.low)), a.in_stride));
    return offset;
  }

  IR element_of_window(IR group, IR k, IR n) { return k_.add(pixel(group, b_.CreateUDiv(k, k_.i64(window_size_)), n), place(b_.CreateURem(k, k_.i64(window_size_)))); }

  // One panel. Where its columns lie is the same in all channels: neighbours, in most panels, or vectors of neighbours, or anywhere.
  void pack_pixels(const MatmulSpec::Block& p) {
    IR panel = p.panel(k_.i64(0)), input = c_.buffer(op_.getLhs());
    auto each_channel = [&](const std::function<void(IR plane, IR row)>& body) {
      k_.loop(k_.i64(0), p.k, [&](IR row) { body(k_.mul(k_.add(p.k0, row), g_.in_feature), k_.mul(row, p.width)); });
    };
    auto put = [&](IR v, IR row, int64_t column) {
      b_.CreateAlignedStore(convert(v), b_.CreateInBoundsGEP(packed_, panel, k_.add(row, k_.i64(column))), llvm::Align(4));
    };
    auto neighbours = [&](int64_t column, int64_t columns) {
      IR from = pixel(p.batch, k_.i64(0), k_.add(p.n0, k_.i64(column)));
      each_channel([&](IR plane, IR row) {
        for (int64_t c = 0; c < columns; c += p.lanes) put(k_.load(read_, input, k_.add(k_.add(from, k_.i64(c)), plane), p.lanes), row, column + c);
      });
    };
    auto vector = [&](int64_t column) {
      auto singly = [&] {
        IR offsets = llvm::PoisonValue::get(k_.vector(b_.getInt64Ty(), p.lanes)), last = k_.i64(g_.images * image_size_ - 1);
        for (int lane = 0; lane < p.lanes; ++lane) offsets = b_.CreateInsertElement(offsets, pixel(p.batch, k_.i64(0), k_.min(k_.add(p.n0, k_.i64(column + lane)), last)), lane);
        each_channel([&](IR plane, IR row) { put(k_.gather(read_, b_.CreateGEP(k_.memory_type(g_.in_type), input, plane), offsets, p.lanes), row, column); });
      };
      if (!is_flat()) return singly();
      // The last positions are the end of a vector before them.
      int64_t all = g_.images * image_size_, rest = all % p.lanes;
      auto at_end = [&] {
        IR from = pixel(p.batch, k_.i64(0), k_.i64(all - p.lanes));
        SmallVector<int> moved;
        for (int64_t lane = 0; lane < p.lanes; ++lane) moved.push_back(int(std::min<int64_t>(lane + p.lanes - rest, p.lanes - 1)));
        each_channel([&](IR plane, IR row) { put(b_.CreateShuffleVector(k_.load(read_, input, k_.add(from, plane), p.lanes), moved), row, column); });
      };
      IR n = k_.add(p.n0, k_.i64(column)), is_end = rest && image_size_ >= p.lanes ? b_.CreateICmpEQ(n, k_.i64(all - rest)) : b_.getFalse();
      k_.either(all_within_image(n, p.lanes, p.width), [&] { neighbours(column, p.lanes); }, [&] { k_.either(is_end, at_end, singly); });
    };
    auto vectors = [&] {
      for (int64_t column = 0; column < p.width; column += p.lanes) vector(column);
    };
    if (!is_flat()) return vectors();
    k_.either(all_within_image(p.n0, p.width, p.width), [&] { neighbours(0, p.width); }, vectors);
  }
  // Whether positions n … n + count - 1 of a panel of `width` exist and belong to one image. The last panel may have whole vectors beyond the last position.
  IR all_within_image(IR n, int64_t count, int64_t width) {
    IR exist = g_.images * image_size_ % width == 0 ? b_.getTrue() : b_.CreateICmpSLE(n, k_.i64(g_.images * image_size_ - count));
    return b_.CreateAnd(within_image(n, count), exist);
  }

  //===-- Windows ---------------------------------------------------------------------------------------------------===//

  void pack_windows(const MatmulSpec::Block& p) {
    IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_));
    IR panel = p.panel(k_.i64(0));
    k_.loop(k_.i64(0), k_.i64(p.width), p.lanes, [&](IR column) {
      Lanes at = lanes_at(p.batch, k_.add(p.n0, column), p.lanes);
      IR address = b_.CreateInBoundsGEP(packed_, panel, column);
      if (!whole_windows_)
        return k_.loop(k_.i64(0), p.k, [&](IR row) {
          IR k = b_.CreateAdd(p.k0, row);
          pack_place(p, address, at, b_.CreateURem(k, k_.i64(window_size_)), row, b_.CreateUDiv(k, k_.i64(window_size_)), k_.i64(1));
        });
      IR channels = b_.CreateUDiv(p.k, k_.i64(window_size_));
      auto masked = [&] { k_.loop(k_.i64(0), k_.i64(window_size_), [&](IR w) { pack_place(p, address, at, w, w, channel, channels); }); };
      if (!can_be_inside()) return masked();
      k_.either(b_.CreateAnd(at.inside, at.run), [&] { pack_inside(p, address, at, channel, channels); }, masked);
    });
  }

  // Windows that move by a few, of which some vectors lie inside the image: no masks, and all places of a channel together.
  bool can_be_inside() const {
    if (g_.axes.empty() || g_.axes.back().in_stride != 1 || g_.axes.back().step > kMostStep) return false;
    return llvm::all_of(g_.axes, [](const Axis& a) { return a.base_dilation == 1 && (a.window - 1) * a.dilation < a.in; });
  }
  void pack_inside(const MatmulSpec::Block& p, IR address, const Lanes& at, IR channel, IR channels) {
    k_.loop(k_.i64(0), channels, [&](IR c) {
      IR base = channel_base(p.batch, k_.add(channel, c));
      std::function<void(size_t d, IR row, IR offset)> places = [&](size_t d, IR row, IR offset) {
        if (d < g_.axes.size()) {
          const Axis& a = g_.axes[d];
          return k_.loop(k_.i64(0), k_.i64(a.window), [&](IR i) { places(d + 1, k_.add(k_.mul(row, a.window), i), k_.add(offset, k_.mul(i, a.dilation * a.in_stride))); });
        }
        IR v = k_.load_strided(read_, base, offset, p.lanes, g_.axes.back().step);
        b_.CreateAlignedStore(convert(v), b_.CreateInBoundsGEP(packed_, address, k_.mul(row, p.width)), llvm::Align(4));
      };
      places(0, c, at.first);
    });
  }

  // One place of the window, for some channels: rows `row`, row + window size, … of the panel.
  void pack_place(const MatmulSpec::Block& p, IR address, const Lanes& at, IR w, IR row, IR channel, IR channels) {
    auto splat = [&](IR v) { return k_.splat(v, p.lanes); };
    IR valid = at.exists, offset = at.image;
    for (auto [axis, origin, i] : llvm::zip(g_.axes, at.origin, delinearise(k_, window_, w))) {
      IR x = b_.CreateAdd(origin, splat(k_.mul(i.base, axis.dilation)));
      valid = b_.CreateAnd(valid, b_.CreateICmpULT(x, splat(k_.i64(axis.reach()))));
      if (axis.base_dilation > 1) {
        valid = b_.CreateAnd(valid, b_.CreateICmpEQ(b_.CreateURem(x, splat(k_.i64(axis.base_dilation))), splat(k_.i64(0))));
        x = b_.CreateUDiv(x, splat(k_.i64(axis.base_dilation)));
      }
      offset = b_.CreateAdd(offset, b_.CreateMul(x, splat(k_.i64(axis.in_stride))));
    }
    auto each_channel = [&](const std::function<IR(IR base)>& load) {
      k_.loop(k_.i64(0), channels, [&](IR c) {
        IR v = load(channel_base(p.batch, k_.add(channel, c)));
        IR to = k_.mul(k_.add(row, k_.mul(c, window_size_)), p.width);
        b_.CreateAlignedStore(convert(v), b_.CreateInBoundsGEP(packed_, address, to), llvm::Align(4));
      });
    };
    auto singly = [&] {  // outside the image the first element is read and thrown away
      IR safe = b_.CreateSelect(valid, offset, llvm::Constant::getNullValue(offset->getType()));
      each_channel([&](IR base) {
        IR v = k_.gather(read_, base, safe, p.lanes);
        return b_.CreateSelect(valid, v, llvm::Constant::getNullValue(v->getType()));
      });
    };
    auto beyond_row = [&] {  // vectors that are not one run of the input
      if (!reads_two_rows(&Axis::out, &Axis::step, p.lanes)) return singly();
      int64_t step = g_.axes.back().step;
      IR first = b_.CreateExtractElement(offset, uint64_t(0)), last = b_.CreateExtractElement(offset, uint64_t(p.lanes - 1));
      auto masks = masks_of_rows(valid, offset, p.lanes, step);
      each_channel([&](IR base) { return load_two_rows(base, first, last, masks, p.lanes, step); });
    };
    if (reads_lanes(&Axis::step)) {
      auto in_row = [&] {
        IR first = b_.CreateExtractElement(offset, uint64_t(0));
        auto masks = spread_masks(valid, g_.axes.back().step);
        each_channel([&](IR base) { return k_.load_strided(read_, base, first, p.lanes, g_.axes.back().step, masks); });
      };
      return k_.either(g_.axes.back().out % p.lanes == 0 ? b_.getTrue() : at.run, in_row, beyond_row);
    }
    if (!is_flat()) return beyond_row();
    bool masked = k_.can_mask(g_.in_type);
    IR together = masked ? within_image(at.n, p.lanes) : b_.CreateAnd(within_image(at.n, p.lanes), b_.CreateAndReduce(valid));
    IR first = b_.CreateExtractElement(offset, uint64_t(0)), mask = k_.mask(valid, g_.in_type);
    auto one_run = [&] {
      each_channel([&](IR base) { return masked ? k_.load_masked(read_, base, first, mask) : k_.load(read_, base, first, p.lanes); });
    };
    k_.either(together, one_run, beyond_row);
  }
  // Whether lanes in one row, some elements apart, are read as whole vectors, of which lanes are kept, instead of a gather.
  bool reads_lanes(int64_t Axis::*step) const {
    if (g_.axes.empty() || !k_.can_mask(g_.in_type)) return false;
    const Axis& a = g_.axes.back();
    return a.*step > 1 && a.*step <= kMostStep && a.in_stride == 1 && a.base_dilation == 1;
  }
  // For each of the vectors that are read.
  IRs spread_masks(IR valid, int64_t step) {
    IRs parts;
    for (int64_t part = 0; part < step; ++part) parts.push_back(k_.mask(k_.spread(valid, step, part), g_.in_type));
    return parts;
  }
  // Whether the lanes of each vector read the end of one row and the beginning of another, wherever that is.
  bool reads_two_rows(int64_t Axis::*row, int64_t Axis::*step, int lanes) const {
    if (g_.axes.empty() || !k_.can_mask(g_.in_type)) return false;
    const Axis& a = g_.axes.back();
    return a.*step <= kMostStep && a.in_stride == 1 && a.base_dilation == 1 && a.*row + 1 >= lanes;
  }
  // The lanes that are neighbours of the first one, and those of the last one.
  IRs masks_of_rows(IR valid, IR offset, int lanes, int64_t step) {
    IR first = b_.CreateICmpEQ(offset, k_.sequence(b_.CreateExtractElement(offset, uint64_t(0)), lanes, step));
    IRs masks = spread_masks(b_.CreateAnd(valid, first), step);
    masks.append(spread_masks(b_.CreateAnd(valid, b_.CreateNot(first)), step));
    return masks;
  }
  IR load_two_rows(IR base, IR first, IR last, ArrayRef<IR> masks, int lanes, int64_t step) {
    IR x = k_.load_strided(read_, base, first, lanes, step, masks.take_front(step));
    IR y = k_.load_strided(read_, base, b_.CreateSub(last, k_.i64((lanes - 1) * step)), lanes, step, masks.drop_front(step));
    auto* bits = k_.vector(b_.getIntNTy(x->getType()->getScalarSizeInBits()), lanes);
    return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(x, bits), b_.CreateBitCast(y, bits)), x->getType());
  }

  //===-- Pairs of bf16, neighbours along K: windows that move by one or two are read without taking lanes one by one ----===//

  // As many places as are whole pairs and whole channels.
  int64_t period() const { return window_size_ % 2 ? 2 * window_size_ : window_size_; }
  bool is_unrolled() const { return k_.target.avx512() && period() <= 128; }  // masked loads are much code elsewhere

  // Lanes in one row of the output, or in one image if the input is flat: what they see at one place is one masked load.
  struct Runs {
    SmallVector<IR> first, lanes;  // where the window of lane 0 would begin; which lanes they are, as bits that are `spacing` apart
  };
  int64_t most_runs(int64_t lanes) const {
    int64_t all = g_.images * image_size_, row = is_flat() ? (g_.images == 1 ? all : image_size_) : g_.axes.back().out;
    return row % lanes == 0 || row >= all ? 1 : 1 + ceil_div(lanes - 1, row);
  }
  // Beyond a few, lanes are taken one by one.
  bool reads_runs(int64_t lanes) const { return !g_.axes.empty() && g_.axes.back().in_stride == 1 && g_.axes.back().step <= 2 && most_runs(lanes) <= 4; }
  // Of windows that move by two, a pair is where its first element lies, with the neighbour in the place of the second one.
  int64_t spacing(int64_t lanes) const { return reads_runs(lanes) ? g_.axes.back().step : 1; }
  IR bits(IR lanes) {
    int64_t count = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements(), apart = spacing(count);
    SmallVector<int> order(count * apart, int(count));
    for (int64_t i = 0; i < count; ++i) order[i * apart] = int(i);
    return b_.CreateBitCast(b_.CreateShuffleVector(lanes, llvm::Constant::getNullValue(lanes->getType()), order), b_.getIntNTy(unsigned(count * apart)));
  }
  IR from_bits(IR bits) { return b_.CreateBitCast(bits, k_.vector(b_.getInt1Ty(), int(bits->getType()->getIntegerBitWidth()))); }
  Runs runs_of(const Lanes& at, int lanes) {
    Runs runs;
    IR start = b_.CreateSub(at.offset, k_.sequence(k_.i64(0), lanes, g_.axes.back().step)), left = llvm::Constant::getAllOnesValue(k_.vector(b_.getInt1Ty(), lanes));
    for (int64_t run = 0; run < most_runs(lanes); ++run) {
      auto* type = b_.getIntNTy(unsigned(lanes));
      IR lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {type}, {b_.CreateBitCast(left, type), b_.getFalse()});
      IR first = b_.CreateExtractElement(start, b_.CreateAnd(b_.CreateZExt(lane, b_.getInt64Ty()), k_.i64(lanes - 1)));
      IR here = b_.CreateAnd(left, b_.CreateICmpEQ(start, k_.splat(first, lanes)));
      left = b_.CreateAnd(left, b_.CreateNot(here));
      runs.first.push_back(first), runs.lanes.push_back(bits(here));
    }
    return runs;
  }

  // Noted for each vector of a panel: which lanes see the input at each place along each axis, then at each place of the window.
  static constexpr int64_t kMostVectors = 8;
  int64_t noted_places() const {
    int64_t places = window_size_;
    for (const Axis& a : g_.axes) places += a.window;
    return places;
  }
  IR noted(const MatmulSpec::Block& p, int64_t vector, size_t axis, IR place) {
    int64_t before = vector * noted_places();
    for (size_t d = 0; d < axis; ++d) before += g_.axes[d].window;
    return b_.CreateInBoundsGEP(b_.getInt32Ty(), p.scratch, k_.add(k_.i64(before), place));
  }
  void note(const MatmulSpec::Block& p, const Lanes& at, int64_t vector) {
    auto* type = b_.getInt32Ty();
    for (auto [d, a] : llvm::enumerate(g_.axes))
      k_.loop(k_.i64(0), k_.i64(a.window), [&](IR i) {
        IR x = b_.CreateAdd(at.origin[d], k_.splat(k_.mul(i, a.dilation), p.lanes));
        b_.CreateStore(b_.CreateZExt(bits(b_.CreateICmpULT(x, k_.splat(k_.i64(a.in), p.lanes))), type), noted(p, vector, d, i));
      });
    IR exist = b_.CreateZExt(bits(at.exists), type);
    k_.loop(k_.i64(0), k_.i64(window_size_), [&](IR place) {
      IR lanes = exist;
      for (auto [d, i] : llvm::enumerate(delinearise(k_, window_, place))) lanes = b_.CreateAnd(lanes, b_.CreateLoad(type, noted(p, vector, d, i.base)));
      b_.CreateStore(lanes, noted(p, vector, g_.axes.size(), place));
    });
  }

  // Element k of the windows: where it is from where a window begins, and the lanes that have it, or null for all.
  struct Element {
    IR offset, lanes;
  };
  Element element_at(const MatmulSpec::Block& p, int64_t vector, IR k, bool masked) {
    IR place = b_.CreateURem(k, k_.i64(window_size_));
    Element e{k_.mul(b_.CreateUDiv(k, k_.i64(window_size_)), g_.in_feature), nullptr};
    for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, window_, place))) e.offset = k_.add(e.offset, k_.mul(i.base, a.dilation * a.in_stride));
    if (masked) e.lanes = b_.CreateTrunc(b_.CreateLoad(b_.getInt32Ty(), noted(p, vector, g_.axes.size(), place)), b_.getIntNTy(unsigned(p.lanes * spacing(p.lanes))));
    return e;
  }
  // The pairs of two elements, of which the second may be none.
  IR pairs_at(const MatmulSpec::Block& p, IR base, const Element& low, std::optional<Element> high, const Lanes& at, const Runs& runs) {
    llvm::Type *word = b_.getInt16Ty(), *pair = k_.vector(b_.getInt32Ty(), p.lanes);
    IR none = llvm::Constant::getNullValue(k_.vector(word, p.lanes));
    if (runs.first.empty()) {
      auto row = [&](const Element& e) {  // outside the image the first element is read and thrown away
        auto lanes = from_bits(e.lanes);
        IR safe = b_.CreateSelect(lanes, b_.CreateAdd(at.offset, k_.splat(e.offset, p.lanes)), llvm::Constant::getNullValue(at.offset->getType()));
        return b_.CreateSelect(lanes, k_.gather(read_, base, safe, p.lanes), none);
      };
      return interleaved(row(low), high ? row(*high) : none);
    }
    auto row = [&](IR v, const Element& e, int64_t moved, IR lanes) {
      for (auto [first, run] : llvm::zip(runs.first, runs.lanes)) {
        IR mask = lanes ? b_.CreateAnd(run, lanes) : run;
        v = b_.CreateMaskedLoad(v->getType(), b_.CreateGEP(word, base, k_.add(k_.add(first, e.offset), k_.i64(-moved))), llvm::Align(2), from_bits(b_.CreateShl(mask, moved)), v);
      }
      return v;
    };
    if (spacing(p.lanes) == 1) return interleaved(row(none, low, 0, low.lanes), high ? row(none, *high, 0, high->lanes) : none);
    IR units = row(llvm::Constant::getNullValue(k_.vector(word, 2 * p.lanes)), low, 0, low.lanes);
    return b_.CreateBitCast(high ? row(units, *high, 1, high->lanes) : units, pair);
  }
  IR interleaved(IR low, IR high) {
    int lanes = int(llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements());
    SmallVector<int> order;
    for (int i = 0; i < lanes; ++i) order.append({i, lanes + i});
    return b_.CreateBitCast(b_.CreateShuffleVector(low, high, order), k_.vector(b_.getInt32Ty(), lanes));
  }

  void pack_pairs(const MatmulSpec::Block& p) {
    IR panel = p.panel(k_.i64(0));
    auto put = [&](IR v, IR u, IR column) { b_.CreateAlignedStore(v, b_.CreateInBoundsGEP(b_.getInt32Ty(), panel, k_.add(k_.mul(u, p.width), column)), llvm::Align(4)); };
    auto vectors = [&] {
      if (is_unrolled() && period() <= kVectorsTogether) return pack_vectors(p, k_.i64(0), p.width / p.lanes, put);
      k_.loop(k_.i64(0), k_.i64(p.width), p.lanes, [&](IR column) { pack_vectors(p, column, 1, put); });
    };
    if (!is_pointwise() || !is_flat() || g_.in_features % 2) return vectors();
    k_.either(all_within_image(p.n0, p.width, p.width), [&] {
      IR first = pixel(p.batch, p.k0, p.n0), input = c_.buffer(op_.getLhs());
      k_.loop(k_.i64(0), b_.CreateLShr(p.k, k_.i64(1)), [&](IR u) {
        auto offset = [&](int64_t row, int64_t column) { return k_.add(k_.add(first, k_.mul(u, 2 * g_.in_feature)), k_.i64(row * g_.in_feature + column)); };
        constexpr int64_t kLine = 32;
        for (int64_t row = 2 * kPairsAhead; !p.asked && row < 2 * kPairsAhead + 2; ++row)
          for (int64_t c = 0; c < p.width; c += kLine) ask_for(input, offset(row, std::min(c + kLine, p.width) - 1));
        for (int64_t c = 0; c < p.width; c += p.lanes) put(interleaved(k_.load(read_, input, offset(0, c), p.lanes), k_.load(read_, input, offset(1, c), p.lanes)), u, k_.i64(c));
      });
    }, vectors);
  }
  static constexpr int64_t kPairsAhead = 16;       // what is asked for
  static constexpr int64_t kVectorsTogether = 18;  // places of windows that are read for all vectors of a panel before those of the next channels: 3 x 3 of two
  void ask_for(IR base, IR offset) { k_.prefetch(b_.CreateGEP(b_.getInt16Ty(), base, offset)); }

  // So many vectors of columns.
  void pack_vectors(const MatmulSpec::Block& p, IR column, int64_t count, const std::function<void(IR v, IR u, IR column)>& put) {
    std::vector<Lanes> at;
    IR inside = b_.getTrue(), run = b_.getTrue();
    for (int64_t v = 0; v < count; ++v) {
      at.push_back(lanes_at(p.batch, k_.add(k_.add(p.n0, column), k_.i64(v * p.lanes)), p.lanes));
      inside = b_.CreateAnd(inside, at.back().inside), run = b_.CreateAnd(run, at.back().run);
    }
    auto pack = [&](ArrayRef<Runs> runs, bool masked) {
      auto pair = [&](IR base, int64_t v, IR k, IR next, IR exists, IR u) {
        std::optional<Element> high;
        if (next) high = element_at(p, v, next, masked);
        if (exists) high->lanes = b_.CreateSelect(exists, high->lanes, llvm::Constant::getNullValue(high->lanes->getType()));
        put(pairs_at(p, base, element_at(p, v, k, masked), high, at[v], runs[v]), u, k_.add(column, k_.i64(v * p.lanes)));
      };
      if (!is_unrolled())
        return k_.loop(k_.i64(0), p.k, 2, [&](IR row) {
          IR k = b_.CreateAdd(p.k0, row), next = k_.add(row, k_.i64(1)), exists = b_.CreateICmpSLT(next, p.k);
          for (int64_t v = 0; v < count; ++v) pair(channel_base(p.batch, k_.i64(0)), v, k, b_.CreateSelect(exists, b_.CreateAdd(p.k0, next), k), exists, b_.CreateLShr(row, k_.i64(1)));
        });
      IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_)), periods = b_.CreateUDiv(p.k, k_.i64(period()));
      auto places = [&](IR which, int64_t places) {
        IR base = channel_base(p.batch, k_.add(channel, k_.mul(which, period() / window_size_))), first = k_.mul(which, period() / 2);
        for (int64_t i = 0; i < places; i += 2)
          for (int64_t v = 0; v < count; ++v) {
            for (int64_t c = 0; window_size_ == 1 && !p.asked && c < 2; ++c) ask_for(base, k_.add(at[v].first, k_.i64((2 * kPairsAhead + c) * g_.in_feature)));
            pair(base, v, k_.i64(i), i + 1 < places ? k_.i64(i + 1) : nullptr, nullptr, k_.add(first, k_.i64(i / 2)));
          }
      };
      k_.loop(k_.i64(0), periods, [&](IR which) { places(which, period()); });
      if (int64_t rest = g_.in_features * window_size_ % period()) k_.when(b_.CreateICmpNE(b_.CreateURem(p.k, k_.i64(period())), k_.i64(0)), [&] { places(periods, rest); });
    };
    auto note_all = [&] {
      for (int64_t v = 0; v < count; ++v) note(p, at[v], v);
    };
    if (!reads_runs(p.lanes)) return note_all(), pack(std::vector<Runs>(count), true);
    auto one_run_each = [&](bool masked) {
      IR all = bits(llvm::Constant::getAllOnesValue(k_.vector(b_.getInt1Ty(), p.lanes)));
      pack(llvm::map_to_vector(at, [&](const Lanes& l) { return Runs{{l.first}, {all}}; }), masked);
    };
    auto several = [&] { pack(llvm::map_to_vector(at, [&](const Lanes& l) { return runs_of(l, p.lanes); }), true); };
    auto masked = [&] {
      note_all();
      if (most_runs(p.lanes) == 1) one_run_each(true);
      else if (is_flat()) k_.either(run, [&] { one_run_each(true); }, several);
      else several();
    };
    if (!is_unrolled() || !can_be_inside()) return masked();
    k_.either(b_.CreateAnd(inside, run), [&] { one_run_each(false); }, masked);
  }

  //===-- Large windows: the gradient of a kernel -------------------------------------------------------------------===//

  // Vectors lie along the window, which is longer than the row of columns it is moved along; squares are transposed in registers.
  bool is_large_window() const {
    return window_size_ >= kLargeWindow && window_size_ > image_size_ && image_size_ <= 1024 &&
           llvm::all_of(g_.axes, [](const Axis& a) { return a.base_dilation == 1; });
  }

  // Noted first: for each column its offset and its position. Then for each vector of places in the window: where they lie in
  // the input, and which of them do, for each position.
  int64_t masks_size() const { return 2 * image_size_ * kLargeWindow * element_bytes(g_.in_type); }
  void pack_along_windows(const MatmulSpec::Block& p) {
    auto* i64 = b_.getInt64Ty();
    IR columns = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), p.scratch, masks_size());
    auto column = [&](IR n, int64_t what) { return b_.CreateInBoundsGEP(i64, columns, k_.add(k_.mul(n, 2), k_.i64(what))); };
    auto* mask_type = k_.vector(b_.getIntNTy(element_bytes(g_.in_type) * 8), p.lanes);
    auto mask_of = [&](IR position, int half) { return b_.CreateInBoundsGEP(mask_type, p.scratch, k_.add(k_.mul(position, 2), k_.i64(half))); };
    int64_t dilation = g_.axes.empty() ? 1 : g_.axes.back().dilation;
    bool every_second = dilation == 2 && reads_lanes(&Axis::dilation) && g_.axes.back().window % p.lanes == 0;
    bool one_run = neighbours_in_window() && k_.can_mask(g_.in_type), two_rows = !one_run && dilation == 1 && reads_two_rows(&Axis::window, &Axis::dilation, p.lanes);
    auto shifts = [&](IR position) {
      SmallVector<IR> result;
      for (auto [axis, i] : llvm::zip(g_.axes, delinearise(k_, positions_, position))) result.push_back(k_.mul(i.base, axis.step));
      return result;
    };
    k_.loop(k_.i64(0), k_.mul(b_.CreateUDiv(b_.CreateAdd(p.n, k_.i64(p.width - 1)), k_.i64(p.width)), p.width), [&](IR j) {
      IR n = k_.min(k_.add(p.n0, j), k_.i64(g_.images * image_size_ - 1)), position = b_.CreateURem(n, k_.i64(image_size_));
      IR image = b_.CreateUDiv(n, k_.i64(image_size_));
      if (g_.batch_groups > 1) image = b_.CreateAdd(image, k_.mul(p.batch, g_.images));
      IR offset = k_.mul(image, g_.in_image);
      for (auto [axis, shift] : llvm::zip(g_.axes, shifts(position))) offset = k_.add(offset, k_.mul(shift, axis.in_stride));
      b_.CreateStore(offset, column(j, 0));
      b_.CreateStore(position, column(j, 1));
    });
    IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_)), first = b_.CreateSub(p.k0, k_.mul(channel, window_size_));
    IR base = channel_base(p.batch, channel);
    k_.loop(k_.i64(0), p.k, p.lanes, [&](IR u) {
      // The input's elements under the window at position 0; a window that ends within the vector ends the block.
      auto places = k_.sequence(k_.add(first, u), p.lanes);
      IR exists = b_.CreateICmpULT(places, k_.splat(k_.add(first, p.k), p.lanes)), offset = llvm::Constant::getNullValue(places->getType());
      SmallVector<IR> origin(g_.axes.size());
      for (size_t d = g_.axes.size(); d-- > 0;) {
        const Axis& a = g_.axes[d];
        auto splat = [&](int64_t v) { return k_.splat(k_.i64(v), p.lanes); };
        IR i = d ? b_.CreateURem(places, splat(a.window)) : places;
        if (d) places = b_.CreateUDiv(places, splat(a.window));
        origin[d] = b_.CreateSub(b_.CreateMul(i, splat(a.dilation)), splat(a.low));
        offset = b_.CreateAdd(offset, b_.CreateMul(origin[d], splat(a.in_stride)));
      }
      k_.loop(k_.i64(0), k_.i64(image_size_), [&](IR position) {
        IR valid = exists;
        for (auto [a, from, shift] : llvm::zip(g_.axes, origin, shifts(position)))
          valid = b_.CreateAnd(valid, b_.CreateICmpULT(b_.CreateAdd(from, k_.splat(shift, p.lanes)), k_.splat(k_.i64(a.reach()), p.lanes)));
        auto masks = every_second ? spread_masks(valid, 2) : two_rows ? masks_of_rows(valid, offset, p.lanes, 1) : IRs{valid};
        for (int half = 0; half < (every_second || two_rows ? 2 : 1); ++half) b_.CreateAlignedStore(b_.CreateSExtOrTrunc(masks[half], mask_type), mask_of(position, half), llvm::Align(8));
      });
      IR start = b_.CreateExtractElement(offset, uint64_t(0)), last = b_.CreateExtractElement(offset, uint64_t(p.lanes - 1));
      auto load = [&](IR j) {
        IR shift = b_.CreateLoad(i64, column(j, 0)), position = b_.CreateLoad(i64, column(j, 1));
        auto mask = [&](int half) -> IR { return b_.CreateAlignedLoad(mask_type, mask_of(position, half), llvm::Align(8)); };
        IR v;
        if (every_second) v = k_.load_strided(read_, base, k_.add(start, shift), p.lanes, 2, {mask(0), mask(1)});
        else if (one_run) v = k_.load_masked(read_, base, k_.add(start, shift), mask(0));
        else if (two_rows) v = load_two_rows(base, k_.add(start, shift), k_.add(last, shift), {mask(0), mask(1)}, p.lanes, 1);
        else {  // outside the image the first element is read and thrown away
          IR valid = b_.CreateICmpSLT(mask(0), llvm::Constant::getNullValue(mask_type));
          IR safe = b_.CreateSelect(valid, b_.CreateAdd(offset, k_.splat(shift, p.lanes)), llvm::Constant::getNullValue(offset->getType()));
          v = k_.gather(read_, base, safe, p.lanes);
          v = b_.CreateSelect(valid, v, llvm::Constant::getNullValue(v->getType()));
        }
        return convert(v);
      };
      k_.loop(k_.i64(0), p.n, p.width, [&](IR n) {
        for (int64_t at = 0; at < p.width; at += p.lanes) {
          IRs square;
          for (int64_t j = 0; j < p.lanes; ++j) square.push_back(load(k_.add(n, k_.i64(at + j))));
          k_.transpose(square);
          for (int64_t i = 0; i < p.lanes; ++i)
            b_.CreateAlignedStore(square[i], b_.CreateInBoundsGEP(packed_, p.panel(n), k_.add(k_.mul(k_.add(u, k_.i64(i)), p.width), k_.i64(at))), llvm::Align(4));
        }
      });
    });
  }
  // Whether neighbouring places in the window read neighbouring elements.
  bool neighbours_in_window() const {
    for (auto [i, a] : llvm::enumerate(g_.axes))
      if (a.dilation != 1 || a.base_dilation != 1 || (i > 0 && a.in != a.window)) return false;
    return g_.is_dense(&Axis::in, &Axis::in_stride);
  }

  IR channel_base(IR group, IR channel) {
    if (g_.groups > 1) channel = k_.add(channel, k_.mul(group, g_.in_features));
    return b_.CreateGEP(k_.memory_type(g_.in_type), c_.buffer(op_.getLhs()), k_.mul(channel, g_.in_feature));
  }
  // Where products are of pairs, what is not packed as such is packed as it lies, and paired then.
  IR convert(IR v) { return k_.widened(g_.in_type, v, packed_); }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  ConvolutionOp op_;
  const Geometry& g_;
  SmallVector<int64_t> window_, positions_;
  int64_t image_size_ = 1, window_size_ = 1;
  bool whole_windows_ = false;
  Type read_;           // as which an element of the input is read,
  llvm::Type* packed_;  // and as which panels hold it until they are paired
};

}  // namespace

llvm::Error emit_convolution(KernelContext& c) {
  auto op = cast<ConvolutionOp>(c.fusion.product);
  Geometry g(op);
  StorePositions store = [&](IR image, IR feature, IR position, IR sum, int lanes) {
    emit_epilogue(c, c.k.add(c.k.mul(image, g.groups * g.features), feature), position, sum, lanes);
  };
  bool by_planes = product_shape(op) && op.getDimensionNumbers().getOutputBatchDimension() == 0;
  if (by_planes && is_depthwise(g, c.k.target)) {
    (is_depthwise_in_place(g, c.k.target) ? emit_depthwise_in_place : emit_depthwise)(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()), store);
  } else if (by_planes && is_winograd(g, c.k)) {
    emit_winograd(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()), store);
  } else if (product_shape(op) && !by_planes && is_depthwise_gradient(g, c.k.target)) {
    emit_depthwise_gradient(c, g, c.buffer(op.getLhs()), c.buffer(op.getRhs()));
  } else {
    Kernel whole = c.kernel;
    for (const Geometry& phase : g.phases()) {
      c.kernel.scratch_bytes = 0;
      ImplicitProduct(c, op, phase).run();
      whole.tasks = std::max(whole.tasks, c.kernel.tasks), whole.cost += c.kernel.cost, whole.scratch_bytes = std::max(whole.scratch_bytes, c.kernel.scratch_bytes);
    }
    c.kernel = whole;
  }
  return llvm::Error::success();
}

}  // namespace cresset::cpu
