// Pooling over the last two or three dimensions. A window is a chain over its few offsets, each a strided slice of the input, so that it fuses like element-wise code.
#include <limits>
#include <numeric>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"
#include "lowering/samples.h"

namespace cresset::lowering::aten {
namespace {

struct Axis {
  int64_t in, out, kernel, stride, padding, dilation;
};
int64_t at(llvm::ArrayRef<int64_t> list, size_t i) { return list[list.size() == 1 ? 0 : i]; }

using Axes = llvm::SmallVector<Axis, 3>;

Axes axes(size_t count, llvm::ArrayRef<int64_t> in, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
          llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation) {
  Axes a;
  for (size_t i = 0; i < count; ++i) {
    size_t from_end = count - i;
    a.push_back({in[in.size() - from_end], out[out.size() - from_end], at(kernel, i), stride.empty() ? at(kernel, i) : at(stride, i), at(padding, i), at(dilation, i)});
  }
  return a;
}

// The offsets that lie in the input for some window: windows may be much larger than it.
std::pair<int64_t, int64_t> offsets(const Axis& a) {
  int64_t first = std::max<int64_t>(0, (a.padding - (a.out - 1) * a.stride + a.dilation - 1) / a.dilation);
  return {first, std::max(first + 1, std::min(a.kernel, (a.in - 1 + a.padding) / a.dilation + 1))};
}
// Each of them, in the order of memory.
void for_each_offset(const Axes& axes, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> f) {
  int64_t count = 1;
  for (const Axis& a : axes) count *= offsets(a).second - offsets(a).first;
  for (int64_t n = 0; n < count; ++n) {
    Dims offset(axes.size());
    int64_t rest = n;
    for (int64_t k = int64_t(axes.size()) - 1; k >= 0; --k) {
      auto [first, end] = offsets(axes[k]);
      offset[k] = first + rest % (end - first), rest /= end - first;
    }
    f(offset);
  }
}

// The input at one offset of every window; `outside` where that lies in the padding.
Value at_offset(Builder& b, Value x, const Axes& axes, llvm::ArrayRef<int64_t> offset, Value outside) {
  int64_t rank = rank_of(x), count = int64_t(axes.size());
  Dims low(rank, 0), high(rank, 0), start(rank, 0), limit(shape_of(x)), step(rank, 1);
  bool padded = false;
  for (int64_t k = 0; k < count; ++k) {
    const Axis& a = axes[k];
    int64_t d = rank - count + k, first = offset[k] * a.dilation - a.padding, last = first + (a.out - 1) * a.stride;
    low[d] = std::max<int64_t>(-first, 0);
    high[d] = std::max<int64_t>(last + 1 - a.in, 0);
    padded |= low[d] || high[d];
    start[d] = first + low[d], limit[d] = last + low[d] + 1, step[d] = a.stride;
  }
  if (padded) x = b.create<hlo::PadOp>(x, outside, low, high, Dims(rank, 0));
  return b.create<hlo::SliceOp>(x, start, limit, step);
}
// Positions in the input's plane (or volume), row-major, of what `along` says of each axis, given the place where each of its windows begins.
using Along = llvm::function_ref<Value(size_t k, Value begin)>;
Value positions(Builder& b, llvm::ArrayRef<int64_t> shape, const Axes& axes, Along along) {
  int64_t count = 1;
  for (const Axis& a : axes) count *= a.in + 2 * a.padding;
  mlir::Type type = b.ops.getIntegerType(count <= std::numeric_limits<int32_t>::max() ? 32 : 64);
  auto number = [&](int64_t n) { return b.constant(c10::Scalar(n), type, shape); };
  Value sum;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& a = axes[k];
    Value v = along(k, b.add(b.mul(b.iota(int64_t(shape.size() - axes.size() + k), shape, type), number(a.stride)), number(-a.padding)));
    sum = sum ? b.add(b.mul(sum, number(a.in)), v) : v;
  }
  return sum;
}
// Where windows begin; how much further an offset is; and the first elements that they see.
Value beginnings(Builder& b, llvm::ArrayRef<int64_t> shape, const Axes& axes) {
  return positions(b, shape, axes, [](size_t, Value begin) { return begin; });
}
int64_t position_of(const Axes& axes, llvm::ArrayRef<int64_t> offset) {
  int64_t sum = 0;
  for (size_t k = 0; k < axes.size(); ++k) sum = sum * axes[k].in + offset[k] * axes[k].dilation;
  return sum;
}
Value first_elements(Builder& b, llvm::ArrayRef<int64_t> shape, const Axes& axes) {
  return positions(b, shape, axes, [&](size_t k, Value begin) {
    auto number = [&](int64_t n) { return b.constant(c10::Scalar(n), element_of(begin), shape); };
    const int64_t d = axes[k].dilation;
    if (d == 1) return b.max(begin, number(0));
    Value skipped = b.div(b.add(b.max(b.neg(begin), number(0)), number(d - 1)), number(d));
    return b.add(begin, b.mul(skipped, number(d)));
  });
}

// Large windows are reduced along one axis after the other.
bool is_large(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& a : axes) count *= a.kernel;
  return count > (axes.size() == 2 ? 25 : 27);
}
// Windows of single elements, everywhere.
Axes single_elements(llvm::ArrayRef<int64_t> sizes) {
  Axes result;
  for (int64_t n : sizes) result.push_back({n, n, 1, 1, 0, 1});
  return result;
}
// One axis of windows alone: the others' are single elements.
Axes alone(const Axes& axes, size_t k, llvm::ArrayRef<int64_t> shape) {
  Axes result = single_elements(shape.take_back(axes.size()));
  result[k] = axes[k];
  return result;
}

