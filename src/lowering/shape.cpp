// Joining, moving and indexing.
#include <numeric>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

Value at_least_1d(Builder& b, Value v) { return rank_of(v) == 0 ? b.reshape(v, {1}) : v; }

Value triangle(Builder& b, Value self, int64_t diagonal, bool lower) {
  int64_t rank = rank_of(self);
  mlir::Type i64 = b.ops.getI64Type();
  diagonal = std::clamp(diagonal, -shape_of(self)[rank - 2], shape_of(self)[rank - 1]);  // any int64 may be given
  Value row = b.iota(rank - 2, shape_of(self), i64), column = b.iota(rank - 1, shape_of(self), i64);
  Value shifted = b.add(row, b.constant(c10::Scalar(diagonal), i64, shape_of(self)));
  Value keep = b.compare(lower ? Direction::LE : Direction::GE, column, shifted);
  return b.select(keep, self, b.like(0, self));
}

}  // namespace

Value cat(Builder& b, llvm::ArrayRef<Value> tensors, int64_t dim) {
  Values parts;
  for (Value t : tensors)
    if (!(rank_of(t) == 1 && shape_of(t)[0] == 0)) parts.push_back(b.convert(t, b.result_element()));
  if (parts.empty()) return b.constant(0.0, b.result_element(), b.result_shape());
  return b.concatenate(parts, wrap(dim, rank_of(parts[0])));
}
Value stack(Builder& b, llvm::ArrayRef<Value> tensors, int64_t dim) {
  Values parts;
  int64_t d = wrap(dim, rank_of(tensors[0]) + 1);
  for (Value t : tensors) parts.push_back(b.unsqueeze(b.convert(t, b.result_element()), d));
  return b.concatenate(parts, d);
}
Value flip(Builder& b, Value self, llvm::ArrayRef<int64_t> dims) {
  return dims.empty() ? self : Value(b.create<hlo::ReverseOp>(self.getType(), self, b.ops.getDenseI64ArrayAttr(wrap_all(dims, rank_of(self)))));
}
Value tril(Builder& b, Value self, int64_t diagonal) { return triangle(b, self, diagonal, true); }
Value triu(Builder& b, Value self, int64_t diagonal) { return triangle(b, self, diagonal, false); }
static Value ramp(Builder& b, Value start, Value step) {
  Value i = b.iota(0, shape_of(start), element_of(start));
  return b.convert(b.add(start, b.mul(i, step)), b.result_element());
}
Value arange_start_out(Builder& b, Scalar start, Scalar end, Scalar step) {
  mlir::Type t = mlir::isa<mlir::FloatType>(b.result_element()) ? mlir::Type(b.ops.getF64Type()) : b.ops.getI64Type();
  return ramp(b, b.scalar(start, t, b.result_shape()), b.scalar(step, t, b.result_shape()));
}
// From both ends, so that the last element is exactly `end`.
Value linspace_out(Builder& b, Scalar start, Scalar end, int64_t steps) {
  mlir::Type f64 = b.ops.getF64Type();
  Dims shape = b.result_shape();
  // Integers begin and end with integers.
  auto bound = [&](const Scalar& s) { return is_floating(b.constant(0.0, b.result_element(), {})) ? b.scalar(s, f64, shape) : b.convert(b.scalar(s, b.result_element(), shape), f64); };
  Value first = bound(start), last = bound(end);
  if (steps <= 1) return b.convert(first, b.result_element());
  Value step = b.div(b.sub(last, first), b.like(double(steps - 1), first));
  Value position = b.iota(0, shape, f64), back = b.sub(b.like(double(steps - 1), position), position);
  Value in_front = b.compare(Direction::LT, position, b.like(double(steps / 2), position));
  return b.convert(b.select(in_front, b.add(first, b.mul(step, position)), b.sub(last, b.mul(step, back))), b.result_element());
}
Value eye_m_out(Builder& b, int64_t n, int64_t m) {
  mlir::Type i64 = b.ops.getI64Type();
  return b.convert(b.compare(Direction::EQ, b.iota(0, {n, m}, i64), b.iota(1, {n, m}, i64)), b.result_element());
}
Value roll(Builder& b, Value self, llvm::ArrayRef<int64_t> shifts, llvm::ArrayRef<int64_t> dims) {
  if (type_of(self).getNumElements() == 0) return self;
  Value x = dims.empty() ? b.flat(self) : self;
  for (size_t i = 0; i < shifts.size(); ++i) {
    int64_t d = dims.empty() ? 0 : wrap(dims[i], rank_of(x)), n = rank_of(x) ? shape_of(x)[d] : 1, shift = ((shifts[i] % n) + n) % n;
    if (shift) x = b.concatenate({b.slice(x, d, n - shift, n), b.slice(x, d, 0, n - shift)}, d);
  }
  return b.reshape(x, shape_of(self));
}
Value channel_shuffle(Builder& b, Value self, int64_t groups) {
  Dims shape(shape_of(self)), order(shape.size() + 1);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  shape[1] /= groups;
  shape.insert(shape.begin() + 1, groups);
  return b.reshape(b.transpose(b.reshape(self, shape), order), b.result_shape());
}
Value repeat(Builder& b, Value self, llvm::ArrayRef<int64_t> repeats) {
  // [r0, 1, r1, n1, …] over [1, n0, …]
  int64_t extra = int64_t(repeats.size()) - rank_of(self);
  Dims shape, dims;
  for (int64_t d = 0; d < int64_t(repeats.size()); ++d) {
    shape.push_back(repeats[d]);
    if (d < extra) continue;
    dims.push_back(int64_t(shape.size()));
    shape.push_back(shape_of(self)[d - extra]);
  }
  return b.reshape(b.broadcast(self, shape, dims), b.result_shape());
}
Value constant_pad_nd(Builder& b, Value self, llvm::ArrayRef<int64_t> pad, Scalar value) {
  Dims low(rank_of(self), 0), high(rank_of(self), 0);
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    low[rank_of(self) - 1 - i / 2] = pad[i];
    high[rank_of(self) - 1 - i / 2] = pad[i + 1];
  }
  return b.create<hlo::PadOp>(self, b.scalar(value, element_of(self)), low, high, Dims(rank_of(self), 0));
}
Value slice_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> input_sizes, int64_t dim, int64_t start, int64_t end, int64_t step) {
  dim = wrap(dim, int64_t(input_sizes.size()));
  int64_t n = input_sizes[dim], count = shape_of(grad_output)[dim];
  if (start < 0) start += n;
  start = std::clamp<int64_t>(start, 0, n);
  if (count == 0) return b.constant(0.0, b.result_element(), b.result_shape());
  Dims low(input_sizes.size(), 0), high(input_sizes.size(), 0), interior(input_sizes.size(), 0);
  low[dim] = start;
  interior[dim] = step - 1;
  high[dim] = n - start - ((count - 1) * step + 1);
  return b.pad(grad_output, 0, low, high, interior);
}
Value select_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> input_sizes, int64_t dim, int64_t index) {
  dim = wrap(dim, int64_t(input_sizes.size()));
  if (index < 0) index += input_sizes[dim];
  Dims low(input_sizes.size(), 0), high(input_sizes.size(), 0);
  low[dim] = index;
  high[dim] = input_sizes[dim] - index - 1;
  return b.pad(b.unsqueeze(grad_output, dim), 0, low, high);
}

