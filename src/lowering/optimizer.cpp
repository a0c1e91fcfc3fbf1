// Fused optimizers, a parameter at a time: every list has one tensor. The learning rate and the step are operands, and so are other numbers that have changed.
#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

using Tensors = llvm::ArrayRef<Value>;

// The state before and after the update, in the type it is computed in; with a gradient scaler nothing changes where an infinity was found.
class Update {
 public:
  Update(Builder& b, Value parameter, Value gradient, bool maximize, Value grad_scale, Value found_inf) : b_(b), found_inf_(found_inf) {
    parameter_ = b.upcast(parameter);
    gradient_ = b.convert(gradient, element_of(parameter_));
    if (grad_scale) gradient_ = unscaled_ = b.div(gradient_, everywhere(grad_scale));
    if (maximize) gradient_ = b.neg(gradient_);
  }
  Value parameter() const { return parameter_; }
  Value gradient() const { return gradient_; }
  void decay(const Scalar& weight_decay) { gradient_ = b_.add(gradient_, b_.mul(parameter_, everywhere(weight_decay))); }
  Value state(Value v) { return b_.convert(v, element_of(parameter_)); }
  /// A rank-0 value over the parameter.
  Value everywhere(Value v) { return b_.broadcast(b_.convert(b_.reshape(v, {}), element_of(parameter_)), shape_of(parameter_)); }
  /// A number, and 1 minus it, likewise; in double, as 1 - 0.999 in f32 is wrong in the fifth digit.
  Value everywhere(const Scalar& s) { return s.operand ? everywhere(f64(s)) : b_.like(s.value.toDouble(), parameter_); }
  Value rest(const Scalar& s) { return s.operand ? everywhere(b_.sub(b_.like(1, f64(s)), f64(s))) : b_.like(1 - s.value.toDouble(), parameter_); }
  Value f64(const Scalar& s) { return b_.scalar(s, b_.ops.getF64Type()); }
  Value f64(Value one_number) { return b_.convert(b_.reshape(one_number, {}), b_.ops.getF64Type()); }
  /// Result `i`: what replaces `before`.
  Value result(Value after, Value before, size_t i) {
    if (!before) return {};
    after = b_.convert(after, b_.result_element(i));
    if (!found_inf_) return after;
    Value found = b_.compare(Direction::EQ, b_.reshape(found_inf_, {}), b_.constant(1.0, element_of(found_inf_)));
    return b_.select(b_.broadcast(found, shape_of(after)), before, after);
  }
  Value unscaled(Value gradient) { return unscaled_ ? result(unscaled_, gradient, 1) : Value(); }

 private:
  Builder& b_;
  Value parameter_, gradient_, unscaled_, found_inf_;
};

// Says that something is left out.
bool is_zero(const Scalar& s) { return !s.operand && s.value.toDouble() == 0; }

Value first_of(Tensors list) { return list.empty() ? Value() : list[0]; }

