#include "cpu/prepare/simplify_convolution.h"

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/fusion.h"
#include "cpu/kept.h"
#include "cpu/prepare/quantised_operand.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

SmallVector<int64_t> padding_of(ConvolutionOp op) {
  return op.getPadding() ? llvm::to_vector(op.getPadding()->getValues<int64_t>()) : SmallVector<int64_t>(2 * op.getDimensionNumbers().getInputSpatialDimensions().size(), 0);
}
void set_padding(ConvolutionOp op, ArrayRef<int64_t> padding) {
  Builder b(op.getContext());
  op.setPaddingAttr(DenseIntElementsAttr::get(RankedTensorType::get({int64_t(padding.size() / 2), 2}, b.getI64Type()), padding));
}

namespace {

// Zeros around the image are the convolution's own padding; bytes less a number, of a depthwise one, around which this number is.
Value pad_in_convolution(ConvolutionOp op, PatternRewriter& r) {
  auto less = less_number(op.getLhs());
  ConvertOp bytes = less ? less->bytes : op.getLhs().getDefiningOp<ConvertOp>();
  const bool of_bytes = bytes && is_byte(element(bytes.getOperand())) && is_depthwise_channels_last(op);
  auto pad = (of_bytes ? bytes.getOperand() : op.getLhs()).getDefiningOp<PadOp>();
  auto negative = [](ArrayRef<int64_t> v) { return llvm::any_of(v, [](int64_t n) { return n < 0; }); };
  if (!pad || (of_bytes ? byte(pad.getPaddingValue()) != (less ? less->number : 0) : number(pad.getPaddingValue()) != 0.0) || negative(pad.getEdgePaddingLow()) || negative(pad.getEdgePaddingHigh())) return {};
  auto dims = op.getDimensionNumbers();
  auto spatial = dims.getInputSpatialDimensions();
  for (int64_t d = 0; d < shaped(pad).getRank(); ++d)
    if (pad.getInteriorPadding()[d] || (!llvm::is_contained(spatial, d) && shaped(pad).getDimSize(d) != shaped(pad.getOperand()).getDimSize(d))) return {};
  SmallVector<int64_t> padding = padding_of(op);
  for (auto [i, d] : llvm::enumerate(spatial)) {
    if (op.getLhsDilation() && (*op.getLhsDilation())[i] != 1) return {};
    padding[2 * i] += pad.getEdgePaddingLow()[d], padding[2 * i + 1] += pad.getEdgePaddingHigh()[d];
  }
  Value image = pad.getOperand();
  if (of_bytes) image = converted(image, element(op.getLhs()), r);
  if (less) image = SubtractOp::create(r, op.getLoc(), image, constant(shaped(image), less->number, r));
  auto result = cast<ConvolutionOp>(r.clone(*op));
  result.getLhsMutable().assign(image);
  set_padding(result, padding);
  return result;
}

int64_t floor_of(int64_t a, int64_t b) { return -ceil_of(-a, b); }

// Places at the ends of windows that meet nothing but padding: eight of nine, where an image has one element.
Value drop_places(ConvolutionOp op, PatternRewriter& r) {
  if (shaped(op).getNumElements() == 0) return {};
  auto dims = op.getDimensionNumbers();
  auto kernel = shaped(op.getRhs());
  SmallVector<int64_t> begin(kernel.getRank(), 0), end(kernel.getShape()), steps(kernel.getRank(), 1), padding = padding_of(op);
  for (auto [i, axis] : llvm::enumerate(Geometry(op).axes)) {
    const int64_t first = std::max<int64_t>(0, ceil_of(axis.low - (axis.out - 1) * axis.step, axis.dilation));
    const int64_t last = std::min(axis.window - 1, floor_of(axis.low + axis.reach() - 1, axis.dilation));
    if (first > last) return {};
    const int64_t d = dims.getKernelSpatialDimensions()[i];
    begin[d] = axis.reversed ? axis.window - 1 - last : first, end[d] = begin[d] + last - first + 1;
    padding[2 * i] -= first * axis.dilation, padding[2 * i + 1] -= (axis.window - 1 - last) * axis.dilation;
  }
  if (ArrayRef<int64_t>(end) == kernel.getShape()) return {};
  Value part = SliceOp::create(r, op.getLoc(), op.getRhs(), begin, end, steps);
  auto made = cast<ConvolutionOp>(r.clone(*op));
  made.getRhsMutable().assign(part);
  set_padding(made, padding);
  return made;
}

// Outputs at the ends whose windows meet nothing but padding, if that is most of them: in gradients of the kernels whose places those were.
Value drop_outputs(ConvolutionOp op, PatternRewriter& r) {
  if (shaped(op).getNumElements() == 0) return {};
  auto dims = op.getDimensionNumbers();
  const size_t rank = size_t(shaped(op).getRank());
  SmallVector<int64_t> shape(shaped(op).getShape()), before(rank, 0), behind(rank, 0), padding = padding_of(op);
  for (auto [i, axis] : llvm::enumerate(Geometry(op).axes)) {
    const int64_t first = std::max<int64_t>(0, ceil_of(axis.low - (axis.window - 1) * axis.dilation, axis.step)), end = std::min(axis.out, ceil_of(axis.low + axis.reach(), axis.step));
    if (first >= end) return {};
    const int64_t d = dims.getOutputSpatialDimensions()[i];
    shape[d] = end - first, before[d] = first, behind[d] = axis.out - end;
    padding[2 * i] -= first * axis.step, padding[2 * i + 1] -= behind[d] * axis.step;
  }
  if (2 * product(shape) > shaped(op).getNumElements()) return {};
  auto made = cast<ConvolutionOp>(r.clone(*op));
  set_padding(made, padding);
  made->getResult(0).setType(shaped(op).clone(shape));
  return PadOp::create(r, op.getLoc(), made, zero(element(op), op.getLoc(), r), before, behind, SmallVector<int64_t>(rank, 0));
}

// Of an input whose windows are dilated and don't move, as in the gradient of a kernel of one place that moves by more than one, what they see: their elements as neighbours.
Value take_seen_elements(ConvolutionOp op, PatternRewriter& r) {
  if (!isa<FloatType>(element(op.getLhs()))) return {};  // bytes are multiplied as they lie
  auto spatial = op.getDimensionNumbers().getInputSpatialDimensions();
  auto input = shaped(op.getLhs());
  SmallVector<int64_t> begin(input.getRank(), 0), end(input.getShape()), steps(input.getRank(), 1), padding = padding_of(op), dilations;
  for (auto [i, axis] : llvm::enumerate(Geometry(op).axes)) {
    dilations.push_back(1);
    if (axis.dilation == 1) continue;
    const int64_t first = -axis.low, last = first + (axis.window - 1) * axis.dilation, d = spatial[i];
    if (axis.out != 1 || axis.base_dilation != 1 || first < 0 || last >= axis.in) return {};
    begin[d] = first, end[d] = last + 1, steps[d] = axis.dilation;
    padding[2 * i] = padding[2 * i + 1] = 0;
  }
  if (llvm::all_of(steps, [](int64_t step) { return step == 1; })) return {};
  Value seen = SliceOp::create(r, op.getLoc(), op.getLhs(), begin, end, steps);
  auto made = cast<ConvolutionOp>(r.clone(*op));
  made.getLhsMutable().assign(seen);
  made.setRhsDilation(dilations);
  set_padding(made, padding);
  return made;
}

// A window as large as the image: a linear layer.
Value linear_layer(ConvolutionOp op, PatternRewriter& r) {
  auto dims = op.getDimensionNumbers();
  auto x = shaped(op.getLhs()), w = shaped(op.getRhs()), y = shaped(op);
  auto in_order = [](int64_t first, int64_t second, ArrayRef<int64_t> spatial) { return first == 0 && second == 1 && llvm::is_sorted(spatial); };
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1 || x.getShape().drop_front(2) != w.getShape().drop_front(2) || !all_ones(op.getLhsDilation()) ||
      !all_ones(op.getRhsDilation()) || llvm::any_of(padding_of(op), [](int64_t p) { return p != 0; }) ||
      (op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true)) ||
      x.getElementType() != w.getElementType() || !in_order(dims.getInputBatchDimension(), dims.getInputFeatureDimension(), dims.getInputSpatialDimensions()) ||
      !in_order(dims.getKernelOutputFeatureDimension(), dims.getKernelInputFeatureDimension(), dims.getKernelSpatialDimensions()) ||
      !in_order(dims.getOutputBatchDimension(), dims.getOutputFeatureDimension(), dims.getOutputSpatialDimensions()))
    return {};
  auto flat = [&](Value v, RankedTensorType t) -> Value {
    return ReshapeOp::create(r, op.getLoc(), RankedTensorType::get({t.getDimSize(0), t.getNumElements() / t.getDimSize(0)}, t.getElementType()), v);
  };
  auto contract = DotDimensionNumbersAttr::get(r.getContext(), {}, {}, {1}, {1});
  auto type = RankedTensorType::get({y.getDimSize(0), y.getDimSize(1)}, y.getElementType());
  Value product = DotGeneralOp::create(r, op.getLoc(), type, flat(op.getLhs(), x), flat(op.getRhs(), w), contract, ArrayAttr());
  return ReshapeOp::create(r, op.getLoc(), y, product);
}

