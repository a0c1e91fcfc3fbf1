// Element-wise functions that StableHLO does not have: made of those it has, so that they hold at the edges too.
#include <cmath>
#include <limits>

#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value one(Builder& b, Value x) { return b.like(1, x); }
Value zero_like(Builder& b, Value x) { return b.like(0, x); }
Value log1p_of(Builder& b, Value x) { return b.create<hlo::Log1pOp>(x); }
Value expm1_of(Builder& b, Value x) { return b.create<hlo::Expm1Op>(x); }
Value atan2_of(Builder& b, Value y, Value x) { return b.create<hlo::Atan2Op>(y, x); }
Value is_nan(Builder& b, Value x) { return b.compare(Direction::NE, x, x); }
Value false_like(Builder& b, Value x) { return b.constant(c10::Scalar(false), b.ops.getI1Type(), shape_of(x)); }
Value negative(Builder& b, Value x) { return b.compare(Direction::LT, x, zero_like(b, x)); }
Value with_sign_of(Builder& b, Value magnitude, Value x) { return b.select(negative(b, x), b.neg(magnitude), magnitude); }
// √((1 - x)(1 + x)), exact where 1 - x² would cancel
Value other_leg(Builder& b, Value x) { return b.sqrt(b.mul(b.sub(one(b, x), x), b.add(one(b, x), x))); }
// exp(x) / 2, which overflows later than exp(x): the square of a root, whose argument is exact.
Value half_exp(Builder& b, Value x) {
  Value root = b.exp(b.mul(x, 0.5));
  return b.mul(b.mul(root, 0.5), root);
}

// By Horner's rule, the highest power's coefficient first.
Value polynomial(Builder& b, Value x, llvm::ArrayRef<double> coefficients) {
  Value sum;
  for (double c : coefficients) sum = sum ? b.add(b.mul(sum, x), c) : b.like(c, x);
  return sum;
}

Value sign_bit(Builder& b, Value x) {
  if (element_of(x).isUnsignedInteger() || element_of(x).isInteger(1)) return false_like(b, x);
  if (!is_floating(x)) return negative(b, x);
  mlir::Type bits = b.ops.getIntegerType(element_of(x).getIntOrFloatBitWidth());
  return negative(b, b.create<hlo::BitcastConvertOp>(mlir::RankedTensorType::get(shape_of(x), bits), x));
}

// Lanczos' approximation (g = 7, 9 terms) of the gamma function at z + 1, in f64: its sum over one denominator, (z + 1) … (z + 8). Both have positive coefficients, so that nothing cancels.
struct Lanczos {
  static constexpr double kSum[] = {0.99999999999980993, 60.458333333341902, 1599.0425347220414, 24165.510665029473, 228235.21549971407, 1379496.2658786689, 5210869.0177608271, 11246929.484659922, 10619610.099075991};
  static constexpr double kOver[] = {1, 36, 546, 4536, 22449, 67284, 118124, 109584, 40320};

  // Beyond `most` the sum is 1 as far as its reader sees, and powers would overflow.
  Lanczos(Builder& b, Value z, double most) : b(b), z(b.min(z, b.like(most, z))) {}
  Value sum() { return polynomial(b, z, kSum); }
  Value over() { return polynomial(b, z, kOver); }
  Value slope(llvm::ArrayRef<double> coefficients) {
    llvm::SmallVector<double> derived;
    for (auto [i, c] : llvm::enumerate(coefficients.drop_back())) derived.push_back(c * double(coefficients.size() - 1 - i));
    return polynomial(b, z, derived);
  }
  Builder& b;
  Value z;
};

// sin πp of |p| <= 1/2, by its series up to p^19: the rest is less than f64 tells apart.
Value sine_of_pi(Builder& b, Value p) {
  llvm::SmallVector<double> terms;
  double term = M_PI;
  for (int n = 1; n <= 19; n += 2) {
    terms.insert(terms.begin(), term);
    term *= -M_PI * M_PI / ((n + 1) * (n + 2));
  }
  return b.mul(polynomial(b, b.mul(p, p), terms), p);
}
// What is left of x beside the nearest whole number.
Value beside_whole(Builder& b, Value x) { return b.sub(x, b.floor(b.add(x, 0.5))); }

