// Resampling of the last two dimensions, one after the other: each is a product with a matrix of weights, so that the gradient is
// the product with its transpose.
#include <cmath>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

// What one result position reads: (1 - weight) · in[first] + weight · in[second].
struct Sample {
  int64_t first, second;
  double weight;
};
using Samples = std::vector<Sample>;

double scale_of(int64_t in, int64_t out, std::optional<double> given) { return given && *given > 0 ? 1 / *given : double(in) / double(out); }

Samples nearest(int64_t in, int64_t out, std::optional<double> given) {
  Samples samples;
  float scale = float(scale_of(in, out, given));  // in f32, as ATen rounds it
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = std::min<int64_t>(int64_t(std::floor(float(o) * scale)), in - 1);
    samples.push_back({i, i, 0});
  }
  return samples;
}
Samples linear(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  Samples samples;
  double scale = align_corners ? (out > 1 ? double(in - 1) / double(out - 1) : 0) : scale_of(in, out, given);
  for (int64_t o = 0; o < out; ++o) {
    double x = align_corners ? scale * double(o) : std::max(0.0, scale * (double(o) + 0.5) - 0.5);
    int64_t first = std::min<int64_t>(int64_t(x), in - 1);
    samples.push_back({first, std::min(first + 1, in - 1), std::min(x - double(first), 1.0)});
  }
  return samples;
}

Value resample(Builder& b, Value x, int64_t dim, const Samples& samples) {
  Dims first, second;
  std::vector<double> weights;
  bool exact = true;
  for (const Sample& s : samples) first.push_back(s.first), second.push_back(s.second), weights.push_back(s.weight), exact &= s.weight == 0;
  Value low = b.take(x, b.integers(first), dim);
  if (exact) return low;
  Value high = b.take(x, b.integers(second), dim);
  Value w = b.broadcast(b.numbers(weights, element_of(x), {int64_t(samples.size())}), shape_of(low), {dim});
  return b.add(low, b.mul(w, b.sub(high, low)));
}
Value resample_gradient(Builder& b, Value g, int64_t dim, const Samples& samples, int64_t in) {
  int64_t out = int64_t(samples.size()), rank = rank_of(g);
  std::vector<double> matrix(out * in);
  for (int64_t o = 0; o < out; ++o) matrix[o * in + samples[o].first] += 1 - samples[o].weight, matrix[o * in + samples[o].second] += samples[o].weight;
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

}  // namespace cresset::lowering::aten
