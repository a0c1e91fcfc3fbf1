#include "stablehlo/chlo_legalize.h"

#include <cmath>
#include <functional>
#include <limits>

#include "llvm/ADT/StringSwitch.h"
#include "stablehlo/chlo.h"

namespace mlir::chlo {

using namespace mlir::stablehlo;
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Arithmetic on tensors of one type.
class Math {
 public:
  Math(OpBuilder& b, Location loc) : b(b), loc(loc) {}
  OpBuilder& b;
  Location loc;

  Value like(double v, Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    APFloat number(v);
    bool lost;
    number.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return ConstantOp::create(b, loc, DenseElementsAttr::get(type, number));
  }
  Value integer(int64_t v, Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    return ConstantOp::create(b, loc, DenseElementsAttr::get(type, APInt(type.getElementTypeBitWidth(), uint64_t(v), true)));
  }
  Value add(Value x, Value y) { return AddOp::create(b, loc, x, y); }
  Value add(Value x, double y) { return add(x, like(y, x)); }
  Value sub(Value x, Value y) { return SubtractOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return MulOp::create(b, loc, x, y); }
  Value mul(Value x, double y) { return mul(x, like(y, x)); }
  Value div(Value x, Value y) { return DivOp::create(b, loc, x, y); }
  Value neg(Value x) { return NegOp::create(b, loc, x); }
  Value abs(Value x) { return AbsOp::create(b, loc, x.getType(), x); }
  Value exp(Value x) { return ExpOp::create(b, loc, x); }
  Value expm1(Value x) { return Expm1Op::create(b, loc, x); }
  Value log(Value x) { return LogOp::create(b, loc, x); }
  Value log1p(Value x) { return Log1pOp::create(b, loc, x); }
  Value sqrt(Value x) { return SqrtOp::create(b, loc, x); }
  Value sin(Value x) { return SineOp::create(b, loc, x); }
  Value cos(Value x) { return CosineOp::create(b, loc, x); }
  Value floor(Value x) { return FloorOp::create(b, loc, x); }
  Value atan2(Value y, Value x) { return Atan2Op::create(b, loc, y, x); }
  Value select(Value p, Value x, Value y) { return SelectOp::create(b, loc, p, x, y); }
  Value compare(Value x, Value y, ComparisonDirection direction) { return CompareOp::create(b, loc, x, y, direction); }
  Value less(Value x, double y) { return compare(x, like(y, x), ComparisonDirection::LT); }
  Value equal(Value x, double y) { return compare(x, like(y, x), ComparisonDirection::EQ); }
  Value both(Value p, Value q) { return AndOp::create(b, loc, p, q); }
  Value either(Value p, Value q) { return OrOp::create(b, loc, p, q); }
  bool is_wide(Value x) { return cast<RankedTensorType>(x.getType()).getElementType().isF64(); }
  // The highest power first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = like(coefficients[0], x);
    for (double c : coefficients.drop_front()) sum = add(mul(sum, x), c);
    return sum;
  }
  Value erf(Value x) {
    auto call = CustomCallOp::create(b, loc, TypeRange{x.getType()}, ValueRange{x}, b.getStringAttr("mhlo.erf"), BoolAttr(), Attribute(), IntegerAttr(), ArrayAttr(), ArrayAttr(),
                                     ArrayAttr(), ArrayAttr());
    call->setAttr("mhlo.attributes", b.getDictionaryAttr({}));
    call->setAttr("mhlo.version", b.getI64IntegerAttr(1));
    return call.getResult(0);
  }
};

