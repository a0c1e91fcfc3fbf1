#include "cpu/emit/vector_math.h"

#include <cmath>
#include <limits>

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/PatternMatch.h"

namespace cresset::cpu {
namespace {

// exp(r) for |r| <= log(2) / 2, from the power 0 on.
constexpr double kExp[] = {1, 1, 0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.00836874544620514, 0.0013814540579915047};

struct Scaled {
  IR scale, r;
};

// f32 or f64 (vector) arithmetic that reads like the formulas.
struct Float {
  KernelEmitter& k;
  llvm::Type* type;
  bool wide = type->getScalarType()->isDoubleTy();
  int digits = wide ? 52 : 23;  // behind the point
  int bias = wide ? 1023 : 127;
  // Added to a small number it rounds that to an integer, which the sum then holds in its low bits: no conversion is needed.
  double shifter = std::ldexp(1.5, digits);
  IR constant(double c) { return llvm::ConstantFP::get(type, c); }
  // Rounded once where the machine does it at once; elsewhere twice, which exact_fma takes a call for each lane to avoid.
  IR fma(IR x, IR y, IR z) { return k.b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type}, {x, y, z}); }
  IR exact_fma(IR x, IR y, IR z) { return k.b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, z}); }
  IR fma(IR x, double y, IR z) { return fma(x, constant(y), z); }
  IR fma(IR x, IR y, double z) { return fma(x, y, constant(z)); }
  // c[0] x^(n-1) + … + c[n-1]
  IR polynomial(IR x, llvm::ArrayRef<double> c) {
    IR sum = nullptr;
    for (double a : c) sum = sum ? fma(sum, x, a) : constant(a);
    return sum;
  }
  IR clamp(IR x, double low, double high) {  // nan stays nan
    x = select(k.b.CreateFCmpOLT(x, constant(low)), constant(low), x);
    return select(k.b.CreateFCmpOGT(x, constant(high)), constant(high), x);
  }
  IR select(IR condition, IR yes, IR no) { return k.b.CreateSelect(condition, yes, no); }
  llvm::Type* ints() { return type->getWithNewType(k.b.getIntNTy(wide ? 64 : 32)); }
  IR integer(int64_t v) { return llvm::ConstantInt::get(ints(), v); }
  // exp(sign x) = scale exp(sign r) with |r| <= log(2) / 2 and sign 1 or -1. The scale is 0 from -127 log 2 on and inf above 127.5 log 2; farther than
  // half a log 2 beyond these it is anything.
  Scaled split_exp(IR x, double sign, bool in_two_parts) {
    // With the bias more the low bits are an exponent.
    IR begin = constant(shifter + bias);
    IR sum = fma(x, constant(sign * 1.44269504088896341), begin), n = k.b.CreateFSub(sum, begin);
    IR r = in_two_parts || !k.target.fused() ? fma(n, sign * 2.12194440e-4, fma(n, -sign * 0.693359375, x)) : fma(n, -sign * 0.69314718055994531, x);
    return {k.b.CreateBitCast(k.b.CreateShl(k.b.CreateBitCast(sum, ints()), integer(23)), type), r};
  }
  // Whether registers of AVX-512 hold the vector: one can be a table then.
  bool fills_registers() {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return !wide && k.target.avx512() && vector && vector->getNumElements() % 16 == 0;
  }
  // exp(sign x), or 1 more, by a table of 2^(j / 16): |r| <= log(2) / 32, where a cubic polynomial is enough. 0 at -127 log 2, inf a little above 128 log 2, in between as long
  // as 2^n is finite.
  IR exp_by_table(IR x, double sign, bool in_two_parts, bool one_more) {
    auto& b = k.b;
    IR shift = constant(shifter), sum = fma(x, constant(sign * 16 * 1.44269504088896341), shift), n = b.CreateFSub(sum, shift);
    IR r = in_two_parts ? fma(n, sign * 2.12194440e-4 / 16, fma(n, -sign * 0.693359375 / 16, x)) : fma(n, -sign * 0.69314718055994531 / 16, x);
    // The sum's bits from the fourth on are the exponent; what the four below add to the fraction is taken off in the table.
    llvm::SmallVector<uint32_t> table;
    for (uint32_t j = 0; j < 16; ++j) table.push_back(llvm::bit_cast<uint32_t>(float(std::exp2(j / 16.0))) - (j << 19));
    IR bits = b.CreateBitCast(sum, ints()), power = k.look_up(llvm::ConstantDataVector::get(b.getContext(), table), bits);
    IR scale = b.CreateBitCast(b.CreateAdd(b.CreateShl(bits, integer(19)), power), type);
    return fma(b.CreateFMul(scale, r), polynomial(r, {sign * 0.1666722, 0.5000162, sign}), one_more ? b.CreateFAdd(scale, constant(1)) : scale);
  }
  // 2^n for integers n from 1 - bias to bias
  IR exp2i(IR n) { return k.b.CreateBitCast(k.b.CreateShl(k.b.CreateAdd(n, integer(bias)), integer(digits)), type); }
};

