#include "cpu/vector_math.h"

#include <limits>

#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {
namespace {

// f32 (vector) arithmetic that reads like the formulas.
struct Float {
  KernelEmitter& k;
  llvm::Type* type;
  IR constant(double c) { return llvm::ConstantFP::get(type, c); }
  IR fma(IR x, IR y, IR z) { return k.b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, z}); }
  IR fma(IR x, double y, IR z) { return fma(x, constant(y), z); }
  IR fma(IR x, IR y, double z) { return fma(x, y, constant(z)); }
  // c[0] x^(n-1) + … + c[n-1]
  IR polynomial(IR x, std::initializer_list<double> c) {
    IR sum = nullptr;
    for (double a : c) sum = sum ? fma(sum, x, a) : constant(a);
    return sum;
  }
  IR select(IR condition, IR yes, IR no) { return k.b.CreateSelect(condition, yes, no); }
  llvm::Type* ints() { return type->getWithNewType(k.b.getInt32Ty()); }
  IR integer(int64_t v) { return llvm::ConstantInt::get(ints(), v); }
  IR intrinsic(llvm::Intrinsic::ID id, IR x) { return k.b.CreateUnaryIntrinsic(id, x); }
  // 2^n for integers n in [-126, 127]
  IR exp2i(IR n) { return k.b.CreateBitCast(k.b.CreateShl(k.b.CreateAdd(n, integer(127)), integer(23)), type); }
};

}  // namespace

IR emit_exp(KernelEmitter& k, IR x) {
  if (!x->getType()->getScalarType()->isFloatTy()) return k.call_libm("exp", x);
  Float f{k, x->getType()};
  auto& b = k.b;
  IR low = f.constant(-104.0), high = f.constant(89.0);
  IR clamped = f.select(b.CreateFCmpOLT(x, low), low, x);
  clamped = f.select(b.CreateFCmpOGT(clamped, high), high, clamped);
  IR n = f.intrinsic(llvm::Intrinsic::rint, b.CreateFMul(clamped, f.constant(1.44269504088896341)));
  IR r = f.fma(n, -0.693359375, clamped);
  r = f.fma(n, 2.12194440e-4, r);
  IR p = f.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  p = b.CreateFAdd(f.fma(p, b.CreateFMul(r, r), r), f.constant(1.0));
  // Two steps, because 2^n alone leaves the range of f32 at both ends. nan stays nan through p.
  IR whole = b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {f.ints(), f.type}, {n});
  IR half = b.CreateAShr(whole, f.integer(1));
  return b.CreateFMul(b.CreateFMul(p, f.exp2i(half)), f.exp2i(b.CreateSub(whole, half)));
}

IR emit_log(KernelEmitter& k, IR x) {
  if (!x->getType()->getScalarType()->isFloatTy()) return k.call_libm("log", x);
  Float f{k, x->getType()};
  auto& b = k.b;
  // Denormals are scaled up first.
  IR tiny = b.CreateFCmpOLT(x, f.constant(1.17549435e-38));
  IR scaled = f.select(tiny, b.CreateFMul(x, f.constant(8388608.0)), x);
  IR bits = b.CreateBitCast(scaled, f.ints());
  IR exponent = b.CreateSub(b.CreateLShr(bits, f.integer(23)), f.integer(126));
  IR e = b.CreateFSub(b.CreateSIToFP(exponent, f.type), f.select(tiny, f.constant(23.0), f.constant(0.0)));
  IR m = b.CreateBitCast(b.CreateOr(b.CreateAnd(bits, f.integer(0x007fffff)), f.integer(0x3f000000)), f.type);  // [0.5, 1)
  IR below = b.CreateFCmpOLT(m, f.constant(0.707106781186547524));
  e = f.select(below, b.CreateFSub(e, f.constant(1.0)), e);
  m = b.CreateFSub(f.select(below, b.CreateFAdd(m, m), m), f.constant(1.0));
  IR z = b.CreateFMul(m, m);
  IR p = f.polynomial(m, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  IR y = b.CreateFMul(b.CreateFMul(p, m), z);
  y = f.fma(e, -2.12194440e-4, y);
  y = f.fma(z, -0.5, y);
  IR result = f.fma(e, 0.693359375, b.CreateFAdd(m, y));
  double inf = std::numeric_limits<double>::infinity();
  result = f.select(b.CreateFCmpOEQ(x, f.constant(inf)), x, result);
  result = f.select(b.CreateFCmpOEQ(x, f.constant(0.0)), f.constant(-inf), result);
  return f.select(b.CreateFCmpULT(x, f.constant(0.0)), f.constant(std::numeric_limits<double>::quiet_NaN()), result);
}

IR emit_tanh(KernelEmitter& k, IR x) {
  if (!x->getType()->getScalarType()->isFloatTy()) return k.call_libm("tanh", x);
  Float f{k, x->getType()};
  auto& b = k.b;
  IR magnitude = f.intrinsic(llvm::Intrinsic::fabs, x);
  IR z = b.CreateFMul(x, x);
  IR p = f.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  IR small = f.fma(b.CreateFMul(p, z), x, x);
  IR e = emit_exp(k, b.CreateFAdd(magnitude, magnitude));
  IR large = b.CreateFSub(f.constant(1.0), b.CreateFDiv(f.constant(2.0), b.CreateFAdd(e, f.constant(1.0))));
  large = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x);
  IR result = f.select(b.CreateFCmpOLT(magnitude, f.constant(0.625)), small, large);
  return f.select(b.CreateFCmpUNO(x, x), x, result);
}

IR emit_erf(KernelEmitter& k, IR x) {
  if (!x->getType()->getScalarType()->isFloatTy()) return k.call_libm("erf", x);
  Float f{k, x->getType()};
  auto& b = k.b;
  IR low = f.constant(-4.0), high = f.constant(4.0);
  IR c = f.select(b.CreateFCmpOLT(x, low), low, x);
  c = f.select(b.CreateFCmpOGT(c, high), high, c);
  IR z = b.CreateFMul(c, c);
  IR p = f.polynomial(z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                          -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  IR q = f.polynomial(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
                          -1.42647390514189e-02});
  return b.CreateFDiv(b.CreateFMul(c, p), q);
}

IR emit_logistic(KernelEmitter& k, IR x) {
  auto& b = k.b;
  IR one = llvm::ConstantFP::get(x->getType(), 1.0);
  return b.CreateFDiv(one, b.CreateFAdd(one, emit_exp(k, b.CreateFNeg(x))));
}

}  // namespace cresset::cpu
