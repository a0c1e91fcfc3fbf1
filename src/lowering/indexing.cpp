// Indexing by lists of tensors, and scatters that reduce.
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

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
    v = b.from_either_end(v, shape_of(self)[s.indexed[i]]);
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

// A mask over the dimensions from `place` on; the values have none for its true elements, or one of size 1.
Value put_where(Builder& b, Value self, Value mask, int64_t place, Value values, bool accumulate) {
  Dims dims, shape(shape_of(values));
  for (int64_t d = 0; d < rank_of(mask); ++d) dims.push_back(place + d);
  int64_t behind = rank_of(self) - place - rank_of(mask);
  if (type_of(values).getNumElements() == 1) shape.clear();
  else if (int64_t(shape.size()) > behind) shape.insert(shape.end() - behind, rank_of(mask) - 1, 1);
  Value value = b.broadcast(b.reshape(b.convert(values, element_of(self)), shape), shape_of(self));
  return b.select(b.broadcast(mask, shape_of(self), dims), accumulate ? b.add(self, value) : value, self);
}

Value put(Builder& b, Value self, llvm::ArrayRef<Value> indices, Value values, bool accumulate) {
  auto given = llvm::find_if(indices, [](Value v) { return bool(v); });
  if (element_of(*given).isInteger(1)) return put_where(b, self, *given, given - indices.begin(), values, accumulate);
  Selection s = select_by(b, self, indices);
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), s.offset_dims, s.indexed, {}, {}, s.indexed, int64_t(s.batch.size()));
  Value updates = b.broadcast(b.convert(values, element_of(self)), s.shape);
  return b.scatter(self, s.vectors, updates, numbers, [&](Value x, Value y) { return accumulate ? b.add(x, y) : y; });
}

// Of numbers, too.
Value scatter_along(Builder& b, Value target, int64_t dim, Value index, Value src, llvm::function_ref<Value(Value, Value)> body) {
  auto ranked = [&](Value v) { return rank_of(v) == 0 ? b.reshape(v, {1}) : v; };
  Value into = ranked(target);
  return b.reshape(b.scatter_elements(into, wrap(dim, rank_of(into)), ranked(index), ranked(src), body), shape_of(target));
}

// Whole slices along one dimension; the index is a vector or one number.
template <class F>
Value scatter_slices(Builder& b, Value self, int64_t dim, Value index, Value updates, F body) {
  if (type_of(index).getNumElements() == 0) return self;
  return b.scatter_slices(self, wrap(dim, rank_of(self)), index, updates, body);
}
Value fill_slices(Builder& b, Value self, int64_t dim, Value index, Value value) {
  int64_t n = type_of(index).getNumElements();
  if (rank_of(self) == 0) return n ? value : self;
  Dims shape(shape_of(self));
  shape[wrap(dim, rank_of(self))] = n;
  index = b.from_either_end(b.convert(index, i64_of(b)), shape_of(self)[wrap(dim, rank_of(self))]);
  return scatter_slices(b, self, dim, index, b.broadcast(value, shape), [](Value, Value y) { return y; });
}

Value scatter_reduced(Builder& b, Value self, int64_t dim, Value index, Value src, llvm::StringRef reduce, bool include_self) {
  if (type_of(index).getNumElements() == 0) return self;
  if (reduce == "mean") {
    // Sums and counts; of integers the quotient is rounded down.
    Value sum = scatter_reduced(b, self, dim, index, src, "sum", include_self), one = b.like(1, src);
    Value count = scatter_reduced(b, b.like(include_self ? 1 : 0, self), dim, index, one, "sum", true);
    count = b.max(count, b.like(1, count));
    return is_floating(sum) ? b.div(sum, count) : floor_quotient(b, sum, count);
  }
  auto body = [&](Value x, Value y) -> Value {
    if (reduce == "sum" || reduce == "add") return b.add(x, y);
    if (reduce == "prod" || reduce == "multiply") return b.mul(x, y);
    return reduce == "amax" ? b.max(x, y) : b.min(x, y);
  };
  Value target = self;
  if (!include_self) {
    mlir::Type t = element_of(self);
    Value neutral = reduce == "sum" ? b.constant(0.0, t) : reduce == "prod" ? b.constant(1.0, t) : reduce == "amax" ? b.lowest(t) : b.highest(t);
    target = scatter_along(b, target, dim, index, b.broadcast(neutral, shape_of(src)), [](Value, Value y) { return y; });
  }
  return scatter_along(b, target, dim, index, src, body);
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
  Value updates = b.is(alpha, 1) ? source : b.mul(source, b.scalar_like(alpha, source));
  return scatter_slices(b, self, dim, index, updates, [&](Value x, Value y) { return b.add(x, y); });
}
Value index_copy(Builder& b, Value self, int64_t dim, Value index, Value source) {
  int64_t n = type_of(index).getNumElements();
  if (rank_of(self) == 0) return n ? b.reshape(source, {}) : self;
  Dims shape(shape_of(self));
  shape[wrap(dim, rank_of(self))] = n;
  return scatter_slices(b, self, dim, index, b.reshape(source, shape), [](Value, Value y) { return y; });
}
Value index_fill_int_Scalar(Builder& b, Value self, int64_t dim, Value index, Scalar value) {
  return fill_slices(b, self, dim, index, b.scalar(value, element_of(self)));
}
Value index_fill_int_Tensor(Builder& b, Value self, int64_t dim, Value index, Value value) {
  return fill_slices(b, self, dim, index, b.convert(b.reshape(value, {}), element_of(self)));
}

