// The vocabulary of lowerings: StableHLO operations by name, with PyTorch's broadcasting and conversions around them.
#pragma once

#include <ATen/ATen.h>

#include "mlir/IR/Builders.h"
#include "stablehlo/dialect.h"
#include "trace/node.h"

namespace cresset::lowering {

using mlir::Value;
using Values = llvm::SmallVector<Value>;
using Dims = llvm::SmallVector<int64_t>;
namespace hlo = mlir::stablehlo;
using Direction = hlo::ComparisonDirection;

/// A Scalar argument: a constant, or (`operand`) a rank-0 value that may change from run to run.
struct Scalar {
  c10::Scalar value = 0;
  Value operand;
};

mlir::RankedTensorType type_of(Value v);
llvm::ArrayRef<int64_t> shape_of(Value v);
mlir::Type element_of(Value v);
int64_t rank_of(Value v);
bool is_floating(Value v);
mlir::Type element_type(mlir::MLIRContext* context, at::ScalarType dtype);
/// Non-negative dimension.
int64_t wrap(int64_t dim, int64_t rank);
/// Non-negative, sorted; all dimensions if the list is empty.
Dims wrap_all(llvm::ArrayRef<int64_t> dims, int64_t rank);

class Builder {
 public:
  Builder(mlir::OpBuilder& ops, mlir::Location loc, Values operands, const trace::Node& node)
      : ops(ops), loc(loc), operands(std::move(operands)), node(node) {}

  mlir::OpBuilder& ops;
  mlir::Location loc;
  Values operands;  ///< of the node; null for absent tensors
  const trace::Node& node;
  Values results;

  void set_results(Value v) { results = {v}; }
  void set_results(Values v) { results = std::move(v); }
  /// What PyTorch says of result i.
  mlir::RankedTensorType result_type(size_t i = 0);
  mlir::Type result_element(size_t i = 0) { return result_type(i).getElementType(); }
  Dims result_shape(size_t i = 0) { return Dims(result_type(i).getShape()); }

  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(ops, loc, std::forward<Args>(args)...);
  }

