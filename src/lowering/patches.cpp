// What reads an element more than once by its position, one dimension after the other: padding with the input's own elements, and windows as columns. Their
// gradients put every element back and add.
#include <algorithm>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

Value put_back(Builder& b, Value g, int64_t dim, llvm::ArrayRef<int64_t> index, int64_t size) {
  Dims shape(shape_of(g));
  shape[dim] = size;
  return b.scatter_slices(b.constant(0.0, element_of(g), shape), dim, b.integers(index), g, [&](Value x, Value y) { return b.add(x, y); });
}

using Place = int64_t (*)(int64_t position, int64_t size);
int64_t reflected(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }
int64_t replicated(int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); }

// Of the k-th dimension from the end.
Dims places(llvm::ArrayRef<int64_t> padding, size_t k, int64_t n, Place place) {
  Dims index;
  for (int64_t i = -padding[2 * k]; i < n + padding[2 * k + 1]; ++i) index.push_back(place(i, n));
  return index;
}

constexpr int64_t kNowhere = -2;  // next to no place
// The end of the places from `begin` on that are neighbours one after the other, forwards or backwards, or all the same.
size_t end_of_run(llvm::ArrayRef<int64_t> places, size_t begin) {
  auto straight = [&](size_t from) {
    size_t end = from + 1;
    while (end < places.size() && std::abs(places[end] - places[end - 1]) <= 1 && places[end] - places[end - 1] == places[from + 1] - places[from]) ++end;
    return end;
  };
  // The place at a turn belongs to the longer run.
  size_t end = straight(begin);
  return end > begin + 1 && end < places.size() && straight(end - 1) - (end - 1) > end - begin ? end - 1 : end;
}
Value run_of(Builder& b, Value x, int64_t dim, llvm::ArrayRef<int64_t> places) {
  auto [low, high] = std::minmax(places.front(), places.back());
  Value run = b.slice(x, dim, low, high + 1);
  if (places.front() > places.back()) return b.create<hlo::ReverseOp>(run.getType(), run, b.ops.getDenseI64ArrayAttr({dim}));
  Dims shape(shape_of(x));
  shape[dim] = int64_t(places.size());
  return b.broadcast(run, shape);
}

// The sum of x at these places along a dimension. Rows are looked up; the elements of rows are copied in pieces.
Value sum_at(Builder& b, Value x, int64_t dim, llvm::ArrayRef<Dims> tables) {
  constexpr size_t kMostPieces = 8;
  auto add = [&](Value sum, Value part) { return sum ? b.add(sum, part) : part; };
  if (dim == rank_of(x) - 1) {
    Values pieces;
    for (size_t begin = 0, end; begin < tables[0].size() && pieces.size() <= kMostPieces; begin = end) {
      end = tables[0].size();
      for (const Dims& table : tables) end = std::min(end, end_of_run(table, begin));
      Value sum;
      for (const Dims& table : tables)
        if (table[begin] != kNowhere) sum = add(sum, run_of(b, x, dim, llvm::ArrayRef(table).slice(begin, end - begin)));
      Dims shape(shape_of(x));
      shape[dim] = int64_t(end - begin);
      pieces.push_back(sum ? sum : b.constant(0.0, element_of(x), shape));
    }
    if (pieces.size() <= kMostPieces) return b.concatenate(pieces, dim);
  }
  Value sum;
  for (const Dims& table : tables) {
    Value index = b.integers(table), part = b.take(x, index, dim);
    if (llvm::is_contained(table, kNowhere)) part = b.select(b.broadcast(b.compare(Direction::GE, index, b.like(0, index)), shape_of(part), {dim}), part, b.like(0, part));
    sum = add(sum, part);
  }
  return sum;
}