// exp(x), or 2^x, as 2^n exp(r) with |r| <= log(2) / 2, and exp(r) = 1 + r + r² polynomial(r).
struct Reduced {
  IR n, r, polynomial;
};
Reduced reduce_exp(Float& f, IR x, bool base_two = false) {
  auto& b = f.k.b;
  IR shifter = f.constant(f.shifter), sum = base_two ? b.CreateFAdd(x, shifter) : f.fma(x, f.constant(1.44269504088896341), shifter), n = b.CreateFSub(sum, shifter);
  IR integer = b.CreateSub(b.CreateBitCast(sum, f.ints()), b.CreateBitCast(shifter, f.ints()));
  auto rest = [&](double high, double low) {  // log 2 in two parts, the first exact in all products
    return base_two ? b.CreateFMul(b.CreateFSub(x, n), f.constant(0.69314718055994531)) : f.fma(n, -low, f.fma(n, -high, x));
  };
  if (f.wide) {
    IR r = rest(6.93147180369123816490e-01, 1.90821492927058770002e-10);
    return {integer, r, f.polynomial(r, {2.510038549551032e-08, 2.7620088445409746e-07, 2.7557268459997064e-06, 2.4801521295954376e-05, 1.9841269863053618e-04,
                                         1.3888888917213717e-03, 8.333333333330062e-03, 4.166666666662413e-02, 0.16666666666666669, 0.5})};
  }
  IR r = rest(0.693359375, -2.12194440e-4);
  return {integer, r, f.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})};
}

// `usual`, or for a vector with any such lane what `rare` makes.
IR unless_any(KernelEmitter& k, IR condition, IR usual, const std::function<IR()>& rare) {
  return k.unless(condition->getType()->isVectorTy() ? k.b.CreateOrReduce(condition) : condition, usual, rare);
}

// 2^n exp(r)
IR expanded(Float& f, const Reduced& e) {
  auto& b = f.k.b;
  IR p = b.CreateFAdd(f.fma(e.polynomial, b.CreateFMul(e.r, e.r), e.r), f.constant(1.0));
  // Two steps, because 2^n alone leaves the range at both ends. nan stays nan through p.
  IR half = b.CreateAShr(e.n, f.integer(1));
  return b.CreateFMul(b.CreateFMul(p, f.exp2i(half)), f.exp2i(b.CreateSub(e.n, half)));
}
IR emit_exp2(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  return expanded(f, reduce_exp(f, f.wide ? f.clamp(x, -1076.0, 1025.0) : f.clamp(x, -151.0, 129.0), true));
}

}  // namespace

IR emit_exp(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  return expanded(f, reduce_exp(f, f.wide ? f.clamp(x, -746.0, 710.0) : f.clamp(x, -104.0, 89.0)));
}