// Of images of one element, as a generator begins with, each output meets another place of the window: a linear layer to all of them.
Value linear_layer_to_places(ConvolutionOp op, PatternRewriter& r) {
  auto dims = op.getDimensionNumbers();
  auto is_other_place = [](const Axis& a) { return a.in == 1 && a.step == 1 && a.dilation == 1 && a.out == a.window && a.low == a.window - 1; };
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1 || element(op.getLhs()) != element(op.getRhs()) || shaped(op).getNumElements() == 0 || !llvm::all_of(Geometry(op).axes, is_other_place) ||
      dims.getInputBatchDimension() != 0 || dims.getOutputBatchDimension() != 0 || dims.getOutputFeatureDimension() != 1 || !llvm::is_sorted(dims.getOutputSpatialDimensions()))
    return {};
  auto matrix = [&](Value v) -> Value {
    int64_t rows = shaped(v).getDimSize(0);
    return ReshapeOp::create(r, op.getLoc(), shaped(v).clone({rows, shaped(v).getNumElements() / rows}), v);
  };
  constexpr bool kBackwards = true;  // the first output meets the last place
  Value image = matrix(op.getLhs()), weights = matrix(ordered_kernel(op, dims.getKernelInputFeatureDimension(), dims.getKernelOutputFeatureDimension(), kBackwards, r));
  auto type = RankedTensorType::get({shaped(image).getDimSize(0), shaped(weights).getDimSize(1)}, element(op));
  Value product = DotGeneralOp::create(r, op.getLoc(), type, image, weights, DotDimensionNumbersAttr::get(r.getContext(), {}, {}, {1}, {0}), op.getPrecisionConfigAttr());
  return ReshapeOp::create(r, op.getLoc(), op.getType(), product);
}

}  // namespace

