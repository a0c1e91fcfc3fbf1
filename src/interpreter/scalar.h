// Element-wise operations on one element.
#pragma once

#include <optional>

#include "interpreter/tensor.h"
#include "mlir/IR/Operation.h"

namespace cresset::interpreter {

/// The element of `op`'s result for these elements of its operands, or nullopt if `op` is not element-wise.
std::optional<Number> element_of(mlir::Operation* op, llvm::ArrayRef<Number> operands, mlir::Type from, mlir::Type to);

/// Arithmetic in the type `type`, not rounded: whoever sums up many rounds once.
Number add(Number a, Number b, mlir::Type type);
Number multiply(Number a, Number b, mlir::Type type);

}  // namespace cresset::interpreter
