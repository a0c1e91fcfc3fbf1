#include "stablehlo/chlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"

#include "stablehlo/chlo_dialect.cpp.inc"
#define GET_OP_CLASSES
#include "stablehlo/chlo_ops.cpp.inc"

namespace mlir::chlo {

void CHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "stablehlo/chlo_ops.cpp.inc"
      >();
}

bool is_top_k(RankedTensorType operand, int64_t k, TypeRange results) {
  if (operand.getRank() == 0 || k < 0) return false;
  int64_t size = operand.getShape().back();
  SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  return (ShapedType::isDynamic(size) || k <= size) && getElementTypeOrSelf(results[0]) == operand.getElementType() &&
         llvm::all_of(results, [&](Type t) { return succeeded(verifyCompatibleShape(t, operand.clone(shape))); });
}

LogicalResult TopKOp::verify() {
  if (is_top_k(cast<RankedTensorType>(getOperand().getType()), int64_t(getK()), getOperation()->getResultTypes())) return success();
  return emitOpError("needs a k from 0 to the size of the operand's last dimension, and results of the operand's shape with k in its place");
}

}  // namespace mlir::chlo
