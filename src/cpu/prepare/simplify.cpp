#include "cpu/prepare/simplify.h"

#include <cmath>

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/prepare/bitcasts.h"
#include "cpu/prepare/cancel_transposes.h"
#include "cpu/prepare/channels_first.h"
#include "cpu/prepare/channels_last.h"
#include "cpu/prepare/depthwise_channels_last.h"
#include "cpu/prepare/empty.h"
#include "cpu/fusion.h"
#include "cpu/prepare/join_products.h"
#include "cpu/prepare/move_reshapes.h"
#include "cpu/prepare/narrow_integers.h"
#include "cpu/prepare/quantised.h"
#include "cpu/prepare/quantised_operand.h"
#include "cpu/prepare/ranges.h"
#include "cpu/prepare/reductions.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/row_gathers.h"
#include "cpu/prepare/simplify_convolution.h"
#include "cpu/prepare/sink_pads.h"
#include "cpu/prepare/sink_transposes.h"
#include "cpu/prepare/windows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// A broadcast whose dimensions survive the reshape.
Value reshape_broadcast(ReshapeOp op, BroadcastInDimOp broadcast, PatternRewriter& r) {
  auto from = shaped(broadcast).getShape(), to = shaped(op).getShape(), source = shaped(broadcast.getOperand()).getShape();
  SmallVector<int64_t> kept, dims;
  for (auto [size, d] : llvm::zip(source, broadcast.getBroadcastDimensions())) {
    if (size == 1) continue;
    int64_t after = product(from.drop_front(d + 1)), u = int64_t(to.size());
    while (u > 0 && product(to.drop_front(u)) < after) --u;
    while (u > 0 && to[u - 1] == 1 && size != 1) --u;
    if (u == 0 || to[u - 1] != size || product(to.drop_front(u)) != after) return {};
    kept.push_back(size);
    dims.push_back(u - 1);
  }
  if (!llvm::is_sorted(dims)) return {};
  Value operand = broadcast.getOperand();
  if (kept.size() != source.size()) operand = ReshapeOp::create(r, op.getLoc(), RankedTensorType::get(kept, shaped(op).getElementType()), operand);
  return BroadcastInDimOp::create(r, op.getLoc(), op.getType(), operand, r.getDenseI64ArrayAttr(dims));
}

Value simplify_reshape(ReshapeOp op, PatternRewriter& r) {
  Value from = op.getOperand();
  if (from.getType() == op.getType()) return from;
  if (auto inner = from.getDefiningOp<ReshapeOp>()) return ReshapeOp::create(r, op.getLoc(), op.getType(), inner.getOperand());
  if (auto s = splat(from)) return ConstantOp::create(r, op.getLoc(), cast<ElementsAttr>(Attribute(s.resizeSplat(op.getType()))));
  if (auto broadcast = from.getDefiningOp<BroadcastInDimOp>(); broadcast && shaped(broadcast).getNumElements() != shaped(broadcast.getOperand()).getNumElements())
    return reshape_broadcast(op, broadcast, r);
  return {};
}

SmallVector<int64_t> sizes_between(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  return llvm::map_to_vector(llvm::zip(from, to), [](auto bounds) { return std::get<1>(bounds) - std::get<0>(bounds); });
}

// What a slice with these bounds leaves of `v`, where that is a convolution, or comes from one by element-wise operations, and nobody sees the rest (causal convolutions are cut like
// that): then only that part is computed. Null elsewhere.
Value part_of_convolution(Value v, ArrayRef<int64_t> from, ArrayRef<int64_t> to, PatternRewriter& r);