Value window_sums(Builder& b, Value x, const Axes& axes) {
  auto chain = [&](const Axes& a) {
    Value zero = b.constant(0.0, element_of(x)), sum;
    for_each_offset(a, [&](llvm::ArrayRef<int64_t> offset) {
      Value v = at_offset(b, x, a, offset, zero);
      sum = sum ? b.add(sum, v) : v;
    });
    return sum;
  };
  if (!is_large(axes)) return chain(axes);
  for (int64_t k = int64_t(axes.size()) - 1; k >= 0; --k) {
    int64_t d = rank_of(x) - int64_t(axes.size()) + k;
    auto [first, end] = offsets(axes[k]);
    if (axes[k].out == 1) x = b.unsqueeze(b.sum(b.slice(x, d, first - axes[k].padding, end - axes[k].padding), {d}), d);
    else x = chain(alone(axes, k, shape_of(x)));
  }
  return x;
}
// As ATen counts along one axis.
int64_t elements_of_window(const Axis& a, int64_t o, bool count_padding) {
  int64_t start = o * a.stride - a.padding, end = std::min(start + a.kernel, a.in + a.padding);
  return count_padding ? end - start : std::min(end, a.in) - std::max<int64_t>(start, 0);
}
// What each window's sum is divided by.
Value divisor(Builder& b, mlir::Type element, llvm::ArrayRef<int64_t> shape, const Axes& axes, bool count_padding, std::optional<int64_t> override) {
  if (override) return b.constant(double(*override), element, shape);
  Value product;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& a = axes[k];
    Dims counts;
    for (int64_t o = 0; o < a.out; ++o) counts.push_back(elements_of_window(a, o, count_padding));
    Value v = b.broadcast(b.convert(b.integers(counts), element), shape, {int64_t(shape.size() - axes.size() + k)});
    product = product ? b.mul(product, v) : v;
  }
  return product;
}

// Bounds of adaptive windows.
int64_t first_of(int64_t o, int64_t in, int64_t out) { return o * in / out; }
int64_t end_of(int64_t o, int64_t in, int64_t out) { return ((o + 1) * in + out - 1) / out; }