IR emit_exp_at_most_zero(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  if (f.wide) return emit_exp(k, x);
  auto& b = k.b;
  // As reduce_exp(), but with two terms less, whose coefficients are fitted to that, with log 2 in one part, and sums that wait less for each other.
  IR lowest = f.constant(-88.02969);  // -127 log 2, where 2^n is 0
  x = f.select(b.CreateFCmpOLT(x, lowest), lowest, x);
  if (f.fills_registers()) return f.exp_by_table(x, 1, false, false);
  Scaled e = f.split_exp(x, 1, false);
  IR square = b.CreateFMul(e.r, e.r);
  IR low = f.polynomial(e.r, {0.16667114649949033, 0.49999231486761947}), high = f.polynomial(e.r, {0.008312520525040964, 0.0418901579638385});
  high = f.fma(high, square, low);
  return b.CreateFMul(f.fma(high, square, b.CreateFAdd(e.r, f.constant(1.0))), e.scale);
}

IR emit_expm1(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  Reduced e = reduce_exp(f, f.wide ? f.clamp(x, -80.0, 710.0) : f.clamp(x, -80.0, 89.0));
  IR p = f.fma(e.polynomial, b.CreateFMul(e.r, e.r), e.r);  // exp(r) - 1
  // 2^n p + (2^n - 1) with n - 1 for n, so that 2^n does not overflow before the end.
  IR scale = f.exp2i(b.CreateSub(e.n, f.integer(1)));
  IR half = f.fma(p, scale, b.CreateFSub(scale, f.constant(0.5)));
  return f.select(b.CreateFCmpOEQ(x, f.constant(0.0)), x, b.CreateFAdd(half, half));
}

// log(2^e (1 + m)) of floats for m from sqrt(1/2) - 1 to sqrt(2) - 1, with log 2 in two parts. The polynomial is Cephes' (logf.c).
static IR log_of(Float& f, IR e, IR m, double low, double high) {
  auto& b = f.k.b;
  IR z = b.CreateFMul(m, m);
  IR p = f.polynomial(m, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  IR y = f.fma(e, low, b.CreateFMul(b.CreateFMul(p, m), z));
  return f.fma(e, high, b.CreateFAdd(m, f.fma(z, -0.5, y)));
}

IR emit_log(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  if (f.fills_registers()) {
    // Exponents of 0 and inf are infinite: with both parts of log 2 above 0 so is the sum.
    auto [e, m] = k.split_floats(x);
    IR above = b.CreateFCmpOGT(m, f.constant(1.41421356237309505));
    e = f.select(above, b.CreateFAdd(e, f.constant(1)), e), m = f.select(above, b.CreateFMul(m, f.constant(0.5)), m);
    return log_of(f, e, b.CreateFSub(m, f.constant(1)), 1.428606765330187e-06, 0.693145751953125);
  }
  // Denormals are scaled up first.
  IR tiny = b.CreateFCmpOLT(x, f.constant(std::ldexp(1.0, 1 - f.bias)));
  IR scaled = f.select(tiny, b.CreateFMul(x, f.constant(std::ldexp(1.0, f.digits))), x);
  IR bits = b.CreateBitCast(scaled, f.ints());
  IR exponent = b.CreateSub(b.CreateLShr(bits, f.integer(f.digits)), f.integer(f.bias - 1));
  IR e = b.CreateFSub(b.CreateSIToFP(f.wide ? b.CreateTrunc(exponent, f.type->getWithNewType(b.getInt32Ty())) : exponent, f.type), f.select(tiny, f.constant(f.digits), f.constant(0.0)));
  IR fraction = b.CreateAnd(bits, f.integer((int64_t(1) << f.digits) - 1));
  IR m = b.CreateBitCast(b.CreateOr(fraction, f.integer(int64_t(f.bias - 1) << f.digits)), f.type);  // [0.5, 1)
  IR below = b.CreateFCmpOLT(m, f.constant(0.707106781186547524));
  e = f.select(below, b.CreateFSub(e, f.constant(1.0)), e);
  m = b.CreateFSub(f.select(below, b.CreateFAdd(m, m), m), f.constant(1.0));
  IR result;
  if (f.wide) {
    // log(1 + m) = 2 atanh(s), s = m / (2 + m): 2 s is m - m²/2 + s m²/2.
    IR s = b.CreateFDiv(m, b.CreateFAdd(m, f.constant(2.0))), z = b.CreateFMul(s, s), half = b.CreateFMul(b.CreateFMul(m, m), f.constant(0.5));
    IR p = b.CreateFMul(z, f.polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
                                            3.999999999940941908e-01, 6.666666666666735130e-01}));
    IR low = f.fma(e, 1.90821492927058770002e-10, b.CreateFMul(s, b.CreateFAdd(half, p)));
    result = f.fma(e, 6.93147180369123816490e-01, b.CreateFSub(m, b.CreateFSub(half, low)));
  } else {
    result = log_of(f, e, m, -2.12194440e-4, 0.693359375);
  }
  double inf = std::numeric_limits<double>::infinity();
  result = f.select(b.CreateFCmpOEQ(x, f.constant(inf)), x, result);
  result = f.select(b.CreateFCmpOEQ(x, f.constant(0.0)), f.constant(-inf), result);
  return f.select(b.CreateFCmpULT(x, f.constant(0.0)), f.constant(std::numeric_limits<double>::quiet_NaN()), result);
}

