// The StableHLO dialect: our own ODS definition of the public specification, text-compatible in both directions with what
// JAX and XLA print and read. Class, operand and attribute names are the ones that StableHLO code everywhere uses.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::stablehlo {

/// Whether elements, or the parts of complex ones, have at most 64 bits, and the known sizes give at most 2^58 elements: no count of bytes overflows.
bool is_countable(RankedTensorType type);

}  // namespace mlir::stablehlo

#include "stablehlo/dialect.h.inc"
#include "stablehlo/enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "stablehlo/attributes.h.inc"
#define GET_OP_CLASSES
#include "stablehlo/ops.h.inc"