Value isin_Tensor_Tensor(Builder& b, Value elements, Value test_elements, bool assume_unique, bool invert) {
  auto [x, y] = b.promoted(b.unsqueeze(elements, rank_of(elements)), b.reshape(test_elements, {type_of(test_elements).getNumElements()}));
  Value found = b.reduce<hlo::OrOp>(b.compare(Direction::EQ, x, y), {rank_of(elements)}, 0);
  return invert ? b.logical_not(found) : found;
}
Value isin_Tensor_Scalar(Builder& b, Value elements, Scalar test_element, bool assume_unique, bool invert) {
  return invert ? ne_Scalar(b, elements, test_element) : eq_Scalar(b, elements, test_element);
}

Value searchsorted(Builder& b, Value sorted_sequence, Value self, bool out_int32, bool right, std::optional<llvm::StringRef> side, Value sorter) {
  return b.convert(b.places_in(sorted_sequence, self, right || side.value_or("left") == "right"), b.result_element());
}
Value bucketize(Builder& b, Value self, Value boundaries, bool out_int32, bool right) { return b.convert(b.places_in(boundaries, self, right), b.result_element()); }

Value histc(Builder& b, Value self, int64_t bins, Scalar min, Scalar max) {
  mlir::Type i64 = i64_of(b);
  bool whole = !is_floating(self);
  Value x = b.reshape(whole ? b.convert(self, i64) : b.upcast(self), {type_of(self).getNumElements()});
  mlir::Type element = element_of(x);
  Value low = b.scalar(min, element), high = b.scalar(max, element), one = b.constant(c10::Scalar(1), element);
  if (min.value.toDouble() == max.value.toDouble() && shape_of(x)[0] > 0) {
    auto bound = [&](bool upper) {
      return whole ? b.constant(c10::Scalar(upper ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min()), element)
                   : b.constant(upper ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity(), element);
    };
    low = b.reduce(x, {0}, bound(true), [](Builder& b, Value p, Value q) { return b.min(p, q); });
    high = b.reduce(x, {0}, bound(false), [](Builder& b, Value p, Value q) { return b.max(p, q); });
  }
  Value flat = b.compare(Direction::EQ, low, high);
  low = b.select(flat, b.sub(low, one), low), high = b.select(flat, b.add(high, one), high);
  Value from = b.broadcast(low, shape_of(x)), to = b.broadcast(high, shape_of(x)), count = b.constant(c10::Scalar(bins), element, shape_of(x));
  Value place = whole ? b.div(b.mul(b.sub(x, from), count), b.sub(to, from)) : b.mul(b.div(b.sub(x, from), b.sub(to, from)), count);
  Value inside = b.logical_and(b.compare(Direction::GE, x, from), b.compare(Direction::LE, x, to)), last = b.constant(c10::Scalar(bins - 1), i64, shape_of(x));
  // What lies outside is counted in a bin of its own.
  place = b.select(inside, b.min(b.convert(place, i64), last), b.constant(c10::Scalar(bins), i64, shape_of(x)));
  Value counts = b.constant(0.0, i64, {bins + 1});
  counts = scatter_along(b, counts, 0, place, b.constant(c10::Scalar(1), i64, shape_of(x)), [&](Value p, Value q) { return b.add(p, q); });
  return b.convert(b.slice(counts, 0, 0, bins), b.result_element());
}

}  // namespace cresset::lowering::aten