Value part_of_result(ConvolutionOp op, ArrayRef<int64_t> from, ArrayRef<int64_t> to, PatternRewriter& r) {
  auto dims = op.getDimensionNumbers();
  auto x = shaped(op.getLhs()), w = shaped(op.getRhs()), y = shaped(op);
  ArrayRef<int64_t> spatial = dims.getOutputSpatialDimensions();
  SmallVector<int64_t> sizes = sizes_between(from, to), padding = padding_of(op);
  for (int64_t d = 0; d < y.getRank(); ++d)
    if (!llvm::is_contained(spatial, d) && sizes[d] != y.getDimSize(d)) return {};
  for (auto [i, d] : llvm::enumerate(spatial)) {
    int64_t step = or_one(op.getWindowStrides(), i), in = (x.getDimSize(dims.getInputSpatialDimensions()[i]) - 1) * or_one(op.getLhsDilation(), i) + 1;
    int64_t window = (w.getDimSize(dims.getKernelSpatialDimensions()[i]) - 1) * or_one(op.getRhsDilation(), i) + 1;
    padding[2 * i] -= from[d] * step;
    padding[2 * i + 1] = (sizes[d] - 1) * step + window - in - padding[2 * i];
  }
  auto part = cast<ConvolutionOp>(r.clone(*op));
  set_padding(part, padding);
  part->getResult(0).setType(y.clone(sizes));
  return part;
}
// Dimensions of size 1 come and go.
Value part_of_reshaped(ReshapeOp op, ArrayRef<int64_t> from, ArrayRef<int64_t> to, PatternRewriter& r) {
  auto shape = shaped(op).getShape(), before = shaped(op.getOperand()).getShape();
  auto squeezed = [](ArrayRef<int64_t> shape) { return llvm::to_vector(llvm::make_filter_range(shape, [](int64_t size) { return size != 1; })); };
  if (squeezed(shape) != squeezed(before)) return {};
  SmallVector<int64_t> first(before.size(), 0), last(before.size(), 1);
  for (size_t d = 0, b = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    while (before[b] == 1) ++b;
    first[b] = from[d], last[b++] = to[d];
  }
  Value part = part_of_convolution(op.getOperand(), first, last, r);
  return part ? ReshapeOp::create(r, op.getLoc(), shaped(op).clone(sizes_between(from, to)), part) : Value();
}
Value part_of_convolution(Value v, ArrayRef<int64_t> from, ArrayRef<int64_t> to, PatternRewriter& r) {
  Operation* op = v.getDefiningOp();
  if (!op || !op->hasOneUse()) return {};
  if (auto convolution = dyn_cast<ConvolutionOp>(op)) return part_of_result(convolution, from, to, r);
  if (auto reshape = dyn_cast<ReshapeOp>(op)) return part_of_reshaped(reshape, from, to, r);
  if (!is_elementwise(op)) return {};
  auto is_alike = [&](Value x) { return shaped(x).getShape() == shaped(v).getShape(); };
  IRMapping parts;
  for (Value x : op->getOperands())
    if (Value part = is_alike(x) ? part_of_convolution(x, from, to, r) : Value()) {
      parts.map(x, part);
      break;
    }
  if (parts.getValueMap().empty()) return {};
  for (Value x : op->getOperands())
    if (is_alike(x) && !parts.contains(x)) parts.map(x, SliceOp::create(r, op->getLoc(), x, from, to, SmallVector<int64_t>(from.size(), 1)));
  Operation* part = r.clone(*op, parts);
  part->getResult(0).setType(shaped(v).clone(sizes_between(from, to)));
  return part->getResult(0);
}

Value simplify_transpose(TransposeOp op, PatternRewriter& r) {
  Value from = op.getOperand();
  if (auto s = splat(from)) return ConstantOp::create(r, op.getLoc(), cast<ElementsAttr>(Attribute(s.resizeSplat(op.getType()))));
  SmallVector<int64_t> moved;  // dimensions of size 1 may go anywhere
  for (int64_t d : op.getPermutation())
    if (shaped(from).getDimSize(d) != 1) moved.push_back(d);
  if (llvm::is_sorted(moved)) return from.getType() == op.getType() ? from : Value(ReshapeOp::create(r, op.getLoc(), op.getType(), from));
  if (auto inner = from.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t d : op.getPermutation()) composed.push_back(inner.getPermutation()[d]);
    return TransposeOp::create(r, op.getLoc(), inner.getOperand(), composed);
  }
  if (auto reverse = from.getDefiningOp<ReverseOp>(); reverse && (reverse->hasOneUse() || reverse.getOperand().getDefiningOp<TransposeOp>())) {  // so that transposes meet
    Value transposed = TransposeOp::create(r, op.getLoc(), reverse.getOperand(), op.getPermutation());
    SmallVector<int64_t> dims;
    for (auto [d, source] : llvm::enumerate(op.getPermutation()))
      if (llvm::is_contained(reverse.getDimensions(), source)) dims.push_back(int64_t(d));
    return ReverseOp::create(r, op.getLoc(), transposed, dims);
  }
  return {};
}

Value simplify_broadcast(BroadcastInDimOp op, PatternRewriter& r) {
  Value from = op.getOperand();
  auto dims = op.getBroadcastDimensions();
  if (from.getType() == op.getType() && llvm::is_sorted(dims)) return from;
  if (auto s = splat(from)) return ConstantOp::create(r, op.getLoc(), cast<ElementsAttr>(Attribute(s.resizeSplat(op.getType()))));
  if (auto inner = from.getDefiningOp<BroadcastInDimOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t d : inner.getBroadcastDimensions()) composed.push_back(dims[d]);
    return BroadcastInDimOp::create(r, op.getLoc(), op.getType(), inner.getOperand(), r.getDenseI64ArrayAttr(composed));
  }
  if (auto inner = from.getDefiningOp<ReshapeOp>()) {
    // A reshape that only adds dimensions of size 1 is part of the broadcast.
    auto before = shaped(inner.getOperand()).getShape(), after = shaped(inner).getShape();
    SmallVector<int64_t> composed;
    size_t i = 0;
    for (size_t d = 0; d < after.size(); ++d)
      if (i < before.size() && before[i] == after[d]) composed.push_back(dims[d]), ++i;
      else if (after[d] != 1) return {};
    if (i == before.size()) return BroadcastInDimOp::create(r, op.getLoc(), op.getType(), inner.getOperand(), r.getDenseI64ArrayAttr(composed));
  }
  // Nothing is repeated: dimensions of size 1 are added.
  if (shaped(from).getNumElements() == shaped(op).getNumElements() && llvm::is_sorted(dims))
    return ReshapeOp::create(r, op.getLoc(), op.getType(), from);
  return {};
}