IR emit_log1p(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  // log(u) and, to first order, what rounding 1 + x to u has lost.
  IR u = b.CreateFAdd(x, f.constant(1.0));
  IR lost = b.CreateFSub(x, b.CreateFSub(u, f.constant(1.0)));
  IR log = emit_log(k, u);
  IR result = b.CreateFAdd(log, b.CreateFDiv(lost, u));
  IR regular = b.CreateAnd(b.CreateFCmpOGT(u, f.constant(0.0)), b.CreateFCmpOLT(u, f.constant(1e30)));
  result = f.select(regular, result, log);
  return f.select(b.CreateFCmpOEQ(x, f.constant(0.0)), x, result);
}

IR emit_tanh(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  if (f.wide) {
    IR e = emit_expm1(k, b.CreateFMul(f.clamp(x, -20.0, 20.0), f.constant(2.0)));
    return b.CreateFDiv(e, b.CreateFAdd(e, f.constant(2.0)));
  }
  // The rational approximation of Eigen (MathFunctionsImpl.h, ptanh_float). At 9 it is 1, from a little above 8 it may be an ULP more.
  IR c = f.clamp(x, -9.0, 9.0);
  IR z = b.CreateFMul(c, c);
  IR p = f.polynomial(z, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                          1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03});
  IR q = f.polynomial(z, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
  return f.clamp(b.CreateFMul(c, b.CreateFDiv(p, q)), -1.0, 1.0);
}

namespace {

// Cephes' (Moshier, Methods and Programs for Mathematical Functions, 1989): up to 1 a fraction of x², beyond it 1 - erfc as one under e^-x².
IR emit_erf_of_f64(Float& f, IR x) {
  auto& b = f.k.b;
  IR size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), m = f.select(b.CreateFCmpOGT(size, f.constant(6.0)), f.constant(6.0), size), z = b.CreateFMul(m, m);
  IR near = b.CreateFMul(m, f.polynomial(z, {9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226, 7003.32514112805075473, 55592.3013010394962768}));
  IR near_over = f.polynomial(z, {1, 33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987, 22629.0000613890934246, 49267.3942608635921086});
  IR far = f.polynomial(m, {2.46196981473530512524e-10, 0.564189564831068821977, 7.46321056442269912687, 48.6371970985681366614, 196.520832956077098242, 526.445194995477358631,
                            934.528527171957607540, 1027.55188689515710272, 557.535335369399327526});
  IR far_over = f.polynomial(m, {1, 13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062, 975.708501743205489753, 1823.90916687909736289, 2246.33760818710981792,
                                 1656.66309194161350182, 557.535340817727675546});
  IR is_far = b.CreateFCmpOGT(m, f.constant(1.0));
  far = b.CreateFMul(far, emit_exp(f.k, b.CreateFNeg(z)));
  IR fraction = b.CreateFDiv(f.select(is_far, far, near), f.select(is_far, far_over, near_over));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, f.select(is_far, b.CreateFSub(f.constant(1.0), fraction), fraction), x);
}

}  // namespace

