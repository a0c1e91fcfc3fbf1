// Random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011) spelled in integer
// operations, so that every compiler draws the same bits; around them a composite, for those that know it.
#include "lowering/random.h"

#include <cmath>
#include <limits>

#include "generated/lowerings.h"

namespace cresset::lowering {
namespace {

// The four words of each block.
std::array<Value, 4> philox(Builder& b, Value counter, Value key) {
  mlir::Type u32 = b.ops.getIntegerType(32, false), u64 = b.ops.getIntegerType(64, false);
  auto constant = [&](int64_t c, mlir::Type t) { return b.constant(c10::Scalar(c), t, shape_of(counter)); };
  auto low = [&](Value v) { return b.convert(b.logical_and(v, constant(0xffffffffll, u64)), u32); };
  auto high = [&](Value v) { return b.convert(b.create<hlo::ShiftRightLogicalOp>(v, constant(32, u64)), u32); };
  std::array<Value, 4> c{low(counter), high(counter), constant(0, u32), constant(0, u32)};
  Value k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    Value p0 = b.mul(b.convert(c[0], u64), constant(0xD2511F53ll, u64)), p1 = b.mul(b.convert(c[2], u64), constant(0xCD9E8D57ll, u64));
    auto mixed = [&](Value x, Value y, Value k) -> Value { return b.create<hlo::XorOp>(b.create<hlo::XorOp>(x, y), k); };
    c = {mixed(high(p1), c[1], k0), low(p1), mixed(high(p0), c[3], k1), low(p0)};
    k0 = b.add(k0, constant(0x9E3779B9ll, u32));
    k1 = b.add(k1, constant(0xBB67AE85ll, u32));
  }
  return c;
}

Value number_of(Builder& b, const Scalar& s) { return s.operand ? s.operand : b.scalar(s, b.ops.getI64Type()); }

// The decomposition.
Value words_in_order(Builder& b, Value seed, Value offset, llvm::ArrayRef<int64_t> shape, int64_t spacing) {
  mlir::Type u64 = b.ops.getIntegerType(64, false);
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  int64_t groups = (n + 4 * spacing - 1) / (4 * spacing);
  Dims blocks{groups * spacing};
  auto number = [&](Value v) { return b.broadcast(b.convert(v, u64), blocks); };
  Values words;
  for (Value word : philox(b, b.add(b.iota(0, blocks, u64), number(offset)), number(seed))) words.push_back(b.reshape(word, {groups, 1, spacing}));
  Value all = b.reshape(b.concatenate(words, 1), {groups * 4 * spacing});
  return b.reshape(b.slice(all, 0, 0, n), shape);
}

}  // namespace

Value random_bits(Builder& b, llvm::ArrayRef<int64_t> shape, const Scalar& seed, const Scalar& offset, int64_t spacing) {
  auto type = mlir::RankedTensorType::get(shape, b.ops.getIntegerType(32, false));
  if (type.getNumElements() == 0) return b.constant(0.0, type.getElementType(), shape);
  Value operands[] = {number_of(b, seed), number_of(b, offset)};
  auto attributes = b.ops.getDictionaryAttr(b.ops.getNamedAttr("spacing", b.ops.getI64IntegerAttr(spacing)));
  return b.composite("cresset.random_bits", operands, type, attributes, [&](Builder& b, mlir::ValueRange v) { return words_in_order(b, v[0], v[1], shape, spacing); });
}

Value uniform_numbers(Builder& b, llvm::ArrayRef<int64_t> shape, const Scalar& seed, const Scalar& offset, int digits) {
  Value bits = random_bits(b, shape, seed, offset);
  Value top = b.create<hlo::ShiftRightLogicalOp>(bits, b.constant(c10::Scalar(32 - digits), element_of(bits), shape));
  return b.mul(b.convert(top, b.ops.getF32Type()), std::ldexp(1.0, -digits));
}

Value is_kept(Builder& b, Value bits, double p) {
  auto limit = std::ceil(std::ldexp(p, 32));
  if (limit >= std::ldexp(1.0, 32)) return b.constant(0.0, b.ops.getI1Type(), shape_of(bits));
  return b.compare(Direction::GE, bits, b.constant(c10::Scalar(int64_t(limit)), element_of(bits), shape_of(bits)));
}