Value simplify_maximum(MaxOp op, PatternRewriter&) {
  auto [x, c] = scaled_by_number(op);
  return x && c == 0 && least(x) >= 0 ? x : Value();
}
Value simplify_convert(ConvertOp op, PatternRewriter& r) {
  Value from = op.getOperand();
  if (from.getType() == op.getType()) return from;
  // Quantised by way of i64, for which vectors have few lanes.
  if (auto wide = from.getDefiningOp<ConvertOp>(); wide && element(wide).isInteger(64) && isa<IntegerType>(element(op)) && isa<FloatType>(element(wide.getOperand())) && is_within_i32(wide.getOperand()))
    return ConvertOp::create(r, op.getLoc(), op.getType(), ConvertOp::create(r, op.getLoc(), shaped(op).clone(r.getI32Type()), wide.getOperand()));
  auto s = splat(from);
  Type to = shaped(op).getElementType();
  if (!s || !isa<FloatType>(to)) return {};
  APFloat value(0.0);
  if (isa<FloatType>(s.getElementType())) value = s.getSplatValue<APFloat>();
  else {
    value = APFloat(APFloat::IEEEdouble());
    value.convertFromAPInt(s.getSplatValue<APInt>(), s.getElementType().isSignlessInteger() && !s.getElementType().isInteger(1), APFloat::rmNearestTiesToEven);
  }
  bool lost;
  value.convert(cast<FloatType>(to).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return ConstantOp::create(r, op.getLoc(), DenseElementsAttr::get(shaped(op), value));
}

// Of what has one element nothing is reversed: the windows of 1 x 1 convolutions. Nor what is so twice.
Value simplify_reverse(ReverseOp op, PatternRewriter& r) {
  SmallVector<int64_t> dims(op.getDimensions());
  if (auto twice = op.getOperand().getDefiningOp<ReverseOp>(); twice && twice.getDimensions() == op.getDimensions()) return twice.getOperand();
  llvm::erase_if(dims, [&](int64_t d) { return shaped(op).getDimSize(d) == 1; });
  if (dims.empty()) return op.getOperand();
  return dims.size() < op.getDimensions().size() ? ReverseOp::create(r, op.getLoc(), op.getOperand(), dims) : Value();
}
// One of the parts, or a slice of it.
Value slice_of_part(SliceOp op, ConcatenateOp from, PatternRewriter& r) {
  const int64_t dim = int64_t(from.getDimension());
  int64_t before = 0;
  for (Value part : from.getInputs()) {
    const int64_t begin = op.getStartIndices()[dim] - before, end = op.getLimitIndices()[dim] - before;
    before += shaped(part).getDimSize(dim);
    if (begin < 0 || begin >= shaped(part).getDimSize(dim) || end > shaped(part).getDimSize(dim)) continue;
    SmallVector<int64_t> begins(op.getStartIndices()), ends(op.getLimitIndices());
    begins[dim] = begin, ends[dim] = end;
    return SliceOp::create(r, op.getLoc(), op.getType(), part, begins, ends, op.getStrides());
  }
  return {};
}
bool is_dense(SliceOp op) { return llvm::all_of(op.getStrides(), [](int64_t s) { return s == 1; }); }
// Of what has just been written there.
Value slice_of_update(SliceOp op, DynamicUpdateSliceOp from, PatternRewriter& r) {
  auto starts = constant_starts(from);
  if (!starts) return {};
  SmallVector<int64_t> begin, end;
  for (auto [first, size, low, high] : llvm::zip(*starts, shaped(from.getUpdate()).getShape(), op.getStartIndices(), op.getLimitIndices())) {
    if (low < first || high > first + size) return {};
    begin.push_back(low - first), end.push_back(high - first);
  }
  return SliceOp::create(r, op.getLoc(), from.getUpdate(), begin, end, op.getStrides());
}
Value simplify_slice(SliceOp op, PatternRewriter& r) {
  if (op.getOperand().getType() == op.getType()) return op.getOperand();
  if (auto from = op.getOperand().getDefiningOp<ConcatenateOp>())
    if (Value part = slice_of_part(op, from, r)) return part;
  if (auto from = op.getOperand().getDefiningOp<DynamicUpdateSliceOp>())
    if (Value part = slice_of_update(op, from, r)) return part;
  return is_dense(op) ? part_of_convolution(op.getOperand(), op.getStartIndices(), op.getLimitIndices(), r) : Value();
}
Value simplify_concatenate(ConcatenateOp op, PatternRewriter&) { return op.getInputs().size() == 1 ? op.getInputs()[0] : Value(); }
Value simplify_pad(PadOp op, PatternRewriter&) {
  auto is_zero = [](int64_t p) { return p == 0; };
  return op.getOperand().getType() == op.getType() && llvm::all_of(op.getEdgePaddingLow(), is_zero) && llvm::all_of(op.getInteriorPadding(), is_zero) ? op.getOperand() : Value();
}

// Whether what is written is one of each pair along the last dimension.
bool is_of_pairs(RankedTensorType array, RankedTensorType update) {
  return array.getRank() > 0 && array.getShape().back() == 2 && update.getShape().back() == 1 && array.getShape().drop_back() == update.getShape().drop_back();
}

// What is left by a quotient that is there, too: a division takes as long as the rest of a kernel of integers.
Value simplify_remainder(RemOp op, PatternRewriter& r) {
  if (!element(op).isInteger()) return {};
  auto quotient = llvm::find_if(op.getLhs().getUsers(), [&](Operation* user) { return isa<DivOp>(user) && user->getOperands() == op.getOperands() && user->getBlock() == op->getBlock() && user->isBeforeInBlock(op); });
  if (quotient == op.getLhs().user_end()) return {};
  return SubtractOp::create(r, op.getLoc(), op.getLhs(), MulOp::create(r, op.getLoc(), (*quotient)->getResult(0), op.getRhs()));
}

// All of an array, one of each of its pairs, or most of what is one number elsewhere.
Value simplify_update(DynamicUpdateSliceOp op, PatternRewriter& r) {
  auto array = shaped(op), update = shaped(op.getUpdate());
  if (array == update) return op.getUpdate();
  auto before = constant_starts(op);
  if (!before) return {};
  // What lies there is not written again, and what is written over not before.
  auto slice = op.getUpdate().getDefiningOp<SliceOp>();
  if (slice && slice.getOperand() == op.getOperand() && slice.getStartIndices() == ArrayRef(*before) && is_dense(slice)) return op.getOperand();
  auto inner = op.getOperand().getDefiningOp<DynamicUpdateSliceOp>();
  if (inner && inner->hasOneUse() && inner.getUpdate().getType() == op.getUpdate().getType() && constant_starts(inner) == before)
    return DynamicUpdateSliceOp::create(r, op.getLoc(), array, inner.getOperand(), op.getUpdate(), op.getStartIndices());
  if (is_of_pairs(array, update)) {
    SmallVector<int64_t> begin(array.getRank(), 0), end(array.getShape()), ones(array.getRank(), 1);
    begin.back() = 1 - before->back(), end.back() = begin.back() + 1;
    Value other = SliceOp::create(r, op.getLoc(), op.getOperand(), begin, end, ones), first = op.getUpdate(), second = other;
    if (before->back() == 1) std::swap(first, second);
    return ConcatenateOp::create(r, op.getLoc(), array, ValueRange{first, second}, uint64_t(array.getRank() - 1));
  }
  auto background = splat(op.getOperand());
  if (!background || 2 * update.getNumElements() < array.getNumElements()) return {};
  SmallVector<int64_t> behind, none(before->size(), 0);
  for (auto [whole, part, first] : llvm::zip(array.getShape(), update.getShape(), *before)) behind.push_back(whole - part - first);
  Value number = ConstantOp::create(r, op.getLoc(), background.resizeSplat(RankedTensorType::get({}, array.getElementType())));
  return PadOp::create(r, op.getLoc(), op.getUpdate(), number, *before, behind, none);
}

Value constant_like(Value v, float c, PatternRewriter& r) { return ConstantOp::create(r, v.getLoc(), DenseElementsAttr::get(shaped(v), c)); }

// x + 0 is not x for x = -0, but PyTorch's own fast paths and compilers agree to ignore that sign.
Value simplify_add(AddOp op, PatternRewriter& r) {
  if (number(op.getRhs()) == 0.0) return op.getLhs();
  if (number(op.getLhs()) == 0.0) return op.getRhs();
  if (!shaped(op).getElementType().isF32()) return {};
  auto mul = [&](Value x, Value y) -> Value { return MulOp::create(r, op.getLoc(), x, y); };
  // tanh(u) + 1, in gelu, is 2 logistic(2u), which costs a polynomial less and keeps its digits where tanh is near -1.
  auto [tanh, one] = scaled_by_number<AddOp>(op);
  if (tanh && one == 1.0 && tanh.getDefiningOp<TanhOp>() && tanh.hasOneUse()) {
    Value two = constant_like(op, 2, r);
    return mul(LogisticOp::create(r, op.getLoc(), mul(tanh.getDefiningOp<TanhOp>().getOperand(), two)), two);
  }
  // x + c x³ (there, too) is x (c x² + 1); with c below 0 the sum of two infinities would be lost.
  auto [cube, c] = scaled_by_number<MulOp>(op.getRhs().getDefiningOp<MulOp>());
  auto outer = cube ? cube.getDefiningOp<MulOp>() : MulOp();
  auto square = outer ? outer.getLhs().getDefiningOp<MulOp>() : MulOp();
  Value x = op.getLhs();
  if (square && c > 0 && outer.getRhs() == x && square.getLhs() == x && square.getRhs() == x && outer->hasOneUse())
    return mul(x, AddOp::create(r, op.getLoc(), mul(square, constant_like(op, c, r)), constant_like(op, 1, r)));
  return {};
}
Value simplify_subtract(SubtractOp op, PatternRewriter&) { return number(op.getRhs()) == 0.0 ? op.getLhs() : Value(); }
// By these nothing is rounded, but what is next to 0.
bool is_power(double c) { return std::abs(c) >= 0x1p-20 && std::abs(c) <= 0x1p20 && std::exp2(std::round(std::log2(std::abs(c)))) == std::abs(c); }
Value simplify_multiply(MulOp op, PatternRewriter& r) {
  if (number(op.getRhs()) == 1.0) return op.getLhs();
  if (number(op.getLhs()) == 1.0) return op.getRhs();
  if (!shaped(op).getElementType().isF32()) return {};
  if (auto a = number(op.getLhs()), b = number(op.getRhs()); a && b) return constant_like(op, float(*a * *b), r);
  auto mul = [&](Value x, Value y) -> Value { return MulOp::create(r, op.getLoc(), x, y); };
  auto single = [](Value v) { return v.hasOneUse() ? v.getDefiningOp<MulOp>() : MulOp(); };
  // Powers of two are exact wherever they stand: with another number, or against each other.
  if (auto [v, c] = scaled_by_number<MulOp>(op); v && is_power(c)) {
    auto [x, d] = scaled_by_number<MulOp>(single(v));
    if (x && std::isnormal(float(c * d))) return mul(x, constant_like(op, c * d, r));
  } else if (!v) {
    auto [x, c1] = scaled_by_number<MulOp>(single(op.getLhs()));
    auto [y, c2] = scaled_by_number<MulOp>(single(op.getRhs()));
    if (x && y && is_power(c1) && is_power(c2) && c1 * c2 == 1) return mul(x, y);
  }
  return {};
}
// A value before it was repeated along other dimensions.
Value unrepeated(Value v) {
  while (Operation* op = v.getDefiningOp())
    if (isa<BroadcastInDimOp, ReshapeOp>(op)) v = op->getOperand(0);
    else break;
  return v;
}
// The sum of exp(x - max x): at least 1, so that its reciprocal is exact enough for every divided element.
bool is_softmax_sum(Value v) {
  auto sum = v.getDefiningOp<ReduceOp>();
  auto e = sum && sum.getInputs().size() == 1 ? sum.getInputs()[0].getDefiningOp<ExpOp>() : ExpOp();
  if (!e || !is_less_its_maximum(e.getOperand()) || !isa<AddOp>(sum.getBody().front().front())) return false;
  auto largest = unrepeated(e.getOperand().getDefiningOp<SubtractOp>().getRhs()).getDefiningOp<ReduceOp>();
  return largest && largest.getDimensions() == sum.getDimensions();
}
Value simplify_divide(DivOp op, PatternRewriter& r) {
  auto divisor = number(op.getRhs());
  if (divisor == 1.0) return op.getLhs();
  if (divisor && is_power(*divisor) && shaped(op).getElementType().isF32()) return MulOp::create(r, op.getLoc(), op.getLhs(), constant_like(op, 1 / *divisor, r));
  auto repeated = op.getRhs().getDefiningOp<BroadcastInDimOp>();
  if (!repeated || !shaped(op).getElementType().isF32() || !is_softmax_sum(unrepeated(repeated))) return {};
  auto type = shaped(repeated.getOperand());
  Value one = ConstantOp::create(r, op.getLoc(), DenseElementsAttr::get(type, 1.0f));
  Value reciprocal = DivOp::create(r, op.getLoc(), one, repeated.getOperand());
  return MulOp::create(r, op.getLoc(), op.getLhs(), BroadcastInDimOp::create(r, op.getLoc(), repeated.getType(), reciprocal, repeated.getBroadcastDimensionsAttr()));
}

// Products of bf16s (f16s) are exact in f32, so operands that were widened to it are multiplied as they were: packing widens them, or takes pairs of them.
// Of two element types the wider serves for both: what is added is exact.
Value simplify_dot(DotGeneralOp op, PatternRewriter& r) {
  auto type = [](Value v) { return dyn_cast<FloatType>(shaped(v).getElementType()); };
  auto dot = [&](Value x, Value y) -> Value { return DotGeneralOp::create(r, op.getLoc(), op.getType(), x, y, op.getDotDimensionNumbers(), op.getPrecisionConfigAttr()); };
  Value x = op.getLhs(), y = op.getRhs();
  auto narrow = [&](Value v) {
    auto convert = v.getDefiningOp<ConvertOp>();
    auto from = convert ? type(convert.getOperand()) : FloatType();
    return from && type(v) && type(v).isF32() && (from.isBF16() || from.isF16()) ? convert.getOperand() : Value();
  };
  if (Value a = narrow(x), b = narrow(y); a && b && type(a) == type(b) && type(op).isF32()) return dot(a, b);
  if (!type(x) || !type(y) || type(x) == type(y)) return {};
  FloatType wide = type(x).getFPMantissaWidth() >= type(y).getFPMantissaWidth() ? type(x) : type(y);
  if (wide.isF16() || wide.isBF16()) wide = r.getF32Type();  // neither holds the other
  auto widened = [&](Value v) { return type(v) == wide ? v : Value(ConvertOp::create(r, op.getLoc(), shaped(v).clone(wide), v)); };
  return dot(widened(x), widened(y));
}

// The dimensions of a transposed array that a reshape makes the dimension `dim`, but those of size 1.
struct Factors {
  TransposeOp transpose;
  SmallVector<int64_t> dims;
  SmallVector<int64_t> sources() {
    return llvm::map_to_vector(dims, [&](int64_t d) { return transpose.getPermutation()[d]; });
  }
  SmallVector<int64_t> sizes() {
    return llvm::map_to_vector(dims, [&](int64_t d) { return shaped(transpose).getDimSize(d); });
  }
};
std::optional<Factors> factors_of(Value v, int64_t dim) {
  auto reshape = v.getDefiningOp<ReshapeOp>();
  auto transpose = reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!transpose) return std::nullopt;
  auto shape = shaped(v).getShape();
  int64_t begin = product(shape.take_front(dim)), end = begin * shape[dim], before = 1;
  Factors f{transpose, {}};
  for (auto [d, size] : llvm::enumerate(shaped(transpose).getShape())) {
    if (size == 1) continue;
    int64_t after = before * size;
    if (before >= begin && after <= end) f.dims.push_back(int64_t(d));
    else if (before < end && after > begin) return std::nullopt;  // it is part of another one too
    before = after;
  }
  return f;
}

