// Pads go behind what makes bytes of numbers.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// Padded numbers that are only quantised, element by element, are quantised first, and then padded by what the padding becomes: who computes them writes bytes.
void add_sinking_pads(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