// √((1 - x)(1 + x)), exact where 1 - x² would cancel
Value other_leg(Math& m, Value x) {
  Value one = m.like(1, x);
  return m.sqrt(m.mul(m.sub(one, x), m.add(one, x)));
}
Value asin(Math& m, Value x) { return m.atan2(x, other_leg(m, x)); }
Value acos(Math& m, Value x) { return m.atan2(other_leg(m, x), x); }
Value atan(Math& m, Value x) { return m.atan2(x, m.like(1, x)); }
// exp(x) / 2, which overflows later than exp(x): the square of a root, whose argument is exact.
Value half_exp(Math& m, Value x) {
  Value root = m.exp(m.mul(x, 0.5));
  return m.mul(m.mul(root, 0.5), root);
}
Value sinh(Math& m, Value x) {
  Value e = m.expm1(x), small = m.mul(m.add(e, m.div(e, m.add(e, 1))), 0.5);
  return m.select(m.less(m.abs(x), 1), small, m.sub(half_exp(m, x), half_exp(m, m.neg(x))));
}
Value cosh(Math& m, Value x) { return m.add(half_exp(m, x), half_exp(m, m.neg(x))); }
Value tan(Math& m, Value x) { return stablehlo::TanOp::create(m.b, m.loc, x); }
Value square(Math& m, Value x) { return m.mul(x, x); }
Value asinh(Math& m, Value x) {
  Value size = m.abs(x), square = m.mul(size, size);
  Value near = m.log1p(m.add(size, m.div(square, m.add(m.sqrt(m.add(square, 1)), 1)))), far = m.add(m.log(size), M_LN2);
  Value result = m.select(m.less(size, 1e9), near, far);
  return m.select(m.less(x, 0), m.neg(result), result);
}
Value acosh(Math& m, Value x) {
  Value t = m.add(x, -1), near = m.log1p(m.add(t, m.sqrt(m.add(m.mul(t, 2), m.mul(t, t)))));
  return m.select(m.less(x, 1e9), near, m.add(m.log(x), M_LN2));
}
Value atanh(Math& m, Value x) { return m.mul(m.sub(m.log1p(x), m.log1p(m.neg(x))), 0.5); }

// Cephes' rational approximations: near 0 by erf, far out in 1/x² under e^-x².
Value erfc(Math& m, Value x) {
  Value size = m.abs(x), square = m.mul(x, x), near = m.sub(m.like(1, x), m.erf(x)), decay = m.exp(m.neg(square)), middle, far;
  if (m.is_wide(x)) {
    Value p = m.polynomial(size, {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0, 4.86371970985681366614E1, 1.96520832956077098242E2,
                                  5.26445194995477358631E2, 9.34528527171957607540E2, 1.02755188689515710272E3, 5.57535335369399327526E2});
    Value q = m.polynomial(size, {1, 1.32281951154744992508E1, 8.67072140885989742329E1, 3.54937778887819891062E2, 9.75708501743205489753E2, 1.82390916687909736289E3,
                                  2.24633760818710981792E3, 1.65666309194161350182E3, 5.57535340817227675546E2});
    Value r = m.polynomial(size, {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0, 6.16021097993053585195E0, 7.40974269950448939160E0,
                                  2.97886665372100240670E0});
    Value s = m.polynomial(size, {1, 2.26052863220117276590E0, 9.39603524938001434673E0, 1.20489539808096656605E1, 1.70814450747565897222E1, 9.60896809063285878198E0,
                                  3.36907645100081516050E0});
    middle = m.div(m.mul(decay, p), q), far = m.div(m.mul(decay, r), s);
    far = m.select(m.less(size, 8), middle, far);
  } else {
    Value inverse = m.div(m.like(1, x), square), over = m.div(decay, size);
    middle = m.polynomial(inverse, {2.326819970068386E-2, -1.387039388740657E-1, 3.687424674597105E-1, -5.824733027278666E-1, 6.210004621745983E-1, -4.944515323274145E-1,
                                    3.404879937665872E-1, -2.741127028184656E-1, 5.638259427386472E-1});
    far = m.polynomial(inverse, {-1.047766399936249E+1, 1.297719955372516E+1, -7.495518717768503E+0, 2.921019019210786E+0, -1.015265279202700E+0, 4.218463358204948E-1,
                                 -2.820767439740514E-1, 5.641895067754075E-1});
    far = m.mul(over, m.select(m.less(size, 2), middle, far));
  }
  // Nothing is left of it there; 1/x² and the decay are not numbers at infinity.
  far = m.select(m.compare(square, m.like(m.is_wide(x) ? 745 : 104, x), ComparisonDirection::GT), m.like(0, x), far);
  far = m.select(m.less(x, 0), m.sub(m.like(2, x), far), far);
  return m.select(m.compare(size, m.like(1, x), ComparisonDirection::GT), far, near);
}