template <class F>
Value in_f64(Builder& b, Value self, F f) {
  return elementwise(b, [&](Value x) { return b.convert(f(b.convert(x, b.ops.getF64Type())), element_of(x)); }, self);
}

}  // namespace

Value lgamma(Builder& b, Value self) {
  return in_f64(b, self, [&](Value x) {
    // Below 1/2 by reflection: log(π / |sin πx|) - lgamma(1 - x). Either way it is one logarithm of a fraction beside that of t.
    Value reflected = b.compare(Direction::LT, x, b.like(0.5, x)), z = b.select(reflected, b.neg(x), b.sub(x, one(b, x))), t = b.add(z, 7.5);
    Lanczos gamma(b, z, 1e30);
    Value sum = gamma.sum(), over = gamma.over(), sine = sine_of_pi(b, beside_whole(b, b.abs(x)));
    Value fraction = b.div(b.select(reflected, b.mul(over, std::sqrt(M_PI / 2)), b.mul(sum, std::sqrt(2 * M_PI))), b.select(reflected, b.mul(b.abs(sine), sum), over));
    Value power = b.sub(b.mul(b.add(z, 0.5), b.log(t)), t);
    return b.select(is_infinite(b, x), b.like(kInfinity, x), b.add(b.select(reflected, b.neg(power), power), b.log(fraction)));
  });
}
Value digamma(Builder& b, Value self) {
  return in_f64(b, self, [&](Value x) {
    Value reflected = b.compare(Direction::LT, x, b.like(0.5, x)), z = b.select(reflected, b.neg(x), b.sub(x, one(b, x))), t = b.add(z, 7.5);
    Lanczos gamma(b, z, 1e15);
    Value sum = gamma.sum(), over = gamma.over();
    Value slope = b.div(b.sub(b.mul(gamma.slope(Lanczos::kSum), over), b.mul(sum, gamma.slope(Lanczos::kOver))), b.mul(sum, over));
    Value y = b.sub(b.add(b.log(t), slope), b.div(b.like(7, t), t));
    // π cot πx, whose period is taken off first.
    Value near = beside_whole(b, x), cosine = sine_of_pi(b, b.sub(b.like(0.5, near), b.abs(near)));
    Value mirrored = b.sub(y, b.div(b.mul(cosine, M_PI), sine_of_pi(b, near)));
    Value pole = b.select(b.compare(Direction::EQ, x, zero_like(b, x)), b.select(sign_bit(b, x), b.like(kInfinity, x), b.like(-kInfinity, x)),
                          b.like(std::numeric_limits<double>::quiet_NaN(), x));
    Value whole = b.logical_and(b.compare(Direction::LE, x, zero_like(b, x)), b.compare(Direction::EQ, x, b.floor(x)));
    return b.select(whole, pole, b.select(reflected, mirrored, y));
  });
}
// Of n = 0 the above, of 1 the sum of 1 / (x + k)², six terms by themselves and the others by their asymptotic series (Abramowitz and Stegun 6.4.12).
Value polygamma(Builder& b, int64_t n, Value self) {
  if (n == 0) return digamma(b, self);
  return in_f64(b, self, [&](Value x) {
    // Below 1/2 by reflection: (π / sin πx)² - trigamma(1 - x), the sine's period taken off first.
    Value reflected = b.compare(Direction::LT, x, b.like(0.5, x)), z = b.select(reflected, b.sub(one(b, x), x), x), sum = zero_like(b, x);
    auto square = [&](Value v) { return b.mul(v, v); };
    auto inverse = [&](Value v) { return b.div(one(b, v), v); };
    Value at = b.min(z, b.like(1e150, z));  // farther out they are nothing beside 1 / z
    for (int k = 0; k < 6; k += 2, at = b.add(at, 2)) {  // two by one division
      Value next = b.add(at, 1), over = inverse(b.mul(at, next));
      sum = b.add(sum, b.add(square(b.mul(next, over)), square(b.mul(at, over))));
    }
    Value w = inverse(b.add(z, 6)), v = square(w), series = b.add(b.add(b.mul(polynomial(b, v, {1.0 / 42, -1.0 / 30, 1.0 / 6}), v), b.mul(w, 0.5)), 1);
    sum = b.add(sum, b.mul(series, w));
    Value sine = sine_of_pi(b, beside_whole(b, x));
    return b.select(reflected, b.sub(square(b.mul(inverse(sine), M_PI)), sum), sum);
  });
}
Value erfinv(Builder& b, Value self) {
  return elementwise(b, [&](Value y) {
    Value m = b.abs(y), below = b.sub(one(b, m), m), x;
    if (element_of(y).isF64()) {
      // A rational approximation and two steps of Newton, as ATen has it.
      Value square = b.mul(y, y);
      Value center = b.div(b.mul(y, polynomial(b, square, {-0.140543331, 0.914624893, -1.645349621, 0.886226899})),
                           polynomial(b, square, {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1}));
      Value z = b.sqrt(b.neg(b.log(b.mul(below, 0.5))));
      Value tail = b.div(polynomial(b, z, {1.641345311, 3.429567803, -1.624906493, -1.970840454}), polynomial(b, z, {1.637067800, 3.543889200, 1}));
      x = b.select(b.compare(Direction::LE, m, b.like(0.7, m)), center, with_sign_of(b, tail, y));
      for (int i = 0; i < 2; ++i) x = b.sub(x, b.div(b.sub(b.erf(x), y), b.mul(b.exp(b.neg(b.mul(x, x))), M_2_SQRTPI)));
    } else {
      // Giles, "Approximating the erfinv function" (2011): Newton's steps would have the error of erf, many times over near 1.
      Value w = b.neg(b.log(b.mul(below, b.add(m, 1))));
      Value near = polynomial(b, b.add(w, -2.5), {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
      Value far = polynomial(b, b.add(b.sqrt(w), -3), {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
      x = b.mul(b.select(b.compare(Direction::LT, w, b.like(5, w)), near, far), y);
    }
    x = b.select(b.compare(Direction::EQ, m, one(b, m)), b.mul(y, kInfinity), x);
    return b.select(b.compare(Direction::LE, m, one(b, m)), x, b.like(std::numeric_limits<double>::quiet_NaN(), x));
  }, self);
}
Value erfc(Builder& b, Value self) {
  // Cephes (Moshier): near 0 by erf, beyond by approximations under e^-x², in x for f64 and in 1/x² for f32.
  return elementwise(b, [&](Value x) {
    bool wide = element_of(x).isF64();
    Value m = b.abs(x), square = b.mul(x, x), near, far;
    // e^-x² with the digits that x² loses: x is a number of half as many, whose square is exact, and a rest.
    mlir::Type bits = b.ops.getIntegerType(wide ? 64 : 32);
    Value number = b.create<hlo::BitcastConvertOp>(mlir::RankedTensorType::get(shape_of(m), bits), m);
    Value mask = b.constant(c10::Scalar(wide ? int64_t(~0ull << 27) : int64_t(~0ull << 12)), bits, shape_of(m));
    Value high = b.create<hlo::BitcastConvertOp>(type_of(m), b.logical_and(number, mask));
    Value decay = b.mul(b.exp(b.neg(b.mul(high, high))), b.exp(b.mul(b.sub(high, m), b.add(high, m))));
    auto below = [&](double bound, Value yes, Value no) { return b.select(b.compare(Direction::LT, m, b.like(bound, m)), yes, no); };
    if (wide) {
      near = b.sub(one(b, x), b.erf(x));
      Value middle = b.div(polynomial(b, m, {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0, 4.86371970985681366614E1, 1.96520832956077098242E2,
                                          5.26445194995477358631E2, 9.34528527171957607540E2, 1.02755188689515710272E3, 5.57535335369399327526E2}),
                           polynomial(b, m, {1, 1.32281951154744992508E1, 8.67072140885989742329E1, 3.54937778887819891062E2, 9.75708501743205489753E2, 1.82390916687909736289E3,
                                          2.24633760818710981792E3, 1.65666309194161350182E3, 5.57535340817227675546E2}));
      Value end = b.div(polynomial(b, m, {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0, 6.16021097993053585195E0, 7.40974269950448939160E0,
                                       2.97886665372100240670E0}),
                        polynomial(b, m, {1, 2.26052863220117276590E0, 9.39603524938001434673E0, 1.20489539808096656605E1, 1.70814450747565897222E1, 9.60896809063285878198E0,
                                       3.36907645100081516050E0}));
      far = below(8, middle, end);
    } else {
      near = b.sub(one(b, x), b.mul(x, polynomial(b, square, {7.853861353153693E-5, -8.010193625184903E-4, 5.188327685732524E-3, -2.685381193529856E-2, 1.128358514861418E-1,
                                                           -3.761262582423300E-1, 1.128379165726710E+0})));
      Value inverse = b.div(one(b, x), m), v = b.mul(inverse, inverse);
      Value middle = polynomial(b, v, {2.326819970068386E-2, -1.387039388740657E-1, 3.687424674597105E-1, -5.824733027278666E-1, 6.210004621745983E-1, -4.944515323274145E-1,
                                    3.404879937665872E-1, -2.741127028184656E-1, 5.638259427386472E-1});
      Value end = polynomial(b, v, {-1.047766399936249E+1, 1.297719955372516E+1, -7.495518717768503E+0, 2.921019019210786E+0, -1.015265279202700E+0, 4.218463358204948E-1,
                                 -2.820767439740514E-1, 5.641895067754075E-1});
      far = b.mul(inverse, below(2, middle, end));
    }
    // Nothing is left of it there, and at infinity the rest is no number.
    far = below(wide ? 27.3 : 10.1, b.mul(decay, far), zero_like(b, x));
    return below(1, near, b.select(is_nan(b, x), x, b.select(negative(b, x), b.sub(b.like(2, x), far), far)));
  }, self);
}

Value asin(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return atan2_of(b, x, other_leg(b, x)); }, self);
}
Value acos(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return atan2_of(b, other_leg(b, x), x); }, self);
}
Value atan(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return atan2_of(b, x, one(b, x)); }, self);
}
Value sinh(Builder& b, Value self) {
  return elementwise(b, [&](Value x) {
    Value e = expm1_of(b, x), small = b.mul(b.add(e, b.div(e, b.add(e, 1))), 0.5);
    return b.select(b.compare(Direction::LT, b.abs(x), one(b, x)), small, b.sub(half_exp(b, x), half_exp(b, b.neg(x))));
  }, self);
}
Value cosh(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.add(half_exp(b, x), half_exp(b, b.neg(x))); }, self);
}
Value asinh(Builder& b, Value self) {
  return elementwise(b, [&](Value x) {
    Value m = b.abs(x), square = b.mul(m, m);
    Value near = log1p_of(b, b.add(m, b.div(square, b.add(b.sqrt(b.add(square, 1)), 1))));
    Value far = b.add(b.log(m), M_LN2);
    Value result = with_sign_of(b, b.select(b.compare(Direction::GT, m, b.like(1e9, m)), far, near), x);
    return b.select(b.compare(Direction::EQ, x, zero_like(b, x)), x, result);  // also -0
  }, self);
}
Value acosh(Builder& b, Value self) {
  return elementwise(b, [&](Value x) {
    Value t = b.sub(x, one(b, x)), near = log1p_of(b, b.add(t, b.sqrt(b.add(b.mul(t, 2), b.mul(t, t)))));
    Value result = b.select(b.compare(Direction::GT, x, b.like(1e9, x)), b.add(b.log(x), M_LN2), near);
    return b.select(b.compare(Direction::LT, x, one(b, x)), b.like(std::numeric_limits<double>::quiet_NaN(), x), result);
  }, self);
}
Value atanh(Builder& b, Value self) {
  return elementwise(b, [&](Value x) { return b.mul(b.sub(log1p_of(b, x), log1p_of(b, b.neg(x))), 0.5); }, self);
}

