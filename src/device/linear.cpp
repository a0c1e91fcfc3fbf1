// aten.linear above its kernel, as PyTorch's autograd has it but for two things: of operands that no wanted gradient needs only the sizes are kept, so that they may change before
// the backward, as they may where PyTorch makes the operator of others; and in forward-mode AD it is made of others here, too, as its derivative has no tangents.
#include <ATen/ATen.h>
#include <ATen/RedispatchFunctions.h>
#include <ATen/ops/linear_native.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/library.h>

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using torch::autograd::SavedVariable;

at::Tensor linear(c10::DispatchKeySet keys, const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias) {
  using torch::autograd::isFwGradDefined;
  if (isFwGradDefined(input) || isFwGradDefined(weight) || isFwGradDefined(bias)) return at::native::linear(input, weight, bias);
  c10::intrusive_ptr<torch::autograd::generated::LinearBackward0> gradient;
  if (torch::autograd::compute_requires_grad(input, weight, bias)) {
    gradient = c10::make_intrusive<torch::autograd::generated::LinearBackward0>();
    gradient->set_next_edges(torch::autograd::collect_next_edges(input, weight, bias));
    gradient->input_ = SavedVariable(weight.requires_grad() ? input : at::empty_like(input), false);
    gradient->weight_ = SavedVariable(input.requires_grad() ? weight : at::empty_like(weight), false);
  }
  at::Tensor result = [&] {
    at::AutoDispatchBelowADInplaceOrView below;
    return at::redispatch::linear(keys & c10::after_autograd_keyset, input, weight, bias);
  }();
  if (gradient) torch::autograd::set_history(result, gradient);
  return result;
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { m.impl("linear", TORCH_FN(linear)); }

}  // namespace
}  // namespace cresset