// Rows first, so that one kernel copies their elements from where they are.
Value padded(Builder& b, Value x, llvm::ArrayRef<int64_t> padding, Place place) {
  for (size_t k = padding.size() / 2; k-- > 0;) {
    int64_t dim = rank_of(x) - 1 - int64_t(k);
    x = sum_at(b, x, dim, {places(padding, k, shape_of(x)[dim], place)});
  }
  return x;
}
Value unpadded(Builder& b, Value grad, llvm::ArrayRef<int64_t> padding, Place place) {
  constexpr size_t kMostTables = 4;
  Value g = b.upcast(grad);
  for (size_t k = padding.size() / 2; k-- > 0;) {
    int64_t dim = rank_of(g) - 1 - int64_t(k), n = b.result_shape()[dim];
    Dims index = places(padding, k, n, place), uses(n, 0);
    // Where each element went: the first time, the second, and so on.
    llvm::SmallVector<Dims> tables(1, Dims(n, kNowhere));
    for (auto [position, i] : llvm::enumerate(index)) {
      if (uses[i] == int64_t(tables.size())) tables.emplace_back(n, kNowhere);
      tables[uses[i]++][i] = int64_t(position);
    }
    g = tables.size() <= kMostTables ? sum_at(b, g, dim, tables) : put_back(b, g, dim, index, n);
  }
  return b.convert(g, b.result_element());
}

// The windows of a padded image along one of its two dimensions.
struct Windows {
  int64_t kernel, dilation, padding, stride, size, count;
  Windows(size_t d, int64_t n, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> paddings, llvm::ArrayRef<int64_t> strides)
      : kernel(kernel_size[d]), dilation(dilations[d]), padding(paddings[d]), stride(strides[d]), size(n + 2 * padding),
        count((size - dilation * (kernel - 1) - 1) / stride + 1) {}
  Dims index() const {
    Dims all;
    for (int64_t k = 0; k < kernel; ++k)
      for (int64_t w = 0; w < count; ++w) all.push_back(k * dilation + w * stride);
    return all;
  }
};

// The sum of all windows, each where it was: dimensions [kernel, count] from `dim` on become [size]. Few places of a window are slices with gaps, added.
Value put_windows_back(Builder& b, Value x, int64_t dim, const Windows& w) {
  constexpr int64_t kMost = 8;
  Dims shape(shape_of(x));
  shape.erase(shape.begin() + dim);
  if (w.kernel > kMost) {
    shape[dim] *= w.kernel;
    return put_back(b, b.reshape(x, shape), dim, w.index(), w.size);
  }
  Dims low(shape.size(), 0), high(low), gaps(low);
  gaps[dim] = w.stride - 1;
  Value sum;
  for (int64_t k = 0; k < w.kernel; ++k) {
    low[dim] = k * w.dilation, high[dim] = w.size - 1 - low[dim] - (w.count - 1) * w.stride;
    Value part = b.pad(b.reshape(b.slice(x, dim, k, k + 1), shape), 0, low, high, gaps);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

// The sum of windows that begin `step` apart, each where it was: dimensions [count, size] from `dim` on become [length]. Windows are cut into parts of one step, and
// each window's n-th part is added to the next one's part before it.
Value add_windows(Builder& b, Value x, int64_t dim, int64_t step, int64_t length) {
  constexpr int64_t kMostParts = 16;
  if (type_of(x).getNumElements() == 0) {
    Dims none(shape_of(x));
    none.erase(none.begin() + dim), none[dim] = length;
    return b.constant(0.0, element_of(x), none);
  }
  Dims shape(shape_of(x)), zero(shape.size(), 0), low(zero), high(zero);
  int64_t count = shape[dim], size = shape[dim + 1], parts = (size + step - 1) / step;
  if (parts > kMostParts) {
    Dims index, flat(shape);
    for (int64_t w = 0; w < count; ++w)
      for (int64_t k = 0; k < size; ++k) index.push_back(w * step + k);
    flat.erase(flat.begin() + dim);
    flat[dim] = count * size;
    return put_back(b, b.reshape(x, flat), dim, index, length);
  }
  high[dim + 1] = parts * step - size;
  x = b.pad(x, 0, zero, high);
  Value sum;
  for (int64_t k = 0; k < parts; ++k) {
    low[dim] = k, high = zero, high[dim] = parts - 1 - k;
    Value part = b.pad(b.slice(x, dim + 1, k * step, (k + 1) * step), 0, low, high);
    sum = sum ? b.add(sum, part) : part;
  }
  shape.erase(shape.begin() + dim);
  shape[dim] = (count + parts - 1) * step;
  sum = b.reshape(sum, shape);
  if (shape[dim] > length) return b.slice(sum, dim, 0, length);
  low = high = Dims(shape.size(), 0);
  high[dim] = length - shape[dim];
  return b.pad(sum, 0, low, high);
}

}  // namespace

Value reflection_pad1d(Builder& b, Value self, llvm::ArrayRef<int64_t> padding) { return padded(b, self, padding, reflected); }
Value reflection_pad2d(Builder& b, Value self, llvm::ArrayRef<int64_t> padding) { return padded(b, self, padding, reflected); }
Value replication_pad1d(Builder& b, Value self, llvm::ArrayRef<int64_t> padding) { return padded(b, self, padding, replicated); }
Value replication_pad2d(Builder& b, Value self, llvm::ArrayRef<int64_t> padding) { return padded(b, self, padding, replicated); }
Value reflection_pad1d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> padding) { return unpadded(b, grad_output, padding, reflected); }
Value reflection_pad2d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> padding) { return unpadded(b, grad_output, padding, reflected); }
Value replication_pad1d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> padding) { return unpadded(b, grad_output, padding, replicated); }
Value replication_pad2d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> padding) { return unpadded(b, grad_output, padding, replicated); }