// Giles, "Approximating the erfinv function" (2011), made exact in f64 by Newton's method on erfc, which does not cancel.
Value erf_inv(Math& m, Value x) {
  Value w = m.neg(m.mul(m.log1p(m.neg(x)), 1));
  w = m.sub(w, m.log1p(x));
  Value near = m.polynomial(m.add(w, -2.5), {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Value far = m.polynomial(m.add(m.sqrt(w), -3),
                           {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  Value y = m.mul(m.select(m.less(w, 5), near, far), x);
  for (int step = 0; m.is_wide(x) && step < 2; ++step) {
    // On the side where 1 - |x| is known well.
    Value size = m.abs(y), rest = m.sub(m.sub(m.like(1, x), m.abs(x)), erfc(m, size));
    Value slope = m.mul(m.exp(m.neg(m.mul(y, y))), 2 / std::sqrt(M_PI)), moved = m.sub(size, m.div(rest, slope));
    y = m.select(m.less(x, 0), m.neg(moved), moved);
  }
  return m.select(m.equal(m.abs(x), 1), m.mul(x, kInfinity), y);
}

// Lanczos' approximation of the gamma function with g = 7.
constexpr double kLanczosG = 7, kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894, -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,      9.984369578019570859563e-6,      1.5056327351493116e-7};

Value lgamma(Math& m, Value x) {
  Value reflects = m.less(x, 0.5), z = m.select(reflects, m.neg(x), m.add(x, -1)), sum = m.like(kLanczosBase, x);
  for (auto [i, c] : llvm::enumerate(kLanczos)) sum = m.add(sum, m.div(m.like(c, x), m.add(z, double(i) + 1)));
  double shift = kLanczosG + 0.5;
  Value t = m.add(z, shift), log_t = m.add(m.log1p(m.mul(z, 1 / shift)), std::log(shift));
  Value result = m.add(m.mul(m.sub(m.add(z, 0.5), m.div(t, log_t)), log_t), m.add(m.log(sum), 0.5 * std::log(2 * M_PI)));
  // Below 1/2: π / (sin(πx) Γ(1 - x)), with the sine of what is nearest to a whole number.
  Value size = m.abs(x), part = m.sub(size, m.floor(size));
  part = m.select(m.compare(part, m.like(0.5, x), ComparisonDirection::GT), m.sub(m.like(1, x), part), part);
  Value sine = m.log(m.sin(m.mul(part, M_PI))), finite = m.compare(m.abs(sine), m.like(kInfinity, x), ComparisonDirection::LT);
  Value reflected = m.select(finite, m.sub(m.sub(m.like(std::log(M_PI), x), sine), result), m.neg(sine));
  result = m.select(reflects, reflected, result);
  return m.select(m.equal(size, kInfinity), m.like(kInfinity, x), result);
}

Value digamma(Math& m, Value x) {
  Value reflects = m.less(x, 0.5), z = m.select(reflects, m.neg(x), m.add(x, -1)), sum = m.like(kLanczosBase, x), slope = m.like(0, x);
  for (auto [i, c] : llvm::enumerate(kLanczos)) {
    Value at = m.add(z, double(i) + 1);
    sum = m.add(sum, m.div(m.like(c, x), at));
    slope = m.sub(slope, m.div(m.like(c, x), m.mul(at, at)));
  }
  double shift = kLanczosG + 0.5;
  Value t = m.add(z, shift), log_t = m.add(m.log1p(m.mul(z, 1 / shift)), std::log(shift));
  Value result = m.sub(m.add(log_t, m.div(slope, sum)), m.div(m.like(kLanczosG, x), t));
  Value reduced = m.mul(m.add(x, m.abs(m.floor(m.add(x, 0.5)))), M_PI);
  result = m.select(reflects, m.sub(result, m.div(m.mul(m.cos(reduced), M_PI), m.sin(reduced))), result);
  Value pole = m.both(m.compare(x, m.like(0, x), ComparisonDirection::LE), m.compare(x, m.floor(x), ComparisonDirection::EQ));
  return m.select(pole, m.like(NAN, x), result);
}

// The neighbour of x on y's side: one more or less in its bits.
Value next_after(Math& m, Value x, Value y) {
  auto type = cast<RankedTensorType>(x.getType());
  unsigned width = type.getElementTypeBitWidth();
  auto bits_type = RankedTensorType::get(type.getShape(), m.b.getIntegerType(width));
  auto bits_of = [&](Value v) { return Value(BitcastConvertOp::create(m.b, m.loc, bits_type, v)); };
  Value x_bits = bits_of(x), y_bits = bits_of(y), magnitude = m.integer(int64_t((~uint64_t(0) >> (65 - width))), x_bits);
  Value sign = m.integer(int64_t(uint64_t(1) << (width - 1)), x_bits), one = m.integer(1, x_bits), zero = m.integer(0, x_bits);
  Value x_size = AndOp::create(m.b, m.loc, x_bits, magnitude), y_size = AndOp::create(m.b, m.loc, y_bits, magnitude);
  Value x_sign = AndOp::create(m.b, m.loc, x_bits, sign), y_sign = AndOp::create(m.b, m.loc, y_bits, sign);
  Value smaller = m.either(m.compare(x_size, y_size, ComparisonDirection::GT), m.compare(x_sign, y_sign, ComparisonDirection::NE));
  Value moved = m.add(x_bits, m.select(smaller, m.integer(-1, x_bits), one));
  Value from_zero = m.select(m.compare(y_size, zero, ComparisonDirection::EQ), y_bits, OrOp::create(m.b, m.loc, y_sign, one).getResult());
  moved = m.select(m.compare(x_size, zero, ComparisonDirection::EQ), from_zero, moved);
  moved = m.select(m.compare(x, y, ComparisonDirection::EQ), y_bits, moved);
  Value result = BitcastConvertOp::create(m.b, m.loc, type, moved);
  Value nan = m.either(m.compare(x, x, ComparisonDirection::NE), m.compare(y, y, ComparisonDirection::NE));
  return m.select(nan, m.like(NAN, x), result);
}

// The first k of each row sorted with its places, the largest first; equal ones in their order, NaN as the largest.
SmallVector<Value> top_k(Math& m, Value x, int64_t k, TypeRange results, bool largest) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t last = type.getRank() - 1;
  auto places_type = RankedTensorType::get(type.getShape(), cast<RankedTensorType>(results[1]).getElementType());
  Value places = IotaOp::create(m.b, m.loc, places_type, last);
  auto sort = SortOp::create(m.b, m.loc, TypeRange{type, places_type}, ValueRange{x, places}, uint64_t(last), true);
  {
    OpBuilder::InsertionGuard guard(m.b);
    auto number = RankedTensorType::get({}, type.getElementType()), place = RankedTensorType::get({}, places_type.getElementType());
    Block* body = m.b.createBlock(&sort.getComparator(), {}, {number, number, place, place}, {m.loc, m.loc, m.loc, m.loc});
    auto order = isa<FloatType>(type.getElementType()) ? ComparisonType::TOTALORDER : type.getElementType().isUnsignedInteger() ? ComparisonType::UNSIGNED : ComparisonType::SIGNED;
    auto direction = largest ? ComparisonDirection::GT : ComparisonDirection::LT;
    Value before = CompareOp::create(m.b, m.loc, RankedTensorType::get({}, m.b.getI1Type()), body->getArgument(0), body->getArgument(1), direction, ComparisonTypeAttr::get(m.b.getContext(), order));
    ReturnOp::create(m.b, m.loc, before);
  }
  SmallVector<int64_t> start(type.getRank(), 0), end(type.getShape()), stride(type.getRank(), 1);
  end[last] = k;
  SmallVector<Value> found;
  for (auto [sorted, result] : llvm::zip(sort->getResults(), results)) found.push_back(SliceOp::create(m.b, m.loc, result, sorted, start, end, stride));
  return found;
}

using Unary = Value (*)(Math&, Value);
Unary unary(StringRef name) {
  return llvm::StringSwitch<Unary>(name)
      .Case("acos", acos).Case("acosh", acosh).Case("asin", asin).Case("asinh", asinh).Case("atan", atan).Case("atanh", atanh).Case("cosh", cosh).Case("digamma", digamma)
      .Case("erf", [](Math& m, Value x) { return m.erf(x); })
      .Case("erf_inv", erf_inv).Case("erfc", erfc).Case("lgamma", lgamma).Case("sinh", sinh).Case("square", square).Case("tan", tan)
      .Default(nullptr);
}

// Whether it has one result, of its operands' type and of known sizes, as constants need them.
bool keeps_type(Operation* op) {
  if (op->getNumResults() != 1) return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.hasStaticShape() && llvm::all_of(op->getOperandTypes(), [&](Type t) { return t == type; });
}

// In f32 for the narrow types.
Value computed(Math& m, Unary function, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!element || element.getWidth() >= 32 || function == Unary(square)) return function(m, x);
  Value wide = ConvertOp::create(m.b, m.loc, RankedTensorType::get(type.getShape(), m.b.getF32Type()), x);
  return ConvertOp::create(m.b, m.loc, type, function(m, wide));
}

}  // namespace

