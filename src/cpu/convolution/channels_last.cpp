// Convolution whose channels are neighbours, of bytes or, by tiles, of bf16: C[positions, features] = X[positions, window] · W[window, features]. A row of X, the window of a position, is read where it
// lies: each row of a window is a run of neighbours in memory. One run is as far behind the one before for all positions if nothing lies in the padding; tiles read
// them from bands (band.h) or, where these don't pay, from rows that are copied place after place, zeros for those outside.
#include "cpu/convolution/band.h"
#include "cpu/convolution/convolution_windows.h"
#include "cpu/fusion.h"
#include "cpu/matmul/matmul.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

Value bytes_of(Value v) {
  if (auto less = less_number(v)) v = less->bytes;
  auto convert = v.getDefiningOp<ConvertOp>();
  return convert && is_byte(element(convert.getOperand())) ? convert.getOperand() : Value();
}

bool pads(ConvolutionOp op) {
  return op.getPadding() && llvm::any_of(op.getPadding()->getValues<int64_t>(), [](int64_t p) { return p != 0; });
}

class ChannelsLast : Windows {
 public:
  ChannelsLast(KernelContext& c, ConvolutionOp op, const Geometry& g) : Windows(c.k, g, nullptr, false), c_(c), pads_(pads(op)) {
    auto read = [&](Value v) {  // as i32 if somebody else wants the bytes so
      auto less = less_number(v);
      return c.slots.find(v) ? v : less && c.slots.has(less->bytes) ? Value(less->bytes) : bytes_of(v);
    };
    Value x = read(op.getLhs()), w = read(op.getRhs());
    spec_.batch = g.groups, spec_.m = g.images * image_size_, spec_.n = g.features, spec_.k = window_size_ * g.in_features;
    spec_.a_type = element(x), spec_.b_type = element(w), spec_.converted = g.in_type, spec_.type = g.out_type;
    spec_.a = c.buffer(x), spec_.b = c.buffer(w);
    if (auto less = less_number(op.getLhs()); less && x != op.getLhs()) spec_.a_zero = less->number;
    spec_.seven_bits = has_seven_bits(op.getLhs());
    spec_.packed = c.packed_weight();
    spec_.a_unit_k = spec_.b_unit_k = true;
    if (run() != spec_.k || pads_) choose_runs();
  }

  void run_product() {
    auto position = [&](IR m) { return band_ ? band_->position(m) : m; };
    spec_.a_offset = [this](IR group, IR m, IR k) { return k_.add(window_of(group, m), in_window(k)); };
    spec_.b_offset = [this](IR group, IR k, IR n) { return k_.add(k_.mul(k_.add(k_.mul(group, g_.features), n), spec_.k), band_ ? band_->element(k) : k); };
    auto feature = [this](IR group, IR n) { return k_.add(k_.mul(group, g_.features), n); };
    spec_.store = [&](IR group, IR m, IR n, IR sum, int lanes) { emit_epilogue(c_, position(m), feature(group, n), sum, lanes); };
    spec_.prefetch = [&](IR group, IR m, IR n, bool to_write) { prefetch_epilogue(c_, position(m), feature(group, n), to_write); };
    spec_.streams = epilogue_streams(c_.fusion);
    emit_matmul(c_, spec_);
  }

 private:
  // Tiles get whole places, or parts of one that has many channels. What has runs too short for them is multiplied by vectors.
  void choose_runs() {
    constexpr int64_t kManySteps = 32;
    spec_.may_use_tiles = !is_byte(spec_.a_type) || run() >= TileRegisters::kBytes;
    Panels panels(k_, spec_);
    if (panels.grid && g_.in_features % panels.tile_depth() == 0) {
      band_.emplace(k_, g_, spec_.a, element_bytes(spec_.a_type));
      if (band_->is_possible()) {
        spec_.tiles_in_place = band_->tiles(), spec_.m = band_->positions(), spec_.k_unit = panels.tile_depth();
        return;
      }
      band_.reset();
      (g_.in_features > kManySteps * panels.tile_depth() ? spec_.k_run : spec_.k_unit) = g_.in_features;
      spec_.pack_a = [this](const MatmulSpec::RowsOfA& r) { pack(r); };
    } else if (!panels.grid && panels.a_lies_in_units() && g_.in_features % panels.depth == 0) {
      spec_.a_run = run(), spec_.k_unit = g_.in_features;
    } else {
      spec_.k_run = run();
    }
  }

