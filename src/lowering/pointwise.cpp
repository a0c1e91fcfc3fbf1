// Element-wise arithmetic, comparisons and selection.
#include <cmath>
#include <limits>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

// Integers become the result's floating type first; f16 and bf16 are computed in f32, as on the CPU.
template <class F>
Value floating(Builder& b, Value x, F f) {
  return b.convert(f(b.upcast(b.convert(x, b.result_element()))), b.result_element());
}
template <class F>
Value binary(Builder& b, Value x, Value y, F f) {
  return f(b.to_result(x), b.to_result(y));
}
Value comparison(Builder& b, Value x, Value y, Direction d) {
  auto [p, q] = b.promoted(x, y);
  return b.compare(d, p, q);
}
Value truth(Builder& b, Value x) { return b.convert(x, b.ops.getI1Type()); }

// Quotient rounded to the smaller integer; for floating point by remainder, as torch.floor_divide does.
Value floor_quotient(Builder& b, Value x, Value y) {
  Value zero = b.like(0, x);
  if (is_floating(x)) {
    Value m = b.create<hlo::RemOp>(x, y), q = b.div(b.sub(x, m), y);
    Value adjust = b.logical_and(b.compare(Direction::NE, m, zero), b.compare(Direction::NE, b.compare(Direction::LT, y, zero), b.compare(Direction::LT, m, zero)));
    q = b.select(adjust, b.sub(q, b.like(1, q)), q);
    Value f = b.floor(q);
    f = b.select(b.compare(Direction::GT, b.sub(q, f), b.like(0.5, q)), b.add(f, 1), f);
    return b.select(b.compare(Direction::EQ, y, zero), b.div(x, y), f);
  }
  Value q = b.div(x, y), r = b.create<hlo::RemOp>(x, y);
  Value adjust = b.logical_and(b.compare(Direction::NE, r, zero), b.compare(Direction::NE, b.compare(Direction::LT, r, zero), b.compare(Direction::LT, y, zero)));
  return b.select(adjust, b.sub(q, b.like(1, q)), q);
}
Value trunc_of(Builder& b, Value x) { return b.select(b.compare(Direction::LT, x, b.like(0, x)), b.create<hlo::CeilOp>(x), b.floor(x)); }

}  // namespace

Value abs(Builder& b, Value self) { return element_of(self).isUnsignedInteger() ? self : b.abs(self); }
Value neg(Builder& b, Value self) { return b.neg(self); }
Value exp(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.exp(x); }); }
Value exp2(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.pow(b.like(2, x), x); }); }
Value expm1(Builder& b, Value self) { return floating(b, self, [&](Value x) -> Value { return b.create<hlo::Expm1Op>(x); }); }
Value log(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.log(x); }); }
Value log2(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.div(b.log(x), b.like(std::log(2.0), x)); }); }
Value log10(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.div(b.log(x), b.like(std::log(10.0), x)); }); }
Value log1p(Builder& b, Value self) { return floating(b, self, [&](Value x) -> Value { return b.create<hlo::Log1pOp>(x); }); }
Value sqrt(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.sqrt(x); }); }
Value rsqrt(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.rsqrt(x); }); }
Value sin(Builder& b, Value self) { return floating(b, self, [&](Value x) -> Value { return b.create<hlo::SineOp>(x); }); }
Value cos(Builder& b, Value self) { return floating(b, self, [&](Value x) -> Value { return b.create<hlo::CosineOp>(x); }); }
Value tan(Builder& b, Value self) { return floating(b, self, [&](Value x) -> Value { return b.create<hlo::TanOp>(x); }); }
Value tanh(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.tanh(x); }); }
Value erf(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.erf(x); }); }
Value sigmoid(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.logistic(x); }); }
Value reciprocal(Builder& b, Value self) { return floating(b, self, [&](Value x) { return b.div(b.like(1, x), x); }); }
Value floor(Builder& b, Value self) { return is_floating(self) ? b.floor(self) : self; }
Value ceil(Builder& b, Value self) { return is_floating(self) ? Value(b.create<hlo::CeilOp>(self)) : self; }
Value round(Builder& b, Value self) { return is_floating(self) ? Value(b.create<hlo::RoundNearestEvenOp>(self)) : self; }
Value trunc(Builder& b, Value self) { return is_floating(self) ? trunc_of(b, self) : self; }
Value sign(Builder& b, Value self) { return element_of(self).isInteger(1) ? self : Value(b.create<hlo::SignOp>(self)); }
Value isnan(Builder& b, Value self) { return b.compare(Direction::NE, self, self); }
Value logical_not(Builder& b, Value self) { return b.logical_not(truth(b, self)); }
Value bitwise_not(Builder& b, Value self) { return b.logical_not(self); }

