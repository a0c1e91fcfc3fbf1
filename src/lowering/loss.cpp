// Losses and dropout.
#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

constexpr int64_t kMean = 1, kSum = 2;  // at::Reduction

Dims every(Value v) { return wrap_all({}, rank_of(v)); }
Value reduced(Builder& b, Value loss, int64_t reduction) {
  loss = b.upcast(loss);
  if (reduction == kMean) return b.as_result(b.mul(b.sum(loss, every(loss)), 1.0 / double(type_of(loss).getNumElements())));
  return b.as_result(reduction == kSum ? b.sum(loss, every(loss)) : loss);
}
// The gradient of each element's loss from that of the reduced one.
Value spread_gradient(Builder& b, Value grad, Value like, int64_t reduction) {
  Value g = b.broadcast(b.convert(grad, element_of(like)), shape_of(like));
  return reduction == kMean ? b.mul(g, 1.0 / double(type_of(like).getNumElements())) : g;
}

struct Target {
  Value hot;      // one-hot along the class dimension (1, or 0 for a single sample)
  Value weight;   // weight of each sample, 0 where ignored
};
// `x` is [N, C, …] or [C].
Target target_of(Builder& b, Value x, Value target, Value weight, int64_t ignore_index) {
  int64_t c = rank_of(x) == 1 ? 0 : 1;
  Dims others;
  for (int64_t d = 0; d < rank_of(x); ++d) if (d != c) others.push_back(d);
  Dims sample_shape;
  for (int64_t d : others) sample_shape.push_back(shape_of(x)[d]);
  Value index = b.reshape(target, sample_shape);
  Value hot = b.compare(Direction::EQ, b.broadcast(index, shape_of(x), others), b.iota(c, shape_of(x), element_of(index)));
  Value valid = b.compare(Direction::NE, index, b.constant(c10::Scalar(ignore_index), element_of(index), sample_shape));
  // Of an ignored sample no number counts, not even infinite ones, which a weight of 0 would make nan.
  if (ignore_index >= 0 && ignore_index < shape_of(x)[c]) hot = b.logical_and(hot, b.broadcast(valid, shape_of(x), others));
  Value w = b.constant(1.0, element_of(x), sample_shape);
  if (weight) {
    Value all = b.broadcast(b.convert(weight, element_of(x)), shape_of(x), {c});
    w = b.sum(b.select(hot, all, b.like(0, all)), {c});
  }
  return {hot, b.select(valid, w, b.like(0, w))};
}
Values nll_forward(Builder& b, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index) {
  Value x = b.upcast(self);
  int64_t c = rank_of(x) == 1 ? 0 : 1;
  Target t = target_of(b, x, target, weight, ignore_index);
  Value picked = b.sum(b.select(t.hot, x, b.like(0, x)), {c});
  Value loss = b.neg(b.mul(picked, t.weight));
  Value total = b.sum(t.weight, every(t.weight));
  if (reduction == kMean) return {b.as_result(b.div(b.sum(loss, every(loss)), total), 0), b.as_result(total, 1)};
  if (reduction == kSum) return {b.as_result(b.sum(loss, every(loss)), 0), b.as_result(total, 1)};
  return {b.as_result(loss, 0), b.constant(0.0, b.result_element(1), b.result_shape(1))};
}
Value nll_backward(Builder& b, Value grad_output, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index, Value total_weight) {
  Value x = b.upcast(self);
  int64_t c = rank_of(x) == 1 ? 0 : 1;
  Target t = target_of(b, x, target, weight, ignore_index);
  Value g = b.broadcast(b.convert(grad_output, element_of(x)), shape_of(t.weight));
  if (reduction == kMean) g = b.div(g, b.broadcast(b.convert(total_weight, element_of(x)), shape_of(t.weight)));
  Value each = b.spread(b.neg(b.mul(g, t.weight)), {c}, shape_of(x));
  return b.as_result(b.select(t.hot, each, b.like(0, each)));
}

}  // namespace

