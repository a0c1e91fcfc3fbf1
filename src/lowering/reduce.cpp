// Reductions and scans.
#include <cmath>
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

using OptionalDims = std::optional<llvm::ArrayRef<int64_t>>;
Dims dims_of(Value v, OptionalDims dim) { return wrap_all(dim.value_or(llvm::ArrayRef<int64_t>()), rank_of(v)); }
int64_t count(Value v, const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape_of(v)[d];
  return n;
}

// Position of the first extreme element (nan counts as extreme) along one dimension.
Value position_of(Builder& b, Value x, Value extreme, int64_t dim) {
  Value same = b.compare(Direction::EQ, x, b.spread(extreme, {dim}, shape_of(x)));
  if (is_floating(x)) same = b.logical_or(same, b.compare(Direction::NE, x, x));
  mlir::Type i64 = b.ops.getI64Type();
  Value n = b.constant(c10::Scalar(shape_of(x)[dim]), i64, shape_of(x));
  return b.minimum(b.select(same, b.iota(dim, shape_of(x), i64), n), {dim});
}
Values extreme_with_position(Builder& b, Value self, int64_t dim, bool max) {
  if (rank_of(self) == 0) return {self, b.constant(0.0, b.result_element(1), b.result_shape(1))};
  dim = wrap(dim, rank_of(self));
  Value extreme = max ? b.maximum(self, {dim}) : b.minimum(self, {dim});
  return {b.as_result(extreme, 0), b.as_result(position_of(b, self, extreme, dim), 1)};
}
Value arg(Builder& b, Value self, std::optional<int64_t> dim, bool max) {
  Value x = dim && rank_of(self) ? self : b.reshape(self, {type_of(self).getNumElements()});
  int64_t d = dim && rank_of(self) ? wrap(*dim, rank_of(self)) : 0;
  return b.as_result(position_of(b, x, max ? b.maximum(x, {d}) : b.minimum(x, {d}), d));
}

// Mean and variance with `correction`; both reduced.
std::pair<Value, Value> moments(Builder& b, Value x, const Dims& dims, double correction) {
  double n = double(count(x, dims));
  Value mean = b.mul(b.sum(x, dims), 1 / n);
  Value centred = b.sub(x, b.spread(mean, dims, shape_of(x)));
  Value squares = b.sum(b.mul(centred, centred), dims);
  return {mean, b.div(squares, b.like(std::max(n - correction, 0.0), squares))};
}

}  // namespace

Value sum(Builder& b, Value self, std::optional<at::ScalarType> dtype) { return sum_dim_IntList(b, self, std::nullopt, false, dtype); }
Value sum_dim_IntList(Builder& b, Value self, OptionalDims dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  return b.as_result(b.sum(x, dims_of(self, dim)));
}
Value mean(Builder& b, Value self, std::optional<at::ScalarType> dtype) { return mean_dim(b, self, std::nullopt, false, dtype); }
Value mean_dim(Builder& b, Value self, OptionalDims dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  Dims dims = dims_of(self, dim);
  Value s = b.sum(x, dims);
  return b.as_result(b.div(s, b.like(double(count(self, dims)), s)));
}
Value amax(Builder& b, Value self, llvm::ArrayRef<int64_t> dim, bool keepdim) { return b.as_result(b.maximum(self, dims_of(self, dim))); }
Value amin(Builder& b, Value self, llvm::ArrayRef<int64_t> dim, bool keepdim) { return b.as_result(b.minimum(self, dims_of(self, dim))); }
Value max(Builder& b, Value self) { return b.as_result(b.maximum(self, dims_of(self, std::nullopt))); }
Value min(Builder& b, Value self) { return b.as_result(b.minimum(self, dims_of(self, std::nullopt))); }
Values max_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return extreme_with_position(b, self, dim, true); }
Values min_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return extreme_with_position(b, self, dim, false); }
Value argmax(Builder& b, Value self, std::optional<int64_t> dim, bool keepdim) { return arg(b, self, dim, true); }
Value argmin(Builder& b, Value self, std::optional<int64_t> dim, bool keepdim) { return arg(b, self, dim, false); }
static Value product(Builder& b, Value self, const Dims& dims) {
  return b.as_result(b.reduce<hlo::MulOp>(b.upcast(b.convert(self, b.result_element())), dims, 1));
}
Value prod(Builder& b, Value self, std::optional<at::ScalarType> dtype) { return product(b, self, dims_of(self, std::nullopt)); }
Value prod_dim_int(Builder& b, Value self, int64_t dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  return product(b, self, dims_of(self, llvm::ArrayRef(dim)));
}
Value nansum(Builder& b, Value self, OptionalDims dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  if (is_floating(x)) x = b.select(b.compare(Direction::NE, x, x), b.like(0, x), x);
  return b.as_result(b.sum(x, dims_of(self, dim)));
}
Values aminmax(Builder& b, Value self, std::optional<int64_t> dim, bool keepdim) {
  Dims dims = dim ? dims_of(self, llvm::ArrayRef(*dim)) : dims_of(self, std::nullopt);
  return {b.as_result(b.minimum(self, dims), 0), b.as_result(b.maximum(self, dims), 1)};
}
Value count_nonzero_dim_IntList(Builder& b, Value self, llvm::ArrayRef<int64_t> dim) {
  return b.as_result(b.sum(b.convert(b.convert(self, b.ops.getI1Type()), b.ops.getI64Type()), dims_of(self, dim)));
}
Value trace(Builder& b, Value self) {
  mlir::Type i64 = b.ops.getI64Type();
  Value x = b.convert(self, b.result_element()), diagonal = b.compare(Direction::EQ, b.iota(0, shape_of(x), i64), b.iota(1, shape_of(x), i64));
  return b.as_result(b.sum(b.upcast(b.select(diagonal, x, b.like(0, x))), {0, 1}));
}

