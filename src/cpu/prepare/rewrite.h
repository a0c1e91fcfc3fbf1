// What rewrites of a program share.
#pragma once

#include "mlir/IR/Builders.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// The one number of a constant; null if it has several, or is none.
mlir::SplatElementsAttr splat(mlir::Value v);
/// The sum over these dimensions, in ascending order.
mlir::Value sum_over(mlir::OpBuilder& b, mlir::Value v, llvm::ArrayRef<int64_t> dims);

}  // namespace cresset::cpu