// Results: parameter, gradient (if it was scaled), average, average of squares, its maximum (amsgrad).
Values adam(Builder& b, Tensors self, Tensors grads, Tensors exp_avgs, Tensors exp_avg_sqs, Tensors max_exp_avg_sqs, Tensors state_steps, Scalar lr, Scalar beta1,
            Scalar beta2, Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize, Value grad_scale, Value found_inf, bool decoupled) {
  Update u(b, self[0], grads[0], maximize, grad_scale, found_inf);
  Value p = u.parameter(), rate = u.f64(lr);
  if (!is_zero(weight_decay) && decoupled) p = b.mul(p, u.everywhere(b.sub(b.like(1, rate), b.mul(rate, u.f64(weight_decay)))));
  if (!is_zero(weight_decay) && !decoupled) u.decay(weight_decay);
  Value g = u.gradient(), m = u.state(exp_avgs[0]), v = u.state(exp_avg_sqs[0]), largest = first_of(max_exp_avg_sqs);
  m = b.add(m, b.mul(b.sub(g, m), u.rest(beta1)));
  v = b.add(b.mul(v, u.everywhere(beta2)), b.mul(b.mul(g, g), u.rest(beta2)));
  Value root = v, greatest;
  if (amsgrad) root = greatest = b.max(u.state(largest), v);
  Value step = u.f64(state_steps[0]);
  auto correction = [&](const Scalar& beta) { return b.sub(b.like(1, step), b.pow(u.f64(beta), step)); };
  Value root_scale = b.sqrt(correction(beta2));  // its reciprocal once, not a division for each element
  Value denominator = b.add(b.mul(b.sqrt(root), u.everywhere(b.div(b.like(1, root_scale), root_scale))), u.everywhere(eps));
  p = b.sub(p, b.div(b.mul(m, u.everywhere(b.div(rate, correction(beta1)))), denominator));
  return {u.result(p, self[0], 0), u.unscaled(grads[0]), u.result(m, exp_avgs[0], 2), u.result(v, exp_avg_sqs[0], 3), u.result(amsgrad ? greatest : v, amsgrad ? largest : Value(), 4)};
}

}  // namespace

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
Values _fused_adamw(Builder& b, Tensors self, Tensors grads, Tensors exp_avgs, Tensors exp_avg_sqs, Tensors max_exp_avg_sqs, Tensors state_steps, Scalar lr,
                    Scalar beta1, Scalar beta2, Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize, Value grad_scale, Value found_inf) {
  return adam(b, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, true);
}
// Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015), with an L2 term.
Values _fused_adam(Builder& b, Tensors self, Tensors grads, Tensors exp_avgs, Tensors exp_avg_sqs, Tensors max_exp_avg_sqs, Tensors state_steps, Scalar lr,
                   Scalar beta1, Scalar beta2, Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize, Value grad_scale, Value found_inf) {
  return adam(b, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, false);
}
// Results: parameter, gradient (if it was scaled), momentum.
Values _fused_sgd(Builder& b, Tensors self, Tensors grads, Tensors momentum_buffer_list, Scalar weight_decay, Scalar momentum, Scalar lr, Scalar dampening,
                  bool nesterov, bool maximize, bool is_first_step, Value grad_scale, Value found_inf) {
  Update u(b, self[0], grads[0], maximize, grad_scale, found_inf);
  if (!is_zero(weight_decay)) u.decay(weight_decay);
  Value g = u.gradient(), before = !is_zero(momentum) ? first_of(momentum_buffer_list) : Value(), moved = g;
  if (before) {
    if (!is_first_step) moved = b.add(b.mul(u.state(before), u.everywhere(momentum)), b.mul(g, u.rest(dampening)));
    g = nesterov ? b.add(g, b.mul(moved, u.everywhere(momentum))) : moved;
  }
  Value p = b.sub(u.parameter(), b.mul(g, u.everywhere(u.f64(lr))));
  return {u.result(p, self[0], 0), u.unscaled(grads[0]), u.result(moved, before, 2)};
}

// Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011), with a rate that may decay. Results: parameter, gradient (if it was scaled), sum of squares;
// the steps stay as they are.
Values _fused_adagrad(Builder& b, Tensors self, Tensors grads, Tensors state_sums, Tensors state_steps, Scalar lr, Scalar lr_decay, Scalar weight_decay, Scalar eps, bool maximize,
                      Value grad_scale, Value found_inf) {
  Update u(b, self[0], grads[0], maximize, grad_scale, found_inf);
  if (!is_zero(weight_decay)) u.decay(weight_decay);
  Value g = u.gradient(), sum = b.add(u.state(state_sums[0]), b.mul(g, g)), rate = u.f64(lr);
  if (!is_zero(lr_decay)) rate = b.div(rate, b.add(b.mul(b.add(u.f64(state_steps[0]), -1), u.f64(lr_decay)), 1));
  Value p = b.sub(u.parameter(), b.div(b.mul(g, u.everywhere(rate)), b.add(b.sqrt(sum), u.everywhere(eps))));
  return {u.result(p, self[0], 0), u.unscaled(grads[0]), u.result(sum, state_sums[0], 2), {}};
}

}  // namespace cresset::lowering::aten
