// PyTorch counts in 64 bits: places, distances, masks of them. What is computed of counters and numbers that fit 32 bits, and only compared or converted, is computed in 32: vectors hold
// twice as many, and convert them in one instruction.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

void add_narrow_integers(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
