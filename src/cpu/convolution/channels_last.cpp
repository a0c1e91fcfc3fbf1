// Convolution of bytes whose channels are neighbours: C[positions, features] = X[positions, window] · W[window, features]. A row of X, the window of a position, is read where it
// lies: each row of a window is a run of neighbours in memory, and one run is as far behind the one before for all positions. Nothing may lie in the padding.
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

class ChannelsLast : Windows {
 public:
  ChannelsLast(KernelContext& c, ConvolutionOp op, const Geometry& g) : Windows(c.k, g, nullptr, false), c_(c) {
    auto read = [&](Value v) {  // as i32 if somebody else wants the bytes so
      auto less = less_number(v);
      return c.slots.has(v) ? v : less && c.slots.has(less->bytes) ? Value(less->bytes) : bytes_of(v);
    };
    Value x = read(op.getLhs()), w = read(op.getRhs());
    spec_.batch = g.groups, spec_.m = g.images * image_size_, spec_.n = g.features, spec_.k = window_size_ * g.in_features;
    spec_.a_type = element(x), spec_.b_type = element(w), spec_.converted = g.in_type, spec_.type = g.out_type;
    spec_.a = c.buffer(x), spec_.b = c.buffer(w);
    if (auto less = less_number(op.getLhs()); less && x != op.getLhs()) spec_.a_zero = less->number;
    spec_.a_unit_k = spec_.b_unit_k = true;
    if (run() == spec_.k) return;
    Panels panels(k_, spec_);
    bool in_place = panels.a_lies_in_units() && g.in_features % panels.depth == 0;
    (in_place ? spec_.a_run : spec_.k_run) = run();
    if (in_place) spec_.k_unit = g.in_features;
  }

  void run_product() {
    spec_.a_offset = [this](IR group, IR m, IR k) { return k_.add(window_of(group, m), in_window(k)); };
    spec_.b_offset = [this](IR group, IR k, IR n) { return k_.add(k_.mul(k_.add(k_.mul(group, g_.features), n), spec_.k), k); };
    auto feature = [this](IR group, IR n) { return k_.add(k_.mul(group, g_.features), n); };
    spec_.store = [&](IR group, IR m, IR n, IR sum, int lanes) { emit_epilogue(c_, m, feature(group, n), sum, lanes); };
    spec_.prefetch = [&](IR group, IR m, IR n, bool to_write) { prefetch_epilogue(c_, m, feature(group, n), to_write); };
    spec_.streams = epilogue_streams(c_.fusion);
    emit_matmul(c_, spec_);
  }

 private:
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

  KernelContext& c_;
  MatmulSpec spec_;
};

}  // namespace

bool is_channels_last(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  int64_t last = shaped(op).getRank() - 1;
  auto in_order = [](ArrayRef<int64_t> spatial) { return llvm::equal(spatial, llvm::seq<int64_t>(1, int64_t(spatial.size()) + 1)); };
  if (last < 2 || dims.getInputBatchDimension() != 0 || dims.getInputFeatureDimension() != last || dims.getOutputBatchDimension() != 0 || dims.getOutputFeatureDimension() != last ||
      dims.getKernelOutputFeatureDimension() != 0 || dims.getKernelInputFeatureDimension() != last || !in_order(dims.getInputSpatialDimensions()) ||
      !in_order(dims.getKernelSpatialDimensions()) || !in_order(dims.getOutputSpatialDimensions()) || op.getBatchGroupCount() != 1)
    return false;
  if (!element(op).isInteger(32) || !bytes_of(op.getLhs()) || !bytes_of(op.getRhs())) return false;
  bool pads = op.getPadding() && llvm::any_of(op.getPadding()->getValues<int64_t>(), [](int64_t p) { return p != 0; });
  return !pads && llvm::all_of(Geometry(op).axes, [](const Axis& a) { return a.base_dilation == 1 && !a.reversed; });
}

void emit_channels_last(KernelContext& c, ConvolutionOp op, const Geometry& g) { ChannelsLast(c, op, g).run_product(); }

}  // namespace cresset::cpu
