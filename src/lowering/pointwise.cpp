// Element-wise arithmetic, comparisons and selection.
#include <cmath>
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering {

Value is_infinite(Builder& b, Value x) { return b.compare(Direction::EQ, b.abs(x), b.like(std::numeric_limits<double>::infinity(), x)); }
Value log_of_sum(Builder& b, Value x, Value y) {
  Value m = b.max(x, y), sum = b.add(m, b.create<hlo::Log1pOp>(b.exp(b.neg(b.abs(b.sub(x, y))))));
  return b.select(b.logical_and(b.compare(Direction::EQ, x, y), is_infinite(b, x)), x, sum);
}
Value floor_quotient(Builder& b, Value x, Value y) {
  Value zero = b.like(0, x);
  if (is_floating(x)) {
    Value m = b.create<hlo::RemOp>(x, y), q = b.div(b.sub(x, m), y);
    Value adjust = b.logical_and(b.compare(Direction::NE, m, zero), b.compare(Direction::NE, b.compare(Direction::LT, y, zero), b.compare(Direction::LT, m, zero)));
    q = b.select(adjust, b.sub(q, b.like(1, q)), q);
    Value f = b.floor(q);
    f = b.select(b.compare(Direction::GT, b.sub(q, f), b.like(0.5, q)), b.add(f, 1), f);
    f = b.select(b.compare(Direction::EQ, q, zero), b.mul(b.div(x, y), zero), f);  // of the quotient's sign
    return b.select(b.compare(Direction::EQ, y, zero), b.div(x, y), f);
  }
  Value q = b.div(x, y), r = b.create<hlo::RemOp>(x, y);
  Value adjust = b.logical_and(b.compare(Direction::NE, r, zero), b.compare(Direction::NE, b.compare(Direction::LT, r, zero), b.compare(Direction::LT, y, zero)));
  return b.select(adjust, b.sub(q, b.like(1, q)), q);
}

namespace aten {
namespace {

Value comparison(Builder& b, Value x, Value y, Direction d) {
  auto [p, q] = b.promoted(x, y);
  return b.compare(d, p, q);
}
Value truth(Builder& b, Value x) { return b.convert(x, b.ops.getI1Type()); }

// Whole numbers depend on how a quotient is rounded: of tensors of f16 and bf16 the CPU rounds each step, of a tensor and one number the last one only.
template <class F>
Value whole_quotient(Builder& b, F f, Value x, Value y) {
  if (llvm::all_of(shape_of(y), [](int64_t d) { return d == 1; })) return elementwise(b, f, x, y);
  auto narrow = [&](Value v) { return b.broadcast(narrowed(b, v), b.result_shape()); };
  return f(narrow(x), narrow(y));
}

Value trunc_of(Builder& b, Value x) { return b.select(b.compare(Direction::LT, x, b.like(0, x)), b.create<hlo::CeilOp>(x), b.floor(x)); }

}  // namespace

Value abs(Builder& b, Value self) { return element_of(self).isUnsignedInteger() ? self : b.abs(self); }
Value neg(Builder& b, Value self) { return b.neg(self); }
Value exp(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.exp(x); }, self); }
Value exp2(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.pow(b.like(2, x), x); }, self); }
Value expm1(Builder& b, Value self) { return elementwise(b, [&](Value x) -> Value { return b.create<hlo::Expm1Op>(x); }, self); }
Value log(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.log(x); }, self); }
Value log2(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.div(b.log(x), b.like(std::log(2.0), x)); }, self); }
Value log10(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.div(b.log(x), b.like(std::log(10.0), x)); }, self); }
Value log1p(Builder& b, Value self) { return elementwise(b, [&](Value x) -> Value { return b.create<hlo::Log1pOp>(x); }, self); }
Value sqrt(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.sqrt(x); }, self); }
Value rsqrt(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.rsqrt(x); }, self); }
Value sin(Builder& b, Value self) { return elementwise(b, [&](Value x) -> Value { return b.create<hlo::SineOp>(x); }, self); }
Value cos(Builder& b, Value self) { return elementwise(b, [&](Value x) -> Value { return b.create<hlo::CosineOp>(x); }, self); }
Value tan(Builder& b, Value self) { return elementwise(b, [&](Value x) -> Value { return b.create<hlo::TanOp>(x); }, self); }
Value tanh(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.tanh(x); }, self); }
Value erf(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.erf(x); }, self); }
Value sinc(Builder& b, Value self) {
  return elementwise(b, [&](Value x) {
    Value t = b.mul(x, M_PI);
    return b.select(b.compare(Direction::EQ, x, b.like(0, x)), b.like(1, x), b.div(b.create<hlo::SineOp>(t), t));
  }, self);
}
Value sigmoid(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.logistic(x); }, self); }
Value reciprocal(Builder& b, Value self) { return elementwise(b, [&](Value x) { return b.div(b.like(1, x), x); }, self); }
Value floor(Builder& b, Value self) { return is_floating(self) ? b.floor(self) : self; }
Value ceil(Builder& b, Value self) { return is_floating(self) ? Value(b.create<hlo::CeilOp>(self)) : self; }
Value round_decimals(Builder& b, Value self, int64_t decimals) {
  if (!is_floating(self)) return self;
  double scale = std::pow(10.0, double(std::abs(decimals)));
  return elementwise(b, [&](Value x) {
    Value s = b.like(scale, x), scaled = decimals < 0 ? b.div(x, s) : b.mul(x, s), whole = b.create<hlo::RoundNearestEvenOp>(scaled);
    return decimals < 0 ? b.mul(whole, s) : b.div(whole, s);
  }, self);
}
Value round(Builder& b, Value self) { return is_floating(self) ? Value(b.create<hlo::RoundNearestEvenOp>(self)) : self; }
Value trunc(Builder& b, Value self) { return is_floating(self) ? trunc_of(b, self) : self; }
// Of nan PyTorch says 0, StableHLO nan.
Value sign(Builder& b, Value self) {
  if (element_of(self).isInteger(1)) return self;
  Value s = b.create<hlo::SignOp>(self);
  return is_floating(self) ? b.select(b.compare(Direction::NE, self, self), b.like(0, self), s) : s;
}
Value isnan(Builder& b, Value self) { return b.compare(Direction::NE, self, self); }
Value logical_not(Builder& b, Value self) { return b.logical_not(truth(b, self)); }
Value bitwise_not(Builder& b, Value self) { return b.logical_not(self); }