Value frac(Builder& b, Value self) {
  return elementwise(b, [&](Value x) {
    Value whole = b.select(negative(b, x), b.create<hlo::CeilOp>(x), b.floor(x));
    return b.sub(x, whole);
  }, self);
}
Value sgn(Builder& b, Value self) { return sign(b, self); }
Value signbit(Builder& b, Value self) { return sign_bit(b, self); }
Value isinf(Builder& b, Value self) { return is_floating(self) ? is_infinite(b, self) : false_like(b, self); }
Value isposinf(Builder& b, Value self) { return is_floating(self) ? b.compare(Direction::EQ, self, b.like(kInfinity, self)) : false_like(b, self); }
Value isneginf(Builder& b, Value self) { return is_floating(self) ? b.compare(Direction::EQ, self, b.like(-kInfinity, self)) : false_like(b, self); }

Value logaddexp(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) { return log_of_sum(b, x, y); }, narrowed(b, self), narrowed(b, other));
}
Value hypot(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) {
    Value p = b.abs(x), q = b.abs(y), large = b.max(p, q), small = b.min(p, q);
    Value infinite = b.logical_or(is_infinite(b, x), is_infinite(b, y));
    Value ratio = b.div(small, large), length = b.mul(large, b.sqrt(b.add(b.mul(ratio, ratio), 1)));
    length = b.select(b.compare(Direction::EQ, large, zero_like(b, large)), large, length);
    return b.select(infinite, b.like(kInfinity, x), length);
  }, narrowed(b, self), narrowed(b, other));
}
Value copysign(Builder& b, Value self, Value other) {
  Value m = b.abs(b.to_result(self));
  return b.select(sign_bit(b, b.broadcast(other, b.result_shape())), b.neg(m), m);
}
Value xlogy(Builder& b, Value self, Value other) {
  return elementwise(b, [&](Value x, Value y) {
    Value product = b.select(b.compare(Direction::EQ, x, zero_like(b, x)), zero_like(b, x), b.mul(x, b.log(y)));
    return b.select(is_nan(b, y), y, product);
  }, self, other);
}
Value heaviside(Builder& b, Value self, Value values) {
  Value x = b.to_result(self), step = b.convert(b.compare(Direction::GT, x, zero_like(b, x)), b.result_element());
  return b.select(b.compare(Direction::EQ, x, zero_like(b, x)), b.to_result(values), step);
}
// A nan loses against any number.
Value fmax(Builder& b, Value self, Value other) {
  Value x = b.to_result(self), y = b.to_result(other), m = b.max(x, y);
  return is_floating(x) ? b.select(is_nan(b, x), y, b.select(is_nan(b, y), x, m)) : m;
}
Value fmin(Builder& b, Value self, Value other) {
  Value x = b.to_result(self), y = b.to_result(other), m = b.min(x, y);
  return is_floating(x) ? b.select(is_nan(b, x), y, b.select(is_nan(b, y), x, m)) : m;
}
Value nan_to_num(Builder& b, Value self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (!is_floating(self)) return self;
  auto type = mlir::cast<mlir::FloatType>(element_of(self));
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Value x = b.select(is_nan(b, self), b.like(nan.value_or(0), self), self);
  x = b.select(b.compare(Direction::EQ, self, b.like(kInfinity, self)), b.like(posinf.value_or(largest), self), x);
  return b.select(b.compare(Direction::EQ, self, b.like(-kInfinity, self)), b.like(neginf.value_or(-largest), self), x);
}

}  // namespace cresset::lowering::aten
