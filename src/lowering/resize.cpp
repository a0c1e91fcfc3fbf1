// Images of another size.
#include <algorithm>
#include <cmath>

#include "generated/lowerings.h"
#include "lowering/samples.h"

namespace cresset::lowering::aten {
namespace {

double scale_of(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  if (align_corners) return out > 1 ? double(in - 1) / double(out - 1) : 0;
  return given && *given > 0 ? 1 / *given : double(in) / double(out);
}

// Where the middle of each result (or its beginning) lies.
Samples nearest_to(float offset, int64_t in, int64_t out, std::optional<double> given) {
  Samples samples;
  float scale = float(scale_of(in, out, false, given));  // in f32, as ATen rounds it
  for (int64_t o = 0; o < out; ++o) samples.push_back({{std::min<int64_t>(int64_t(std::floor((float(o) + offset) * scale)), in - 1), 1}});
  return samples;
}
Samples nearest(int64_t in, int64_t out, bool, std::optional<double> given) { return nearest_to(0, in, out, given); }
// Whatever scale is given, ATen takes all elements once or twice where the sizes say so; not of rows and volumes, but of their gradients.
Samples nearest_or_twice(int64_t in, int64_t out, bool, std::optional<double> given) {
  return nearest_to(0, in, out, out == in || out == 2 * in ? std::nullopt : given);
}
Samples nearest_exact(int64_t in, int64_t out, bool, std::optional<double> given) { return nearest_to(0.5f, in, out, given); }
Samples linear(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  Samples samples;
  double scale = scale_of(in, out, align_corners, in == out ? std::nullopt : given);  // as ATen
  for (int64_t o = 0; o < out; ++o) {
    double x = align_corners ? scale * double(o) : std::max(0.0, scale * (double(o) + 0.5) - 0.5);
    int64_t first = std::min<int64_t>(int64_t(x), in - 1);
    double weight = std::min(x - double(first), 1.0);
    samples.push_back({{first, 1 - weight}, {std::min(first + 1, in - 1), weight}});
  }
  return samples;
}
// Keys, "Cubic convolution interpolation for digital image processing" (1981), at a distance of at most 1, or of 1 to 2.
double cubic_near(double a, double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; }
double cubic_far(double a, double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; }
Samples cubic(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  constexpr double a = -0.75;  // ATen's
  Samples samples;
  double scale = scale_of(in, out, align_corners, given);
  for (int64_t o = 0; o < out; ++o) {
    double x = align_corners ? scale * double(o) : scale * (double(o) + 0.5) - 0.5, t = x - std::floor(x);
    double weights[] = {cubic_far(a, t + 1), cubic_near(a, t), cubic_near(a, 1 - t), cubic_far(a, 2 - t)};
    samples.emplace_back();
    for (int64_t k = 0; k < 4; ++k) samples.back().push_back({std::clamp<int64_t>(int64_t(std::floor(x)) + k - 1, 0, in - 1), weights[k]});
  }
  return samples;
}

// With a filter as wide as the step between results where that is more than 1 (antialias=True), as PIL does it; `reach`: of the filter.
// Positions are rounded to T, as ATen does.
template <class T>
Samples antialiased(int64_t in, int64_t out, bool align_corners, std::optional<double> given, T reach, double (*filter)(double distance)) {
  Samples samples;
  T scale = T(scale_of(in, out, align_corners, given)), half = T(0.5), width = std::max(scale, T(1)), support = reach * width;
  int64_t taps = int64_t(std::ceil(support)) * 2 + 1;
  for (int64_t o = 0; o < out; ++o) {
    T center = scale * (T(o) + half);
    double total = 0;
    int64_t first = std::max<int64_t>(int64_t(center - support + half), 0), count = std::clamp<int64_t>(std::min(int64_t(center + support + half), in) - first, 0, taps);
    samples.emplace_back();
    for (int64_t k = 0; k < count; ++k) {
      samples.back().push_back({first + k, filter(std::abs((T(first + k) - center + half) * (1 / width)))});
      total += samples.back().back().weight;
    }
    for (Tap& tap : samples.back()) tap.weight /= total;
    samples.back().resize(taps, {std::min(first, in - 1), 0});
  }
  return samples;
}
template <class T>
Samples linear_antialiased(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  return antialiased<T>(in, out, align_corners, given, 1, [](double x) { return std::max(1 - x, 0.0); });
}
template <class T>
Samples cubic_antialiased(int64_t in, int64_t out, bool align_corners, std::optional<double> given) {
  return antialiased<T>(in, out, align_corners, given, 2, [](double x) { return x < 1 ? cubic_near(-0.5, x) : x < 2 ? cubic_far(-0.5, x) : 0.0; });
}

using Sampler = Samples (*)(int64_t in, int64_t out, bool align_corners, std::optional<double> scale);
using Scales = llvm::ArrayRef<std::optional<double>>;

Value forward(Builder& b, Value self, Sampler sampler, llvm::ArrayRef<int64_t> out, bool align_corners, Scales scales) {
  auto in = shape_of(self).drop_front(2);
  return b.convert(resample(b, b.upcast(self), out, [&](size_t k) { return sampler(in[k], out[k], align_corners, scales[k]); }), b.result_element());
}
Value backward(Builder& b, Value grad, Sampler sampler, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> in, bool align_corners, Scales scales) {
  in = in.drop_front(2);
  return b.convert(resample(b, b.upcast(grad), in, [&](size_t k) { return transposed(sampler(in[k], out[k], align_corners, scales[k]), in[k]); }), b.result_element());
}

using Number = std::optional<double>;
using Sizes = llvm::ArrayRef<int64_t>;

// With a filter, a dimension that keeps its size stays as it is, whatever scale is given; not so its gradient.
Number unless_kept(Value self, Sizes out, size_t k, Number scale) { return shape_of(self)[2 + k] == out[k] ? std::nullopt : scale; }

}  // namespace

Value upsample_linear1d(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales) {
  return forward(b, self, linear, output_size, align_corners, {scales});
}
Value upsample_linear1d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales) {
  return backward(b, grad_output, linear, output_size, input_size, align_corners, {scales});
}
Value upsample_bilinear2d(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales_h, Number scales_w) {
  return forward(b, self, linear, output_size, align_corners, {scales_h, scales_w});
}
Value upsample_bilinear2d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales_h, Number scales_w) {
  return backward(b, grad_output, linear, output_size, input_size, align_corners, {scales_h, scales_w});
}
Value upsample_trilinear3d(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales_d, Number scales_h, Number scales_w) {
  return forward(b, self, linear, output_size, align_corners, {scales_d, scales_h, scales_w});
}
Value upsample_trilinear3d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales_d, Number scales_h, Number scales_w) {
  return backward(b, grad_output, linear, output_size, input_size, align_corners, {scales_d, scales_h, scales_w});
}
Value upsample_bicubic2d(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales_h, Number scales_w) {
  return forward(b, self, cubic, output_size, align_corners, {scales_h, scales_w});
}
Value upsample_bicubic2d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales_h, Number scales_w) {
  return backward(b, grad_output, cubic, output_size, input_size, align_corners, {scales_h, scales_w});
}
Value upsample_nearest1d(Builder& b, Value self, Sizes output_size, Number scales) {
  return forward(b, self, nearest, output_size, false, {scales});
}
Value upsample_nearest1d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales) {
  return backward(b, grad_output, nearest_or_twice, output_size, input_size, false, {scales});
}
Value upsample_nearest2d(Builder& b, Value self, Sizes output_size, Number scales_h, Number scales_w) {
  return forward(b, self, nearest_or_twice, output_size, false, {scales_h, scales_w});
}
Value upsample_nearest2d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales_h, Number scales_w) {
  return backward(b, grad_output, nearest_or_twice, output_size, input_size, false, {scales_h, scales_w});
}
Value upsample_nearest3d(Builder& b, Value self, Sizes output_size, Number scales_d, Number scales_h, Number scales_w) {
  return forward(b, self, nearest, output_size, false, {scales_d, scales_h, scales_w});
}
Value upsample_nearest3d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales_d, Number scales_h, Number scales_w) {
  return backward(b, grad_output, nearest_or_twice, output_size, input_size, false, {scales_d, scales_h, scales_w});
}
Value _upsample_nearest_exact1d(Builder& b, Value self, Sizes output_size, Number scales) {
  return forward(b, self, nearest_exact, output_size, false, {scales});
}
Value _upsample_nearest_exact1d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales) {
  return backward(b, grad_output, nearest_exact, output_size, input_size, false, {scales});
}
Value _upsample_nearest_exact2d(Builder& b, Value self, Sizes output_size, Number scales_h, Number scales_w) {
  return forward(b, self, nearest_exact, output_size, false, {scales_h, scales_w});
}
Value _upsample_nearest_exact2d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales_h, Number scales_w) {
  return backward(b, grad_output, nearest_exact, output_size, input_size, false, {scales_h, scales_w});
}
Value _upsample_nearest_exact3d(Builder& b, Value self, Sizes output_size, Number scales_d, Number scales_h, Number scales_w) {
  return forward(b, self, nearest_exact, output_size, false, {scales_d, scales_h, scales_w});
}
Value _upsample_nearest_exact3d_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, Number scales_d, Number scales_h, Number scales_w) {
  return backward(b, grad_output, nearest_exact, output_size, input_size, false, {scales_d, scales_h, scales_w});
}
Value _upsample_bilinear2d_aa(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales_h, Number scales_w) {
  return forward(b, self, element_of(self).isF64() ? linear_antialiased<double> : linear_antialiased<float>, output_size, align_corners,
                 {unless_kept(self, output_size, 0, scales_h), unless_kept(self, output_size, 1, scales_w)});
}
Value _upsample_bilinear2d_aa_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales_h, Number scales_w) {
  return backward(b, grad_output, element_of(grad_output).isF64() ? linear_antialiased<double> : linear_antialiased<float>, output_size, input_size, align_corners, {scales_h, scales_w});
}
Value _upsample_bicubic2d_aa(Builder& b, Value self, Sizes output_size, bool align_corners, Number scales_h, Number scales_w) {
  return forward(b, self, element_of(self).isF64() ? cubic_antialiased<double> : cubic_antialiased<float>, output_size, align_corners,
                 {unless_kept(self, output_size, 0, scales_h), unless_kept(self, output_size, 1, scales_w)});
}
Value _upsample_bicubic2d_aa_backward(Builder& b, Value grad_output, Sizes output_size, Sizes input_size, bool align_corners, Number scales_h, Number scales_w) {
  return backward(b, grad_output, element_of(grad_output).isF64() ? cubic_antialiased<double> : cubic_antialiased<float>, output_size, input_size, align_corners, {scales_h, scales_w});
}

}  // namespace cresset::lowering::aten
