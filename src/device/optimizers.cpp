// Fused optimizers take lists of parameters. Each parameter's update is recorded as ordinary operators, which the compiler
// fuses into one loop; the number of steps stays on the device, the learning rate is an input of the program.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace cresset {
namespace {

void check_unscaled(const std::optional<at::Tensor>& grad_scale, const std::optional<at::Tensor>& found_inf) {
  TORCH_CHECK_NOT_IMPLEMENTED(!(grad_scale && grad_scale->defined()) && !(found_inf && found_inf->defined()),
                              "cresset: fused optimizers do not unscale gradients; pass fused=False together with a GradScaler");
}

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019); `decoupled` false is Adam's L2 term.
void adam(at::TensorList parameters, at::TensorList grads, at::TensorList averages, at::TensorList squares, at::TensorList max_squares, at::TensorList steps,
          double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize, bool decoupled) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor p = parameters[i], g = maximize ? grads[i].neg() : grads[i], m = averages[i], v = squares[i];
    if (weight_decay != 0 && decoupled) p.mul_(1 - lr * weight_decay);
    if (weight_decay != 0 && !decoupled) g = g.add(p, weight_decay);
    m.lerp_(g, 1 - beta1);
    v.mul_(beta2).addcmul_(g, g, 1 - beta2);
    if (amsgrad) {
      at::Tensor largest = max_squares[i];
      largest.copy_(at::maximum(largest, v));
      v = largest;
    }
    at::Tensor correction1 = at::pow(beta1, steps[i]).neg().add(1), correction2 = at::pow(beta2, steps[i]).neg().add(1).sqrt();
    at::Tensor rate = correction1.reciprocal().mul_(lr);
    p.sub_(m.mul(rate).div(v.sqrt().div(correction2).add(eps)));
  }
}

void fused_adamw(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                 at::TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                 const std::optional<at::Tensor>& grad_scale, const std::optional<at::Tensor>& found_inf) {
  check_unscaled(grad_scale, found_inf);
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true);
}
void fused_adam(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                at::TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                const std::optional<at::Tensor>& grad_scale, const std::optional<at::Tensor>& found_inf) {
  check_unscaled(grad_scale, found_inf);
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adamw_", TORCH_FN(fused_adamw));
  m.impl("_fused_adam_", TORCH_FN(fused_adam));
}

}  // namespace
}  // namespace cresset
