// Resampling of the last dimensions, one after the other: each is a product with a matrix of weights, so that the gradient is
// the product with its transpose.
#include <algorithm>
#include <cmath>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

// What one result position reads: the sum of weight · in[index] over its taps, equally many for all.
struct Tap {
  int64_t index;
  double weight;
};
using Samples = std::vector<llvm::SmallVector<Tap, 4>>;

double scale_of(int64_t in, int64_t out, std::optional<double> given) { return given && *given > 0 ? 1 / *given : double(in) / double(out); }

Samples nearest(int64_t in, int64_t out, std::optional<double> given) {
  Samples samples;
  float scale = float(scale_of(in, out, given));  // in f32, as ATen rounds it
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = std::min<int64_t>(int64_t(std::floor(float(o) * scale)), in - 1);
    samples.push_back({{i, 1}});
  }
  return samples;
}
Samples linear(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  Samples samples;
  double scale = align_corners ? (out > 1 ? double(in - 1) / double(out - 1) : 0) : scale_of(in, out, given);
  for (int64_t o = 0; o < out; ++o) {
    double x = align_corners ? scale * double(o) : std::max(0.0, scale * (double(o) + 0.5) - 0.5);
    int64_t first = std::min<int64_t>(int64_t(x), in - 1);
    double weight = std::min(x - double(first), 1.0);
    samples.push_back({{first, 1 - weight}, {std::min(first + 1, in - 1), weight}});
  }
  return samples;
}
// Keys, "Cubic convolution interpolation for digital image processing" (1981), with ATen's A.
Samples cubic(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  constexpr double a = -0.75;
  auto near = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  auto far = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  Samples samples;
  double scale = align_corners ? (out > 1 ? double(in - 1) / double(out - 1) : 0) : scale_of(in, out, given);
  for (int64_t o = 0; o < out; ++o) {
    double x = align_corners ? scale * double(o) : scale * (double(o) + 0.5) - 0.5, t = x - std::floor(x);
    double weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    samples.emplace_back();
    for (int64_t k = 0; k < 4; ++k) samples.back().push_back({std::clamp<int64_t>(int64_t(std::floor(x)) + k - 1, 0, in - 1), weights[k]});
  }
  return samples;
}

Value resample(Builder& b, Value x, int64_t dim, const Samples& samples) {
  Value sum;
  for (size_t k = 0; k < samples[0].size(); ++k) {
    Dims index;
    std::vector<double> weights;
    for (const auto& taps : samples) index.push_back(taps[k].index), weights.push_back(taps[k].weight);
    Value v = b.take(x, b.integers(index), dim);
    if (samples[0].size() == 1) return v;
    if (llvm::all_of(weights, [](double w) { return w == 0; })) continue;
    v = b.mul(v, b.broadcast(b.numbers(weights, element_of(x), {int64_t(samples.size())}), shape_of(v), {dim}));
    sum = sum ? b.add(sum, v) : v;
  }
  return sum;
}
Value resample_gradient(Builder& b, Value g, int64_t dim, const Samples& samples, int64_t in) {
  int64_t out = int64_t(samples.size()), rank = rank_of(g);
  std::vector<double> matrix(out * in);
  for (int64_t o = 0; o < out; ++o)
    for (const Tap& tap : samples[o]) matrix[o * in + tap.index] += tap.weight;
  Value product = b.dot(g, b.numbers(matrix, element_of(g), {out, in}), {dim}, {0});  // the new dimension comes last
  Dims order;
  for (int64_t d = 0, next = 0; d < rank; ++d) order.push_back(d == dim ? rank - 1 : next++);
  return b.transpose(product, order);
}

Value forward(Builder& b, Value self, const Samples& rows, const Samples& columns) {
  return b.convert(resample(b, resample(b, b.upcast(self), 2, rows), 3, columns), b.result_element());
}
Value backward(Builder& b, Value grad, const Samples& rows, const Samples& columns, llvm::ArrayRef<int64_t> in) {
  return b.convert(resample_gradient(b, resample_gradient(b, b.upcast(grad), 3, columns, in[3]), 2, rows, in[2]), b.result_element());
}

}  // namespace

Value upsample_linear1d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales) {
  return b.convert(resample(b, b.upcast(self), 2, linear(shape_of(self)[2], output_size[0], align_corners, scales)), b.result_element());
}
Value upsample_linear1d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                 std::optional<double> scales) {
  return b.convert(resample_gradient(b, b.upcast(grad_output), 2, linear(input_size[2], output_size[0], align_corners, scales), input_size[2]), b.result_element());
}

Value upsample_nearest2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, std::optional<double> scales_h, std::optional<double> scales_w) {
  return forward(b, self, nearest(shape_of(self)[2], output_size[0], scales_h), nearest(shape_of(self)[3], output_size[1], scales_w));
}
Value upsample_nearest2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size,
                                  std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, nearest(input_size[2], output_size[0], scales_h), nearest(input_size[3], output_size[1], scales_w), input_size);
}
Value upsample_bilinear2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  return forward(b, self, linear(shape_of(self)[2], output_size[0], align_corners, scales_h), linear(shape_of(self)[3], output_size[1], align_corners, scales_w));
}
Value upsample_bilinear2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                   std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, linear(input_size[2], output_size[0], align_corners, scales_h), linear(input_size[3], output_size[1], align_corners, scales_w),
                  input_size);
}

Value upsample_bicubic2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales_h,
                         std::optional<double> scales_w) {
  return forward(b, self, cubic(shape_of(self)[2], output_size[0], align_corners, scales_h), cubic(shape_of(self)[3], output_size[1], align_corners, scales_w));
}
Value upsample_bicubic2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                  std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, cubic(input_size[2], output_size[0], align_corners, scales_h), cubic(input_size[3], output_size[1], align_corners, scales_w),
                  input_size);
}

}  // namespace cresset::lowering::aten