void legalize(ModuleOp module) {
  SmallVector<Operation*> work;
  module.walk([&](Operation* op) {
    auto call = dyn_cast<CustomCallOp>(op);
    bool named = call && call.getCallTargetName().starts_with("mhlo.") && call.getCallTargetName() != "mhlo.erf";
    if (named || op->getName().getDialectNamespace() == "chlo") work.push_back(op);
  });
  for (Operation* op : work) {
    OpBuilder b(op);
    Math m(b, op->getLoc());
    auto call = dyn_cast<CustomCallOp>(op);
    StringRef name = call ? call.getCallTargetName().drop_front(5) : op->getName().stripDialect();
    SmallVector<Value> results;
    if (auto top = dyn_cast<TopKOp>(op)) {
      results = top_k(m, top.getOperand(), int64_t(top.getK()), op->getResultTypes(), true);
    } else if (name == "topk" && op->getNumResults() == 2) {
      auto attributes = op->getAttrOfType<DictionaryAttr>("mhlo.attributes");
      auto k = attributes ? attributes.getAs<IntegerAttr>("k") : IntegerAttr();
      auto largest = attributes ? attributes.getAs<BoolAttr>("largest") : BoolAttr();
      auto operand = op->getNumOperands() == 1 ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : RankedTensorType();
      if (!k || !operand || !is_top_k(operand, k.getInt(), op->getResultTypes())) continue;
      results = top_k(m, op->getOperand(0), k.getInt(), op->getResultTypes(), !largest || largest.getValue());
    } else if (auto next = dyn_cast<NextAfterOp>(op); next && keeps_type(op)) {
      results = {next_after(m, next.getX(), next.getY())};
    } else if (Unary function = unary(name); function && op->getNumOperands() == 1 && keeps_type(op)) {
      if (!isa<FloatType>(cast<RankedTensorType>(op->getOperand(0).getType()).getElementType()) && name != "square") continue;
      results = {computed(m, function, op->getOperand(0))};
    } else {
      continue;
    }
    op->replaceAllUsesWith(results);
    op->erase();
  }
}

}  // namespace mlir::chlo
