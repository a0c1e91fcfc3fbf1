// CHLO: operations above StableHLO that JAX's text contains.
#pragma once

#include "stablehlo/dialect.h"

#include "stablehlo/chlo_dialect.h.inc"
#define GET_OP_CLASSES
#include "stablehlo/chlo_ops.h.inc"
