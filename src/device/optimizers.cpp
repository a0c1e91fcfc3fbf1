// Fused optimizers: one operator, and one composite, for each parameter, recorded like any other. So they fuse with the backward
// that makes the gradients, and the learning rate, a number or a tensor, is an input of the program, as are other numbers that a schedule changes. And what GradScaler does between the two.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "device/shapes.h"
#include "generated/operators.h"
#include "trace/cell.h"
#include "trace/recorder.h"

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using Setting = trace::Recorder::Setting;

trace::Value rate_of(double lr) { return {trace::NodeFactory::scalar(c10::bit_cast<uint64_t>(lr), at::kDouble), 0}; }
trace::Value rate_of(const at::Tensor& lr) {
  if (lr.device().is_cpu()) return rate_of(lr.item<double>());
  return trace::read(lr.dim() ? lr.reshape({}) : lr);
}

// The tensor that a parameter has in this list, if the list is in use.
at::TensorList one(at::TensorList list, size_t i) { return list.empty() ? list : list.slice(i, 1); }

template <class Rate>
void adam(const trace::Operator& op, at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
          at::TensorList state_steps, const Rate& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  trace::HeldBuffers held;  // of the rate
  trace::Value rate = rate_of(lr);
  const Setting settings[] = {Setting(beta1), Setting(beta2), Setting(weight_decay), Setting(eps)};
  bool scaled = grad_scale && grad_scale->defined();
  for (size_t i = 0; i < self.size(); ++i) {
    trace::Recorder r(op, true);
    r.tensors(one(self, i), "self");
    r.tensors(one(grads, i), "grads");
    r.tensors(one(exp_avgs, i), "exp_avgs");
    r.tensors(one(exp_avg_sqs, i), "exp_avg_sqs");
    r.tensors(amsgrad ? one(max_exp_avg_sqs, i) : at::TensorList(), "max_exp_avg_sqs");
    r.tensors(one(state_steps, i), "state_steps");
    r.number(rate);
    r.settings(settings);
    for (bool flag : {amsgrad, maximize}) r.attribute(trace::Attribute(flag));
    r.tensor(grad_scale, "grad_scale");
    r.tensor(found_inf, "found_inf");
    r.infer_layouts([&] {
      using shapes::like;
      return shapes::Layouts{like(self[i]), scaled ? like(grads[i]) : shapes::undefined(), like(exp_avgs[i]), like(exp_avg_sqs[i]),
                             amsgrad ? like(max_exp_avg_sqs[i]) : shapes::undefined()};
    });
    r.write(self[i], 0);
    if (scaled) r.write(grads[i], 1);
    r.write(exp_avgs[i], 2);
    r.write(exp_avg_sqs[i], 3);
    if (amsgrad) r.write(max_exp_avg_sqs[i], 4);
  }
}