Value im2col(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> dilation, llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> stride) {
  int64_t rank = rank_of(self), h = shape_of(self)[rank - 2], w = shape_of(self)[rank - 1], c = shape_of(self)[rank - 3], n = rank == 4 ? shape_of(self)[0] : 1;
  Windows rows(0, h, kernel_size, dilation, padding, stride), columns(1, w, kernel_size, dilation, padding, stride);
  Dims margin = {0, 0, padding[0], padding[1]};
  Value x = b.pad(b.reshape(self, {n, c, h, w}), 0, margin, margin);
  x = b.take(b.take(x, b.integers(rows.index()), 2), b.integers(columns.index()), 3);
  x = b.transpose(b.reshape(x, {n, c, rows.kernel, rows.count, columns.kernel, columns.count}), {0, 1, 2, 4, 3, 5});
  return b.reshape(x, b.result_shape());
}
Value col2im(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> dilation, llvm::ArrayRef<int64_t> padding,
             llvm::ArrayRef<int64_t> stride) {
  Windows rows(0, output_size[0], kernel_size, dilation, padding, stride), columns(1, output_size[1], kernel_size, dilation, padding, stride);
  int64_t n = rank_of(self) == 3 ? shape_of(self)[0] : 1, c = shape_of(self)[rank_of(self) - 2] / (rows.kernel * columns.kernel);
  Value x = b.reshape(b.upcast(self), {n, c, rows.kernel, columns.kernel, rows.count, columns.count});
  x = put_windows_back(b, put_windows_back(b, b.transpose(x, {0, 1, 2, 4, 3, 5}), 4, columns), 2, rows);
  x = b.slice(b.slice(x, 2, padding[0], padding[0] + output_size[0]), 3, padding[1], padding[1] + output_size[1]);
  return b.as_result(x);
}
Value unfold_backward(Builder& b, Value grad_in, llvm::ArrayRef<int64_t> input_sizes, int64_t dim, int64_t size, int64_t step) {
  if (input_sizes.empty()) return b.reshape(grad_in, {});
  int64_t rank = int64_t(input_sizes.size());
  dim = wrap(dim, rank);
  int64_t count = shape_of(grad_in)[dim];
  Dims shape(input_sizes), order;
  shape[dim] = count, shape.push_back(size);
  Value windows = b.broadcast(b.upcast(grad_in), shape);  // torch.istft gives one for all signals
  for (int64_t d = 0; d < rank; ++d) {
    order.push_back(d);
    if (d == dim) order.push_back(rank);
  }
  return b.convert(add_windows(b, b.transpose(windows, order), dim, step, input_sizes[dim]), b.result_element());
}

}  // namespace cresset::lowering::aten
