#include "cpu/prepare/rewrite.h"

#include "cpu/emit/types.h"

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

Value sum_over(OpBuilder& b, Value v, ArrayRef<int64_t> dims) {
  Location loc = v.getLoc();
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(shaped(v).getShape()))
    if (!llvm::is_contained(dims, int64_t(d))) shape.push_back(size);
  auto number = RankedTensorType::get({}, element(v));
  Value zero = ConstantOp::create(b, loc, cast<ElementsAttr>(DenseElementsAttr::get(number, b.getZeroAttr(element(v)))));
  auto reduce = ReduceOp::create(b, loc, TypeRange{number.clone(shape)}, ValueRange{v}, ValueRange{zero}, b.getDenseI64ArrayAttr(dims));
  OpBuilder::InsertionGuard guard(b);
  Block* body = b.createBlock(&reduce.getBody(), {}, {number, number}, {loc, loc});
  mlir::stablehlo::ReturnOp::create(b, loc, ValueRange{AddOp::create(b, loc, body->getArgument(0), body->getArgument(1))});
  return reduce.getResult(0);
}

}  // namespace cresset::cpu
