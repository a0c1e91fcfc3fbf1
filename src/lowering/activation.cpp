// Activations and their gradients; each is the decomposition of a composite of the same name.
#include <cmath>
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

Value one_minus(Builder& b, Value x) { return b.sub(b.like(1, x), x); }

}  // namespace

Value relu(Builder& b, Value self) { return b.max(self, b.like(0, self)); }
Value threshold_backward(Builder& b, Value grad_output, Value self, Scalar threshold) {
  Value g = b.to_result(grad_output), x = b.broadcast(self, b.result_shape());
  return b.select(b.compare(Direction::LE, x, b.scalar_like(threshold, x)), b.like(0, g), g);
}

Value gelu(Builder& b, Value self, llvm::StringRef approximate) {
  return elementwise(b, [&](Value x) {
    if (approximate == "tanh") {
      // x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), Hendrycks and Gimpel 2016
      Value inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), std::sqrt(2 / M_PI));
      return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1));
    }
    return b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, M_SQRT1_2)), 1));
  }, self);
}
Value gelu_backward(Builder& b, Value grad_output, Value self, llvm::StringRef approximate) {
  return elementwise(b, [&](Value g, Value x) {
    if (approximate == "tanh") {
      double beta = std::sqrt(2 / M_PI);
      Value square = b.mul(x, x);
      Value t = b.tanh(b.mul(b.add(x, b.mul(b.mul(square, x), 0.044715)), beta));
      Value left = b.mul(x, 0.5), right = b.add(t, 1);
      Value inner = b.mul(b.add(b.mul(square, 3 * 0.044715), 1), beta);
      return b.mul(g, b.add(b.mul(right, 0.5), b.mul(b.mul(left, one_minus(b, b.mul(t, t))), inner)));
    }
    Value cdf = b.mul(b.add(b.erf(b.mul(x, M_SQRT1_2)), 1), 0.5);
    Value pdf = b.mul(b.exp(b.mul(b.mul(x, x), -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return b.mul(g, b.add(cdf, b.mul(x, pdf)));
  }, grad_output, self);
}
Value silu(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.mul(x, b.logistic(x)); }, self);
}
Value silu_backward(Builder& b, Value grad_output, Value self) {
  return elementwise(b, [&](Value g, Value x) {
    Value s = b.logistic(x);
    return b.mul(b.mul(g, s), b.add(b.mul(x, one_minus(b, s)), 1));
  }, grad_output, self);
}
Value tanh_backward(Builder& b, Value grad_output, Value output) {
  return elementwise(b, [&](Value g, Value y) { return b.mul(g, one_minus(b, b.mul(y, y))); }, grad_output, output);
}
Value sigmoid_backward(Builder& b, Value grad_output, Value output) {
  return elementwise(b, [&](Value g, Value y) { return b.mul(g, b.mul(one_minus(b, y), y)); }, grad_output, output);
}
Value hardtanh(Builder& b, Value self, Scalar min_val, Scalar max_val) {
  return b.min(b.max(self, b.scalar_like(min_val, self)), b.scalar_like(max_val, self));
}
Value hardtanh_backward(Builder& b, Value grad_output, Value self, Scalar min_val, Scalar max_val) {
  Value outside = b.logical_or(b.compare(Direction::LE, self, b.scalar_like(min_val, self)), b.compare(Direction::GE, self, b.scalar_like(max_val, self)));
  return b.select(outside, b.like(0, grad_output), grad_output);
}
Value leaky_relu(Builder& b, Value self, Scalar negative_slope) {
  return b.select(b.compare(Direction::GT, self, b.like(0, self)), self, b.mul(self, b.scalar_like(negative_slope, self)));
}
Value leaky_relu_backward(Builder& b, Value grad_output, Value self, Scalar negative_slope, bool self_is_result) {
  return b.select(b.compare(Direction::GT, self, b.like(0, self)), grad_output, b.mul(grad_output, b.scalar_like(negative_slope, grad_output)));
}
Value hardswish(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.div(b.mul(x, b.min(b.max(b.add(x, 3), b.like(0, x)), b.like(6, x))), b.like(6, x)); }, self);
}
Value hardsigmoid(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.div(b.min(b.max(b.add(x, 3), b.like(0, x)), b.like(6, x)), b.like(6, x)); }, self);
}
Value softplus(Builder& b, Value self, Scalar beta, Scalar threshold) {
  return elementwise(b, [&](Value x) {
    Value scaled = b.mul(x, b.scalar_like(beta, x));
    Value soft = b.div(b.create<hlo::Log1pOp>(b.exp(scaled)), b.scalar_like(beta, x));
    return b.select(b.compare(Direction::GT, scaled, b.scalar_like(threshold, x)), x, soft);
  }, self);
}
Value softplus_backward(Builder& b, Value grad_output, Value self, Scalar beta, Scalar threshold) {
  return elementwise(b, [&](Value g, Value x) {
    Value scaled = b.mul(x, b.scalar_like(beta, x));
    return b.select(b.compare(Direction::GT, scaled, b.scalar_like(threshold, x)), g, b.mul(g, b.logistic(scaled)));
  }, grad_output, self);
}
Value mish(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.mul(x, b.tanh(b.create<hlo::Log1pOp>(b.exp(x)))); }, self);
}
Value mish_backward(Builder& b, Value grad_output, Value self) {
  return elementwise(b, [&](Value g, Value x) {
    Value t = b.tanh(b.create<hlo::Log1pOp>(b.exp(x))), s = b.logistic(x);
    return b.mul(g, b.add(t, b.mul(b.mul(x, s), one_minus(b, b.mul(t, t)))));
  }, grad_output, self);
}
Value elu(Builder& b, Value self, Scalar alpha, Scalar scale, Scalar input_scale) {
  return elementwise(b, [&](Value x) {
    Value negative = b.mul(b.create<hlo::Expm1Op>(b.mul(x, b.scalar_like(input_scale, x))), b.scalar_like(alpha, x));
    return b.mul(b.select(b.compare(Direction::LT, x, b.like(0, x)), negative, x), b.scalar_like(scale, x));
  }, self);
}

