// Brings a program into the form that fusion expects: no calls, barriers or identities; shapes changed as directly as possible.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace cresset::cpu {

void simplify(mlir::ModuleOp module);

}  // namespace cresset::cpu