namespace aten {
namespace {


// Integers in [from, from + range); a range of 0 is 2^64.
Value integers(Builder& b, int64_t from, uint64_t range, const Scalar& seed, const Scalar& offset) {
  mlir::Type u64 = b.ops.getIntegerType(64, false), i64 = b.ops.getI64Type();
  int64_t n = type_of(b.operands[0]).getNumElements();
  bool wide = range == 0 || range > (uint64_t(1) << 32);
  Value drawn = random_bits(b, {wide ? 2 * n : n}, seed, offset);
  auto constant = [&](uint64_t c) { return b.constant(c10::Scalar(int64_t(c)), u64, {n}); };
  Value v = drawn = b.convert(drawn, u64);
  if (wide) v = b.logical_or(b.create<hlo::ShiftLeftOp>(b.slice(drawn, 0, 0, n), constant(32)), b.slice(drawn, 0, n, 2 * n));
  if (range) v = b.create<hlo::RemOp>(v, constant(range));
  v = b.add(b.convert(v, i64), b.constant(c10::Scalar(from), i64, {n}));
  return b.as_result(v);
}
// The largest integer that `random_` draws without bounds: all up to it are exact in the type.
uint64_t largest(mlir::Type t) {
  if (auto type = mlir::dyn_cast<mlir::FloatType>(t)) return uint64_t(1) << type.getFPMantissaWidth();
  if (t.isInteger(1)) return 1;
  return t.isUnsignedInteger() ? 255 : uint64_t(std::numeric_limits<int64_t>::max()) >> (64 - t.getIntOrFloatBitWidth());
}
// In (0, 1].
Value positive_numbers(Builder& b, const Scalar& seed, const Scalar& offset) {
  Value u = uniform_numbers(b, b.result_shape(), seed, offset);
  return b.sub(b.like(1, u), u);
}

}  // namespace

Values native_dropout(Builder& b, Value input, double p, std::optional<bool> train, Scalar seed, Scalar offset) {
  mlir::Type i1 = b.ops.getI1Type();
  if (!train.value_or(true) || p == 0) return {input, b.constant(1.0, i1, shape_of(input))};
  Value mask = is_kept(b, random_bits(b, shape_of(input), seed, offset), p);
  Value kept = b.select(mask, b.mul(input, p < 1 ? 1 / (1 - p) : 0), b.like(0, input));
  return {kept, mask};
}
Value uniform(Builder& b, Value self, double from, double to_, Scalar seed, Scalar offset) {
  // As many bits as the type holds: more of them would round up to 1.
  mlir::Type element = b.result_element();
  Value u = uniform_numbers(b, b.result_shape(), seed, offset, element.isBF16() ? 8 : element.isF16() ? 11 : 24);
  Value numbers = b.as_result(b.add(b.mul(u, to_ - from), from));
  if (from == 0 && to_ == 1) return numbers;
  return b.select(b.compare(Direction::EQ, numbers, b.like(to_, numbers)), b.like(from, numbers), numbers);  // what a sum rounds to the end
}
Value normal_functional(Builder& b, Value self, double mean, double std, Scalar seed, Scalar offset) {
  // Box and Muller 1958, two uniforms for each element.
  int64_t n = type_of(self).getNumElements();
  Value u = uniform_numbers(b, {2 * n}, seed, offset);
  Value radius = b.sub(b.constant(1.0, element_of(u), {n}), b.slice(u, 0, 0, n)), angle = b.slice(u, 0, n, 2 * n);
  Value z = b.mul(b.sqrt(b.mul(b.log(radius), -2)), b.create<hlo::CosineOp>(b.mul(angle, 2 * M_PI)));
  return b.as_result(b.add(b.mul(z, std), mean));
}
Value random(Builder& b, Value self, Scalar seed, Scalar offset) { return integers(b, 0, largest(b.result_element()) + 1, seed, offset); }
Value random_to(Builder& b, Value self, int64_t to, Scalar seed, Scalar offset) { return integers(b, 0, uint64_t(to), seed, offset); }
Value random_from(Builder& b, Value self, int64_t from, std::optional<int64_t> to, Scalar seed, Scalar offset) {
  return integers(b, from, (to ? uint64_t(*to) : largest(b.result_element()) + 1) - uint64_t(from), seed, offset);
}
Value exponential(Builder& b, Value self, double lambd, Scalar seed, Scalar offset) {
  // Never 0, by which samplers divide.
  Value e = b.neg(b.log(positive_numbers(b, seed, offset)));
  return b.as_result(b.mul(b.max(e, b.like(std::ldexp(1.0, -25), e)), 1 / lambd));
}
Value geometric(Builder& b, Value self, double p, Scalar seed, Scalar offset) {
  Value u = positive_numbers(b, seed, offset), n = b.create<hlo::CeilOp>(b.div(b.log(u), b.like(std::log1p(-p), u)));
  return b.as_result(b.max(n, b.like(1, n)));
}
Value cauchy(Builder& b, Value self, double median, double sigma, Scalar seed, Scalar offset) {
  Value u = uniform_numbers(b, b.result_shape(), seed, offset);
  return b.as_result(b.add(b.mul(b.create<hlo::TanOp>(b.mul(b.add(u, -0.5), M_PI)), sigma), median));
}
Value bernoulli(Builder& b, Value self, Scalar seed, Scalar offset) { return bernoulli_Tensor(b, self, self, seed, offset); }
Value bernoulli_Tensor(Builder& b, Value self, Value p, Scalar seed, Scalar offset) {
  Value u = uniform_numbers(b, b.result_shape(), seed, offset);
  return b.as_result(b.compare(Direction::LT, u, b.broadcast(b.convert(p, element_of(u)), shape_of(u))));
}
Value bernoulli_p(Builder& b, Value self, double p, Scalar seed, Scalar offset) {
  Value u = uniform_numbers(b, b.result_shape(), seed, offset);
  return b.as_result(b.compare(Direction::LT, u, b.like(p, u)));
}

}  // namespace aten
}  // namespace cresset::lowering
