// Reductions in an order that vectors and threads take.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// Of what is transposed they are made where it lies; those to one or a few elements begin with parts, side by side; narrow columns are widened to several rows beside each other.
void add_reductions(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