IR emit_erf(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  if (f.wide) return emit_erf_of_f64(f, x);
  auto& b = k.b;
  // Also one of Eigen's (generic_fast_erf_float of 3.4). From 3.6 on it may be an ULP or more above 1, which no error function is: what is left of 1 may be a logarithm's argument.
  IR c = f.clamp(x, -4.0, 4.0);
  IR z = b.CreateFMul(c, c);
  IR p = f.polynomial(z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                          -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  IR q = f.polynomial(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
                          -1.42647390514189e-02});
  return f.clamp(b.CreateFMul(c, b.CreateFDiv(p, q)), -1.0, 1.0);
}

IR emit_logistic(KernelEmitter& k, IR x) {
  auto& b = k.b;
  IR one = llvm::ConstantFP::get(x->getType(), 1.0);
  if (!x->getType()->getScalarType()->isFloatTy()) return b.CreateFDiv(one, b.CreateFAdd(one, emit_exp(k, b.CreateFNeg(x))));
  Float f{k, x->getType()};
  // exp(-x) has to be right where it is large, up to inf; where 1 + exp(-x) is 1 it need not be small enough.
  if (f.fills_registers()) {
    // From where 2^n might be rounded up to inf, it is.
    IR below = b.CreateFCmpOLT(x, f.constant(-88.7)), above = b.CreateFCmpOGT(x, f.constant(87.0));
    return b.CreateFDiv(one, f.exp_by_table(f.select(below, f.constant(-88.7229), f.select(above, f.constant(87.0), x)), -1, true, true));
  }
  Scaled e = f.split_exp(f.clamp(x, -88.8, 87.0), -1, true);
  IR p = f.polynomial(e.r, {kExp[6], -kExp[5], kExp[4], -kExp[3], kExp[2], -kExp[1], kExp[0]});
  return b.CreateFDiv(one, f.fma(p, e.scale, one));
}

namespace {

// x = n π/2 + r with |r| a little above π/4 at most, and n in the low bits of `count`.
struct QuarterTurns {
  IR count, r;
};
QuarterTurns reduce_turns(Float& f, IR x) {
  auto& b = f.k.b;
  IR shifter = f.constant(f.shifter), sum = f.fma(x, f.constant(0.63661977236758134308), shifter), n = b.CreateFSub(sum, shifter);
  // π/2 in three parts, all of one sign, so that -0 stays what it is; the first product is taken away without an error. Those of f64 (fdlibm's) have 33 bits each but the last, so
  // that products with n below 2^20 are exact.
  auto less = [&](IR from, double part) { return f.wide ? f.fma(n, -part, from) : f.exact_fma(n, f.constant(-part), from); };
  IR r = f.wide ? f.fma(n, -2.02226624879595063154e-21, less(less(x, 1.57079632673412561417), 6.07710050630396597660e-11))
                : f.fma(n, -5.390302529957765e-15, less(less(x, 1.5707962512969971), 7.549789415861596e-08));
  return {b.CreateBitCast(sum, f.ints()), r};
}
// Farther out n is no longer exact: rare enough for a call.
IR unless_far(KernelEmitter& k, IR x, IR result, llvm::StringRef libm) {
  Float f{k, x->getType()};
  return unless_any(k, k.b.CreateFCmpOGT(k.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), f.constant(1e6)), result, [&] { return k.call_libm(libm, x); });
}

