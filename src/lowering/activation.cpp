// Activations and their gradients; each is the decomposition of a composite of the same name.
#include <cmath>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

// In f32 for the narrow types, rounded once at the end, as on the CPU.
template <class F>
Value wide(Builder& b, Value x, F f) {
  return b.convert(f(b.upcast(b.to_result(x))), b.result_element());
}
template <class F>
Value wide(Builder& b, Value x, Value y, F f) {
  return b.convert(f(b.upcast(b.to_result(x)), b.upcast(b.to_result(y))), b.result_element());
}
Value one_minus(Builder& b, Value x) { return b.sub(b.like(1, x), x); }

}  // namespace

Value relu(Builder& b, Value self) { return b.max(self, b.like(0, self)); }
Value threshold_backward(Builder& b, Value grad_output, Value self, Scalar threshold) {
  Value g = b.to_result(grad_output), x = b.broadcast(self, b.result_shape());
  return b.select(b.compare(Direction::LE, x, b.scalar_like(threshold, x)), b.like(0, g), g);
}

Value gelu(Builder& b, Value self, llvm::StringRef approximate) {
  return wide(b, self, [&](Value x) {
    if (approximate == "tanh") {
      // x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), Hendrycks and Gimpel 2016
      Value inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), std::sqrt(2 / M_PI));
      return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1));
    }
    return b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, M_SQRT1_2)), 1));
  });
}
Value gelu_backward(Builder& b, Value grad_output, Value self, llvm::StringRef approximate) {
  return wide(b, grad_output, self, [&](Value g, Value x) {
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
  });
}
Value silu(Builder& b, Value self) {
  return wide(b, self, [&](Value x) { return b.mul(x, b.logistic(x)); });
}
Value silu_backward(Builder& b, Value grad_output, Value self) {
  return wide(b, grad_output, self, [&](Value g, Value x) {
    Value s = b.logistic(x);
    return b.mul(b.mul(g, s), b.add(b.mul(x, one_minus(b, s)), 1));
  });
}
Value tanh_backward(Builder& b, Value grad_output, Value output) {
  return wide(b, grad_output, output, [&](Value g, Value y) { return b.mul(g, one_minus(b, b.mul(y, y))); });
}
Value sigmoid_backward(Builder& b, Value grad_output, Value output) {
  return wide(b, grad_output, output, [&](Value g, Value y) { return b.mul(g, b.mul(one_minus(b, y), y)); });
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
  return wide(b, self, [&](Value x) { return b.div(b.mul(x, b.min(b.max(b.add(x, 3), b.like(0, x)), b.like(6, x))), b.like(6, x)); });
}
Value hardsigmoid(Builder& b, Value self) {
  return wide(b, self, [&](Value x) { return b.div(b.min(b.max(b.add(x, 3), b.like(0, x)), b.like(6, x)), b.like(6, x)); });
}
Value softplus(Builder& b, Value self, Scalar beta, Scalar threshold) {
  return wide(b, self, [&](Value x) {
    Value scaled = b.mul(x, b.scalar_like(beta, x));
    Value soft = b.div(b.create<hlo::Log1pOp>(b.exp(scaled)), b.scalar_like(beta, x));
    return b.select(b.compare(Direction::GT, scaled, b.scalar_like(threshold, x)), x, soft);
  });
}
Value softplus_backward(Builder& b, Value grad_output, Value self, Scalar beta, Scalar threshold) {
  return wide(b, grad_output, self, [&](Value g, Value x) {
    Value scaled = b.mul(x, b.scalar_like(beta, x));
    return b.select(b.compare(Direction::GT, scaled, b.scalar_like(threshold, x)), g, b.mul(g, b.logistic(scaled)));
  });
}
Value mish(Builder& b, Value self) {
  return wide(b, self, [&](Value x) { return b.mul(x, b.tanh(b.create<hlo::Log1pOp>(b.exp(x)))); });
}
Value mish_backward(Builder& b, Value grad_output, Value self) {
  return wide(b, grad_output, self, [&](Value g, Value x) {
    Value t = b.tanh(b.create<hlo::Log1pOp>(b.exp(x))), s = b.logistic(x);
    return b.mul(g, b.add(t, b.mul(b.mul(x, s), one_minus(b, b.mul(t, t)))));
  });
}
Value elu(Builder& b, Value self, Scalar alpha, Scalar scale, Scalar input_scale) {
  return wide(b, self, [&](Value x) {
    Value negative = b.mul(b.create<hlo::Expm1Op>(b.mul(x, b.scalar_like(input_scale, x))), b.scalar_like(alpha, x));
    return b.mul(b.select(b.compare(Direction::LT, x, b.like(0, x)), negative, x), b.scalar_like(scale, x));
  });
}

}  // namespace cresset::lowering::aten
