// Fourier transforms are composites over pairs of real numbers: aten._fft_c2c (attributes dim, normalization, forward), aten._fft_r2c (dim, normalization, onesided) and
// aten._fft_c2r (dim, normalization, last_dim_size), as PyTorch's operators of these names. On the CPU PyTorch's library runs them whole (fourier_kernel.cpp).
//
// Decomposed they are products with the matrix of their roots of unity: over pairs it is real, and multiplies them as they lie. Long transforms are two of shorter ones,
// with a rotation between them (J. W. Cooley and J. W. Tukey, An algorithm for the machine calculation of complex Fourier series, 1965).
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <cmath>
#include <numbers>

#include "cresset/composite.h"
#include "device/fallback.h"

namespace cresset::device {
namespace {

constexpr int64_t kDirect = 128;  // transforms up to here are one product: it takes no longer than the two of a division

int64_t divisor(int64_t n) {
  int64_t d = int64_t(std::sqrt(double(n)));
  while (n % d != 0) --d;
  return d;
}
bool is_divided(int64_t n) { return n > kDirect && divisor(n) > 1; }

// cos and sin of ±2πjk/n, of jk modulo n and in double precision.
std::pair<at::Tensor, at::Tensor> roots(int64_t n, int64_t rows, int64_t columns, double sign, const at::Tensor& like) {
  auto count = [&](int64_t m) { return at::arange(m, like.options().dtype(at::kLong)); };
  at::Tensor angle = at::outer(count(rows), count(columns)).remainder(n).to(at::kDouble) * (sign * 2 * std::numbers::pi / double(n));
  return {angle.cos(), angle.sin()};
}
at::Tensor as(const at::Tensor& like, const at::Tensor& re, const at::Tensor& im) { return at::stack({re, im}, -1).to(like.scalar_type()); }

// [2 rows, 2 columns]: what each part of a number adds to the parts of each result.
at::Tensor matrix(int64_t n, double sign, const at::Tensor& like) {
  auto [c, s] = roots(n, n, n, sign, like);
  return at::stack({as(like, c, s), as(like, -s, c)}, 1).reshape({2 * n, 2 * n});
}
at::Tensor matrix_of_real(int64_t n, int64_t kept, const at::Tensor& like) {
  auto [c, s] = roots(n, n, kept, -1, like);
  return as(like, c, s).reshape({n, 2 * kept});
}
// Each number of half a spectrum stands for its conjugate as well, where it is not its own.
at::Tensor matrix_to_real(int64_t n, int64_t half, const at::Tensor& like) {
  auto [c, s] = roots(n, half, n, 1, like);
  at::Tensor j = at::arange(half, like.options().dtype(at::kLong)).unsqueeze(1), times = at::where(j.eq(0).logical_or(j.eq(n - j)), 1.0, 2.0);
  return at::stack({c * times, -s * times}, 1).to(like.scalar_type()).reshape({2 * half, n});
}

at::Tensor product(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor a = x.select(-1, 0), b = x.select(-1, 1), c = y.select(-1, 0), d = y.select(-1, 1);
  return at::stack({a * c - b * d, a * d + b * c}, -1);
}

// Of pairs [rows, n, 2], along n.
at::Tensor transformed(const at::Tensor& pairs, double sign) {
  int64_t rows = pairs.size(0), n = pairs.size(1);
  if (!is_divided(n)) return at::mm(pairs.reshape({rows, 2 * n}), matrix(n, sign, pairs)).reshape({rows, n, 2});
  int64_t outer = divisor(n), inner = n / outer;
  at::Tensor columns = transformed(pairs.reshape({rows, outer, inner, 2}).transpose(1, 2).reshape({rows * inner, outer, 2}), sign).reshape({rows, inner, outer, 2});
  auto [c, s] = roots(n, inner, outer, sign, pairs);
  at::Tensor rotated = product(columns, as(pairs, c, s));
  at::Tensor found = transformed(rotated.transpose(1, 2).reshape({rows * outer, inner, 2}), sign);
  return found.reshape({rows, outer, inner, 2}).transpose(1, 2).reshape({rows, n, 2});
}

// f, which takes [rows, n, …] and gives [rows, m, …], along `dim` of `t`; the last `tail` dimensions are those of a number.
template <class F>
at::Tensor along(const at::Tensor& t, int64_t dim, int64_t tail, F f) {
  int64_t last = t.dim() - 1 - tail;
  at::Tensor moved = t.movedim(dim, last);
  at::DimVector shape(moved.sizes().slice(0, last)), flat{c10::multiply_integers(shape)};
  flat.append(moved.sizes().begin() + last, moved.sizes().end());
  at::Tensor result = f(moved.reshape(flat));
  shape.append(result.sizes().begin() + 1, result.sizes().end());
  return result.reshape(shape).movedim(last, dim);
}
at::Tensor along_all(at::Tensor pairs, at::IntArrayRef dims, double sign) {
  for (int64_t d : dims) pairs = along(pairs, d, 1, [&](const at::Tensor& rows) { return transformed(rows, sign); });
  return pairs;
}

at::Tensor normalised(const at::Tensor& result, const Attributes& a, at::IntArrayRef sizes) {
  double n = 1;
  for (int64_t d : std::get<std::vector<int64_t>>(a.at("dim"))) n *= double(sizes[d]);
  int64_t normalization = std::get<int64_t>(a.at("normalization"));
  return (normalization == 0 ? result : result * (normalization == 1 ? 1 / std::sqrt(n) : 1 / n)).contiguous();
}

Tensors c2c(const Tensors& in, const Attributes& a) {
  return {normalised(along_all(in[0], std::get<std::vector<int64_t>>(a.at("dim")), std::get<bool>(a.at("forward")) ? -1 : 1), a, in[0].sizes())};
}

Tensors r2c(const Tensors& in, const Attributes& a) {
  const auto& dims = std::get<std::vector<int64_t>>(a.at("dim"));
  int64_t n = in[0].size(dims.back()), kept = std::get<bool>(a.at("onesided")) ? n / 2 + 1 : n;
  at::Tensor result = along(in[0], dims.back(), 0, [&](const at::Tensor& rows) {
    if (is_divided(n)) return transformed(at::stack({rows, at::zeros_like(rows)}, -1), -1).narrow(1, 0, kept);
    return at::mm(rows, matrix_of_real(n, kept, rows)).reshape({rows.size(0), kept, 2});
  });
  return {normalised(along_all(result, at::IntArrayRef(dims).slice(0, dims.size() - 1), -1), a, in[0].sizes())};
}

Tensors c2r(const Tensors& in, const Attributes& a) {
  const auto& dims = std::get<std::vector<int64_t>>(a.at("dim"));
  int64_t last = dims.back(), n = std::get<int64_t>(a.at("last_dim_size")), half = n / 2 + 1;
  at::Tensor result = along(along_all(in[0], at::IntArrayRef(dims).slice(0, dims.size() - 1), 1), last, 1, [&](const at::Tensor& spectrum) {
    int64_t missing = half - spectrum.size(1);
    at::Tensor rows = missing <= 0 ? spectrum.narrow(1, 0, half) : at::constant_pad_nd(spectrum, {0, 0, 0, missing});
    if (!is_divided(n)) return at::mm(rows.reshape({-1, 2 * half}), matrix_to_real(n, half, rows));
    at::Tensor others = rows.narrow(1, 1, n - half).flip(1), conjugates = at::stack({others.select(-1, 0), -others.select(-1, 1)}, -1);
    return transformed(at::cat({rows, conjugates}, 1), 1).select(-1, 0);
  });
  return {normalised(result, a, result.sizes())};
}

const auto* const kComplexToComplex = new Composite("aten._fft_c2c", 1, c2c);
const auto* const kRealToComplex = new Composite("aten._fft_r2c", 1, r2c);
const auto* const kComplexToReal = new Composite("aten._fft_c2r", 1, c2r);

// Pairs of real numbers, or real numbers, that programs have code for.
bool is_lowered(const at::Tensor& t) {
  auto dtype = c10::toRealValueType(t.scalar_type());
  return !t.is_conj() && !t.is_neg() && t.numel() > 0 && (dtype == at::kFloat || dtype == at::kDouble);
}
std::vector<int64_t> wrapped(at::IntArrayRef dims, int64_t rank) {
  std::vector<int64_t> result(dims.begin(), dims.end());
  at::maybe_wrap_dims(result, rank);
  return result;
}
// Its gradient is that of PyTorch's operator.
at::Tensor recorded(const Composite& composite, const at::Tensor& self, const Attributes& attributes) {
  at::NoGradGuard no_gradient;
  return composite({self.is_complex() ? at::view_as_real(self) : self}, attributes).front();
}

at::Tensor fft_c2c(const at::Tensor& self, at::IntArrayRef dim, int64_t normalization, bool forward) {
  if (!is_lowered(self)) return at::native::call_fallback_fn<&fallback, ATEN_OP(_fft_c2c)>::call(self, dim, normalization, forward);
  return at::view_as_complex(recorded(*kComplexToComplex, self, {{"dim", wrapped(dim, self.dim())}, {"normalization", normalization}, {"forward", forward}}));
}
at::Tensor fft_r2c(const at::Tensor& self, at::IntArrayRef dim, int64_t normalization, bool onesided) {
  if (!is_lowered(self)) return at::native::call_fallback_fn<&fallback, ATEN_OP(_fft_r2c)>::call(self, dim, normalization, onesided);
  return at::view_as_complex(recorded(*kRealToComplex, self, {{"dim", wrapped(dim, self.dim())}, {"normalization", normalization}, {"onesided", onesided}}));
}
at::Tensor fft_c2r(const at::Tensor& self, at::IntArrayRef dim, int64_t normalization, int64_t last_dim_size) {
  if (!is_lowered(self)) return at::native::call_fallback_fn<&fallback, ATEN_OP(_fft_c2r)>::call(self, dim, normalization, last_dim_size);
  return recorded(*kComplexToReal, self, {{"dim", wrapped(dim, self.dim())}, {"normalization", normalization}, {"last_dim_size", last_dim_size}});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fft_c2c", TORCH_FN(fft_c2c));
  m.impl("_fft_r2c", TORCH_FN(fft_r2c));
  m.impl("_fft_c2r", TORCH_FN(fft_c2r));
}

}  // namespace
}  // namespace cresset::device
