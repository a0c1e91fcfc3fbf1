// Pooling over the last two dimensions. A window is a chain over its few offsets, each a strided slice of the input (its gradient: a
// padded copy of the output's), so that it fuses like element-wise code.
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

struct Axis {
  int64_t in, out, kernel, stride, padding, dilation;
};
int64_t at(llvm::ArrayRef<int64_t> list, size_t i) { return list[list.size() == 1 ? 0 : i]; }

std::array<Axis, 2> axes(llvm::ArrayRef<int64_t> in, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
                         llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation) {
  std::array<Axis, 2> a;
  for (size_t i = 0; i < 2; ++i) {
    size_t from_end = 2 - i;
    a[i] = {in[in.size() - from_end], out[out.size() - from_end], at(kernel, i), stride.empty() ? at(kernel, i) : at(stride, i), at(padding, i), at(dilation, i)};
  }
  return a;
}

// The offsets that lie in the input for some window: windows may be much larger than it.
std::pair<int64_t, int64_t> offsets(const Axis& a) {
  int64_t first = std::max<int64_t>(0, (a.padding - (a.out - 1) * a.stride + a.dilation - 1) / a.dilation);
  return {first, std::max(first + 1, std::min(a.kernel, (a.in - 1 + a.padding) / a.dilation + 1))};
}

// The input at offset (i, j) of every window; `outside` where that lies in the padding.
Value at_offset(Builder& b, Value x, const std::array<Axis, 2>& axes, int64_t i, int64_t j, Value outside) {
  int64_t rank = rank_of(x), offset[2] = {i, j};
  Dims low(rank, 0), high(rank, 0), start(rank, 0), limit(shape_of(x)), step(rank, 1);
  bool padded = false;
  for (int64_t k = 0; k < 2; ++k) {
    const Axis& a = axes[k];
    int64_t d = rank - 2 + k, first = offset[k] * a.dilation - a.padding, last = first + (a.out - 1) * a.stride;
    low[d] = std::max<int64_t>(-first, 0);
    high[d] = std::max<int64_t>(last + 1 - a.in, 0);
    padded |= low[d] || high[d];
    start[d] = first + low[d], limit[d] = last + low[d] + 1, step[d] = a.stride;
  }
  if (padded) x = b.create<hlo::PadOp>(x, outside, low, high, Dims(rank, 0));
  return b.create<hlo::SliceOp>(x, start, limit, step);
}
// The adjoint of at_offset: each window's value at its offset, zero elsewhere.
Value from_offset(Builder& b, Value g, const std::array<Axis, 2>& axes, int64_t i, int64_t j) {
  int64_t rank = rank_of(g), offset[2] = {i, j};
  Dims low(rank, 0), high(rank, 0), interior(rank, 0);
  for (int64_t k = 0; k < 2; ++k) {
    const Axis& a = axes[k];
    int64_t d = rank - 2 + k;
    low[d] = offset[k] * a.dilation - a.padding;
    interior[d] = a.stride - 1;
    high[d] = a.in - low[d] - ((a.out - 1) * a.stride + 1);
  }
  return b.pad(g, 0, low, high, interior);
}
// Row-major position in the input's plane of offset (i, j) of every window.
Value positions(Builder& b, llvm::ArrayRef<int64_t> shape, const std::array<Axis, 2>& axes, int64_t i, int64_t j) {
  mlir::Type i64 = b.ops.getI64Type();
  int64_t rank = int64_t(shape.size()), offset[2] = {i, j};
  auto along = [&](int64_t k) {
    const Axis& a = axes[k];
    Value v = b.mul(b.iota(rank - 2 + k, shape, i64), b.constant(c10::Scalar(a.stride), i64, shape));
    return b.add(v, b.constant(c10::Scalar(offset[k] * a.dilation - a.padding), i64, shape));
  };
  return b.add(b.mul(along(0), b.constant(c10::Scalar(axes[1].in), i64, shape)), along(1));
}

// One axis of windows alone: the other one's are single elements, everywhere.
std::array<Axis, 2> alone(const Axis& a, int64_t k, int64_t other) {
  Axis single{other, other, 1, 1, 0, 1};
  return k == 0 ? std::array<Axis, 2>{a, single} : std::array<Axis, 2>{single, a};
}
bool is_small(const std::array<Axis, 2>& axes) { return axes[0].kernel * axes[1].kernel <= 25; }

