// Transposes that are moved towards the results, past what can work on the other order of dimensions as well, until they meet their inverse: in between nothing is transposed.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// A transpose that sinks.
mlir::Value sinking_transpose(mlir::OpBuilder& b, mlir::Value v, llvm::ArrayRef<int64_t> permutation);
/// Whether one makes it.
bool sinks(mlir::Value v);
/// Whether they sink past it.
bool sinks_past(mlir::Operation* op);
/// Past element-wise operations whose other operands are transposed alike, or are anyway, or numbers, or repeated along dimensions; slices, pads and concatenations.
void add_sinking_transposes(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
