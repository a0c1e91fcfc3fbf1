// Element-wise chains through reshapes become chains of one shape, so that a kernel can hold them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

void add_moving_reshapes(mlir::RewritePatternSet& rules);
/// Once all rules have been applied.
void forget_moved_reshapes(mlir::func::FuncOp function);

}  // namespace cresset::cpu