Value embedding(Builder& b, Value weight, Value indices, int64_t padding_idx, bool scale_grad_by_freq, bool sparse) { return b.take(weight, indices, 0); }
Value embedding_dense_backward(Builder& b, Value grad_output, Value indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
  int64_t width = shape_of(grad_output).back(), n = type_of(indices).getNumElements();
  Value g = b.upcast(b.reshape(grad_output, {n, width})), index = b.flat(indices);
  if (padding_idx >= 0) {
    Value keep = b.compare(Direction::NE, index, b.constant(c10::Scalar(padding_idx), element_of(index), {n}));
    g = b.select(b.broadcast(keep, {n, width}, {0}), g, b.like(0, g));
  }
  Value zero = b.constant(0.0, element_of(g), {num_weights, width});
  Value sum = b.scatter_rows(zero, index, g, true);
  if (scale_grad_by_freq) {
    Value uses = b.scatter_rows(b.constant(0.0, element_of(g), {num_weights, 1}), index, b.constant(1.0, element_of(g), {n, 1}), true);
    sum = b.div(sum, b.broadcast(b.max(uses, b.like(1, uses)), {num_weights, width}));
  }
  return b.convert(sum, b.result_element());
}
Value index_select(Builder& b, Value self, int64_t dim, Value index) {
  if (rank_of(self) == 0) return self;
  dim = wrap(dim, rank_of(self));
  return b.take(self, b.reshape(index, {type_of(index).getNumElements()}), dim);
}
Value gather(Builder& b, Value self, int64_t dim, Value index, bool sparse_grad) {
  // An empty index may have any rank.
  if (type_of(index).getNumElements() == 0) return b.convert(index, element_of(self));
  self = at_least_1d(b, self), index = at_least_1d(b, index);
  dim = wrap(dim, rank_of(self));
  return b.reshape(b.take_along(self, index, dim), b.result_shape());
}
static Value scatter_into(Builder& b, Value self, int64_t dim, Value index, Value src, bool add) {
  // An empty index may have any rank.
  if (type_of(index).getNumElements() == 0) return self;
  Value sum = b.scatter_elements(at_least_1d(b, self), wrap(dim, std::max<int64_t>(1, rank_of(self))), at_least_1d(b, index), at_least_1d(b, src),
                                 [&](Value x, Value y) { return add ? b.add(x, y) : y; });
  return b.reshape(sum, b.result_shape());
}
Value scatter_src(Builder& b, Value self, int64_t dim, Value index, Value src) { return scatter_into(b, self, dim, index, src, false); }
Value scatter_value(Builder& b, Value self, int64_t dim, Value index, Scalar value) {
  return scatter_into(b, self, dim, index, b.scalar(value, element_of(self), shape_of(index)), false);
}
Value scatter_add(Builder& b, Value self, int64_t dim, Value index, Value src) { return scatter_into(b, self, dim, index, src, true); }

}  // namespace cresset::lowering::aten