  // Neighbours in memory: a row of the window, or one of its places.
  int64_t run() const {
    if (window_size_ == 1) return g_.in_features;
    return g_.columns().dilation == 1 && g_.groups == 1 ? g_.columns().window * g_.in_features : g_.in_features;
  }
  // Where the one of position m begins.
  IR window_of(IR group, IR m) {
    bool in_order = llvm::all_of(g_.axes, [](const Axis& a) { return a.step == 1 && a.in == a.out; });  // all pixels of all images
    return in_order ? k_.add(k_.mul(group, g_.in_features), k_.mul(m, g_.columns().in_stride)) : pixel(group, k_.i64(0), m);
  }
  // Where element k of a window lies from there.
  IR in_window(IR k) {
    if (window_size_ == 1) return k;
    IR offset = b_.CreateURem(k, k_.i64(g_.in_features)), place = b_.CreateUDiv(k, k_.i64(g_.in_features));
    for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, window_, place))) offset = k_.add(offset, k_.mul(i.base, a.dilation * a.in_stride));
    return offset;
  }

  //===-- Packing for tiles -----------------------------------------------------------------------------------------===//

  // Place after place, because where it lies is the same in all rows.
  void pack(const MatmulSpec::RowsOfA& r) {
    const int64_t channels = g_.in_features, depth = TileRegisters::kBytes / element_bytes(spec_.a_type), most_steps = channels / depth;
    llvm::Type *word = b_.getInt64Ty(), *line = k_.vector(b_.getInt8Ty(), TileRegisters::kBytes);
    IR firsts = k_.alloca_in_entry(word, r.count), seen = k_.alloca_in_entry(word, r.count);
    auto of_row = [&](IR array, IR i) { return b_.CreateInBoundsGEP(word, array, i); };
    k_.loop(k_.i64(0), k_.i64(r.count), [&](IR i) {
      b_.CreateStore(element_of_window(r.batch, k_.i64(0), r.row(i)), of_row(firsts, i));
      if (pads_) b_.CreateStore(places_in_input(r.row(i)), of_row(seen, i));
    });
    IR place = b_.CreateUDiv(r.k0, k_.i64(channels)), steps = spec_.k_run ? b_.CreateUDiv(r.k, k_.i64(depth)) : k_.i64(most_steps);
    k_.loop(k_.i64(0), b_.CreateUDiv(b_.CreateAdd(r.k, k_.i64(channels - 1)), k_.i64(channels)), [&](IR q) {
      IR offset = in_window(k_.add(r.k0, k_.mul(q, channels))), bit = b_.CreateShl(k_.i64(1), b_.CreateAdd(place, q));
      k_.loop(k_.i64(0), k_.i64(r.count), [&](IR i) {
        IR from = b_.CreateGEP(k_.memory_type(spec_.a_type), spec_.a, b_.CreateAdd(b_.CreateLoad(word, of_row(firsts, i)), offset)), apart = k_.i64(TileRegisters::kBytes);
        if (pads_) {
          IR inside = b_.CreateICmpNE(b_.CreateAnd(b_.CreateLoad(word, of_row(seen, i)), bit), k_.i64(0));
          from = b_.CreateSelect(inside, from, zeros()), apart = b_.CreateSelect(inside, apart, k_.i64(0));
        }
        k_.loop(k_.i64(0), steps, [&](IR step) {
          IR elements = b_.CreateAlignedLoad(line, b_.CreateGEP(b_.getInt8Ty(), from, b_.CreateMul(step, apart)), llvm::Align(1));
          b_.CreateAlignedStore(elements, r.place(k_.add(k_.mul(q, most_steps), step), i), llvm::Align(TileRegisters::kBytes));
        });
      });
    });
  }
  // Which places of the window of position m lie in the input, as bits.
  IR places_in_input(IR m) {
    auto at = delinearise(k_, positions_, b_.CreateURem(m, k_.i64(image_size_)));
    IR places = k_.i64(1);
    int64_t below = 1;
    for (size_t d = g_.axes.size(); d-- > 0;) {
      const Axis& a = g_.axes[d];
      IR x = k_.add(k_.mul(at[d].base, a.step), k_.i64(-a.low)), seen = k_.i64(0);
      for (int64_t i = 0; i < a.window; ++i) {
        IR inside = b_.CreateICmpULT(k_.add(x, k_.i64(i * a.dilation)), k_.i64(a.in));
        seen = b_.CreateOr(seen, b_.CreateSelect(inside, b_.CreateShl(places, i * below), k_.i64(0)));
      }
      places = seen, below *= a.window;
    }
    return places;
  }
  IR zeros() {
    if (!zeros_) {
      auto* type = llvm::ArrayType::get(b_.getInt8Ty(), TileRegisters::kBytes);
      auto* global = new llvm::GlobalVariable(k_.module, type, true, llvm::GlobalValue::PrivateLinkage, llvm::ConstantAggregateZero::get(type), "zeros");
      global->setAlignment(llvm::Align(TileRegisters::kBytes)), zeros_ = global;
    }
    return zeros_;
  }

  KernelContext& c_;
  MatmulSpec spec_;
  std::optional<Band> band_;
  bool pads_;
  IR zeros_ = nullptr;
};

