#include "interpreter/scalar.h"

#include <cmath>
#include <complex>
#include <limits>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "stablehlo/dialect.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
using Complex = std::complex<double>;
namespace {

Complex complex(Number v) { return {v.re, v.im}; }
Number number(Complex v) { return {v.real(), v.imag()}; }
Number integer(uint64_t v) { return {0, 0, int64_t(v)}; }
Number floating(double v) { return {v}; }

double sign(double v) { return std::isnan(v) || v == 0 ? v : std::copysign(1.0, v); }
double logistic(double v) { return 1 / (1 + std::exp(-v)); }
// IEEE's maximum and minimum: NaN wins, -0 is below +0.
double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : a == b ? (std::signbit(a) ? b : a) : std::max(a, b); }
double minimum(double a, double b) { return -maximum(-a, -b); }

std::optional<Number> unary_float(StringRef name, double a) {
  using F = double (*)(double);
  F f = llvm::StringSwitch<F>(name)
            .Case("abs", [](double v) { return std::fabs(v); }).Case("cbrt", [](double v) { return std::cbrt(v); })
            .Case("ceil", [](double v) { return std::ceil(v); }).Case("cosine", [](double v) { return std::cos(v); })
            .Case("exponential", [](double v) { return std::exp(v); }).Case("exponential_minus_one", [](double v) { return std::expm1(v); })
            .Case("floor", [](double v) { return std::floor(v); }).Case("log", [](double v) { return std::log(v); })
            .Case("log_plus_one", [](double v) { return std::log1p(v); }).Case("logistic", logistic)
            .Case("negate", [](double v) { return -v; }).Case("real", [](double v) { return v; }).Case("imag", [](double) { return 0.0; })
            .Case("round_nearest_afz", [](double v) { return std::round(v); }).Case("round_nearest_even", [](double v) { return std::nearbyint(v); })
            .Case("rsqrt", [](double v) { return 1 / std::sqrt(v); }).Case("sign", sign)
            .Case("sine", [](double v) { return std::sin(v); }).Case("sqrt", [](double v) { return std::sqrt(v); })
            .Case("tan", [](double v) { return std::tan(v); }).Case("tanh", [](double v) { return std::tanh(v); })
            .Case("erf", [](double v) { return std::erf(v); }).Case("erfc", [](double v) { return std::erfc(v); })
            .Default(nullptr);
  if (!f) return std::nullopt;
  return floating(f(a));
}
std::optional<Number> unary_complex(StringRef name, Complex a) {
  if (name == "abs") return floating(std::abs(a));
  if (name == "real") return floating(a.real());
  if (name == "imag") return floating(a.imag());
  if (name == "sign") return number(a == 0.0 ? a : a / std::abs(a));
  if (name == "exponential") return number(std::exp(a));
  if (name == "exponential_minus_one") return number(std::exp(a) - 1.0);
  if (name == "log") return number(std::log(a));
  if (name == "log_plus_one") return number(std::log(a + 1.0));
  if (name == "negate") return number(-a);
  if (name == "sqrt") return number(std::sqrt(a));
  if (name == "rsqrt") return number(1.0 / std::sqrt(a));
  if (name == "sine") return number(std::sin(a));
  if (name == "cosine") return number(std::cos(a));
  if (name == "tan") return number(std::tan(a));
  if (name == "tanh") return number(std::tanh(a));
  if (name == "logistic") return number(1.0 / (1.0 + std::exp(-a)));
  return std::nullopt;
}
std::optional<Number> unary_integer(StringRef name, int64_t a, Type type) {
  unsigned width = width_of(type);
  uint64_t bits = bits_of(integer(a), type).getZExtValue();
  if (name == "abs") return integer(!is_unsigned(type) && a < 0 ? -uint64_t(a) : uint64_t(a));
  if (name == "negate") return integer(-uint64_t(a));
  if (name == "not") return integer(~uint64_t(a));
  if (name == "popcnt") return integer(llvm::popcount(bits));
  if (name == "count_leading_zeros") return integer(llvm::countl_zero(bits) - (64 - width));
  if (name == "sign") return integer(is_unsigned(type) ? a != 0 : (a > 0) - (a < 0));
  return std::nullopt;
}