// One of two polynomials in r, with the sign that n says.
IR emit_sine_from(KernelEmitter& k, IR x, int quarter, llvm::StringRef libm) {
  Float f{k, x->getType()};
  auto& b = k.b;
  auto [count, r] = reduce_turns(f, x);
  IR square = b.CreateFMul(r, r);
  IR sine = f.wide ? f.polynomial(square, {1.58969099521155010221e-10, -2.50507602534068634195e-8, 2.75573137070700676789e-6, -1.98412698298579493134e-4, 8.33333333332248946124e-3,
                                           -1.66666666666666324348e-1})
                   : f.polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  sine = f.fma(b.CreateFMul(square, r), sine, r);
  IR cosine = f.wide ? f.polynomial(square, {-1.13596475577881948265e-11, 2.08757232129817482790e-9, -2.75573143513906633035e-7, 2.48015872894767294178e-5, -1.38888888888741095749e-3,
                                             4.16666666666666019037e-2})
                     : f.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  cosine = f.fma(b.CreateFMul(square, square), cosine, f.fma(square, -0.5, f.constant(1.0)));
  IR which = b.CreateAdd(count, f.integer(quarter));
  IR odd = b.CreateICmpNE(b.CreateAnd(which, f.integer(1)), f.integer(0));
  IR sign = b.CreateShl(b.CreateAnd(which, f.integer(2)), f.integer(f.wide ? 62 : 30));
  IR result = b.CreateBitCast(b.CreateXor(b.CreateBitCast(f.select(odd, cosine, sine), f.ints()), sign), f.type);
  if (quarter == 0) result = f.select(b.CreateFCmpOEQ(x, f.constant(0.0)), x, result);  // also -0
  return unless_far(k, x, result, libm);
}

}  // namespace

IR emit_sine(KernelEmitter& k, IR x) { return emit_sine_from(k, x, 0, "sin"); }
IR emit_cosine(KernelEmitter& k, IR x) { return emit_sine_from(k, x, 1, "cos"); }

IR emit_tangent(KernelEmitter& k, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  auto [count, r] = reduce_turns(f, x);
  IR square = b.CreateFMul(r, r);
  // Of f64 Cephes' fraction.
  IR p = f.wide ? b.CreateFDiv(f.polynomial(square, {-13093.6939181383734205, 1153516.64838587416140, -17956525.1976484877988}),
                               f.polynomial(square, {1, 13681.2963470692954678, -1320892.34440210967447, 25008380.1823357915839, -53869575.5929454629881}))
                : f.polynomial(square, {0.010200507938861847, 0.0017146941972896457, 0.025323517620563507, 0.05315621942281723, 0.13341934978961945, 0.33333033323287964});
  IR tangent = f.fma(b.CreateFMul(p, square), r, r);
  // A quarter turn on, it is -1 / tan.
  IR odd = b.CreateICmpNE(b.CreateAnd(count, f.integer(1)), f.integer(0));
  return unless_far(k, x, b.CreateFDiv(f.select(odd, f.constant(-1.0), tangent), f.select(odd, tangent, f.constant(1.0))), "tan");
}

namespace {

// The arc tangent of what lies between 0 and 1: of f64 Cephes' fraction, around an eighth of a turn for the larger ones.
IR angle_of(Float& f, IR ratio) {
  auto& b = f.k.b;
  if (!f.wide) {
    IR square = b.CreateFMul(ratio, ratio);
    IR p = f.polynomial(square, {0.00293622980825603, -0.016432788223028183, 0.043322738260030746, -0.07562185823917389, 0.10671039670705795, -0.14212459325790405,
                                 0.19993968307971954, -0.3333316147327423});
    return f.fma(b.CreateFMul(p, square), ratio, ratio);
  }
  IR one = f.constant(1.0), large = b.CreateFCmpOGT(ratio, f.constant(0.66));
  IR u = f.select(large, b.CreateFDiv(b.CreateFSub(ratio, one), b.CreateFAdd(ratio, one)), ratio), square = b.CreateFMul(u, u);
  IR p = b.CreateFDiv(f.polynomial(square, {-0.875060860003190412279, -16.1575371873336507664, -75.0085579231470466734, -122.886668449013617341, -64.8502190494202537177}),
                      f.polynomial(square, {1, 24.8584649014230629796, 165.027009831698854205, 432.881060491290266895, 485.390399635913696487, 194.550657148261396443}));
  IR angle = f.fma(b.CreateFMul(p, square), u, u);
  return f.select(large, b.CreateFAdd(f.constant(0.78539816339744830962), b.CreateFAdd(angle, f.constant(3.06161699786838301793e-17))), angle);
}

}  // namespace

