// A part of a function with its inputs and outputs, to be looked at and to be outlined.
#pragma once

#include <optional>

#include "composite/catalogue.h"
#include "composite/evaluate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace cresset::composite {

/// One block under change, in program order.
class Program {
 public:
  Program(mlir::ModuleOp module, mlir::func::FuncOp function);
  mlir::ModuleOp module;
  mlir::Block& block;
  int64_t position(mlir::Value v) const;
  /// Takes note of operations that were created.
  void renumber();

  /// Replaces `outputs` by the results of a composite over `inputs` whose decomposition is the operations between them. `extend` may add operations to the
  /// decomposition and change what it returns. The composite stands behind the last of its inputs.
  mlir::stablehlo::CompositeOp outline(const Entry& entry, mlir::DictionaryAttr attributes, mlir::ArrayRef<mlir::Value> inputs, mlir::ArrayRef<mlir::Value> outputs,
                                       const std::function<void(mlir::OpBuilder&, llvm::SmallVectorImpl<mlir::Value>&)>& extend = {});
  /// A composite over `inputs`, behind the last of them, whose decomposition is written anew.
  mlir::stablehlo::CompositeOp insert(const Entry& entry, mlir::DictionaryAttr attributes, mlir::ArrayRef<mlir::Value> inputs, mlir::Location loc,
                                      const std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder&, mlir::ArrayRef<mlir::Value>)>& body);
  /// Replaces a value; what only it needed is removed.
  void replace(mlir::Value v, mlir::Value by);
  /// Removes an operation that has no users, and what only it needed.
  void remove(mlir::Operation* op);
  mlir::DictionaryAttr attributes(mlir::ArrayRef<Constant> constants);

 private:
  mlir::SymbolTable symbols_;
  llvm::DenseMap<mlir::Operation*, int64_t> positions_;
  llvm::StringMap<int> counts_;
};

/// Whether the region between `inputs` and `v` rounds to a narrower type than `v` has: it is no operator of v's type then.
bool narrows(mlir::Value v, mlir::ArrayRef<mlir::Value> inputs);

/// Values of the cone above `v` that everything outside of it passes through, from near to far; `step` says whether an operation may be looked through.
/// With `width` 2 the pairs with this property.
std::vector<llvm::SmallVector<mlir::Value, 2>> cuts(const Program& program, mlir::Value v, const std::function<bool(mlir::Operation*)>& step,
                                                    const std::function<bool(mlir::Value)>& stop, size_t width, size_t limit = 256);

/// What steps compute from values for which `source` holds and that no step computes.
llvm::DenseSet<mlir::Value> computed_from(mlir::Block& block, llvm::function_ref<bool(mlir::Value)> source, llvm::function_ref<bool(mlir::Operation*)> step);

}  // namespace cresset::composite