std::optional<Number> binary_float(StringRef name, double a, double b) {
  if (name == "add") return floating(a + b);
  if (name == "subtract") return floating(a - b);
  if (name == "multiply") return floating(a * b);
  if (name == "divide") return floating(a / b);
  if (name == "remainder") return floating(std::fmod(a, b));
  if (name == "power") return floating(std::pow(a, b));
  if (name == "atan2") return floating(std::atan2(a, b));
  if (name == "maximum") return floating(maximum(a, b));
  if (name == "minimum") return floating(minimum(a, b));
  if (name == "complex") return Number{a, b};
  return std::nullopt;
}
std::optional<Number> binary_complex(StringRef name, Complex a, Complex b) {
  bool less = a.real() != b.real() ? a.real() < b.real() : a.imag() < b.imag();
  if (name == "add") return number(a + b);
  if (name == "subtract") return number(a - b);
  if (name == "multiply") return number(a * b);
  if (name == "divide") return number(a / b);
  if (name == "power") return number(std::pow(a, b));
  if (name == "maximum") return number(less ? b : a);
  if (name == "minimum") return number(less ? a : b);
  return std::nullopt;
}
uint64_t power(int64_t base, int64_t exponent, bool without_sign) {
  if (!without_sign && exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = base;
  for (uint64_t e = exponent; e; e >>= 1, factor *= factor)
    if (e & 1) result *= factor;
  return result;
}
std::optional<Number> binary_integer(StringRef name, int64_t a, int64_t b, Type type) {
  bool without_sign = is_unsigned(type), is_bool = type.isInteger(1);
  unsigned width = width_of(type);
  uint64_t x = a, y = b, bits = bits_of(integer(a), type).getZExtValue();
  bool less = without_sign ? x < y : a < b, too_far = without_sign ? y >= width : b < 0 || b >= int64_t(width);
  // By zero and out of range as XLA has it: -1 and the dividend; the smallest integer and 0.
  if (name == "add") return integer(is_bool ? x | y : x + y);
  if (name == "subtract") return integer(x - y);
  if (name == "multiply") return integer(x * y);
  if (name == "divide") return integer(b == 0 ? -1 : without_sign ? x / y : b == -1 ? -x : uint64_t(a / b));
  if (name == "remainder") return integer(b == 0 ? x : without_sign ? x % y : b == -1 ? 0 : uint64_t(a % b));
  if (name == "power") return integer(power(a, b, without_sign));
  if (name == "maximum") return integer(less ? y : x);
  if (name == "minimum") return integer(less ? x : y);
  if (name == "and") return integer(x & y);
  if (name == "or") return integer(x | y);
  if (name == "xor") return integer(x ^ y);
  if (name == "shift_left") return integer(too_far ? 0 : x << y);
  if (name == "shift_right_logical") return integer(too_far ? 0 : bits >> y);
  if (name == "shift_right_arithmetic") return integer(uint64_t(llvm::APInt(width, bits).getSExtValue() >> (too_far ? width - 1 : y)));
  return std::nullopt;
}

// -1, 0 or 1; 2 where a NaN makes them unordered.
int order(Number a, Number b, Type type, bool total) {
  auto three_way = [](auto x, auto y) { return (x > y) - (x < y); };
  if (is_complex(type)) return a.re == b.re && a.im == b.im ? 0 : 2;
  if (!is_float(type)) return is_unsigned(type) ? three_way(uint64_t(a.i), uint64_t(b.i)) : three_way(a.i, b.i);
  if (!total) return std::isnan(a.re) || std::isnan(b.re) ? 2 : three_way(a.re, b.re);
  auto key = [](double v) {
    int64_t bits = llvm::bit_cast<int64_t>(v);
    return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
  };
  return three_way(key(a.re), key(b.re));
}
bool holds(ComparisonDirection direction, int order) {
  switch (direction) {
    case ComparisonDirection::EQ: return order == 0;
    case ComparisonDirection::NE: return order != 0;
    case ComparisonDirection::GE: return order == 0 || order == 1;
    case ComparisonDirection::GT: return order == 1;
    case ComparisonDirection::LE: return order == 0 || order == -1;
    case ComparisonDirection::LT: return order == -1;
  }
  return false;
}

Number convert(Number v, Type from, Type to) {
  bool floats = is_float(from) || is_complex(from);
  if (is_float(to) || is_complex(to)) {
    if (floats) return {v.re, is_complex(to) ? v.im : 0};
    Type part = is_complex(to) ? cast<ComplexType>(to).getElementType() : to;
    llvm::APFloat result(cast<FloatType>(part).getFloatSemantics());
    result.convertFromAPInt(llvm::APInt(64, uint64_t(v.i)), !is_unsigned(from), llvm::APFloat::rmNearestTiesToEven);
    bool lost;
    result.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return floating(result.convertToDouble());
  }
  if (to.isInteger(1)) return integer(floats ? v.re != 0 : v.i != 0);
  if (!floats) return v;
  llvm::APSInt result(width_of(to), is_unsigned(to));  // saturates; NaN is 0
  bool exact;
  llvm::APFloat(v.re).convertToInteger(result, llvm::APFloat::rmTowardZero, &exact);
  return from_bits(result, to);
}

Number reduce_precision(Number v, ReducePrecisionOp op) {
  if (std::isnan(v.re) && op.getMantissaBits() == 0) return floating(INFINITY);  // no bit is left to tell NaN
  if (!std::isfinite(v.re) || v.re == 0) return v;
  int exponent_bits = op.getExponentBits(), mantissa_bits = op.getMantissaBits(), bias = (1 << (exponent_bits - 1)) - 1, exponent;
  std::frexp(v.re, &exponent);  // v = 0.1… · 2^exponent
  int last = mantissa_bits + 1 - exponent;  // the last bit kept counts 2^-last
  double value = std::ldexp(std::nearbyint(std::ldexp(v.re, last)), -last);
  if (std::fabs(value) >= std::ldexp(1.0, bias + 1)) return floating(std::copysign(INFINITY, v.re));
  if (std::fabs(value) < std::ldexp(1.0, 1 - bias)) return floating(std::copysign(0.0, v.re));
  return floating(value);
}

std::optional<Number> unrounded(Operation* op, ArrayRef<Number> v, Type from, Type to) {
  StringRef name = op->getName().stripDialect();
  if (isa<ConvertOp>(op)) return convert(v[0], from, to);
  if (isa<IsFiniteOp>(op)) return integer(std::isfinite(v[0].re));
  if (auto reduce = dyn_cast<ReducePrecisionOp>(op)) return reduce_precision(v[0], reduce);
  if (auto compare = dyn_cast<CompareOp>(op)) {
    bool total = compare.getCompareType() == ComparisonType::TOTALORDER;
    return integer(holds(compare.getComparisonDirection(), order(v[0], v[1], from, total)));
  }
  if (v.size() == 1)
    return is_complex(from) ? unary_complex(name, complex(v[0])) : is_float(from) ? unary_float(name, v[0].re) : unary_integer(name, v[0].i, from);
  if (v.size() == 2)
    return is_complex(from) ? binary_complex(name, complex(v[0]), complex(v[1]))
           : is_float(from) ? binary_float(name, v[0].re, v[1].re) : binary_integer(name, v[0].i, v[1].i, from);
  return std::nullopt;
}

}  // namespace

std::optional<Number> element_of(Operation* op, ArrayRef<Number> operands, Type from, Type to) {
  auto result = unrounded(op, operands, from, to);
  return result ? std::optional(canonical(*result, to)) : std::nullopt;
}
Number add(Number a, Number b, Type type) {
  if (type.isInteger(1)) return integer(a.i | b.i);
  return {a.re + b.re, a.im + b.im, int64_t(uint64_t(a.i) + uint64_t(b.i))};
}
Number multiply(Number a, Number b, Type type) {
  if (is_complex(type)) return number(complex(a) * complex(b));
  return {a.re * b.re, 0, int64_t(uint64_t(a.i) * uint64_t(b.i))};
}

}  // namespace cresset::interpreter
