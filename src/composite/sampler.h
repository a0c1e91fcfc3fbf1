// What a program computes at single places, in f64: an element is computed from the elements it depends on, of whatever shape. It costs what one element needs, so real shapes
// are no obstacle. Values that are not computed (arguments, convolutions) are random numbers, the same at every reading.
#pragma once

#include <unordered_map>

#include "composite/evaluate.h"

namespace cresset::composite {

using Indices = llvm::SmallVector<int64_t, 6>;

Indices unravel(int64_t linear, mlir::ArrayRef<int64_t> shape);
int64_t ravel(mlir::ArrayRef<int64_t> at, mlir::ArrayRef<int64_t> shape);

/// Operations that only move elements: where an element comes from. Nothing for others, and for elements that come from none (padding).
bool is_layout(mlir::Operation* op);
std::optional<Indices> origin(mlir::Operation* op, mlir::ArrayRef<int64_t> at);

class Sampler {
 public:
  /// A value that is given: its element at a linear index.
  using Field = std::function<double(int64_t)>;
  explicit Sampler(unsigned seed) : seed_(seed) {}
  void set(mlir::Value v, Field field) { fields_[v] = std::move(field); }
  /// One whose numbers change: after each change, forget().
  void vary(mlir::Value v, Field field) { set(v, std::move(field)), varying_ = v; }
  /// Products are taken as random from here on: where only what is above them matters, they would be summed down through all layers before.
  void skip_products() { skips_products_ = true; }
  /// A number around 0 for each element of a float, bits for a bool, small numbers for integers.
  Field random(mlir::Value v, double scale = 1);
  /// The element of `v`, or NaN when it takes more than the budget of operations.
  double get(mlir::Value v, int64_t linear);
  double get(mlir::Value v, mlir::ArrayRef<int64_t> at) { return get(v, ravel(at, type_of(v).getShape())); }
  /// Computes anew what depends on the value that varies.
  void forget() { dependent_.clear(), spent_ = 0; }
  /// Values that were taken as random.
  const llvm::SmallVector<mlir::Value>& leaves() const { return leaves_; }
  bool exhausted() const { return spent_ > kBudget; }

 private:
  static constexpr int64_t kBudget = 1 << 22;
  double compute(mlir::Value v, int64_t linear);
  const ElementFunction& function_of(mlir::Operation* op);
  double leaf(mlir::Value v, int64_t linear);
  double dot(mlir::stablehlo::DotGeneralOp op, mlir::ArrayRef<int64_t> at);
  double reduce(mlir::stablehlo::ReduceOp op, unsigned result, mlir::ArrayRef<int64_t> at);
  double gather(mlir::stablehlo::GatherOp op, mlir::ArrayRef<int64_t> at);
  double scatter(mlir::stablehlo::ScatterOp op, mlir::ArrayRef<int64_t> at);
  double softmax(mlir::stablehlo::CompositeOp op, mlir::ArrayRef<int64_t> at);

  unsigned seed_;
  int64_t spent_ = 0;
  llvm::DenseMap<mlir::Value, Field> fields_;
  using Numbers = llvm::DenseMap<mlir::Value, llvm::DenseMap<int64_t, double>>;
  Numbers known_, dependent_;  // the latter from the value that varies
  mlir::Value varying_;
  bool skips_products_ = false;
  bool depends_ = false;  // whether what is being computed does so far
  llvm::SmallVector<mlir::Value> leaves_;
  std::unordered_map<mlir::Operation*, ElementFunction> functions_;  // null for what is no arithmetic
};

}  // namespace cresset::composite
