// Makes StableHLO of CHLO.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::chlo {

/// Replaces CHLO's operations, and custom calls of the same by the names that StableHLO's serialisation gives them (mhlo.asin, mhlo.topk), by StableHLO's. erf stays a custom call
/// @mhlo.erf, which the compiler and the interpreter compute.
void legalize(ModuleOp module);

}  // namespace mlir::chlo