static Value any_of(Builder& b, Value self, const Dims& dims) { return b.as_result(b.reduce<hlo::OrOp>(b.convert(self, b.ops.getI1Type()), dims, 0)); }
static Value all_of(Builder& b, Value self, const Dims& dims) { return b.as_result(b.reduce<hlo::AndOp>(b.convert(self, b.ops.getI1Type()), dims, 1)); }
Value any(Builder& b, Value self) { return any_of(b, self, dims_of(self, std::nullopt)); }
Value all(Builder& b, Value self) { return all_of(b, self, dims_of(self, std::nullopt)); }
Value any_dims(Builder& b, Value self, OptionalDims dim, bool keepdim) { return any_of(b, self, dim && dim->empty() ? Dims() : dims_of(self, dim)); }
Value all_dims(Builder& b, Value self, OptionalDims dim, bool keepdim) { return all_of(b, self, dim && dim->empty() ? Dims() : dims_of(self, dim)); }
Value any_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return any_of(b, self, dims_of(self, llvm::ArrayRef(dim))); }
Value all_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return all_of(b, self, dims_of(self, llvm::ArrayRef(dim))); }

static double correction_of(const std::optional<Scalar>& c) { return c ? c->value.toDouble() : 1.0; }
Value var_correction(Builder& b, Value self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim) {
  return b.as_result(moments(b, b.upcast(self), dims_of(self, dim), correction_of(correction)).second);
}
Value std_correction(Builder& b, Value self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim) {
  return b.as_result(b.sqrt(moments(b, b.upcast(self), dims_of(self, dim), correction_of(correction)).second));
}
Values var_mean_correction(Builder& b, Value self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim) {
  auto [mean, var] = moments(b, b.upcast(self), dims_of(self, dim), correction_of(correction));
  return {b.as_result(var, 0), b.as_result(mean, 1)};
}
Values std_mean_correction(Builder& b, Value self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim) {
  auto [mean, var] = moments(b, b.upcast(self), dims_of(self, dim), correction_of(correction));
  return {b.as_result(b.sqrt(var), 0), b.as_result(mean, 1)};
}

