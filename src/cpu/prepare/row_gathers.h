// Gathers whose positions are constants, as those of an image that is resized.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// Marks them with kReaches, where they go along rows.
void mark_row_gathers(mlir::func::FuncOp function);

}  // namespace cresset::cpu