bool counts_from(int64_t first, ArrayRef<int64_t> dimensions) { return llvm::equal(dimensions, llvm::seq<int64_t>(first, first + int64_t(dimensions.size()))); }
// Of [images, …, features], neither dilated input nor reversed.
bool is_of_images_with_channels_last(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  int64_t last = shaped(op).getRank() - 1;
  return last >= 2 && dims.getInputBatchDimension() == 0 && dims.getInputFeatureDimension() == last && dims.getOutputBatchDimension() == 0 && dims.getOutputFeatureDimension() == last &&
         counts_from(1, dims.getInputSpatialDimensions()) && counts_from(1, dims.getOutputSpatialDimensions()) && op.getBatchGroupCount() == 1 &&
         llvm::all_of(Geometry(op).axes, [](const Axis& a) { return a.base_dilation == 1 && !a.reversed; });
}
// And by a kernel [features, …, input features].
bool has_channels_last(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  return is_of_images_with_channels_last(op) && dims.getKernelOutputFeatureDimension() == 0 && dims.getKernelInputFeatureDimension() == shaped(op).getRank() - 1 && counts_from(1, dims.getKernelSpatialDimensions());
}

}  // namespace

bool is_channels_last(ConvolutionOp op) {
  return op->hasAttr(kChannelsLast) || is_depthwise_channels_last(op) || (element(op).isInteger(32) && bytes_of(op.getLhs()) && bytes_of(op.getRhs()) && !pads(op) && has_channels_last(op));
}

bool is_depthwise_channels_last(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  int64_t last = shaped(op).getRank() - 1, features = shaped(op).getShape().back();
  return is_of_images_with_channels_last(op) && isa<FloatType>(element(op)) && !element(op).isF64() && int64_t(op.getFeatureGroupCount()) == features && shaped(op.getLhs()).getShape().back() == features &&
         dims.getKernelOutputFeatureDimension() == last && dims.getKernelInputFeatureDimension() == last - 1 && counts_from(0, dims.getKernelSpatialDimensions());
}

void emit_channels_last(KernelContext& c, ConvolutionOp op, const Geometry& g) {
  if (is_depthwise_channels_last(op)) emit_depthwise_channels_last(c, op, g);
  else ChannelsLast(c, op, g).run_product();
}

}  // namespace cresset::cpu