Value add(Builder& b, Value self, Value other, Scalar alpha) {
  return binary(b, self, other, [&](Value x, Value y) { return b.add(x, b.is(alpha, 1) ? y : b.mul(y, b.scalar_like(alpha, y))); });
}
Value sub(Builder& b, Value self, Value other, Scalar alpha) {
  return binary(b, self, other, [&](Value x, Value y) { return b.sub(x, b.is(alpha, 1) ? y : b.mul(y, b.scalar_like(alpha, y))); });
}
Value add_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return add(b, self, b.scalar(other, b.result_element()), alpha); }
Value sub_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return sub(b, self, b.scalar(other, b.result_element()), alpha); }
Value rsub_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return sub(b, b.scalar(other, b.result_element()), self, alpha); }
Value mul(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.mul(x, y); }); }
Value mul_Scalar(Builder& b, Value self, Scalar other) { return mul(b, self, b.scalar(other, b.result_element())); }
Value div(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.div(x, y); }); }
Value div_Scalar(Builder& b, Value self, Scalar other) { return div(b, self, b.scalar(other, b.result_element())); }
Value div_Tensor_mode(Builder& b, Value self, Value other, std::optional<llvm::StringRef> rounding_mode) {
  return binary(b, self, other, [&](Value x, Value y) {
    if (!rounding_mode) return b.div(x, y);
    if (*rounding_mode == "floor") return floor_quotient(b, x, y);
    return is_floating(x) ? trunc_of(b, b.div(x, y)) : b.div(x, y);
  });
}
Value floor_divide(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return floor_quotient(b, x, y); }); }
Value remainder(Builder& b, Value self, Value other) {
  return binary(b, self, other, [&](Value x, Value y) {
    Value r = b.create<hlo::RemOp>(x, y), zero = b.like(0, r);
    Value adjust = b.logical_and(b.compare(Direction::NE, r, zero), b.compare(Direction::NE, b.compare(Direction::LT, r, zero), b.compare(Direction::LT, y, zero)));
    return b.select(adjust, b.add(r, y), r);
  });
}
Value fmod(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) -> Value { return b.create<hlo::RemOp>(x, y); }); }
Value maximum(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.max(x, y); }); }
Value minimum(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.min(x, y); }); }
Value atan2(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) -> Value { return b.create<hlo::Atan2Op>(x, y); }); }
Value pow_Tensor_Scalar(Builder& b, Value self, Scalar exponent) {
  Value x = b.upcast(b.to_result(self));
  if (b.is(exponent, 2)) return b.convert(b.mul(x, x), b.result_element());
  if (b.is(exponent, 3)) return b.convert(b.mul(b.mul(x, x), x), b.result_element());
  if (is_floating(x) && b.is(exponent, 0.5)) return b.convert(b.sqrt(x), b.result_element());
  if (is_floating(x) && b.is(exponent, -0.5)) return b.convert(b.rsqrt(x), b.result_element());
  if (is_floating(x) && b.is(exponent, -1)) return b.convert(b.div(b.like(1, x), x), b.result_element());
  return b.convert(b.pow(x, b.scalar_like(exponent, x)), b.result_element());
}
Value pow_Scalar(Builder& b, Scalar self, Value exponent) { return binary(b, b.scalar(self, b.result_element()), exponent, [&](Value x, Value y) { return b.pow(x, y); }); }
Value pow_Tensor_Tensor(Builder& b, Value self, Value exponent) { return binary(b, self, exponent, [&](Value x, Value y) { return b.pow(x, y); }); }

