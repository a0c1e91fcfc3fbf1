// Reductions of windows, as other frameworks pool.
#pragma once

#include <optional>

#include "mlir/IR/PatternMatch.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// The dimension along which each element is combined with all before it: cumulative sums and their like.
std::optional<size_t> scanned_dimension(mlir::stablehlo::ReduceWindowOp op);

/// Reduces windows place by place: what is padded, sliced and combined is element-wise, in vectors and with what is around it. Windows that are whole dimensions become reductions of these.
void add_windows(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