// In which order terms are added is free: as both operands have them in memory, if an einsum has reordered both. Else its weights are transposed in every call.
Value order_terms(DotGeneralOp op, PatternRewriter& r) {
  auto dims = op.getDotDimensionNumbers();
  if (dims.getLhsContractingDimensions().size() != 1) return {};
  auto x = factors_of(op.getLhs(), dims.getLhsContractingDimensions()[0]), y = factors_of(op.getRhs(), dims.getRhsContractingDimensions()[0]);
  if (!x || !y || x->sizes() != y->sizes()) return {};
  auto order = llvm::to_vector(llvm::seq<size_t>(0, y->dims.size()));
  llvm::sort(order, [&](size_t a, size_t b) { return y->sources()[a] < y->sources()[b]; });
  if (llvm::is_sorted(order) || !llvm::is_sorted(llvm::map_range(order, [&](size_t i) { return x->sources()[i]; }))) return {};
  auto ordered = [&](Value v, Factors& f) -> Value {
    auto permutation = llvm::to_vector(f.transpose.getPermutation());
    for (auto [d, i] : llvm::zip(f.dims, order)) permutation[d] = f.sources()[i];
    return ReshapeOp::create(r, op.getLoc(), v.getType(), TransposeOp::create(r, op.getLoc(), f.transpose.getOperand(), permutation));
  };
  Value left = ordered(op.getLhs(), *x), right = ordered(op.getRhs(), *y);
  return DotGeneralOp::create(r, op.getLoc(), op.getType(), left, right, dims, op.getPrecisionConfigAttr());
}