IR emit_atan2(KernelEmitter& k, IR y, IR x) {
  Float f{k, x->getType()};
  auto& b = k.b;
  auto bits = [&](IR v) { return b.CreateBitCast(v, f.ints()); };
  auto size = [&](IR v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  IR width = size(x), height = size(y), steep = b.CreateFCmpOGT(height, width);
  IR smaller = f.select(steep, width, height), larger = f.select(steep, height, width);
  // Both 0 or both infinite: a ratio of 0 or 1, not of nothing.
  IR ratio = f.select(b.CreateFCmpOEQ(larger, f.constant(0.0)), larger, f.select(b.CreateFCmpOEQ(smaller, larger), f.constant(1.0), b.CreateFDiv(smaller, larger)));
  ratio = f.select(b.CreateFCmpUNO(x, y), f.constant(std::numeric_limits<double>::quiet_NaN()), ratio);
  IR angle = angle_of(f, ratio);
  // 0, π/2 or π, plus or minus the angle; what these have lost is added to the angle first.
  IR left = b.CreateICmpSLT(bits(x), f.integer(0));
  angle = f.select(b.CreateXor(steep, left), b.CreateFNeg(angle), angle);
  auto base = [&](double half) { return f.select(steep, f.constant(half), f.select(left, f.constant(2 * half), f.constant(0.0))); };
  angle = b.CreateFAdd(base(f.wide ? 1.57079632679489661923 : 1.5707963705062866), b.CreateFAdd(base(f.wide ? 6.123233995736766e-17 : -4.371139000186241e-08), angle));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, angle, y);
}

IR emit_power(KernelEmitter& k, IR x, IR y) {
  if (llvm::PatternMatch::match(x, llvm::PatternMatch::m_SpecificFP(2))) return emit_exp2(k, y);
  if (!x->getType()->getScalarType()->isFloatTy()) return k.call_libm("pow", {x, y});
  auto& b = k.b;
  auto* wide = x->getType()->getWithNewType(b.getDoubleTy());
  IR power = b.CreateFPTrunc(emit_exp(k, b.CreateFMul(b.CreateFPExt(y, wide), emit_log(k, b.CreateFPExt(x, wide)))), x->getType());
  IR inf = llvm::ConstantFP::getInfinity(x->getType());
  IR usual = b.CreateAnd(b.CreateFCmpOGT(x, llvm::ConstantFP::getZero(x->getType())), b.CreateFCmpOLT(x, inf));
  usual = b.CreateAnd(usual, b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y), inf));
  return unless_any(k, b.CreateNot(usual), power, [&] { return k.call_libm("pow", {x, y}); });
}

IR emit_remainder(KernelEmitter& k, IR x, IR y) {
  Float f{k, x->getType()};
  auto& b = k.b;
  auto size = [&](IR v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  IR dividend = size(x), divisor = size(y), quotient = b.CreateFDiv(dividend, divisor);
  // The rounded quotient is at most one too large then. Either way what is left is a multiple of the divisor's last place, and smaller than the divisor: exact.
  IR few = b.CreateFCmpOLT(quotient, f.constant(x->getType()->getScalarType()->isFloatTy() ? 0x1p23 : 0x1p52));
  IR left = f.exact_fma(b.CreateFNeg(b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient)), divisor, dividend);
  left = f.select(b.CreateFCmpOLT(left, f.constant(0.0)), b.CreateFAdd(left, divisor), left);
  left = f.select(b.CreateFCmpOLT(dividend, divisor), dividend, left);  // also of an infinite divisor
  return unless_any(k, b.CreateNot(few), b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, left, x), [&] { return k.call_libm("fmod", {x, y}); });
}