// A chain for small windows; large ones are summed along one axis after the other, a single one as a whole.
Value window_sums(Builder& b, Value x, const std::array<Axis, 2>& axes) {
  auto chain = [&](const std::array<Axis, 2>& a) {
    Value zero = b.constant(0.0, element_of(x)), sum;
    auto [top, bottom] = offsets(a[0]);
    auto [left, right] = offsets(a[1]);
    for (int64_t i = top; i < bottom; ++i)
      for (int64_t j = left; j < right; ++j) {
        Value v = at_offset(b, x, a, i, j, zero);
        sum = sum ? b.add(sum, v) : v;
      }
    return sum;
  };
  if (is_small(axes)) return chain(axes);
  for (int64_t k = 1; k >= 0; --k) {
    int64_t d = rank_of(x) - 2 + k;
    auto [first, end] = offsets(axes[k]);
    if (axes[k].out == 1) x = b.unsqueeze(b.sum(b.slice(x, d, first - axes[k].padding, end - axes[k].padding), {d}), d);
    else x = chain(alone(axes[k], k, shape_of(x)[rank_of(x) - 1 - k]));
  }
  return x;
}
// Its adjoint: each window's value at all of its elements.
Value spread_over_windows(Builder& b, Value g, const std::array<Axis, 2>& axes) {
  auto chain = [&](const std::array<Axis, 2>& a) {
    Value sum;
    auto [top, bottom] = offsets(a[0]);
    auto [left, right] = offsets(a[1]);
    for (int64_t i = top; i < bottom; ++i)
      for (int64_t j = left; j < right; ++j) {
        Value part = from_offset(b, g, a, i, j);
        sum = sum ? b.add(sum, part) : part;
      }
    return sum;
  };
  if (is_small(axes)) return chain(axes);
  for (int64_t k = 0; k < 2; ++k) {
    int64_t rank = rank_of(g), d = rank - 2 + k;
    auto [first, end] = offsets(axes[k]);
    if (axes[k].out != 1) {
      g = chain(alone(axes[k], k, shape_of(g)[rank - 1 - k]));
      continue;
    }
    Dims wide(shape_of(g)), low(rank, 0), high(rank, 0), same;
    wide[d] = end - first, low[d] = first - axes[k].padding, high[d] = axes[k].in - (end - axes[k].padding);
    for (int64_t i = 0; i < rank; ++i) same.push_back(i);
    g = b.pad(b.broadcast(g, wide, same), 0, low, high);
  }
  return g;
}

// What each window's sum is divided by, as ATen counts.
Value divisor(Builder& b, mlir::Type element, llvm::ArrayRef<int64_t> shape, const std::array<Axis, 2>& axes, bool count_padding, std::optional<int64_t> override) {
  if (override) return b.constant(double(*override), element, shape);
  Value product;
  for (int64_t k = 0; k < 2; ++k) {
    const Axis& a = axes[k];
    Dims counts;
    for (int64_t o = 0; o < a.out; ++o) {
      int64_t start = o * a.stride - a.padding, end = std::min(start + a.kernel, a.in + a.padding);
      counts.push_back(count_padding ? end - start : std::min(end, a.in) - std::max<int64_t>(start, 0));
    }
    Value v = b.broadcast(b.convert(b.integers(counts), element), shape, {int64_t(shape.size()) - 2 + k});
    product = product ? b.mul(product, v) : v;
  }
  return product;
}

// Bounds of adaptive windows.
int64_t first_of(int64_t o, int64_t in, int64_t out) { return o * in / out; }
int64_t end_of(int64_t o, int64_t in, int64_t out) { return ((o + 1) * in + out - 1) / out; }

// Plane by plane, each gradient goes where the index says: no plane has to wait for another.
Value scatter_planes(Builder& b, Value self, Value indices, Value grad_output) {
  Value g = b.upcast(grad_output);
  auto shape = shape_of(self);
  int64_t plane = shape[shape.size() - 2] * shape.back(), planes = type_of(self).getNumElements() / std::max<int64_t>(plane, 1);
  int64_t windows = planes ? type_of(g).getNumElements() / planes : 0;
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), {}, {1}, {0}, {0}, {1}, 2);
  Value sum = b.scatter(b.constant(0.0, element_of(g), {planes, plane}), b.reshape(indices, {planes, windows, 1}), b.reshape(g, {planes, windows}), numbers,
                        [&](Value x, Value y) { return b.add(x, y); });
  return b.convert(b.reshape(sum, shape), b.result_element());
}

}  // namespace

Values max_pool2d_with_indices(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
                               llvm::ArrayRef<int64_t> dilation, bool ceil_mode) {
  Dims shape = b.result_shape();
  auto a = axes(shape_of(self), shape, kernel_size, stride, padding, dilation);
  mlir::Type element = element_of(self);
  Value lowest = is_floating(self) ? b.constant(-std::numeric_limits<double>::infinity(), element)
                                   : b.constant(c10::Scalar(std::numeric_limits<int64_t>::min() >> (64 - element.getIntOrFloatBitWidth())), element);
  Value best, index;
  auto [top, bottom] = offsets(a[0]);
  auto [left, right] = offsets(a[1]);
  for (int64_t i = top; i < bottom; ++i)
    for (int64_t j = left; j < right; ++j) {
      Value v = at_offset(b, self, a, i, j, lowest), p = positions(b, shape, a, i, j);
      if (!best) {
        best = v, index = p;
        continue;
      }
      Value larger = b.compare(Direction::GT, v, best);
      if (is_floating(v)) larger = b.logical_or(larger, b.compare(Direction::NE, v, v));
      best = b.select(larger, v, best), index = b.select(larger, p, index);
    }
  return {best, index};
}
Value max_pool2d_with_indices_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                                       llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation, bool ceil_mode, Value indices) {
  return scatter_planes(b, self, indices, grad_output);
}

