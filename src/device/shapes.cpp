#include "device/shapes.h"

#include <cmath>

namespace cresset::shapes {

trace::Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype) {
  at::DimVector strides(sizes.size(), 1);
  for (int d = int(sizes.size()) - 2; d >= 0; --d) strides[d] = strides[d + 1] * std::max<int64_t>(sizes[d + 1], 1);
  return {{dtype, at::DimVector(sizes)}, strides, true};
}
trace::Layout like(const at::Tensor& t) {
  auto m = at::empty_like(at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta)));
  return {{t.scalar_type(), at::DimVector(m.sizes())}, at::DimVector(m.strides()), true};
}
trace::Layout undefined() { return {{}, {}, false}; }

Layouts native_layer_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor&, const at::Tensor&,
                                   const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, std::array<bool, 3> mask) {
  auto of = [&](bool wanted, const std::optional<at::Tensor>& t) { return wanted && t && t->defined() ? like(*t) : undefined(); };
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), of(mask[1], weight), of(mask[2], bias)};
}
Layouts native_batch_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>&,
                                   const std::optional<at::Tensor>&, const std::optional<at::Tensor>& save_mean, const std::optional<at::Tensor>&, bool, double,
                                   std::array<bool, 3> mask) {
  at::ScalarType dtype = weight && weight->defined() ? weight->scalar_type() : input.scalar_type();
  auto channel = contiguous({input.size(1)}, dtype);
  return {mask[0] ? like(input) : undefined(), mask[1] ? channel : undefined(), mask[2] ? channel : undefined()};
}
Layouts binary_cross_entropy(const at::Tensor& self, const at::Tensor& target, const std::optional<at::Tensor>&, int64_t reduction) {
  TORCH_CHECK_VALUE(self.sizes() == target.sizes(), "Using a target size (", target.sizes(), ") that is different to the input size (", self.sizes(),
                    ") is deprecated. Please ensure they have the same size.");
  return {reduction == 0 ? like(self) : contiguous({}, self.scalar_type())};
}
Layouts binary_cross_entropy_backward(const at::Tensor&, const at::Tensor& self, const at::Tensor&, const std::optional<at::Tensor>&, int64_t) { return {like(self)}; }
Layouts native_dropout(const at::Tensor& input, double p, std::optional<bool>) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  auto mask = like(input);
  mask.type.dtype = at::kBool;
  return {like(input), mask};
}
Layouts arange_start_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out) {
  return {contiguous(at::arange(start, end, step, at::device(at::kMeta).dtype(out.scalar_type())).sizes(), out.scalar_type())};
}
Layouts linspace_out(const at::Scalar&, const at::Scalar&, int64_t steps, const at::Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return {contiguous({steps}, out.scalar_type())};
}
Layouts eye_m_out(int64_t n, int64_t m, const at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  return {contiguous({n, m}, out.scalar_type())};
}

}  // namespace cresset::shapes