Value addcmul(Builder& b, Value self, Value tensor1, Value tensor2, Scalar value) {
  Value x = b.to_result(tensor1), y = b.to_result(tensor2);
  return b.add(b.to_result(self), b.mul(b.is(value, 1) ? x : b.mul(b.scalar_like(value, x), x), y));
}
Value addcdiv(Builder& b, Value self, Value tensor1, Value tensor2, Scalar value) {
  Value x = b.to_result(tensor1), y = b.to_result(tensor2);
  return b.add(b.to_result(self), b.div(b.is(value, 1) ? x : b.mul(b.scalar_like(value, x), x), y));
}
// self + w (end - self), from the nearer end as ATen does.
static Value interpolate(Builder& b, Value self, Value end, Value w) {
  Value x = b.to_result(self), y = b.to_result(end), d = b.sub(y, x), weight = b.to_result(w);
  Value near = b.compare(Direction::LT, b.abs(weight), b.like(0.5, weight));
  return b.select(near, b.add(x, b.mul(weight, d)), b.sub(y, b.mul(d, b.sub(b.like(1, weight), weight))));
}
Value lerp_Scalar(Builder& b, Value self, Value end, Scalar weight) { return interpolate(b, self, end, b.scalar(weight, b.result_element())); }
Value lerp(Builder& b, Value self, Value end, Value weight) { return interpolate(b, self, end, weight); }

Value eq(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::EQ); }
Value ne(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::NE); }
Value lt(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::LT); }
Value le(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::LE); }
Value gt(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::GT); }
Value ge(Builder& b, Value self, Value other) { return comparison(b, self, other, Direction::GE); }
static Value compare_scalar(Builder& b, Value self, Scalar other, Direction d) {
  bool widen = !is_floating(self) && (other.operand ? is_floating(other.operand) : other.value.isFloatingPoint());
  Value x = widen ? b.convert(self, b.ops.getF32Type()) : element_of(self).isInteger(1) ? b.convert(self, b.ops.getI64Type()) : self;
  return b.compare(d, x, b.scalar_like(other, x));
}
Value eq_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::EQ); }
Value ne_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::NE); }
Value lt_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::LT); }
Value le_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::LE); }
Value gt_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::GT); }
Value ge_Scalar(Builder& b, Value self, Scalar other) { return compare_scalar(b, self, other, Direction::GE); }

Value logical_and(Builder& b, Value self, Value other) {
  return b.logical_and(b.broadcast(truth(b, self), b.result_shape()), b.broadcast(truth(b, other), b.result_shape()));
}
Value logical_or(Builder& b, Value self, Value other) {
  return b.logical_or(b.broadcast(truth(b, self), b.result_shape()), b.broadcast(truth(b, other), b.result_shape()));
}
Value bitwise_and(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.logical_and(x, y); }); }
Value bitwise_or(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) { return b.logical_or(x, y); }); }
Value bitwise_xor(Builder& b, Value self, Value other) { return binary(b, self, other, [&](Value x, Value y) -> Value { return b.create<hlo::XorOp>(x, y); }); }

Value where_self(Builder& b, Value condition, Value self, Value other) {
  return b.select(b.broadcast(truth(b, condition), b.result_shape()), b.to_result(self), b.to_result(other));
}
Value masked_fill_Scalar(Builder& b, Value self, Value mask, Scalar value) {
  return b.select(b.broadcast(mask, b.result_shape()), b.scalar(value, b.result_element(), b.result_shape()), b.to_result(self));
}
Value masked_fill(Builder& b, Value self, Value mask, Value value) {
  return b.select(b.broadcast(mask, b.result_shape()), b.to_result(value), b.to_result(self));
}
Value fill_Scalar(Builder& b, Value self, Scalar value) { return b.scalar(value, b.result_element(), b.result_shape()); }
Value fill(Builder& b, Value self, Value value) { return b.to_result(value); }
Value zero(Builder& b, Value self) { return b.constant(0.0, b.result_element(), b.result_shape()); }
Value clamp(Builder& b, Value self, std::optional<Scalar> min, std::optional<Scalar> max) {
  Value x = b.to_result(self);
  if (min) x = b.max(x, b.scalar_like(*min, x));
  return max ? b.min(x, b.scalar_like(*max, x)) : x;
}
Value clamp_min(Builder& b, Value self, Scalar min) { return clamp(b, self, min, std::nullopt); }
Value clamp_max(Builder& b, Value self, Scalar max) { return clamp(b, self, std::nullopt, max); }
Value clone(Builder& b, Value self) { return self; }

}  // namespace cresset::lowering::aten