// The exponents that eager PyTorch computes by multiplication as well.
Value simplify_power(PowOp op, PatternRewriter& r) {
  auto exponent = number(op.getRhs());
  if (!exponent || !isa<FloatType>(shaped(op).getElementType())) return {};
  Value x = op.getLhs();
  auto mul = [&](Value a, Value b) -> Value { return MulOp::create(r, op.getLoc(), a, b); };
  if (*exponent == 1.0) return x;
  if (*exponent == 2.0) return mul(x, x);
  if (*exponent == 3.0) return mul(mul(x, x), x);
  if (*exponent == 0.5) return SqrtOp::create(r, op.getLoc(), x);
  if (*exponent == -0.5) return RsqrtOp::create(r, op.getLoc(), x);
  return {};
}

// X A = B is the same as Aᵀ Xᵀ = Bᵀ, which the kernel solves row by row.
Value matrix_on_the_left(TriangularSolveOp op, PatternRewriter& r) {
  if (op.getLeftSide()) return {};
  int64_t rank = shaped(op).getRank();
  auto swapped = llvm::to_vector(llvm::seq(rank));
  std::swap(swapped[rank - 2], swapped[rank - 1]);
  auto transpose = op.getTransposeA() == Transpose::NO_TRANSPOSE ? Transpose::TRANSPOSE : Transpose::NO_TRANSPOSE;  // of real numbers
  Value b = TransposeOp::create(r, op.getLoc(), op.getB(), swapped);
  Value x = TriangularSolveOp::create(r, op.getLoc(), b.getType(), op.getA(), b, true, op.getLower(), op.getUnitDiagonal(), transpose);
  return TransposeOp::create(r, op.getLoc(), x, swapped);
}