Value elu_backward(Builder& b, Value grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Value self_or_result) {
  return elementwise(b, [&](Value g, Value x) {
    Value a = b.scalar_like(alpha, x), s = b.scalar_like(scale, x), i = b.scalar_like(input_scale, x);
    Value negative = is_result ? b.mul(b.mul(g, i), b.add(x, b.mul(a, s))) : b.mul(b.mul(b.mul(g, i), b.mul(a, s)), b.exp(b.mul(x, i)));
    return b.select(b.compare(Direction::LE, x, b.like(0, x)), negative, b.mul(g, s));
  }, grad_output, self_or_result);
}
Value threshold(Builder& b, Value self, Scalar threshold, Scalar value) {
  return b.select(b.compare(Direction::LE, self, b.scalar_like(threshold, self)), b.scalar_like(value, self), self);
}
Value hardswish_backward(Builder& b, Value grad_output, Value self) {
  return elementwise(b, [&](Value g, Value x) {
    Value inside = b.mul(g, b.add(b.div(x, b.like(3, x)), 0.5));
    Value upper = b.select(b.compare(Direction::LT, x, b.like(3, x)), inside, g);
    return b.select(b.compare(Direction::LE, x, b.like(-3, x)), b.like(0, g), upper);
  }, grad_output, self);
}
Value hardsigmoid_backward(Builder& b, Value grad_output, Value self) {
  return elementwise(b, [&](Value g, Value x) {
    Value inside = b.logical_and(b.compare(Direction::GT, x, b.like(-3, x)), b.compare(Direction::LT, x, b.like(3, x)));
    return b.select(inside, b.mul(g, 1.0 / 6), b.like(0, g));
  }, grad_output, self);
}

