// Quantisation in training: numbers become what inference with integers will have of them (Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", 2018, section 3).
#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

// (q - zero) scale of q = round(x / scale) + zero, where that lies in [low, high], and else of the nearer of these; and whether it does. nan becomes the lowest, as on the CPU.
// Zeros that are no integers are added before rounding. Parameters are f32, of the shape of x, and what is multiplied in the end is of type `last`.
Values fake_quantized(Builder& b, Value self, Value scale, Value zero, bool is_integer, int64_t low, int64_t high, mlir::Type last) {
  Value x = b.upcast(self), inverse = b.div(b.like(1, scale), scale);
  auto wide = [&](Value v) { return b.convert(v, element_of(x)); };
  auto rounded = [&](Value v) { return b.create<hlo::RoundNearestEvenOp>(v); };
  zero = wide(zero);
  Value scaled = b.mul(x, wide(inverse)), q = is_integer ? b.add(rounded(scaled), zero) : rounded(b.add(scaled, zero)), least = b.like(low, q), most = b.like(high, q);
  Value is_above = b.compare(Direction::GE, q, least), is_below = b.compare(Direction::LE, q, most);
  Value bounded = b.select(is_above, b.select(is_below, q, most), least);
  return {b.as_result(b.mul(b.convert(b.sub(bounded, zero), last), b.convert(scale, last)), 0), b.as_result(b.logical_and(is_above, is_below), 1)};
}
// Of one element, for all.
Value everywhere(Builder& b, Value parameter, Value self) { return b.broadcast(b.convert(b.reshape(parameter, {}), b.ops.getF32Type()), shape_of(self), {}); }

}  // namespace

Values fake_quantize_per_tensor_affine_cachemask(Builder& b, Value self, double scale, int64_t zero_point, int64_t quant_min, int64_t quant_max) {
  Value s = b.constant(scale, b.ops.getF32Type(), shape_of(self));
  return fake_quantized(b, self, s, b.like(zero_point, s), true, quant_min, quant_max, b.ops.getF32Type());
}
Values _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Builder& b, Value self, Value scale, Value zero_point, Value fake_quant_enabled, int64_t quant_min, int64_t quant_max) {
  Values results = fake_quantized(b, self, everywhere(b, scale, self), everywhere(b, zero_point, self), true, quant_min, quant_max, b.ops.getF32Type());
  Value enabled = everywhere(b, fake_quant_enabled, self), is_on = b.compare(Direction::NE, enabled, b.like(0, enabled));
  return {b.select(is_on, results[0], b.as_result(self, 0)), b.select(is_on, results[1], b.like(1, results[1]))};
}
Values fake_quantize_per_channel_affine_cachemask(Builder& b, Value self, Value scale, Value zero_point, int64_t axis, int64_t quant_min, int64_t quant_max) {
  auto spread = [&](Value v) { return b.broadcast(b.convert(v, b.ops.getF32Type()), shape_of(self), {axis}); };
  return fake_quantized(b, self, spread(scale), spread(zero_point), mlir::isa<mlir::IntegerType>(element_of(zero_point)), quant_min, quant_max, element_of(b.upcast(self)));
}

}  // namespace cresset::lowering::aten