// The gradient of an embedding: updates that are added to a few rows of many zeros. The rows that are touched are summed up in a small table, and each row of
// the result looks up its own there, or one of zeros, wherever it is used: nothing as large as the weight is filled or added to.
Value simplify_scatter(ScatterOp op, PatternRewriter& r) {
  if (op.getInputs().size() != 1) return {};
  auto dims = op.getScatterDimensionNumbers();
  auto input = shaped(op.getInputs()[0]), update = shaped(op.getUpdates()[0]), indices = shaped(op.getScatterIndices());
  Operation* reducer = simple_reducer(op.getUpdateComputation().front());
  int64_t rank = input.getRank(), batch_rank = update.getRank() - rank + 1, count = product(update.getShape().take_front(std::max<int64_t>(batch_rank, 0)));
  auto trailing = [&](ArrayRef<int64_t> d) { return llvm::equal(d, llvm::seq<int64_t>(batch_rank, update.getRank())); };
  if (number(op.getInputs()[0]) != 0.0 || !reducer || !isa<AddOp>(reducer) || rank < 2 || batch_rank < 1 || !trailing(dims.getUpdateWindowDims()) ||
      dims.getInsertedWindowDims() != ArrayRef<int64_t>{0} || dims.getScatterDimsToOperandDims() != ArrayRef<int64_t>{0} || !dims.getInputBatchingDims().empty() ||
      update.getShape().drop_front(batch_rank) != input.getShape().drop_front() || indices.getNumElements() != count)
    return {};
  int64_t rows = input.getDimSize(0);
  if (rows < 4 * count || input.getNumElements() < 16384) return {};

  Location loc = op.getLoc();
  Type i32 = r.getI32Type(), i64 = r.getI64Type();
  auto integers = [&](ArrayRef<int64_t> shape, int64_t value, Type type) -> Value {
    return ConstantOp::create(r, loc, cast<ElementsAttr>(Attribute(DenseElementsAttr::get(RankedTensorType::get(shape, type), r.getIntegerAttr(type, value)))));
  };
  auto scatter = [&](Value into, Value at, Value updates, ArrayRef<int64_t> window, auto combine) -> Value {
    auto numbers = ScatterDimensionNumbersAttr::get(r.getContext(), window, {0}, {}, {}, {0}, 1);
    auto made = ScatterOp::create(r, loc, TypeRange{into.getType()}, ValueRange{into}, at, ValueRange{updates}, numbers, r.getBoolAttr(false), r.getBoolAttr(false));
    OpBuilder::InsertionGuard guard(r);
    auto scalar = RankedTensorType::get({}, shaped(into).getElementType());
    Block* body = r.createBlock(&made.getUpdateComputation(), {}, {scalar, scalar}, {loc, loc});
    ReturnOp::create(r, loc, ValueRange{combine(body->getArgument(0), body->getArgument(1))});
    return made.getResult(0);
  };
  auto row_of = [&](Value table, Value at, ArrayRef<int64_t> row) -> Value {  // of the table, for each index
    SmallVector<int64_t> shape{shaped(at).getDimSize(0)}, slice{1}, offsets;
    for (auto [d, n] : llvm::enumerate(row)) shape.push_back(n), slice.push_back(n), offsets.push_back(int64_t(d) + 1);
    auto numbers = GatherDimensionNumbersAttr::get(r.getContext(), offsets, {0}, {}, {}, {0}, 1);
    return GatherOp::create(r, loc, RankedTensorType::get(shape, shaped(table).getElementType()), table, at, numbers, r.getDenseI64ArrayAttr(slice), r.getBoolAttr(false));
  };
  auto compare = [&](Value x, Value y, ComparisonDirection direction) -> Value { return CompareOp::create(r, loc, x, y, direction); };

  // Each row's place in the table is the number of its first update; what is touched by none has the last place, behind all of those.
  Value index = ConvertOp::create(r, loc, RankedTensorType::get({count}, i64), ReshapeOp::create(r, loc, indices.clone({count}), op.getScatterIndices()));
  Value column = ReshapeOp::create(r, loc, RankedTensorType::get({count, 1}, i64), index);
  Value numbers = IotaOp::create(r, loc, RankedTensorType::get({count}, i32), 0);
  Value places = scatter(integers({rows}, count, i32), column, numbers, {}, [&](Value x, Value y) -> Value { return MinOp::create(r, loc, x, y); });
  // An index that is out of range is left out there, too.
  Value inside = AndOp::create(r, loc, compare(index, integers({count}, 0, i64), ComparisonDirection::GE), compare(index, integers({count}, rows, i64), ComparisonDirection::LT));
  Value target = SelectOp::create(r, loc, inside, row_of(places, column, {}), integers({count}, count + 1, i32));
  SmallVector<int64_t> table_shape{count + 1}, updates_shape{count}, window;
  for (int64_t d = 1; d < rank; ++d) table_shape.push_back(input.getDimSize(d)), updates_shape.push_back(input.getDimSize(d)), window.push_back(d);
  Value zeros = ConstantOp::create(r, loc, cast<ElementsAttr>(r.getZeroAttr(input.clone(table_shape))));
  Value updates = ReshapeOp::create(r, loc, update.clone(updates_shape), op.getUpdates()[0]);
  Value table = scatter(zeros, ReshapeOp::create(r, loc, RankedTensorType::get({count, 1}, i32), target), updates, window, [&](Value x, Value y) -> Value { return AddOp::create(r, loc, x, y); });
  return row_of(table, ReshapeOp::create(r, loc, RankedTensorType::get({rows, 1}, i32), places), input.getShape().drop_front());
}