Value avg_pool2d(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding, bool ceil_mode,
                 bool count_include_pad, std::optional<int64_t> divisor_override) {
  Dims shape = b.result_shape();
  auto a = axes(shape_of(self), shape, kernel_size, stride, padding, {1});
  Value x = b.upcast(self), sum = window_sums(b, x, a);
  return b.convert(b.div(sum, divisor(b, element_of(x), shape, a, count_include_pad, divisor_override)), b.result_element());
}
Value avg_pool2d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                          llvm::ArrayRef<int64_t> padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  auto a = axes(shape_of(self), shape_of(grad_output), kernel_size, stride, padding, {1});
  Value g = b.upcast(grad_output);
  g = b.div(g, divisor(b, element_of(g), shape_of(g), a, count_include_pad, divisor_override));
  return b.convert(spread_over_windows(b, g, a), b.result_element());
}

Value _adaptive_avg_pool2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size) {
  Value x = b.upcast(self);
  for (int64_t d = rank_of(x) - 2; d < rank_of(x); ++d) {
    int64_t in = shape_of(x)[d], out = b.result_shape()[d];
    Values parts;
    for (int64_t o = 0; o < out; ++o) {
      int64_t first = first_of(o, in, out), end = end_of(o, in, out);
      parts.push_back(b.unsqueeze(b.mul(b.sum(b.slice(x, d, first, end), {d}), 1.0 / double(end - first)), d));
    }
    x = b.concatenate(parts, d);
  }
  return b.convert(x, b.result_element());
}
Value _adaptive_avg_pool2d_backward(Builder& b, Value grad_output, Value self) {
  Value g = b.upcast(grad_output);
  for (int64_t d = rank_of(g) - 2; d < rank_of(g); ++d) {
    int64_t in = shape_of(self)[d], out = shape_of(g)[d];
    Value sum;
    for (int64_t o = 0; o < out; ++o) {
      int64_t first = first_of(o, in, out), end = end_of(o, in, out), rank = rank_of(g);
      Dims wide(shape_of(g)), low(rank, 0), high(rank, 0), same;
      wide[d] = end - first;
      low[d] = first, high[d] = in - end;
      for (int64_t k = 0; k < rank; ++k) same.push_back(k);
      Value part = b.broadcast(b.mul(b.slice(g, d, o, o + 1), 1.0 / double(end - first)), wide, same);
      part = b.pad(part, 0, low, high);
      sum = sum ? b.add(sum, part) : part;
    }
    g = sum;
  }
  return b.convert(g, b.result_element());
}

// One dimension after the other. All windows are walked as if they were as long as the longest: they see their last element again.
Values adaptive_max_pool2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size) {
  mlir::Type i64 = b.ops.getI64Type();
  int64_t rank = rank_of(self), width = shape_of(self)[rank - 1];
  Value best = self, index = b.iota(rank - 1, shape_of(self), i64);
  for (int64_t d = rank - 1; d >= rank - 2; --d) {
    int64_t in = shape_of(self)[d], out = b.result_shape()[d], longest = 0;
    for (int64_t o = 0; o < out; ++o) longest = std::max(longest, end_of(o, in, out) - first_of(o, in, out));
    if (d == rank - 2) {
      Value row = b.mul(b.iota(d, shape_of(index), i64), b.constant(c10::Scalar(width), i64, shape_of(index)));
      index = b.add(index, row);
    }
    Value from = best, from_index = index;
    for (int64_t k = 0; k < longest; ++k) {
      Dims at;
      for (int64_t o = 0; o < out; ++o) at.push_back(std::min(first_of(o, in, out) + k, end_of(o, in, out) - 1));
      auto taken = [&](Value v) { return in == out * longest ? b.slice(v, d, k, k + (out - 1) * longest + 1, longest) : b.take(v, b.integers(at), d); };
      Value v = taken(from), i = taken(from_index);
      if (k == 0) {
        best = v, index = i;
        continue;
      }
      Value larger = b.logical_or(b.compare(Direction::GT, v, best), b.compare(Direction::NE, v, v));
      best = b.select(larger, v, best), index = b.select(larger, i, index);
    }
  }
  return {best, index};
}
Value adaptive_max_pool2d_backward(Builder& b, Value grad_output, Value self, Value indices) { return scatter_planes(b, self, indices, grad_output); }

}  // namespace cresset::lowering::aten
