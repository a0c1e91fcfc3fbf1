// The interpreter's inside: one evaluator for each call of a function.
#pragma once

#include <map>
#include <stdexcept>

#include "interpreter/interpreter.h"
#include "stablehlo/dialect.h"

namespace cresset::interpreter {

/// Thrown inside the interpreter only.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fail(mlir::Operation* op, const llvm::Twine& why);

class Evaluator {
 public:
  explicit Evaluator(int depth = 0) : depth_(depth) {}
  Tensors call(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs);
  Tensors run(mlir::Region& region, llvm::ArrayRef<Tensor> arguments);
  const Tensor& operator[](mlir::Value v) const { return values_.at(v.getAsOpaquePointer()); }
  /// Whether the region, which must return one bool, returns true.
  bool holds(mlir::Region& region, llvm::ArrayRef<Tensor> arguments);
  /// A body's results for elements: the accumulators first.
  void combine(mlir::Region& body, llvm::MutableArrayRef<Tensor> accumulators, llvm::ArrayRef<Tensor> elements);

 private:
  Tensors evaluate(mlir::Operation* op);
  Tensors evaluate_call(mlir::Operation* op, llvm::StringRef callee, mlir::ValueRange inputs);
  int depth_;
  std::map<const void*, Tensor> values_;  // references to values stay while bodies are run
};

/// By family; std::nullopt for an operation of another one.
std::optional<Tensors> evaluate_shape(Evaluator& e, mlir::Operation* op);
std::optional<Tensors> evaluate_indexing(Evaluator& e, mlir::Operation* op);
std::optional<Tensors> evaluate_reduction(Evaluator& e, mlir::Operation* op);
std::optional<Tensors> evaluate_contraction(Evaluator& e, mlir::Operation* op);

inline mlir::RankedTensorType type_of(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

/// The attribute's values, or `count` times the default.
llvm::SmallVector<int64_t> values_or(std::optional<llvm::ArrayRef<int64_t>> values, size_t count, int64_t otherwise);
/// The low padding of each dimension.
llvm::SmallVector<int64_t> low_padding(std::optional<mlir::DenseIntElementsAttr> padding, size_t count);

}  // namespace cresset::interpreter