bool drop_barriers(func::FuncOp function) {
  SmallVector<OptimizationBarrierOp> barriers;
  function.walk([&](OptimizationBarrierOp op) { barriers.push_back(op); });
  for (auto barrier : barriers) {
    barrier.getResults().replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  }
  return !barriers.empty();
}

// Sums of products of booleans say whether any pair is true: they are counted, because kernels have no sums of single bits.
void count_booleans(func::FuncOp function) {
  function.walk([](Operation* op) {
    if (!isa<DotGeneralOp, ConvolutionOp>(op) || !shaped(op->getResult(0)).getElementType().isInteger(1)) return;
    OpBuilder b(op);
    auto counts = [&](Type type) { return cast<RankedTensorType>(type).clone(b.getI32Type()); };
    IRMapping counted;
    for (Value v : op->getOperands()) counted.map(v, ConvertOp::create(b, op->getLoc(), counts(v.getType()), v));
    Operation* product = b.clone(*op, counted);
    product->getResult(0).setType(counts(op->getResult(0).getType()));
    op->replaceAllUsesWith(ValueRange(ConvertOp::create(b, op->getLoc(), op->getResult(0).getType(), product->getResult(0))));
    op->erase();
  });
}

// How many of a sorted line's first elements somebody reads.
int64_t first_wanted(SortOp op) {
  auto shape = shaped(op.getResult(0)).getShape();
  int64_t dim = int64_t(op.getDimension()), wanted = 0;
  if (dim < 0) dim += int64_t(shape.size());
  for (Operation* user : op->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    wanted = std::max(wanted, slice ? slice.getLimitIndices()[dim] : shape[dim]);
  }
  return wanted;
}