// Plane by plane (or volume by volume), each gradient goes where the index says: none has to wait for another.
Value scatter_planes(Builder& b, int64_t count, Value self, Value indices, Value grad_output) {
  Value g = b.upcast(grad_output);
  auto shape = shape_of(self);
  int64_t plane = std::accumulate(shape.end() - count, shape.end(), int64_t(1), std::multiplies<>()), planes = type_of(self).getNumElements() / std::max<int64_t>(plane, 1);
  int64_t windows = planes ? type_of(g).getNumElements() / planes : 0;
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), {}, {1}, {0}, {0}, {1}, 2);
  Value sum = b.scatter(b.constant(0.0, element_of(g), {planes, plane}), b.reshape(indices, {planes, windows, 1}), b.reshape(g, {planes, windows}), numbers,
                        [&](Value x, Value y) { return b.add(x, y); });
  return b.convert(b.reshape(sum, shape), b.result_element());
}

// As ATen does: a nan is larger than any number, and the last of several counts.
void keep_larger(Builder& b, Value& best, Value& index, Value v, Value position) {
  if (!best) {
    best = v, index = position;
    return;
  }
  Value larger = b.compare(Direction::GT, v, best);
  if (is_floating(v)) larger = b.logical_or(larger, b.compare(Direction::NE, v, v));
  best = b.max(best, v), index = b.select(larger, position, index);
}

Values max_pool(Builder& b, const Axes& axes, Value self) {
  auto shape = b.result_shape();
  Value lowest = b.lowest(element_of(self)), first = first_elements(b, shape, axes), best, index;
  if (!is_large(axes)) {
    Value begin = beginnings(b, shape, axes);
    for_each_offset(axes, [&](llvm::ArrayRef<int64_t> offset) {
      keep_larger(b, best, index, at_offset(b, self, axes, offset, lowest), b.constant(c10::Scalar(position_of(axes, offset)), element_of(begin), shape));
    });
    index = b.add(begin, index);
  } else {
    // The first of the largest of a row, and of these rows the first one, is the first of all; the last nan likewise.
    best = self, index = beginnings(b, shape_of(self), single_elements(shape_of(self).take_back(axes.size())));
    Value nowhere = b.constant(c10::Scalar(0), element_of(index));
    for (int64_t k = int64_t(axes.size()) - 1; k >= 0; --k) {
      Axes along = alone(axes, k, shape_of(best));
      Value larger, from;
      for_each_offset(along, [&](llvm::ArrayRef<int64_t> offset) { keep_larger(b, larger, from, at_offset(b, best, along, offset, lowest), at_offset(b, index, along, offset, nowhere)); });
      best = larger, index = from;
    }
    index = b.convert(index, element_of(first));
  }
  // Padding is as low as the lowest numbers, but no element.
  index = b.select(b.compare(Direction::EQ, best, b.broadcast(lowest, shape, {})), first, index);
  return {best, b.convert(index, b.ops.getI64Type())};
}

Value average(Builder& b, const Axes& axes, Value self, bool count_padding, std::optional<int64_t> override) {
  Value x = b.upcast(self);
  return b.convert(b.div(window_sums(b, x, axes), divisor(b, element_of(x), b.result_shape(), axes, count_padding, override)), b.result_element());
}
// Of windows along one axis, which may begin in front of the input and end behind it.
Samples means(int64_t in, int64_t out, llvm::function_ref<int64_t(int64_t o)> first, llvm::function_ref<int64_t(int64_t o)> end, llvm::function_ref<double(int64_t o)> weight) {
  Samples samples(out);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = std::max<int64_t>(first(o), 0); i < std::min(end(o), in); ++i) samples[o].push_back({i, weight(o)});
  return samples;
}
Value average_gradient(Builder& b, const Axes& axes, Value grad_output, bool count_padding, std::optional<int64_t> override) {
  auto sizes = llvm::map_to_vector(axes, [](const Axis& a) { return a.in; });
  Value g = resample(b, b.upcast(grad_output), sizes, [&](size_t k) {
    const Axis& a = axes[k];
    auto first = [&](int64_t o) { return o * a.stride - a.padding; };
    auto weight = [&](int64_t o) { return !override ? 1.0 / double(elements_of_window(a, o, count_padding)) : k == 0 ? 1.0 / double(*override) : 1; };
    return transposed(means(a.in, a.out, first, [&](int64_t o) { return first(o) + a.kernel; }, weight), a.in);
  });
  return b.convert(g, b.result_element());
}