  // Constants
  Value constant(double v, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  Value constant(const c10::Scalar& v, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  Value like(double v, Value x) { return constant(v, element_of(x), shape_of(x)); }
  Value iota(int64_t dim, llvm::ArrayRef<int64_t> shape, mlir::Type element);
  Value integers(llvm::ArrayRef<int64_t> values);  // 1-d i64
  Value lowest(mlir::Type element);   // -inf of floating point
  Value highest(mlir::Type element);
  Value numbers(llvm::ArrayRef<double> values, mlir::Type element, llvm::ArrayRef<int64_t> shape);
  /// A Scalar as a tensor.
  Value scalar(const Scalar& s, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  Value scalar_like(const Scalar& s, Value x) { return scalar(s, element_of(x), shape_of(x)); }
  bool is(const Scalar& s, double v) { return !s.operand && !s.value.isComplex() && s.value.toDouble() == v; }

  // Shapes and types
  Value convert(Value v, mlir::Type element);
  /// Converted because a program, or the CPU's kernel, says so, not because an operator ends: rounded whatever follows.
  Value rounded(Value v, mlir::Type element);
  Value broadcast(Value v, llvm::ArrayRef<int64_t> shape);  // trailing dimensions aligned
  Value broadcast(Value v, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  Value reshape(Value v, llvm::ArrayRef<int64_t> shape);
  Value flat(Value v) { return reshape(v, {type_of(v).getNumElements()}); }
  Value transpose(Value v, llvm::ArrayRef<int64_t> permutation);
  Value swap_last(Value v);
  Value slice(Value v, int64_t dim, int64_t start, int64_t limit, int64_t step = 1);
  Value pad(Value v, double value, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior = {});
  Value concatenate(llvm::ArrayRef<Value> values, int64_t dim);
  Value unsqueeze(Value v, int64_t dim);
  /// f32 for f16 and bf16: what eager computes in.
  Value upcast(Value v);
  /// Broadcast and converted to result 0.
  Value to_result(Value v, size_t i = 0) { return broadcast(convert(v, result_element(i)), result_shape(i)); }
  /// As many elements as a result, in its shape and dtype.
  Value as_result(Value v, size_t i = 0) { return reshape(convert(v, result_element(i)), result_shape(i)); }
  /// Two operands in their common dtype and shape, by PyTorch's promotion.
  std::pair<Value, Value> promoted(Value x, Value y);

  // Arithmetic on equal types
  Value add(Value x, Value y) { return create<hlo::AddOp>(x, y); }
  Value sub(Value x, Value y) { return create<hlo::SubtractOp>(x, y); }
  Value mul(Value x, Value y) { return create<hlo::MulOp>(x, y); }
  Value div(Value x, Value y) { return create<hlo::DivOp>(x, y); }
  Value max(Value x, Value y) { return create<hlo::MaxOp>(x, y); }
  Value min(Value x, Value y) { return create<hlo::MinOp>(x, y); }
  Value pow(Value x, Value y) { return create<hlo::PowOp>(x, y); }
  Value neg(Value x) { return create<hlo::NegOp>(x); }
  Value exp(Value x) { return create<hlo::ExpOp>(x); }
  Value log(Value x) { return create<hlo::LogOp>(x); }
  Value sqrt(Value x) { return create<hlo::SqrtOp>(x); }
  Value rsqrt(Value x) { return create<hlo::RsqrtOp>(x); }
  Value tanh(Value x) { return create<hlo::TanhOp>(x); }
  Value logistic(Value x) { return create<hlo::LogisticOp>(x); }
  Value abs(Value x) { return create<hlo::AbsOp>(x.getType(), x); }
  Value floor(Value x) { return create<hlo::FloorOp>(x); }
  Value logical_and(Value x, Value y) { return create<hlo::AndOp>(x, y); }
  Value logical_or(Value x, Value y) { return create<hlo::OrOp>(x, y); }
  Value logical_not(Value x) { return create<hlo::NotOp>(x); }
  Value erf(Value x);
  Value compare(Direction d, Value x, Value y) { return create<hlo::CompareOp>(x, y, d); }
  Value select(Value p, Value x, Value y) { return create<hlo::SelectOp>(p, x, y); }
  Value add(Value x, double c) { return add(x, like(c, x)); }
  Value mul(Value x, double c) { return mul(x, like(c, x)); }

  // Reductions; dimensions are non-negative
  template <class Op>
  Value reduce(Value v, llvm::ArrayRef<int64_t> dims, double init) {
    return reduce(v, dims, constant(init, element_of(v)), [](Builder& b, Value x, Value y) -> Value { return b.create<Op>(x, y); });
  }
  Value reduce(Value v, llvm::ArrayRef<int64_t> dims, Value init, llvm::function_ref<Value(Builder&, Value, Value)> body);
  Value sum(Value v, llvm::ArrayRef<int64_t> dims);  // accumulated in f32 where v is narrower
  Value maximum(Value v, llvm::ArrayRef<int64_t> dims);
  Value minimum(Value v, llvm::ArrayRef<int64_t> dims);
  /// A reduced value over the shape it was reduced from.
  Value spread(Value reduced, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  /// Sums what broadcasting repeated: the gradient of `broadcast`.
  Value sum_to(Value v, llvm::ArrayRef<int64_t> shape);

  // Contractions and indexing
  /// Of x's element type if `element` is null.
  Value dot(Value x, Value y, llvm::ArrayRef<int64_t> x_contract, llvm::ArrayRef<int64_t> y_contract, llvm::ArrayRef<int64_t> x_batch = {},
            llvm::ArrayRef<int64_t> y_batch = {}, mlir::Type element = {});
  /// Batched x·y over the last two dimensions, all others are batch.
  Value matmul(Value x, Value y, bool transpose_x = false, bool transpose_y = false, mlir::Type element = {});
  /// The x of a·x = b, or of x·a = b, with one triangle of `a`; all dimensions but the last two are batch.
  Value triangular_solve(Value a, Value b, bool left, bool lower, bool unit_diagonal);
  /// Indices into n elements, those that count from the end (negative) made such that count from the beginning.
  Value from_either_end(Value index, int64_t n);
  /// x[index] along `dim`: the index's shape takes the dimension's place.
  Value take(Value x, Value index, int64_t dim);
  /// x[…, index[…, i, …], …] along `dim`, of the index's shape, which may leave out ends of the other dimensions, as torch.gather.
  Value take_along(Value x, Value index, int64_t dim);
  /// How many of a row's sorted numbers lie before each value, with `right` also its equals: i64, by bisection; a nan lies behind all. There is one row, or one for each row of values.
  Value places_in(Value rows, Value values, bool right);
  /// Updates at the indices; `combine` makes one of what is there (first) and the update.
  Value scatter(Value target, Value index, Value updates, hlo::ScatterDimensionNumbersAttr numbers, llvm::function_ref<Value(Value, Value)> combine,
                bool unique = false);
  /// The same for whole slices: target[…, index[i], …] along `dim` and updates[…, i, …].
  Value scatter_slices(Value target, int64_t dim, Value index, Value updates, llvm::function_ref<Value(Value, Value)> combine, bool unique = false);
  /// Single elements: target[…, index[…, i, …], …] along `dim` and updates[…, i, …], of the index's shape or larger, as torch.scatter. Whole slices where the index
  /// says the same along all other dimensions.
  Value scatter_elements(Value target, int64_t dim, Value index, Value updates, llvm::function_ref<Value(Value, Value)> combine);
  /// What an index along `dim` says of whole slices, a vector; null if it (or whether it does can't be seen) differs along another dimension.
  Value index_of_slices(Value index, int64_t dim);
  /// target[index[i]] (+)= updates[i] along dimension 0.
  Value scatter_rows(Value target, Value index, Value updates, bool add, bool unique = false);
  /// A composite of this project's own, whose attributes are integers. `body` makes its decomposition, once for each type and set of attributes in a module.
  Value composite(llvm::StringRef name, mlir::ValueRange operands, mlir::Type result, mlir::DictionaryAttr attributes,
                  llvm::function_ref<Value(Builder&, mlir::ValueRange)> body);
  /// What the values are after as many rounds of `body`, which is given the round's number, an i64, and the values before it.
  Values repeat(int64_t rounds, Values values, llvm::function_ref<Values(Value, llvm::ArrayRef<Value>)> body);
  /// One-hot comparison along a new last dimension: index[..., None] == iota(n).
  Value one_hot(Value index, int64_t n);
};

inline mlir::Type i64_of(Builder& b) { return b.ops.getI64Type(); }

}  // namespace cresset::lowering
