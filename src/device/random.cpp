// Random operators made of others: their numbers are the device generator's.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "device/indices.h"
#include "trace/capture.h"

namespace cresset {
namespace {

using MaybeGenerator = std::optional<at::Generator>;

at::Tensor sample(const at::Tensor& self, int64_t num_samples, bool replacement, MaybeGenerator generator) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(at::isFloatingType(self.scalar_type()), "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(num_samples > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || num_samples <= self.size(-1), "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  if (self.numel() == 0) return at::empty({self.size(0), num_samples}, self.options().dtype(at::kLong));
  at::Tensor weights = self.to(at::kFloat);
  if (!trace::capturing()) {
    auto [least, greatest] = at::aminmax(weights);
    auto sum = at::amin(weights.sum(-1));
    auto checked = at::stack({least, greatest, sum}).cpu();
    const float* v = checked.const_data_ptr<float>();
    TORCH_CHECK(v[0] >= 0 && v[1] < INFINITY, "probability tensor contains either `inf`, `nan` or element < 0");
    TORCH_CHECK(v[2] > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
  if (!replacement || num_samples == 1) {
    // The first of exponential clocks that run as fast as the weights (Efraimidis and Spirakis 2006).
    at::Tensor ahead = weights / at::empty_like(weights).exponential_(1, generator);
    return num_samples == 1 ? ahead.argmax(-1, true) : std::get<1>(ahead.topk(num_samples, -1));
  }
  at::Tensor ends = weights.cumsum(-1), total = ends.slice(-1, -1);
  auto sizes = self.sizes().vec();
  sizes.back() = num_samples;
  at::Tensor drawn = at::empty(sizes, weights.options()).uniform_(0, 1, generator) * total;
  return at::searchsorted(ends, drawn, false, true).clamp_max(self.size(-1) - 1);
}
at::Tensor& multinomial_out(const at::Tensor& self, int64_t num_samples, bool replacement, MaybeGenerator generator, at::Tensor& out) {
  auto drawn = sample(self, num_samples, replacement, generator);
  return out.resize_(drawn.sizes()).copy_(drawn);
}

at::Tensor& randperm_out(int64_t n, MaybeGenerator generator, at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  return out.resize_({n}).copy_(at::empty({n}, out.options().dtype(at::kLong)).random_(generator).argsort());
}

// With a standard deviation of 0 and more, as eager checks it.
const at::Tensor& checked(const at::Tensor& std) {
  device::check_true(std.ge(0).all(), "normal expects all elements of std >= 0.0");
  return std;
}
at::Tensor normal_tensor_float(const at::Tensor& mean, double std, MaybeGenerator generator) { return at::empty_like(mean).normal_(0, std, generator).add_(mean); }
at::Tensor normal_float_tensor(double mean, const at::Tensor& std, MaybeGenerator generator) {
  return at::empty_like(std).normal_(0, 1, generator).mul_(checked(std)).add_(mean);
}
at::Tensor normal_tensor_tensor(const at::Tensor& mean, const at::Tensor& std, MaybeGenerator generator) {
  auto sizes = at::infer_size(mean.sizes(), std.sizes());
  return at::empty(sizes, mean.options()).normal_(0, 1, generator).mul_(checked(std)).add_(mean);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("multinomial", TORCH_FN(sample));
  m.impl("multinomial.out", TORCH_FN(multinomial_out));
  m.impl("randperm.generator_out", TORCH_FN(randperm_out));
  m.impl("normal.Tensor_float", TORCH_FN(normal_tensor_float));
  m.impl("normal.float_Tensor", TORCH_FN(normal_float_tensor));
  m.impl("normal.Tensor_Tensor", TORCH_FN(normal_tensor_tensor));
}

}  // namespace
}  // namespace cresset