Value adaptive_average(Builder& b, int64_t count, Value self) {
  Value x = b.upcast(self);
  for (int64_t d = rank_of(x) - count; d < rank_of(x); ++d) {
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
Value adaptive_average_gradient(Builder& b, size_t count, Value grad_output, Value self) {
  auto in = shape_of(self).take_back(count), out = shape_of(grad_output).take_back(count);
  Value g = resample(b, b.upcast(grad_output), in, [&](size_t k) {
    auto first = [&](int64_t o) { return first_of(o, in[k], out[k]); };
    auto end = [&](int64_t o) { return end_of(o, in[k], out[k]); };
    return transposed(means(in[k], out[k], first, end, [&](int64_t o) { return 1.0 / double(end(o) - first(o)); }), in[k]);
  });
  return b.convert(g, b.result_element());
}

}  // namespace

Values max_pool2d_with_indices(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
                               llvm::ArrayRef<int64_t> dilation, bool ceil_mode) {
  return max_pool(b, axes(2, shape_of(self), b.result_shape(), kernel_size, stride, padding, dilation), self);
}
Value max_pool2d_with_indices_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                                       llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation, bool ceil_mode, Value indices) {
  return scatter_planes(b, 2, self, indices, grad_output);
}
Value avg_pool2d(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding, bool ceil_mode,
                 bool count_include_pad, std::optional<int64_t> divisor_override) {
  return average(b, axes(2, shape_of(self), b.result_shape(), kernel_size, stride, padding, {1}), self, count_include_pad, divisor_override);
}
Value avg_pool2d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                          llvm::ArrayRef<int64_t> padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return average_gradient(b, axes(2, shape_of(self), shape_of(grad_output), kernel_size, stride, padding, {1}), grad_output, count_include_pad, divisor_override);
}
Value _adaptive_avg_pool2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size) { return adaptive_average(b, 2, self); }
Value _adaptive_avg_pool2d_backward(Builder& b, Value grad_output, Value self) { return adaptive_average_gradient(b, 2, grad_output, self); }

Values max_pool3d_with_indices(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
                               llvm::ArrayRef<int64_t> dilation, bool ceil_mode) {
  return max_pool(b, axes(3, shape_of(self), b.result_shape(), kernel_size, stride, padding, dilation), self);
}
Value max_pool3d_with_indices_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                                       llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation, bool ceil_mode, Value indices) {
  return scatter_planes(b, 3, self, indices, grad_output);
}
Value avg_pool3d(Builder& b, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding, bool ceil_mode,
                 bool count_include_pad, std::optional<int64_t> divisor_override) {
  return average(b, axes(3, shape_of(self), b.result_shape(), kernel_size, stride, padding, {1}), self, count_include_pad, divisor_override);
}
Value avg_pool3d_backward(Builder& b, Value grad_output, Value self, llvm::ArrayRef<int64_t> kernel_size, llvm::ArrayRef<int64_t> stride,
                          llvm::ArrayRef<int64_t> padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return average_gradient(b, axes(3, shape_of(self), shape_of(grad_output), kernel_size, stride, padding, {1}), grad_output, count_include_pad, divisor_override);
}
Value _adaptive_avg_pool3d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size) { return adaptive_average(b, 3, self); }
Value _adaptive_avg_pool3d_backward(Builder& b, Value grad_output, Value self) { return adaptive_average_gradient(b, 3, grad_output, self); }

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
Value adaptive_max_pool2d_backward(Builder& b, Value grad_output, Value self, Value indices) { return scatter_planes(b, 2, self, indices, grad_output); }

}  // namespace cresset::lowering::aten