Value ordered_kernel(ConvolutionOp op, int64_t first, int64_t second, bool backwards, OpBuilder& b) {
  SmallVector<int64_t> order{first, second}, turned;
  llvm::append_range(order, op.getDimensionNumbers().getKernelSpatialDimensions());
  for (auto [i, axis] : llvm::enumerate(Geometry(op).axes))
    if (axis.reversed != backwards) turned.push_back(int64_t(i) + 2);
  Value kernel = TransposeOp::create(b, op.getLoc(), op.getRhs(), order);
  return turned.empty() ? kernel : Value(ReverseOp::create(b, op.getLoc(), kernel, turned));
}

void add_simplified_convolutions(RewritePatternSet& rules) {
  add_rule(rules, pad_in_convolution);
  add_rule(rules, drop_places);
  add_rule(rules, drop_outputs);
  add_rule(rules, take_seen_elements);
  add_rule(rules, linear_layer);
  add_rule(rules, linear_layer_to_places);
}

void read_kernels_as_they_lie(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kWeightAttribute)) return;  // transposed once for many calls
  function.walk([](ConvolutionOp op) {
    const Geometry g(op);
    // The gradient of a kernel of several places sums along rows of the outputs', which is its window.
    const bool is_gradient = g.image_size() > 1 && g.window_size() > g.image_size();
    if (is_gradient || is_channels_last(op) || !isa<FloatType>(element(op.getRhs()))) return;
    auto dims = op.getDimensionNumbers();
    int64_t in = dims.getKernelInputFeatureDimension(), out = dims.getKernelOutputFeatureDimension();
    auto spatial = llvm::to_vector(dims.getKernelSpatialDimensions());
    SmallVector<bool> reversed = llvm::map_to_vector(g.axes, [](const Axis& a) { return a.reversed; });
    while (Operation* source = op.getRhs().getDefiningOp()) {
      if (!source->hasOneUse() || !isa<TransposeOp, ReverseOp>(source)) break;
      if (auto reverse = dyn_cast<ReverseOp>(source)) {
        if (llvm::is_contained(reverse.getDimensions(), in) || llvm::is_contained(reverse.getDimensions(), out)) break;
        for (auto [d, r] : llvm::zip(spatial, reversed)) r ^= llvm::is_contained(reverse.getDimensions(), d);
      } else {
        auto from = cast<TransposeOp>(source).getPermutation();
        in = from[in], out = from[out];
        for (int64_t& d : spatial) d = from[d];
      }
      op.getRhsMutable().assign(source->getOperand(0));
      source->erase();
    }
    op.setDimensionNumbersAttr(ConvDimensionNumbersAttr::get(op.getContext(), dims.getInputBatchDimension(), dims.getInputFeatureDimension(), dims.getInputSpatialDimensions(), in, out, spatial,
                                                             dims.getOutputBatchDimension(), dims.getOutputFeatureDimension(), dims.getOutputSpatialDimensions()));
    op.setWindowReversalAttr(DenseBoolArrayAttr::get(op.getContext(), reversed));
  });
}

}  // namespace cresset::cpu
