#include "cpu/prepare/rewrite.h"

#include "cpu/emit/types.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

SplatElementsAttr splat(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
}

std::optional<double> number(Value v) {
  while (auto broadcast = v.getDefiningOp<BroadcastInDimOp>()) v = broadcast.getOperand();
  auto s = splat(v);
  return s && isa<FloatType>(s.getElementType()) ? std::optional(s.getSplatValue<APFloat>().convertToDouble()) : std::nullopt;
}
std::optional<int64_t> byte(Value v) {
  auto s = splat(v);
  if (!s || !is_byte(s.getElementType())) return std::nullopt;
  APInt bits = s.getSplatValue<APInt>();
  return is_unsigned(s.getElementType()) ? int64_t(bits.getZExtValue()) : bits.getSExtValue();
}

Value zero(Type element, Location loc, OpBuilder& b) { return ConstantOp::create(b, loc, cast<ElementsAttr>(Attribute(b.getZeroAttr(RankedTensorType::get({}, element))))); }

Value transposed(Value v, ArrayRef<int64_t> order, OpBuilder& b) { return llvm::is_sorted(order) ? v : Value(TransposeOp::create(b, v.getLoc(), v, order)); }

Value before_reshapes(Value v) {
  while (auto reshape = v.getDefiningOp<ReshapeOp>()) v = reshape.getOperand();
  return v;
}

Value broadcast_in_order(Value v, ArrayRef<int64_t> order, OpBuilder& b) {
  if (shaped(v).getRank() == 0) return v;
  auto type = shaped(v).clone(applyPermutation(shaped(v).getShape(), order));
  if (auto number = splat(v)) return ConstantOp::create(b, v.getLoc(), cast<ElementsAttr>(Attribute(number.resizeSplat(type))));
  auto broadcast = v.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast) return {};
  auto places = invertPermutationVector(order);
  return BroadcastInDimOp::create(b, v.getLoc(), type, broadcast.getOperand(), llvm::map_to_vector(broadcast.getBroadcastDimensions(), [&](int64_t d) { return places[d]; }));
}

bool is_neutral(Operation* reducer, Value init) {
  auto number = splat(init);
  if (!number) return false;
  if (isa<FloatType>(number.getElementType())) {
    APFloat v = number.getSplatValue<APFloat>();
    return isa<AddOp>(reducer) ? v.isZero() : isa<MulOp>(reducer) ? v.isExactlyValue(1) : v.isInfinity() && v.isNegative() == isa<MaxOp>(reducer);
  }
  APInt v = number.getSplatValue<APInt>();
  bool has_sign = !is_unsigned(number.getElementType());
  if (isa<MaxOp>(reducer)) return has_sign ? v.isMinSignedValue() : v.isZero();
  if (isa<MinOp>(reducer)) return has_sign ? v.isMaxSignedValue() : v.isAllOnes();
  return isa<AddOp, OrOp>(reducer) ? v.isZero() : isa<AndOp>(reducer) ? v.isAllOnes() : v.isOne();
}

Value sum_over(OpBuilder& b, Value v, ArrayRef<int64_t> dims) {
  Location loc = v.getLoc();
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(shaped(v).getShape()))
    if (!llvm::is_contained(dims, int64_t(d))) shape.push_back(size);
  auto number = RankedTensorType::get({}, element(v));
  auto reduce = ReduceOp::create(b, loc, TypeRange{number.clone(shape)}, ValueRange{v}, ValueRange{zero(element(v), loc, b)}, b.getDenseI64ArrayAttr(dims));
  OpBuilder::InsertionGuard guard(b);
  Block* body = b.createBlock(&reduce.getBody(), {}, {number, number}, {loc, loc});
  mlir::stablehlo::ReturnOp::create(b, loc, ValueRange{AddOp::create(b, loc, body->getArgument(0), body->getArgument(1))});
  return reduce.getResult(0);
}

}  // namespace cresset::cpu
