#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/simplify_convolution.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Of an input that is dilated by s, every s-th output meets the same places of its window. These phases are s times as many features of a convolution of the input itself, which are put between one another afterwards
// (Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016). Output u·s + r, as counted from where that holds for all r, meets elements u + q of the input through places q·s + s-1-r of its window.
class PhasesAsFeatures {
 public:
  PhasesAsFeatures(ConvolutionOp op, const Geometry& g, PatternRewriter& r) : op_(op), g_(g), r_(r), loc_(op.getLoc()), axes_(int64_t(g.axes.size())) {
    for (const Axis& a : g.axes) along_.push_back(along(a));
  }

  // Few phases that differ much in their places are kernels of their own (Geometry::phases): all would be filled up to as many.
  static bool pays(const Geometry& g) {
    int64_t phases = 1, places = 1;
    for (const Axis& a : g.axes) phases *= a.base_dilation, places *= ceil_div(a.window, a.base_dilation) * std::min(a.window, a.base_dilation);
    return phases > Geometry::kMostPhases || (phases > 1 && 2 * places <= 3 * g.window_size());
  }

  Value made() {
    SmallVector<int64_t> padding = padding_of(op_), shape{shaped(op_).getDimSize(0), features() * met()};
    for (auto [i, a] : llvm::enumerate(g_.axes)) {
      shape.push_back(along_[i].count);
      if (a.base_dilation > 1) padding[2 * i] = along_[i].low, padding[2 * i + 1] = along_[i].count - a.in - along_[i].low + along_[i].places - 1;
    }
    auto spatial = llvm::to_vector(llvm::seq<int64_t>(2, axes_ + 2));
    Value of_phases = kernel();
    auto convolution = cast<ConvolutionOp>(r_.clone(*op_));
    convolution.getRhsMutable().assign(of_phases);
    convolution.setDimensionNumbersAttr(ConvDimensionNumbersAttr::get(r_.getContext(), 0, 1, spatial, 1, 0, spatial, 0, 1, spatial));
    convolution.removeLhsDilationAttr(), convolution.removeWindowReversalAttr();
    set_padding(convolution, padding);
    convolution->getResult(0).setType(shaped(op_).clone(shape));
    return interleaved(convolution);
  }

 private:
  struct Along {
    int64_t phases, met;  ///< met: so many of them, the last ones, meet a place of the window
    int64_t places;       ///< of each
    int64_t low, first, count;  ///< padding; outputs in front of those that are wanted; positions of a phase
  };
  static Along along(const Axis& a) {
    const int64_t s = a.base_dilation;
    if (s == 1) return {1, 1, a.window, a.low, 0, a.out};
    const int64_t low = ceil_of(a.low - s + 1, s), first = low * s + s - 1 - a.low;
    return {s, std::min(s, a.window), ceil_div(a.window, s), low, first, ceil_div(first + a.out, s)};
  }
  int64_t features() { return shaped(op_).getDimSize(1); }
  int64_t met() const {
    return std::accumulate(along_.begin(), along_.end(), int64_t(1), [](int64_t n, const Along& a) { return n * a.met; });
  }
  Value reshaped(Value v, ArrayRef<int64_t> shape) { return ReshapeOp::create(r_, loc_, shaped(v).clone(shape), v); }
  Value padded(Value v, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
    return PadOp::create(r_, loc_, v, zero(element(v), loc_, r_), low, high, SmallVector<int64_t>(low.size(), 0));
  }

  // [features, channels, window…] as [features · phase…, channels, places…].
  Value kernel() {
    auto dims = op_.getDimensionNumbers();
    Value kernel = ordered_kernel(op_, dims.getKernelOutputFeatureDimension(), dims.getKernelInputFeatureDimension(), false, r_);
    const int64_t channels = shaped(kernel).getDimSize(1);
    SmallVector<int64_t> none(axes_ + 2, 0), filled(none), split{features(), channels}, phases, front{0}, back{1}, joined{features() * met(), channels};
    for (auto [i, a] : llvm::enumerate(along_)) {
      const int64_t d = 2 + 2 * int64_t(i);
      filled[i + 2] = a.places * a.met - g_.axes[i].window, split.append({a.places, a.met}), joined.push_back(a.places);
      phases.push_back(d + 1), front.push_back(d + 1), back.push_back(d);
    }
    llvm::append_range(front, back);
    kernel = ReverseOp::create(r_, loc_, reshaped(padded(kernel, none, filled), split), phases);
    return reshaped(TransposeOp::create(r_, loc_, kernel, front), joined);
  }

  // [images, features · phase…, positions…] as the outputs.
  Value interleaved(Value v) {
    const int64_t images = shaped(op_).getDimSize(0);
    SmallVector<int64_t> split{images, features()}, none(2 * axes_ + 2, 0), blind(none), order{0, 1}, joined(split), begin(axes_ + 2, 0), end(split), ones(axes_ + 2, 1);
    for (auto [i, a] : llvm::enumerate(along_)) {
      const int64_t d = int64_t(i) + 2;
      split.push_back(a.met), blind[d] = a.phases - a.met, order.append({d + axes_, d});
      joined.push_back(a.phases * a.count), begin[d] = a.first, end.push_back(a.first + g_.axes[i].out);
    }
    for (const Along& a : along_) split.push_back(a.count);
    v = TransposeOp::create(r_, loc_, padded(reshaped(v, split), blind, none), order);
    return SliceOp::create(r_, loc_, reshaped(v, joined), begin, end, ones);
  }

  ConvolutionOp op_;
  const Geometry& g_;
  PatternRewriter& r_;
  Location loc_;
  const int64_t axes_;
  SmallVector<Along> along_;
};

}  // namespace

Value phases_as_features(ConvolutionOp op, PatternRewriter& r) {
  auto dims = op.getDimensionNumbers();
  const Geometry g(op);
  auto fits = [](const Axis& a) { return a.base_dilation == 1 || (a.step == 1 && a.dilation == 1); };
  const bool of_planes = dims.getInputBatchDimension() == 0 && dims.getInputFeatureDimension() == 1 && llvm::is_sorted(dims.getInputSpatialDimensions()) && dims.getOutputBatchDimension() == 0 &&
                         dims.getOutputFeatureDimension() == 1 && llvm::is_sorted(dims.getOutputSpatialDimensions());
  return of_planes && shaped(op).getNumElements() > 0 && g.window_size() > 0 && op.getBatchGroupCount() == 1 && llvm::all_of(g.axes, fits) && PhasesAsFeatures::pays(g) ? PhasesAsFeatures(op, g, r).made() : Value();
}

}  // namespace cresset::cpu