template <class X, class Y>
static Value plus(Builder& b, X x, Y y, const Scalar& alpha) {
  return elementwise(b, [&](Value p, Value q) { return b.add(p, scaled(b, q, alpha)); }, x, y);
}
template <class X, class Y>
static Value minus(Builder& b, X x, Y y, const Scalar& alpha) {
  return elementwise(b, [&](Value p, Value q) { return b.sub(p, scaled(b, q, alpha)); }, x, y);
}
Value add(Builder& b, Value self, Value other, Scalar alpha) { return plus(b, self, other, alpha); }
Value sub(Builder& b, Value self, Value other, Scalar alpha) { return minus(b, self, other, alpha); }
Value add_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return plus(b, self, other, alpha); }
Value sub_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return minus(b, self, other, alpha); }
Value rsub_Scalar(Builder& b, Value self, Scalar other, Scalar alpha) { return minus(b, other, self, alpha); }
Value rsub(Builder& b, Value self, Value other, Scalar alpha) { return minus(b, other, self, alpha); }
Value mul(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.mul(x, y); }, self, other); }
Value mul_Scalar(Builder& b, Value self, Scalar other) { return elementwise(b, [&](Value x, Value y) { return b.mul(x, y); }, self, other); }
Value div(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.div(x, y); }, self, other); }
Value div_Scalar(Builder& b, Value self, Scalar other) { return elementwise(b, [&](Value x, Value y) { return b.div(x, y); }, self, other); }
Value floor_divide(Builder& b, Value self, Value other) { return whole_quotient(b, [&](Value x, Value y) { return floor_quotient(b, x, y); }, self, other); }
Value div_Tensor_mode(Builder& b, Value self, Value other, std::optional<llvm::StringRef> rounding_mode) {
  if (!rounding_mode) return div(b, self, other);
  if (*rounding_mode == "floor") return floor_divide(b, self, other);
  return whole_quotient(b, [&](Value x, Value y) { return is_floating(x) ? trunc_of(b, b.div(x, y)) : b.div(x, y); }, self, other);
}
Value remainder(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) {
    Value r = b.create<hlo::RemOp>(x, y), zero = b.like(0, r);
    Value adjust = b.logical_and(b.compare(Direction::NE, r, zero), b.compare(Direction::NE, b.compare(Direction::LT, r, zero), b.compare(Direction::LT, y, zero)));
    return b.select(adjust, b.add(r, y), r);
  }, narrowed(b, self), narrowed(b, other));
}
Value fmod(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) -> Value { return b.create<hlo::RemOp>(x, y); }, narrowed(b, self), narrowed(b, other));
}
Value maximum(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.max(x, y); }, self, other); }
Value minimum(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.min(x, y); }, self, other); }
Value atan2(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) -> Value { return b.create<hlo::Atan2Op>(x, y); }, narrowed(b, self), narrowed(b, other));
}
Value pow_Tensor_Scalar(Builder& b, Value self, Scalar exponent) {
  return elementwise(b, [&](Value x) {
    auto inverse = [&](Value v) { return b.div(b.like(1, v), v); };
    if (b.is(exponent, 2)) return b.mul(x, x);
    if (b.is(exponent, 3)) return b.mul(b.mul(x, x), x);
    if (is_floating(x)) {
      if (b.is(exponent, 0.5)) return b.sqrt(x);
      if (b.is(exponent, -0.5)) return b.rsqrt(x);
      if (b.is(exponent, -1)) return inverse(x);
      if (b.is(exponent, -2)) return inverse(b.mul(x, x));
    }
    return b.pow(x, operand(b, exponent));
  }, self);
}
Value pow_Scalar(Builder& b, Scalar self, Value exponent) { return elementwise(b, [&](Value x, Value y) { return b.pow(x, y); }, self, exponent); }
Value pow_Tensor_Tensor(Builder& b, Value self, Value exponent) { return elementwise(b, [&](Value x, Value y) { return b.pow(x, y); }, self, exponent); }

