// CHLO: operations above StableHLO that JAX's text contains.
#pragma once

#include "stablehlo/dialect.h"

#include "stablehlo/chlo_dialect.h.inc"
#define GET_OP_CLASSES
#include "stablehlo/chlo_ops.h.inc"

namespace mlir::chlo {

/// Whether the two results can be the largest k of each row of the operand, and their places.
bool is_top_k(RankedTensorType operand, int64_t k, TypeRange results);

}  // namespace mlir::chlo
