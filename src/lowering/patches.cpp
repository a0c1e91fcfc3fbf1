// What reads an element more than once by its position: padding with the input's own elements, and windows as columns. Both are `take` with constant indices
// along one dimension after the other; their gradients put every element back and add.
#include <algorithm>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

Value put_back(Builder& b, Value g, int64_t dim, llvm::ArrayRef<int64_t> index, int64_t size) {
  Dims shape(shape_of(g)), window;
  shape[dim] = size;
  for (int64_t d = 0; d < rank_of(g); ++d) if (d != dim) window.push_back(d);
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), window, {dim}, {}, {}, {dim}, 1);
  Value at = b.reshape(b.integers(index), {int64_t(index.size()), 1});
  return b.scatter(b.constant(0.0, element_of(g), shape), at, g, numbers, [&](Value x, Value y) { return b.add(x, y); });
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
Value padded(Builder& b, Value x, llvm::ArrayRef<int64_t> padding, Place place) {
  for (size_t k = 0; 2 * k < padding.size(); ++k) {
    int64_t dim = rank_of(x) - 1 - int64_t(k);
    x = b.take(x, b.integers(places(padding, k, shape_of(x)[dim], place)), dim);
  }
  return x;
}
Value unpadded(Builder& b, Value grad, llvm::ArrayRef<int64_t> padding, Place place) {
  Value g = b.upcast(grad);
  for (size_t k = 0; 2 * k < padding.size(); ++k) {
    int64_t dim = rank_of(g) - 1 - int64_t(k), n = b.result_shape()[dim];
    g = put_back(b, g, dim, places(padding, k, n, place), n);
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
  return b.reshape(b.convert(x, b.result_element()), b.result_shape());
}
Value unfold_backward(Builder& b, Value grad_in, llvm::ArrayRef<int64_t> input_sizes, int64_t dim, int64_t size, int64_t step) {
  if (input_sizes.empty()) return b.reshape(grad_in, {});
  int64_t rank = int64_t(input_sizes.size());
  dim = wrap(dim, rank);
  Dims order, shape(shape_of(grad_in).drop_back()), index;  // the windows' elements behind the windows
  for (int64_t d = 0; d < rank; ++d) {
    order.push_back(d);
    if (d == dim) order.push_back(rank);
  }
  for (int64_t w = 0; w < shape[dim]; ++w)
    for (int64_t k = 0; k < size; ++k) index.push_back(w * step + k);
  shape[dim] *= size;
  return b.convert(put_back(b, b.reshape(b.transpose(b.upcast(grad_in), order), shape), dim, index, input_sizes[dim]), b.result_element());
}

}  // namespace cresset::lowering::aten
