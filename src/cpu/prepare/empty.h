// Programs without empty tensors, of which no kernel then hears: there is no element that could be read at a wrong place.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// What has no elements becomes a constant; what is made of something empty, what is left without it. Composites are left alone.
void drop_empty(mlir::func::FuncOp function);

}  // namespace cresset::cpu
