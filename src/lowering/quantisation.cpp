// Products of weights that are quantised. And quantisation in training: numbers become what inference with integers will have of them (Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", 2018, section 3).
#include <ATen/Version.h>

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
// How this process packs weights of four bits (ATen/native/cpu/int4mm_kernel.cpp): blocks of rows, one after the other; in each, for each feature, the rows' numbers, two in a byte.
struct PackedBy4Bits {
  int64_t rows = 32;        // of a block; of the last one what is left
  bool as_halves = true;    // a byte's numbers are half a block apart, in whole blocks; else they are neighbours
};
PackedBy4Bits packed_by_4_bits() {
  static const std::string capability = at::get_cpu_capability();
  return {capability == "AVX512" ? 64 : 32, capability != "DEFAULT"};
}
// [rows / `block`, depth, block] of such bytes, for the rows [first, first + count).
Value unpacked(Builder& b, Value bytes, int64_t first, int64_t count, int64_t block, bool as_halves) {
  int64_t half = shape_of(bytes)[1], blocks = count / block;
  Value own = b.reshape(b.slice(bytes, 0, first, first + count), {blocks, 2 * half, block / 2});
  Dims shape{blocks, 2 * half, block / 2, 2};
  if (as_halves) std::swap(shape[2], shape[3]);
  Value both = b.broadcast(own, shape, {0, 1, as_halves ? 3 : 2}), shifts = b.mul(b.iota(as_halves ? 2 : 3, shape, element_of(bytes)), 4);
  Value numbers = b.logical_and(b.create<hlo::ShiftRightLogicalOp>(both, shifts), b.like(15, both));
  return b.reshape(b.convert(numbers, b.ops.getF32Type()), {blocks, 2 * half, block});
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

// self · mat2ᵀ, whose rows have a scale each. Not rounded in between, as on the CPU.
Value _weight_int8pack_mm(Builder& b, Value self, Value mat2, Value scales) {
  Value product = b.dot(b.upcast(self), b.convert(mat2, b.ops.getF32Type()), {1}, {1});
  return b.to_result(b.mul(product, b.broadcast(b.upcast(scales), shape_of(product), {1})));
}
// self · ((q - 8) scale + zero)ᵀ of numbers of four bits; scale and zero are qScaleAndZeros[group, row], for groups of features. What the 8 adds is taken away once for each group.
Value _weight_int4pack_mm_for_cpu(Builder& b, Value self, Value mat2, int64_t qGroupSize, Value qScaleAndZeros) {
  const int64_t rows = shape_of(self)[0], depth = shape_of(self)[1], columns = shape_of(mat2)[0], groups = shape_of(qScaleAndZeros)[0];
  const PackedBy4Bits packed = packed_by_4_bits();
  Value x = b.upcast(self);
  auto product = [&](int64_t first, int64_t count, int64_t block, bool as_halves) {
    const int64_t blocks = count / block;
    auto of_groups = [&](int64_t which) {
      Value own = b.slice(b.slice(b.upcast(qScaleAndZeros), 1, first, first + count), 2, which, which + 1);
      return b.transpose(b.reshape(own, {groups, blocks, block}), {1, 0, 2});
    };
    auto of_all = [&](Value v) { return b.reshape(b.broadcast(v, {blocks, groups, qGroupSize, block}, {0, 1, 3}), {blocks, depth, block}); };
    Value q = unpacked(b, mat2, first, count, block, as_halves), scale = of_groups(0), zero = b.add(of_groups(1), b.mul(scale, -8));
    return b.reshape(b.dot(x, b.add(b.mul(q, of_all(scale)), of_all(zero)), {1}, {1}), {rows, count});
  };
  const int64_t left = columns % packed.rows, whole = columns - left;
  Values parts;
  if (whole) parts.push_back(product(0, whole, packed.rows, packed.as_halves));
  if (left) parts.push_back(product(whole, left, left, false));
  return parts.empty() ? b.to_result(b.constant(0, b.result_element())) : b.as_result(parts.size() > 1 ? b.concatenate(parts, 1) : parts[0]);
}

}  // namespace cresset::lowering::aten
