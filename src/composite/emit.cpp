#include "composite/emit.h"

#include <cmath>

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

Value Emit::number(double v, RankedTensorType type) {
  APFloat value(v);
  bool lost;
  value.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, value));
}

Value Emit::convert(Value x, Type element) {
  if (type_of(x).getElementType() == element) return x;
  return ConvertOp::create(b_, loc_, RankedTensorType::get(type_of(x).getShape(), element), x);
}

Value Emit::reshape(Value x, ArrayRef<int64_t> shape) {
  if (type_of(x).getShape() == shape) return x;
  return ReshapeOp::create(b_, loc_, RankedTensorType::get(shape, type_of(x).getElementType()), x);
}

Value Emit::reduce(Value x, ArrayRef<int64_t> dims, bool maximum) {
  Type element = type_of(x).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  SmallVector<int64_t> rest;
  for (auto [d, size] : llvm::enumerate(type_of(x).getShape()))
    if (!llvm::is_contained(dims, int64_t(d))) rest.push_back(size);
  Value start = number(maximum ? -INFINITY : 0, scalar);
  auto op = ReduceOp::create(b_, loc_, TypeRange{RankedTensorType::get(rest, element)}, ValueRange{x}, ValueRange{start}, b_.getDenseI64ArrayAttr(dims));
  OpBuilder::InsertionGuard guard(b_);
  Block* body = b_.createBlock(&op.getBody(), {}, {scalar, scalar}, {loc_, loc_});
  Value a = body->getArgument(0), c = body->getArgument(1);
  Value combined = maximum ? MaxOp::create(b_, loc_, a, c).getResult() : AddOp::create(b_, loc_, a, c).getResult();
  ReturnOp::create(b_, loc_, combined);
  return op->getResult(0);
}

Value Emit::spread(Value x, ArrayRef<int64_t> dims, Value like) {
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < type_of(like).getRank(); ++d)
    if (!llvm::is_contained(dims, d)) kept.push_back(d);
  return BroadcastInDimOp::create(b_, loc_, RankedTensorType::get(type_of(like).getShape(), type_of(x).getElementType()), x, kept);
}

Value Emit::softmax(Value x, ArrayRef<int64_t> dims, bool logarithm) {
  Value shifted = sub(x, spread(maximum(x, dims), dims, x)), p = exp(shifted), total = sum(p, dims);
  return logarithm ? sub(shifted, spread(log(total), dims, x)) : div(p, spread(total, dims, x));
}

}  // namespace cresset::composite