IR emit_quotient(KernelEmitter& k, IR x, IR y, bool is_signed) {
  auto& b = k.b;
  auto* type = x->getType();
  const int bits = int(type->getScalarSizeInBits());
  auto* floats = type->getWithNewType(bits < 32 ? b.getFloatTy() : b.getDoubleTy());
  auto cut = [&](IR p, IR q) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFDiv(p, q)); };
  if (bits < 64) {
    auto converted = [&](IR v) { return is_signed ? b.CreateSIToFP(v, floats) : b.CreateUIToFP(v, floats); };
    IR q = cut(converted(x), converted(y));
    return is_signed ? b.CreateFPToSI(q, type) : b.CreateFPToUI(q, type);
  }
  // The last digits of a float of this size are an integer's.
  constexpr double kMiddle = 0x1.8p52;
  IR as_float = llvm::ConstantFP::get(floats, kMiddle), as_integer = llvm::ConstantInt::get(type, llvm::bit_cast<uint64_t>(kMiddle));
  auto converted = [&](IR v) { return b.CreateFSub(b.CreateBitCast(b.CreateAdd(v, as_integer), floats), as_float); };
  auto is_large = [&](IR v) {
    constexpr int64_t kEnd = int64_t(1) << 51;
    IR moved = is_signed ? b.CreateAdd(v, llvm::ConstantInt::get(type, kEnd)) : v;
    return b.CreateICmpUGE(moved, llvm::ConstantInt::get(type, is_signed ? 2 * kEnd : kEnd));
  };
  IR q = b.CreateSub(b.CreateBitCast(b.CreateFAdd(cut(converted(x), converted(y)), as_float), type), as_integer);
  return unless_any(k, b.CreateOr(is_large(x), is_large(y)), q, [&] { return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y); });
}

IR emit_integer(KernelEmitter& k, IR x, llvm::Type* to, bool is_signed) {
  Float f{k, x->getType()};
  int bits = to->getScalarSizeInBits();
  double end = std::ldexp(1.0, is_signed ? bits - 1 : bits), begin = is_signed ? -end : 0;
  auto at_least_begin = [&] { return f.select(k.b.CreateFCmpOGT(x, f.constant(begin)), x, f.constant(begin)); };
  if (bits < 32) {  // the last one is a float itself, so that nothing has to be chosen among integers, which takes masks of other widths
    if (is_signed) x = f.select(k.b.CreateFCmpORD(x, x), x, f.constant(0));  // unsigned nan is less than 0
    x = at_least_begin();
    x = f.select(k.b.CreateFCmpOLT(x, f.constant(end - 1)), x, f.constant(end - 1));
    return k.b.CreateTrunc(k.b.CreateFPToSI(x, to->getWithNewBitWidth(32)), to);
  }
  IR is_below_end = k.b.CreateFCmpOLT(x, f.constant(end)), is_beyond = k.b.CreateFCmpOGE(x, f.constant(end));  // nan is neither
  x = f.select(is_below_end, x, f.constant(0));
  x = at_least_begin();
  IR result = is_signed ? k.b.CreateFPToSI(x, to) : k.b.CreateFPToUI(x, to);
  auto last = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  return f.select(is_beyond, llvm::ConstantInt::get(to, last), result);
}

IR emit_convert(KernelEmitter& k, mlir::Type from, mlir::Type to, IR v) {
  auto& b = k.b;
  auto* type = v->getType()->getWithNewType(k.compute_type(to));
  if (to.isInteger(1))
    return is_float(from) ? b.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType())) : b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  if (is_float(from) && is_float(to)) return k.round(to, b.CreateFPCast(v, type));
  if (is_float(to) && from.isInteger(1)) return b.CreateSelect(v, llvm::ConstantFP::get(type, 1), llvm::ConstantFP::get(type, 0));
  if (is_float(to)) return k.round(to, is_unsigned(from) ? b.CreateUIToFP(v, type) : b.CreateSIToFP(v, type));
  if (is_float(from)) return emit_integer(k, v, type, !is_unsigned(to));
  return is_unsigned(from) ? b.CreateZExtOrTrunc(v, type) : b.CreateSExtOrTrunc(v, type);
}

}  // namespace cresset::cpu