Value addcmul(Builder& b, Value self, Value tensor1, Value tensor2, Scalar value) {
  return elementwise(b, [&](Value x, Value y, Value z) { return b.add(x, b.mul(scaled(b, y, value), z)); }, self, tensor1, tensor2);
}
Value addcdiv(Builder& b, Value self, Value tensor1, Value tensor2, Scalar value) {
  return elementwise(b, [&](Value x, Value y, Value z) { return b.add(x, b.div(scaled(b, y, value), z)); }, self, tensor1, tensor2);
}
// From the nearer end, as ATen does.
template <class Weight>
static Value interpolate(Builder& b, Value self, Value end, Weight weight) {
  return elementwise(b, [&](Value x, Value y, Value w) {
    Value d = b.sub(y, x), near = b.compare(Direction::LT, b.abs(w), b.like(0.5, w));
    return b.select(near, b.add(x, b.mul(w, d)), b.sub(y, b.mul(d, b.sub(b.like(1, w), w))));
  }, self, end, weight);
}
Value lerp_Scalar(Builder& b, Value self, Value end, Scalar weight) { return interpolate(b, self, end, weight); }
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
Value logical_xor(Builder& b, Value self, Value other) {
  return b.compare(Direction::NE, b.broadcast(truth(b, self), b.result_shape()), b.broadcast(truth(b, other), b.result_shape()));
}
Value bitwise_and(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.logical_and(x, y); }, self, other); }
Value bitwise_or(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) { return b.logical_or(x, y); }, self, other); }
Value bitwise_xor(Builder& b, Value self, Value other) { return elementwise(b, [&](Value x, Value y) -> Value { return b.create<hlo::XorOp>(x, y); }, self, other); }

// The neighbours of a number are those of its bits as an integer.
Value nextafter(Builder& b, Value self, Value other) {
  Value x = b.to_result(self), y = b.to_result(other), zero = b.like(0, x);
  mlir::Type element = b.result_element(), bits = b.ops.getIntegerType(element.getIntOrFloatBitWidth());
  auto seen_as = [&](Value v, mlir::Type type) -> Value { return b.create<hlo::BitcastConvertOp>(mlir::RankedTensorType::get(b.result_shape(), type), v); };
  auto integer = [&](int64_t v) { return b.constant(c10::Scalar(v), bits, b.result_shape()); };
  Value shrinks = b.compare(Direction::NE, b.compare(Direction::GT, y, x), b.compare(Direction::GT, x, zero));
  Value next = seen_as(b.add(seen_as(x, bits), b.select(shrinks, integer(-1), integer(1))), element);
  Value least = seen_as(integer(1), element);
  next = b.select(b.compare(Direction::EQ, x, zero), b.select(b.compare(Direction::LT, y, zero), b.neg(least), least), next);
  next = b.select(b.compare(Direction::EQ, x, y), y, next);
  return b.select(b.logical_or(b.compare(Direction::NE, x, x), b.compare(Direction::NE, y, y)), b.add(x, y), next);
}

Value bitwise_left_shift(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) -> Value { return b.create<hlo::ShiftLeftOp>(x, y); }, self, other);
}
Value bitwise_right_shift(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) -> Value {
    if (element_of(x).isUnsignedInteger()) return b.create<hlo::ShiftRightLogicalOp>(x, y);
    return b.create<hlo::ShiftRightArithmeticOp>(x, y);
  }, self, other);
}

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
Value clamp_Tensor(Builder& b, Value self, Value min, Value max) {
  Value x = b.to_result(self);
  if (min) x = b.max(x, b.to_result(min));
  return max ? b.min(x, b.to_result(max)) : x;
}
Value clamp_min_Tensor(Builder& b, Value self, Value min) { return clamp_Tensor(b, self, min, {}); }
Value clamp_max_Tensor(Builder& b, Value self, Value max) { return clamp_Tensor(b, self, {}, max); }
Value clone(Builder& b, Value self) { return self; }

}  // namespace aten
}  // namespace cresset::lowering
