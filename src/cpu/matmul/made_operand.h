// Weights that are computed where a product reads them, of less than they are: of few bits, with a scale and a zero for each group of them.
#pragma once

#include <optional>

#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// How the right operand of a product is made of smaller arrays.
struct MadeOperand {
  static constexpr int64_t kRun = 64;              ///< parts of so many neighbours along K begin with a vector
  mlir::Value value;                               ///< what is made; to the product it is transposed, at most
  llvm::DenseSet<mlir::Operation*> operations;     ///< that make it; others may use only what costs nothing to have again
  mlir::Value main;                                ///< the array that has an element for each of its elements, in the same order; null if there is none
};
/// Nothing if it had better be made before: where that hardly reads fewer bytes, or something dear is computed.
std::optional<MadeOperand> made_operand(mlir::Operation* product);

}  // namespace cresset::cpu