// What a reduction promotes is converted before it: all else knows one type for an input, its init value and its result.
void convert_promoted(Operation* reduction) {
  OpBuilder b(reduction);
  for (OpOperand& operand : reduction->getOpOperands()) {
    Type to = element(reduction->getResult(operand.getOperandNumber() % reduction->getNumResults()));
    if (element(operand.get()) != to) operand.set(ConvertOp::create(b, reduction->getLoc(), shaped(operand.get()).clone(to), operand.get()));
  }
}

}  // namespace

void simplify(ModuleOp module, bool tiles) {
  MLIRContext* context = module.getContext();
  RewritePatternSet rules(context);
  auto rule = [&](auto* apply) { add_rule(rules, apply); };
  rule(simplify_reshape);
  rule(simplify_transpose);
  rule(simplify_broadcast);
  rule(simplify_convert);
  rule(simplify_reverse);
  rule(simplify_slice);
  rule(simplify_concatenate);
  rule(simplify_pad);
  rule(simplify_update);
  rule(simplify_maximum);
  rule(simplify_add);
  rule(simplify_subtract);
  rule(simplify_multiply);
  rule(simplify_divide);
  rule(simplify_power);
  rule(simplify_remainder);
  rule(simplify_dot);
  rule(order_terms);
  rule(simplify_scatter);
  rule(matrix_on_the_left);
  add_bitcasts(rules);
  add_simplified_convolutions(rules);
  add_quantised_products(rules);
  add_quantised_convolutions(rules);
  add_sinking_pads(rules);
  add_sinking_transposes(rules);
  add_cancelling_transposes(rules);
  add_moving_reshapes(rules);
  add_narrow_integers(rules);
  add_reductions(rules);
  add_windows(rules);
  FrozenRewritePatternSet frozen(std::move(rules));
  RewritePatternSet late(context);
  add_products_of_one_quantised(late);
  add_rule(late, phases_as_features);  // slices have cut what they don't want off the convolution
  FrozenRewritePatternSet last(std::move(late));
  GreedyRewriteConfig config;
  config.enableConstantCSE(true);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration()) continue;
    auto merge = [&] {
      IRRewriter rewriter(context);
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    };
    function.walk([](Operation* op) { if (isa<ReduceOp, ReduceWindowOp>(op)) convert_promoted(op); });
    drop_empty(function);
    count_booleans(function);
    merge();  // so that an operation with one user is seen as such
    auto simplify_all = [&] {
      (void)applyPatternsGreedily(function, frozen, config);  // stopping early is no failure: any state is as correct
      bool changed = false;
      (void)applyPatternsGreedily(function, last, config, &changed);
      if (changed) (void)applyPatternsGreedily(function, frozen, config);
      merge();
    };
    simplify_all();
    // What lies behind a barrier has not been merged with what is in front of it, and is computed again.
    if (drop_barriers(function)) (void)applyPatternsGreedily(function, frozen, config);
    if (tiles && use_channels_last(function)) simplify_all();
    if (use_channels_last_within_transposes(function)) simplify_all();
    while (use_channels_first(function)) simplify_all();
    if (!tiles) read_kernels_as_they_lie(function);
    forget_moved_reshapes(function);
    if (join_products(function)) merge();
    mark_ranges(function);
    mark_row_gathers(function);
    function.walk([](SortOp op) { op->setAttr(kFirstWanted, IntegerAttr::get(IntegerType::get(op.getContext(), 64), first_wanted(op))); });
  }
}

}  // namespace cresset::cpu
