// Element-wise operations between a transpose and its inverse, as eager PyTorch's strides make them: what it computes of a permuted tensor has that tensor's order in memory.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// Computes them in the order of dimensions in front and behind, if nobody else reads them and no more is transposed than before.
void add_cancelling_transposes(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