Values nll_loss_forward(Builder& b, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index) {
  return nll_forward(b, self, target, weight, reduction, ignore_index);
}
Value nll_loss_backward(Builder& b, Value grad_output, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index, Value total_weight) {
  return nll_backward(b, grad_output, self, target, weight, reduction, ignore_index, total_weight);
}
Values nll_loss2d_forward(Builder& b, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index) {
  return nll_forward(b, self, target, weight, reduction, ignore_index);
}
Value nll_loss2d_backward(Builder& b, Value grad_output, Value self, Value target, Value weight, int64_t reduction, int64_t ignore_index, Value total_weight) {
  return nll_backward(b, grad_output, self, target, weight, reduction, ignore_index, total_weight);
}
Value mse_loss(Builder& b, Value self, Value target, int64_t reduction) {
  auto [x, y] = b.promoted(self, target);
  Value d = b.sub(x, y);
  return reduced(b, b.mul(d, d), reduction);
}
Value mse_loss_backward(Builder& b, Value grad_output, Value self, Value target, int64_t reduction) {
  auto [x, y] = b.promoted(self, target);
  return b.as_result(b.mul(spread_gradient(b, grad_output, x, reduction), b.mul(b.sub(x, y), 2)));
}
// Quadratic up to `delta`, then linear.
Value huber_loss(Builder& b, Value self, Value target, int64_t reduction, double delta) {
  auto [x, y] = b.promoted(self, target);
  Value d = b.abs(b.sub(x, y)), limit = b.like(delta, d);
  Value linear = b.mul(b.add(d, -0.5 * delta), delta), quadratic = b.mul(b.mul(d, d), 0.5);
  return reduced(b, b.select(b.compare(Direction::LE, d, limit), quadratic, linear), reduction);
}
Value huber_loss_backward(Builder& b, Value grad_output, Value self, Value target, int64_t reduction, double delta) {
  auto [x, y] = b.promoted(self, target);
  Value d = b.sub(x, y), limit = b.like(delta, d);
  return b.as_result(b.mul(spread_gradient(b, grad_output, x, reduction), b.max(b.min(d, limit), b.neg(limit))));
}
// The same divided by `beta`, which may be 0.
Value smooth_l1_loss(Builder& b, Value self, Value target, int64_t reduction, double beta) {
  auto [x, y] = b.promoted(self, target);
  Value d = b.abs(b.sub(x, y));
  if (beta == 0) return reduced(b, d, reduction);
  Value linear = b.add(d, -0.5 * beta), quadratic = b.mul(b.mul(d, d), 0.5 / beta);
  return reduced(b, b.select(b.compare(Direction::LT, d, b.like(beta, d)), quadratic, linear), reduction);
}
Value smooth_l1_loss_backward(Builder& b, Value grad_output, Value self, Value target, int64_t reduction, double beta) {
  auto [x, y] = b.promoted(self, target);
  Value d = b.sub(x, y), slope = b.create<hlo::SignOp>(d);
  if (beta != 0) slope = b.max(b.min(b.mul(d, 1 / beta), b.like(1, d)), b.like(-1, d));
  return b.as_result(b.mul(spread_gradient(b, grad_output, x, reduction), slope));
}
// Logarithms are bounded by -100, as ATen does.
Value binary_cross_entropy(Builder& b, Value self, Value target, Value weight, int64_t reduction) {
  Value x = self, t = b.convert(target, element_of(self));
  auto bounded = [&](Value p) { return b.max(b.log(p), b.like(-100, p)); };
  Value loss = b.neg(b.add(b.mul(t, bounded(x)), b.mul(b.sub(b.like(1, t), t), bounded(b.sub(b.like(1, x), x)))));
  if (weight) loss = b.mul(loss, b.broadcast(b.convert(weight, element_of(x)), shape_of(x)));
  return reduced(b, loss, reduction);
}
Value binary_cross_entropy_backward(Builder& b, Value grad_output, Value self, Value target, Value weight, int64_t reduction) {
  Value x = self, t = b.convert(target, element_of(self));
  Value scale = b.max(b.mul(b.sub(b.like(1, x), x), x), b.like(1e-12, x));
  Value g = b.mul(spread_gradient(b, grad_output, x, reduction), b.div(b.sub(x, t), scale));
  return weight ? b.mul(g, b.broadcast(b.convert(weight, element_of(x)), shape_of(x))) : g;
}
Value native_dropout_backward(Builder& b, Value grad_output, Value mask, double scale) {
  return elementwise(b, [&](Value g, Value kept) { return b.mul(b.mul(g, kept), scale); }, grad_output, mask);
}

}  // namespace cresset::lowering::aten
