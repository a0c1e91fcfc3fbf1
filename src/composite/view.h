// A value seen in another order of dimensions and another shape: transposed, then reshaped.
#pragma once

#include "composite/sampler.h"

namespace cresset::composite {

inline bool is_identity(mlir::ArrayRef<int64_t> permutation) {
  for (auto [k, d] : llvm::enumerate(permutation))
    if (int64_t(k) != d) return false;
  return true;
}

struct View {
  mlir::Value value;
  llvm::SmallVector<int64_t> permutation;  ///< of the value's dimensions
  llvm::SmallVector<int64_t> sizes;        ///< of the view
  int passed = 0;                          ///< factors between the value and where it was looked for

  bool is_value() const { return type_of(value).getShape() == mlir::ArrayRef<int64_t>(sizes) && is_identity(permutation); }
  /// The value's element for a place in the view.
  int64_t element(mlir::ArrayRef<int64_t> at) const;
  /// The view as a value, made behind the value; and a value of the view's shape seen as the value again.
  mlir::Value make(mlir::OpBuilder& b) const;
  mlir::Value undo(mlir::OpBuilder& b, mlir::Value viewed) const;
};

/// The operations of the program between these inputs and a value.
llvm::DenseSet<mlir::Operation*> operations_between(const llvm::DenseSet<mlir::Value>& inputs, mlir::Value output);
/// Whether these operations read no argument of the program but the inputs.
bool is_closed(const llvm::DenseSet<mlir::Operation*>& operations, const llvm::DenseSet<mlir::Value>& inputs);
/// Equal for values that are computed from the inputs alike, types and constants included.
size_t structure_of(mlir::Value v, mlir::ArrayRef<mlir::Value> inputs);
/// The view as an operand of the composite that these operations become: they read it through its reverse.
mlir::Value make_operand(mlir::OpBuilder& b, const View& view, const llvm::DenseSet<mlir::Operation*>& readers);
/// The view as the composite's result: all others read it through its reverse.
mlir::Value make_result(mlir::OpBuilder& b, const View& view);

/// The views of a value as `rank` dimensions in which each of its dimensions is one of them; dimensions of size 1 come and go.
std::vector<View> views(mlir::Value v, size_t rank);

/// The way from a value up to one it is computed from.
struct Path {
  llvm::SmallVector<mlir::Value> values;  ///< from the lower one to the upper
  /// Which element of the upper value an element of the lower one comes from.
  std::optional<Indices> chase(mlir::ArrayRef<int64_t> at) const { return chase(at, values.size() - 1); }
  std::optional<Indices> chase(mlir::ArrayRef<int64_t> at, size_t steps) const;
};
/// Through element-wise and layout operations to the first value that `found` accepts.
std::optional<Path> climb(mlir::Value from, const std::function<bool(mlir::Value)>& found);
/// Values that hold the same elements, up to a constant factor: from `v` upwards.
Path same_elements(mlir::Value v);

}  // namespace cresset::composite
