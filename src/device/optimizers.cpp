// Fused optimizers take lists of parameters. Each parameter's update is recorded as ordinary operators, which the compiler
// fuses into one loop; the number of steps stays on the device, the learning rate is an input of the program.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

// What a gradient scaler asks of one parameter's update: the gradient divided by the scale, and nothing changed where an
// infinity was found.
class Unscaled {
 public:
  Unscaled(std::vector<at::Tensor> state, const at::Tensor& grad, const MaybeTensor& scale, const MaybeTensor& found_inf) : state_(std::move(state)) {
    if (found_inf && found_inf->defined()) {
      keep_ = found_inf->eq(1);
      for (const at::Tensor& t : state_) before_.push_back(t.clone());
    }
    if (scale && scale->defined()) {
      at::Tensor unscaled = grad;
      unscaled.div_(*scale);
    }
  }
  void finish() {
    for (size_t i = 0; i < before_.size(); ++i) state_[i].copy_(at::where(keep_, before_[i], state_[i]));
  }

 private:
  std::vector<at::Tensor> state_, before_;
  at::Tensor keep_;
};

struct Adam {
  double beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
  bool decoupled;  // Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019); otherwise Adam's L2 term
};

// `lr` is a number or a tensor.
template <class Rate>
void adam(at::TensorList parameters, at::TensorList grads, at::TensorList averages, at::TensorList squares, at::TensorList max_squares, at::TensorList steps,
          const Rate& lr, const Adam& a, const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor p = parameters[i], m = averages[i], v = squares[i];
    std::vector<at::Tensor> state{p, grads[i], m, v};
    if (a.amsgrad) state.push_back(max_squares[i]);
    Unscaled update(std::move(state), grads[i], grad_scale, found_inf);
    at::Tensor g = a.maximize ? grads[i].neg() : grads[i];
    if (a.weight_decay != 0 && a.decoupled) p.mul_(1 - lr * a.weight_decay);
    if (a.weight_decay != 0 && !a.decoupled) g = g.add(p, a.weight_decay);
    m.lerp_(g, 1 - a.beta1);
    v.mul_(a.beta2).addcmul_(g, g, 1 - a.beta2);
    if (a.amsgrad) {
      at::Tensor largest = max_squares[i];
      largest.copy_(at::maximum(largest, v));
      v = largest;
    }
    // In double: 1 - 0.999 in f32 is wrong in the fifth digit.
    at::Tensor step = steps[i].to(at::kDouble);
    at::Tensor correction1 = at::pow(a.beta1, step).neg().add(1), correction2 = at::pow(a.beta2, step).neg().add(1).sqrt();
    at::Tensor rate = correction1.reciprocal().mul_(lr);
    p.sub_(m.mul(rate).div(v.sqrt().div(correction2).add(a.eps)));
    update.finish();
  }
}

template <bool decoupled, class Rate>
void fused_adam(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                at::TensorList state_steps, Rate lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, {beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, grad_scale,
       found_inf);
}

template <class Rate>
void fused_sgd(at::TensorList self, at::TensorList grads, at::TensorList buffers, double weight_decay, double momentum, Rate lr, double dampening, bool nesterov,
               bool maximize, bool is_first_step, const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  for (size_t i = 0; i < self.size(); ++i) {
    at::Tensor p = self[i];
    std::vector<at::Tensor> state{p, grads[i]};
    if (momentum != 0) state.push_back(buffers[i]);
    Unscaled update(std::move(state), grads[i], grad_scale, found_inf);
    at::Tensor g = maximize ? grads[i].neg() : grads[i];
    if (weight_decay != 0) g = g.add(p, weight_decay);
    if (momentum != 0) {
      at::Tensor buffer = buffers[i];
      if (is_first_step) {
        buffer.copy_(g);
      } else {
        buffer.mul_(momentum).add_(g, 1 - dampening);
      }
      g = nesterov ? g.add(buffer, momentum) : buffer;
    }
    p.sub_(g.mul(lr));
    update.finish();
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adamw_", TORCH_FN((&fused_adam<true, double>)));
  m.impl("_fused_adamw_.tensor_lr", TORCH_FN((&fused_adam<true, const at::Tensor&>)));
  m.impl("_fused_adam_", TORCH_FN((&fused_adam<false, double>)));
  m.impl("_fused_adam_.tensor_lr", TORCH_FN((&fused_adam<false, const at::Tensor&>)));
  m.impl("_fused_sgd_", TORCH_FN((&fused_sgd<double>)));
  m.impl("_fused_sgd_.tensor_lr", TORCH_FN((&fused_sgd<const at::Tensor&>)));
}

}  // namespace
}  // namespace cresset
