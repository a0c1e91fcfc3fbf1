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

double scale_of(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  if (align_corners) return out > 1 ? double(in - 1) / double(out - 1) : 0;
  return given && *given > 0 ? 1 / *given : double(in) / double(out);
}

Samples nearest(int64_t in, int64_t out, bool, std::optional<double> given) {
  Samples samples;
  float scale = float(scale_of(in, out, false, given));  // in f32, as ATen rounds it
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = std::min<int64_t>(int64_t(std::floor(float(o) * scale)), in - 1);
    samples.push_back({{i, 1}});
  }
  return samples;
}
Samples linear(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  Samples samples;
  double scale = scale_of(in, out, align_corners, given);
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
  double scale = scale_of(in, out, align_corners, given);
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

using Sampler = Samples (*)(int64_t in, int64_t out, bool align_corners, std::optional<double> scale);
using Scales = llvm::ArrayRef<std::optional<double>>;

Value forward(Builder& b, Value self, Sampler sampler, llvm::ArrayRef<int64_t> out, bool align_corners, Scales scales) {
  Value x = b.upcast(self);
  for (size_t k = 0; k < out.size(); ++k) x = resample(b, x, int64_t(k) + 2, sampler(shape_of(self)[k + 2], out[k], align_corners, scales[k]));
  return b.convert(x, b.result_element());
}
Value backward(Builder& b, Value grad, Sampler sampler, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> in, bool align_corners, Scales scales) {
  Value g = b.upcast(grad);
  for (size_t k = out.size(); k-- > 0;) g = resample_gradient(b, g, int64_t(k) + 2, sampler(in[k + 2], out[k], align_corners, scales[k]), in[k + 2]);
  return b.convert(g, b.result_element());
}

}  // namespace

Value upsample_linear1d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales) {
  return forward(b, self, linear, output_size, align_corners, {scales});
}
Value upsample_linear1d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                 std::optional<double> scales) {
  return backward(b, grad_output, linear, output_size, input_size, align_corners, {scales});
}

Value upsample_nearest2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, std::optional<double> scales_h, std::optional<double> scales_w) {
  return forward(b, self, nearest, output_size, false, {scales_h, scales_w});
}
Value upsample_nearest2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size,
                                  std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, nearest, output_size, input_size, false, {scales_h, scales_w});
}
Value upsample_bilinear2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  return forward(b, self, linear, output_size, align_corners, {scales_h, scales_w});
}
Value upsample_bilinear2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                   std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, linear, output_size, input_size, align_corners, {scales_h, scales_w});
}
Value upsample_bicubic2d(Builder& b, Value self, llvm::ArrayRef<int64_t> output_size, bool align_corners, std::optional<double> scales_h,
                         std::optional<double> scales_w) {
  return forward(b, self, cubic, output_size, align_corners, {scales_h, scales_w});
}
Value upsample_bicubic2d_backward(Builder& b, Value grad_output, llvm::ArrayRef<int64_t> output_size, llvm::ArrayRef<int64_t> input_size, bool align_corners,
                                  std::optional<double> scales_h, std::optional<double> scales_w) {
  return backward(b, grad_output, cubic, output_size, input_size, align_corners, {scales_h, scales_w});
}

}  // namespace cresset::lowering::aten
