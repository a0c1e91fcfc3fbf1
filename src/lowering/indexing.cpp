// Indexing by lists of tensors, sorting, and scatters that reduce.
#include <limits>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

mlir::Type i64_of(Builder& b) { return b.ops.getI64Type(); }

// Integer indices of some dimensions: their common shape, where it stands in the result, and the index vectors.
struct Selection {
  Dims indexed, batch, offset_dims;
  Value vectors;  // [batch…, indexed]
  Dims shape;     // of the result
};
Selection select_by(Builder& b, Value self, llvm::ArrayRef<Value> indices) {
  Selection s;
  Values present;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    s.indexed.push_back(int64_t(d));
    present.push_back(indices[d]);
    auto n = shape_of(indices[d]);
    if (n.size() > s.batch.size()) s.batch.insert(s.batch.begin(), n.size() - s.batch.size(), 1);
    for (size_t k = 0; k < n.size(); ++k) {
      int64_t& m = s.batch[s.batch.size() - n.size() + k];
      if (m == 1) m = n[k];
    }
  }
  Values columns;
  for (size_t i = 0; i < present.size(); ++i) {
    Value v = b.convert(present[i], i64_of(b));
    Value n = b.constant(c10::Scalar(shape_of(self)[s.indexed[i]]), i64_of(b), shape_of(v));
    v = b.select(b.compare(Direction::LT, v, b.like(0, v)), b.add(v, n), v);
    columns.push_back(b.unsqueeze(b.broadcast(v, s.batch), int64_t(s.batch.size())));
  }
  s.vectors = columns.size() == 1 ? columns[0] : b.concatenate(columns, int64_t(s.batch.size()));
  // Adjacent indices stand in their own place, others in front.
  bool adjacent = s.indexed.back() - s.indexed.front() + 1 == int64_t(s.indexed.size());
  int64_t place = adjacent ? s.indexed.front() : 0;
  for (int64_t d = 0, rest = 0; d <= rank_of(self); ++d) {
    if (rest == place && s.shape.size() == size_t(place)) s.shape.append(s.batch.begin(), s.batch.end());
    if (d == rank_of(self)) break;
    if (llvm::is_contained(s.indexed, d)) continue;
    s.offset_dims.push_back(int64_t(s.shape.size()));
    s.shape.push_back(shape_of(self)[d]);
    ++rest;
  }
  return s;
}

Value put(Builder& b, Value self, llvm::ArrayRef<Value> indices, Value values, bool accumulate) {
  Value first;
  for (Value v : indices) if (v && !first) first = v;
  if (element_of(first).isInteger(1)) {
    // One mask over leading dimensions and one value.
    Dims dims;
    for (size_t d = 0; d < indices.size() && !indices[d]; ++d) dims.push_back(0);
    int64_t from = int64_t(dims.size());
    dims.clear();
    for (int64_t d = 0; d < rank_of(first); ++d) dims.push_back(from + d);
    Value value = b.broadcast(b.reshape(b.convert(values, element_of(self)), {}), shape_of(self));
    return b.select(b.broadcast(first, shape_of(self), dims), value, self);
  }
  Selection s = select_by(b, self, indices);
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), s.offset_dims, s.indexed, {}, {}, s.indexed, int64_t(s.batch.size()));
  Value updates = b.broadcast(b.convert(values, element_of(self)), s.shape);
  return b.scatter(self, s.vectors, updates, numbers, [&](Value x, Value y) { return accumulate ? b.add(x, y) : y; });
}

// NaN is larger than any number.
Values sorted(Builder& b, Value self, int64_t dim, bool descending) {
  mlir::Type element = element_of(self);
  Value positions = b.iota(dim, shape_of(self), i64_of(b));
  auto op = b.create<hlo::SortOp>(mlir::TypeRange{self.getType(), positions.getType()}, mlir::ValueRange{self, positions}, b.ops.getI64IntegerAttr(dim), b.ops.getBoolAttr(true));
  mlir::OpBuilder::InsertionGuard guard(b.ops);
  auto* block = b.ops.createBlock(&op.getComparator());
  mlir::Type x = mlir::RankedTensorType::get({}, element), i = mlir::RankedTensorType::get({}, i64_of(b));
  block->addArguments({x, x, i, i}, {b.loc, b.loc, b.loc, b.loc});
  Value p = block->getArgument(0), q = block->getArgument(1);
  if (descending) std::swap(p, q);
  Value before = b.compare(Direction::LT, p, q);
  if (mlir::isa<mlir::FloatType>(element))
    before = b.logical_or(before, b.logical_and(b.compare(Direction::EQ, p, p), b.compare(Direction::NE, q, q)));
  b.create<hlo::ReturnOp>(mlir::ValueRange{before});
  return {op.getResult(0), op.getResult(1)};
}

Value position_in(Builder& b, Value index, llvm::ArrayRef<int64_t> shape, int64_t dim) {
  Value sum;
  int64_t stride = 1;
  for (int64_t d = rank_of(index) - 1; d >= 0; --d) {
    Value at = d == dim ? b.convert(index, i64_of(b)) : b.iota(d, shape_of(index), i64_of(b));
    at = b.mul(at, b.constant(c10::Scalar(stride), i64_of(b), shape_of(index)));
    sum = sum ? b.add(sum, at) : at;
    stride *= shape[d];
  }
  return b.reshape(sum, {type_of(index).getNumElements(), 1});
}

