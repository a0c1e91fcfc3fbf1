// Replaces composites by their decompositions, so that what no kernel takes still compiles.
#pragma once

#include <functional>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stablehlo/dialect.h"

namespace cresset::composite {

/// Where composites are looked for: in public functions and what is inlined there, or also in the decompositions of those that stay.
enum class Reach { Public, Everywhere };

/// Inlines the decomposition of every composite that `should` selects, nested ones too, and every func.call; private
/// functions that nothing refers to any more are removed. Fails (with an error at the operation) on recursion.
mlir::LogicalResult decompose(mlir::ModuleOp module, const std::function<bool(mlir::stablehlo::CompositeOp)>& should, Reach reach = Reach::Public);

/// Erases private functions that no public one needs.
void erase_unreachable(mlir::ModuleOp module);

/// A function and all that it refers to, as a module by itself.
mlir::OwningOpRef<mlir::ModuleOp> extract(mlir::ModuleOp module, llvm::StringRef function);

}  // namespace cresset::composite