// ord: 0 counts, ±∞ are the extremes, p is (Σ|x|^p)^(1/p)
static Value vector_norm(Builder& b, Value self, double ord, OptionalDims dim) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  Dims dims = dims_of(self, dim);
  if (ord == 2) return b.as_result(b.sqrt(b.sum(b.mul(x, x), dims)));
  Value m = b.abs(x);
  if (std::isinf(ord)) return b.as_result(ord > 0 ? b.maximum(m, dims) : b.minimum(m, dims));
  if (ord == 0) return b.as_result(b.sum(b.convert(b.compare(Direction::NE, x, b.like(0, x)), element_of(x)), dims));
  if (ord == 1) return b.as_result(b.sum(m, dims));
  Value s = b.sum(b.pow(m, b.like(ord, m)), dims);
  return b.as_result(b.pow(s, b.like(1 / ord, s)));
}
Value linalg_vector_norm(Builder& b, Value self, Scalar ord, OptionalDims dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  return vector_norm(b, self, ord.value.toDouble(), dim);
}
Value norm_ScalarOpt_dim(Builder& b, Value self, std::optional<Scalar> p, llvm::ArrayRef<int64_t> dim, bool keepdim) {
  return vector_norm(b, self, p ? p->value.toDouble() : 2, dim);
}
Value norm_ScalarOpt_dim_dtype(Builder& b, Value self, std::optional<Scalar> p, llvm::ArrayRef<int64_t> dim, bool keepdim, at::ScalarType dtype) {
  return vector_norm(b, self, p ? p->value.toDouble() : 2, dim);
}
Value logsumexp(Builder& b, Value self, llvm::ArrayRef<int64_t> dim, bool keepdim) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  Dims dims = dims_of(self, dim);
  Value m = b.maximum(x, dims);
  Value finite = b.select(b.create<hlo::IsFiniteOp>(mlir::RankedTensorType::get(shape_of(m), b.ops.getI1Type()), m), m, b.like(0, m));
  return b.as_result(b.add(b.log(b.sum(b.exp(b.sub(x, b.spread(finite, dims, shape_of(x)))), dims)), finite));
}
// Each element with all before it: a window as long as the dimension, over as much padding in front. `combine` takes what is before and what comes then, of each input.
static Values scan(Builder& b, Values inputs, int64_t dim, Values init, llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)> combine) {
  Dims shape(shape_of(inputs[0]));
  size_t rank = shape.size(), count = inputs.size();
  Dims window(rank, 1), padding(2 * rank, 0);
  window[dim] = shape[dim];
  padding[2 * dim] = shape[dim] - 1;
  auto pads = mlir::DenseIntElementsAttr::get(mlir::RankedTensorType::get({int64_t(rank), 2}, b.ops.getI64Type()), llvm::ArrayRef<int64_t>(padding));
  auto op = b.create<hlo::ReduceWindowOp>(mlir::TypeRange(mlir::ValueRange(inputs)), inputs, init, b.ops.getDenseI64ArrayAttr(window), nullptr, nullptr, nullptr, pads);
  mlir::OpBuilder::InsertionGuard guard(b.ops);
  mlir::Block* block = b.ops.createBlock(&op.getBody());
  for (size_t i = 0; i < 2 * count; ++i) block->addArgument(mlir::RankedTensorType::get({}, element_of(inputs[i % count])), b.loc);
  mlir::ValueRange arguments = block->getArguments();
  b.create<hlo::ReturnOp>(combine(arguments.take_front(count), arguments.drop_front(count)));
  return Values(op.getResults());
}
template <class F>
static Value cumulative(Builder& b, Value self, int64_t dim, double init, F combine) {
  Value x = b.upcast(b.convert(self, b.result_element()));
  if (rank_of(x) == 0 || type_of(x).getNumElements() == 0) return b.as_result(x);
  return b.as_result(scan(b, {x}, wrap(dim, rank_of(x)), {b.constant(init, element_of(x))}, [&](auto x, auto y) { return Values{combine(x[0], y[0])}; })[0]);
}
Value cumsum(Builder& b, Value self, int64_t dim, std::optional<at::ScalarType> dtype) {
  return cumulative(b, self, dim, 0, [&](Value x, Value y) { return b.add(x, y); });
}
Value cumprod(Builder& b, Value self, int64_t dim, std::optional<at::ScalarType> dtype) {
  return cumulative(b, self, dim, 1, [&](Value x, Value y) { return b.mul(x, y); });
}
Value _logcumsumexp(Builder& b, Value self, int64_t dim) {
  return cumulative(b, self, dim, -std::numeric_limits<double>::infinity(), [&](Value x, Value y) { return log_of_sum(b, x, y); });
}
// The extreme element so far and where it is: the last of equal ones, and nan before all numbers.
static Values cumulative_extreme(Builder& b, Value self, int64_t dim, bool max) {
  mlir::Type i64 = b.ops.getI64Type();
  if (rank_of(self) == 0 || type_of(self).getNumElements() == 0) return {self, b.constant(c10::Scalar(0), i64, shape_of(self))};
  dim = wrap(dim, rank_of(self));
  Values init{max ? b.lowest(element_of(self)) : b.highest(element_of(self)), b.constant(c10::Scalar(0), i64)};
  return scan(b, {self, b.iota(dim, shape_of(self), i64)}, dim, init, [&](auto before, auto then) {
    Value x = before[0], y = then[0], taken = b.compare(max ? Direction::GE : Direction::LE, y, x);
    if (is_floating(x)) taken = b.logical_or(b.compare(Direction::NE, y, y), taken);
    return Values{b.select(taken, y, x), b.select(taken, then[1], before[1])};
  });
}
Values cummax(Builder& b, Value self, int64_t dim) { return cumulative_extreme(b, self, dim, true); }
Values cummin(Builder& b, Value self, int64_t dim) { return cumulative_extreme(b, self, dim, false); }

}  // namespace cresset::lowering::aten