static std::pair<Value, Value> halves(Builder& b, Value v, int64_t dim) {
  int64_t n = shape_of(v)[dim];
  return {b.upcast(b.slice(v, dim, 0, n / 2)), b.upcast(b.slice(v, dim, n / 2, n))};
}
Value glu(Builder& b, Value self, int64_t dim) {
  auto [x, gate] = halves(b, self, wrap(dim, rank_of(self)));
  return b.convert(b.mul(x, b.logistic(gate)), b.result_element());
}
Value glu_backward(Builder& b, Value grad_output, Value self, int64_t dim) {
  dim = wrap(dim, rank_of(self));
  auto [x, gate] = halves(b, self, dim);
  Value g = b.upcast(grad_output), s = b.logistic(gate), gs = b.mul(g, s);
  return b.convert(b.concatenate({gs, b.mul(b.mul(gs, one_minus(b, s)), x)}, dim), b.result_element());
}

// min(x, 0) - log(1 + e^-|x|); the buffer is what the CPU keeps for its backward: e^-|x|.
Values log_sigmoid_forward(Builder& b, Value self) {
  Value x = b.upcast(self), e = b.exp(b.neg(b.abs(x)));
  Value y = b.sub(b.min(x, b.like(0, x)), b.create<hlo::Log1pOp>(e));
  return {b.convert(y, b.result_element(0)), b.broadcast(b.convert(b.reshape(e, shape_of(x)), b.result_element(1)), b.result_shape(1))};
}
Value log_sigmoid_backward(Builder& b, Value grad_output, Value self, Value buffer) {
  return elementwise(b, [&](Value g, Value x) { return b.mul(g, b.logistic(b.neg(x))); }, grad_output, self);
}

// Inside ±λ the shrinking functions give zero.
static Value inside(Builder& b, Value x, const Scalar& lambd) {
  Value l = b.scalar_like(lambd, x);
  return b.logical_and(b.compare(Direction::GE, x, b.neg(l)), b.compare(Direction::LE, x, l));
}
Value hardshrink(Builder& b, Value self, Scalar lambd) { return b.select(inside(b, self, lambd), b.like(0, self), self); }
Value hardshrink_backward(Builder& b, Value grad_out, Value self, Scalar lambd) {
  Value x = b.to_result(self);
  return b.select(inside(b, x, lambd), b.like(0, x), b.to_result(grad_out));
}
Value softshrink(Builder& b, Value self, Scalar lambd) {
  return elementwise(b, [&](Value x) {
    Value l = b.scalar_like(lambd, x), moved = b.select(b.compare(Direction::GT, x, l), b.sub(x, l), b.add(x, l));
    return b.select(inside(b, x, lambd), b.mul(x, b.like(0, x)), moved);
  }, self);
}
Value softshrink_backward(Builder& b, Value grad_output, Value self, Scalar lambd) { return hardshrink_backward(b, grad_output, self, lambd); }

Value logit(Builder& b, Value self, std::optional<double> eps) {
  return elementwise(b, [&](Value x) {
    if (eps) x = b.min(b.max(x, b.like(*eps, x)), b.like(1 - *eps, x));
    return b.log(b.div(x, one_minus(b, x)));
  }, self);
}
Value logit_backward(Builder& b, Value grad_output, Value self, std::optional<double> eps) {
  return elementwise(b, [&](Value g, Value x) {
    double low = eps.value_or(0), outside = eps ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    Value in_range = b.logical_and(b.compare(Direction::GE, x, b.like(low, x)), b.compare(Direction::LE, x, b.like(1 - low, x)));
    return b.select(in_range, b.div(g, b.mul(x, one_minus(b, x))), b.like(outside, x));
  }, grad_output, self);
}
Value _prelu_kernel(Builder& b, Value self, Value weight) {
  Value x = b.to_result(self);
  return b.select(b.compare(Direction::GT, x, b.like(0, x)), x, b.mul(b.to_result(weight), x));
}
Values _prelu_kernel_backward(Builder& b, Value grad_output, Value self, Value weight) {
  Value x = b.to_result(self), w = b.to_result(weight), g = b.to_result(grad_output), positive = b.compare(Direction::GT, x, b.like(0, x));
  return {b.select(positive, g, b.mul(w, g)), b.select(positive, b.like(0, g), b.mul(x, g))};
}

}  // namespace cresset::lowering::aten
