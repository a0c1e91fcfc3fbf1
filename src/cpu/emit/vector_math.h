// Transcendental functions and conversions as vector code: a JIT without them calls libm once for each lane, which costs five times as much.
// f32; of f64 all but powers (those of 2 apart) and cube roots. What has no vector code, and arguments far out, are calls of libm.
// The errors are those of machines that multiply and add at once; without FMA each step of a polynomial is rounded twice, which adds up to 2 ULP.
#pragma once

#include "cpu/emit/emitter.h"

namespace cresset::cpu {

/// At most 1 ULP over the whole range; 0 and inf at the ends (range reduction and polynomial: Cephes expf, Moshier).
IR emit_exp(KernelEmitter& k, IR x);
/// The same for arguments that are never above 0 but by rounding, as in softmax, in half the time: at most 2.6 ULP from -10 on, where the weight of a softmax is, and 5 ULP below;
/// something between 0 and the smallest normal number instead of denormal ones, 0 from -88.03 on.
IR emit_exp_at_most_zero(KernelEmitter& k, IR x);
/// At most 3 ULP, also near 0.
IR emit_expm1(KernelEmitter& k, IR x);
/// At most 1 ULP; -inf at 0, nan below (Cephes logf).
IR emit_log(KernelEmitter& k, IR x);
/// At most 3 ULP; the argument's own rounding is made good.
IR emit_log1p(KernelEmitter& k, IR x);
/// At most 5 ULP; rational approximation x P(x²)/Q(x²) on [-9, 9] (as in Eigen).
IR emit_tanh(KernelEmitter& k, IR x);
/// At most 6 ULP; rational approximation of x P(x²)/Q(x²) on [-4, 4] (as in Eigen).
IR emit_erf(KernelEmitter& k, IR x);
/// 1 / (1 + exp(-x)), at most 3 ULP; 0 where the result has no normal number.
IR emit_logistic(KernelEmitter& k, IR x);
/// At most 2 ULP; beyond 10^6, a call of libm (three-part reduction, polynomials: Cephes sinf and cosf).
IR emit_sine(KernelEmitter& k, IR x);
IR emit_cosine(KernelEmitter& k, IR x);
/// At most 3 ULP; the same reduction, and beyond 10^6 a call of libm (polynomial: fitted to tan for the least relative error, as far as the reduction leaves it).
IR emit_tangent(KernelEmitter& k, IR x);
/// The angle of (x, y), at most 3 ULP. The smaller over the larger coordinate goes through a polynomial, fitted to atan on [0, 1] for the least relative error.
IR emit_atan2(KernelEmitter& k, IR y, IR x);
/// x^y, at most 1 ULP, as exp(y log x) in f64; a call of libm unless x is above 0 and both are finite. f64: libm. 2^y is an exponential, as exact as exp.
IR emit_power(KernelEmitter& k, IR x, IR y);
/// x - n y with n = trunc(x / y), exactly, with the sign of x. A call of libm where n has more digits than a number holds, or is none.
IR emit_remainder(KernelEmitter& k, IR x, IR y);
/// Vectors of integers x / y without fraction, where y is not 0, nor -1 of the least x: by floats, which hold both, and whose quotient is cut at the right number (two integers of less than d digits
/// whose quotient is no integer are further from the next one than d digits tell apart). Lane by lane, where integers of 64 bits have more than 51.
IR emit_quotient(KernelEmitter& k, IR x, IR y, bool is_signed);
/// x without its fraction as an integer of `to`: beyond the ends of `to` its last number, 0 for nan. (LLVM's own saturating conversions go element by element.)
IR emit_integer(KernelEmitter& k, IR x, llvm::Type* to, bool is_signed);
/// A number of element type `from`, in its compute type, as one of `to`: as stablehlo.convert.
IR emit_convert(KernelEmitter& k, mlir::Type from, mlir::Type to, IR v);

}  // namespace cresset::cpu
