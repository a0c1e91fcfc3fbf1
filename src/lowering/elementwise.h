// How element-wise operators compute: in the result's dtype, or in f32 where that is f16 or bf16, rounded once at the end.
#pragma once

#include "lowering/builder.h"

namespace cresset::lowering {

inline mlir::Type compute_type(Builder& b) {
  mlir::Type t = b.result_element();
  return t.isBF16() || t.isF16() ? mlir::Type(b.ops.getF32Type()) : t;
}
/// An operand with the result's shape, in the type that is computed in.
inline Value operand(Builder& b, Value v) { return b.broadcast(b.convert(v, compute_type(b)), b.result_shape()); }
inline Value operand(Builder& b, const Scalar& s) { return b.scalar(s, compute_type(b), b.result_shape()); }

/// An operand times a Scalar that is mostly 1.
inline Value scaled(Builder& b, Value v, const Scalar& s) { return b.is(s, 1) ? v : b.mul(operand(b, s), v); }

/// Quotient rounded to the smaller integer; for floating point by remainder, as torch.floor_divide does.
Value floor_quotient(Builder& b, Value x, Value y);

/// Of a floating-point operand, either sign.
Value is_infinite(Builder& b, Value x);

/// log(e^x + e^y) of operands of one type.
Value log_of_sum(Builder& b, Value x, Value y);

/// Rounded to the result's dtype, as the CPU's kernels round a number of more precision that they don't compute with as it is.
inline Value narrowed(Builder& b, Value v) { return b.rounded(v, b.result_element()); }

template <class F, class... Operands>
Value elementwise(Builder& b, F f, Operands... operands) {
  return b.convert(f(operand(b, operands)...), b.result_element());
}

}  // namespace cresset::lowering