template <const trace::Operator& op, class Rate>
void fused_adam(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                at::TensorList state_steps, Rate lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  adam(op, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

template <class Rate>
void fused_sgd(at::TensorList self, at::TensorList grads, at::TensorList buffers, double weight_decay, double momentum, Rate lr, double dampening, bool nesterov,
               bool maximize, bool is_first_step, const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  trace::HeldBuffers held;  // of the rate
  trace::Value rate = rate_of(lr);
  const Setting before[] = {Setting(weight_decay), Setting(momentum)}, behind[] = {Setting(dampening)};
  bool scaled = grad_scale && grad_scale->defined(), moves = momentum != 0;
  for (size_t i = 0; i < self.size(); ++i) {
    trace::Recorder r(op::_fused_sgd, true);
    r.tensors(one(self, i), "self");
    r.tensors(one(grads, i), "grads");
    r.tensors(moves ? one(buffers, i) : at::TensorList(), "momentum_buffer_list");
    r.settings(before);
    r.number(rate);
    r.settings(behind);
    for (bool flag : {nesterov, maximize, is_first_step}) r.attribute(trace::Attribute(flag));
    r.tensor(grad_scale, "grad_scale");
    r.tensor(found_inf, "found_inf");
    r.infer_layouts([&] {
      using shapes::like;
      return shapes::Layouts{like(self[i]), scaled ? like(grads[i]) : shapes::undefined(), moves ? like(buffers[i]) : shapes::undefined()};
    });
    r.write(self[i], 0);
    if (scaled) r.write(grads[i], 1);
    if (moves) r.write(buffers[i], 2);
  }
}

template <class Rate>
void fused_adagrad(at::TensorList self, at::TensorList grads, at::TensorList state_sums, at::TensorList state_steps, Rate lr, double lr_decay, double weight_decay, double eps, bool maximize,
                   const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  trace::HeldBuffers held;  // of the rate
  trace::Value rate = rate_of(lr);
  const Setting settings[] = {Setting(lr_decay), Setting(weight_decay), Setting(eps)};
  bool scaled = grad_scale && grad_scale->defined();
  for (size_t i = 0; i < self.size(); ++i) {
    trace::Recorder r(op::_fused_adagrad, true);
    for (auto [list, name] : {std::pair(self, "self"), std::pair(grads, "grads"), std::pair(state_sums, "state_sums"), std::pair(state_steps, "state_steps")}) r.tensors(one(list, i), name);
    r.number(rate);
    r.settings(settings);
    r.attribute(trace::Attribute(maximize));
    r.tensor(grad_scale, "grad_scale");
    r.tensor(found_inf, "found_inf");
    r.infer_layouts([&] {
      using shapes::like;
      return shapes::Layouts{like(self[i]), scaled ? like(grads[i]) : shapes::undefined(), like(state_sums[i]), shapes::undefined()};
    });
    r.write(self[i], 0);
    if (scaled) r.write(grads[i], 1);
    r.write(state_sums[i], 2);
  }
}

// found_inf becomes 1 if a gradient is not finite; each is multiplied by inv_scale, in f32 at least: of a scale of 65536 f16 would keep few digits.
void unscale_and_check(at::TensorList grads, at::Tensor& found_inf, const at::Tensor& inv_scale) {
  for (const at::Tensor& g : grads) {
    found_inf.copy_(at::maximum(found_inf, at::isfinite(g).logical_not().any().to(found_inf.scalar_type())));
    g.copy_(g.to(at::promote_types(g.scalar_type(), inv_scale.scalar_type())) * inv_scale);
  }
}

// After an overflow the scale backs off; after `interval` steps without one it grows, unless it would not be finite.
at::Tensor& update_scale(at::Tensor& scale, at::Tensor& growth_tracker, const at::Tensor& found_inf, double growth, double backoff, int64_t interval) {
  at::Tensor found = found_inf.ne(0), steps = growth_tracker + 1, full = steps.eq(interval), larger = scale * growth;
  at::Tensor next = at::where(found, scale * backoff, at::where(full.logical_and(at::isfinite(larger)), larger, scale));
  growth_tracker.copy_(steps.masked_fill(found.logical_or(full), 0));
  return scale.copy_(next);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adamw_", TORCH_FN((&fused_adam<op::_fused_adamw, double>)));
  m.impl("_fused_adamw_.tensor_lr", TORCH_FN((&fused_adam<op::_fused_adamw, const at::Tensor&>)));
  m.impl("_fused_adam_", TORCH_FN((&fused_adam<op::_fused_adam, double>)));
  m.impl("_fused_adam_.tensor_lr", TORCH_FN((&fused_adam<op::_fused_adam, const at::Tensor&>)));
  m.impl("_fused_sgd_", TORCH_FN((&fused_sgd<double>)));
  m.impl("_fused_sgd_.tensor_lr", TORCH_FN((&fused_sgd<const at::Tensor&>)));
  m.impl("_fused_adagrad_", TORCH_FN((&fused_adagrad<double>)));
  m.impl("_fused_adagrad_.tensor_lr", TORCH_FN((&fused_adagrad<const at::Tensor&>)));
  m.impl("_amp_foreach_non_finite_check_and_unscale_", TORCH_FN(unscale_and_check));
  m.impl("_amp_update_scale_", TORCH_FN(update_scale));
}

}  // namespace
}  // namespace cresset