Value scatter_reduced(Builder& b, Value self, int64_t dim, Value index, Value src, llvm::StringRef reduce, bool include_self) {
  if (type_of(index).getNumElements() == 0) return self;
  int64_t n = type_of(self).getNumElements();
  if (rank_of(self) == 0) self = b.reshape(self, {1});
  if (rank_of(index) == 0) index = b.reshape(index, {1});
  if (rank_of(src) == 0) src = b.reshape(src, {1});
  dim = wrap(dim, rank_of(self));
  Value at = position_in(b, index, shape_of(self), dim);
  Value updates = b.create<hlo::SliceOp>(src, Dims(rank_of(src), 0), Dims(shape_of(index)), Dims(rank_of(src), 1));
  updates = b.reshape(updates, {type_of(index).getNumElements()});
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), {}, {0}, {}, {}, {0}, 1);
  Value target = b.reshape(self, {n});
  auto body = [&](Value x, Value y) -> Value {
    if (reduce == "sum" || reduce == "add") return b.add(x, y);
    if (reduce == "prod" || reduce == "multiply") return b.mul(x, y);
    return reduce == "amax" ? b.max(x, y) : b.min(x, y);
  };
  if (!include_self) {
    mlir::Type t = element_of(self);
    double infinity = std::numeric_limits<double>::infinity();
    int64_t lowest = t.isInteger(1) || t.isUnsignedInteger() ? 0 : std::numeric_limits<int64_t>::min() >> (64 - t.getIntOrFloatBitWidth());
    int64_t highest = t.isInteger(1) ? 1 : t.isUnsignedInteger() ? 255 : std::numeric_limits<int64_t>::max() >> (64 - t.getIntOrFloatBitWidth());
    c10::Scalar neutral = reduce == "sum" ? c10::Scalar(0) : reduce == "prod" ? c10::Scalar(1)
                          : is_floating(self) ? c10::Scalar(reduce == "amax" ? -infinity : infinity) : c10::Scalar(reduce == "amax" ? lowest : highest);
    target = b.scatter(target, at, b.constant(neutral, t, shape_of(updates)), numbers, [](Value, Value y) { return y; });
  }
  return b.reshape(b.scatter(target, at, updates, numbers, body), b.result_shape());
}

}  // namespace

Value index(Builder& b, Value self, llvm::ArrayRef<Value> indices) {
  Selection s = select_by(b, self, indices);
  Dims sizes(shape_of(self));
  for (int64_t d : s.indexed) sizes[d] = 1;
  auto numbers = hlo::GatherDimensionNumbersAttr::get(b.ops.getContext(), s.offset_dims, s.indexed, {}, {}, s.indexed, int64_t(s.batch.size()));
  return b.create<hlo::GatherOp>(mlir::RankedTensorType::get(s.shape, element_of(self)), self, s.vectors, numbers, b.ops.getDenseI64ArrayAttr(sizes), b.ops.getBoolAttr(false));
}
Value _index_put_impl_(Builder& b, Value self, llvm::ArrayRef<Value> indices, Value values, bool accumulate, bool unsafe) {
  return put(b, self, indices, values, accumulate);
}

Values sort_stable(Builder& b, Value self, std::optional<bool> stable, int64_t dim, bool descending) {
  if (rank_of(self) == 0) return {self, b.constant(0.0, i64_of(b))};
  return sorted(b, self, wrap(dim, rank_of(self)), descending);
}
Values topk(Builder& b, Value self, int64_t k, int64_t dim, bool largest, bool is_sorted) {
  if (rank_of(self) == 0) return {self, b.constant(0.0, i64_of(b))};
  dim = wrap(dim, rank_of(self));
  Values all = sorted(b, self, dim, largest);
  return {b.slice(all[0], dim, 0, k), b.slice(all[1], dim, 0, k)};
}

Value scatter_reduce(Builder& b, Value self, int64_t dim, Value index, Value src, llvm::StringRef reduce) {
  return scatter_reduced(b, self, dim, index, src, reduce, true);
}
Value scatter_reduce_two(Builder& b, Value self, int64_t dim, Value index, Value src, llvm::StringRef reduce, bool include_self) {
  return scatter_reduced(b, self, dim, index, src, reduce, include_self);
}
Value index_add(Builder& b, Value self, int64_t dim, Value index, Value source, Scalar alpha) {
  if (rank_of(self) == 0) {
    Value v = b.reshape(source, {});
    return b.add(self, b.is(alpha, 1) ? v : b.mul(v, b.scalar_like(alpha, v)));
  }
  dim = wrap(dim, rank_of(self));
  Value updates = b.is(alpha, 1) ? source : b.mul(source, b.scalar_like(alpha, source));
  Dims window;
  for (int64_t d = 0; d < rank_of(self); ++d) if (d != dim) window.push_back(d);
  int64_t n = type_of(index).getNumElements();
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), window, {dim}, {}, {}, {dim}, 1);
  return b.scatter(self, b.reshape(index, {n, 1}), updates, numbers, [&](Value x, Value y) { return b.add(x, y); });
}

}  // namespace cresset::lowering::aten
