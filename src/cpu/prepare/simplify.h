// Brings a program into the form that fusion expects: no calls, barriers or identities; shapes changed as directly as possible.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace cresset::cpu {

/// `tiles`: the target multiplies tiles of bf16, for which convolutions get their channels last.
void simplify(mlir::ModuleOp module, bool tiles = false);

}  // namespace cresset::cpu
