#include "cpu/prepare/bitcasts.h"

#include "cpu/emit/types.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

Value as(Value v, Type to, PatternRewriter& r) { return element(v) == to ? v : BitcastConvertOp::create(r, v.getLoc(), shaped(v).clone(to), v); }
Value number(Value like, const APInt& n, PatternRewriter& r) { return ConstantOp::create(r, like.getLoc(), DenseElementsAttr::get(shaped(like), n)); }

// [..., parts] of narrow elements to [...].
Value joined(BitcastConvertOp op, Type narrow, Type wide, PatternRewriter& r) {
  const unsigned step = narrow.getIntOrFloatBitWidth(), width = wide.getIntOrFloatBitWidth();
  auto shape = shaped(op.getOperand()).getShape();
  auto type = shaped(op).clone(wide);
  Value bits = as(op.getOperand(), narrow, r), all;
  for (int64_t k = 0; k < shape.back(); ++k) {
    SmallVector<int64_t> start(shape.size(), 0), limit(shape), strides(shape.size(), 1);
    start.back() = k, limit.back() = k + 1;
    Value part = SliceOp::create(r, op.getLoc(), bits, start, limit, strides);
    part = ConvertOp::create(r, op.getLoc(), type, ReshapeOp::create(r, op.getLoc(), type.clone(narrow), part));
    if (k > 0) part = ShiftLeftOp::create(r, op.getLoc(), part, number(part, APInt(width, step * k), r));
    all = all ? Value(OrOp::create(r, op.getLoc(), all, part)) : part;
  }
  return as(all, element(op), r);
}

// [...] of wide elements to [..., parts].
Value divided(BitcastConvertOp op, Type wide, Type narrow, PatternRewriter& r) {
  const unsigned step = narrow.getIntOrFloatBitWidth(), width = wide.getIntOrFloatBitWidth();
  SmallVector<int64_t> shape(shaped(op).getShape());
  const int64_t parts = std::exchange(shape.back(), 1);
  Value bits = as(op.getOperand(), wide, r);
  SmallVector<Value> pieces;
  for (int64_t k = 0; k < parts; ++k) {
    Value part = k > 0 ? Value(ShiftRightLogicalOp::create(r, op.getLoc(), bits, number(bits, APInt(width, step * k), r))) : bits;
    part = AndOp::create(r, op.getLoc(), part, number(part, APInt::getLowBitsSet(width, step), r));
    part = as(ConvertOp::create(r, op.getLoc(), shaped(part).clone(narrow), part), element(op), r);
    pieces.push_back(ReshapeOp::create(r, op.getLoc(), shaped(op).clone(shape), part));
  }
  return ConcatenateOp::create(r, op.getLoc(), op.getType(), pieces, int64_t(shape.size()) - 1);
}

Value by_shifts(BitcastConvertOp op, PatternRewriter& r) {
  unsigned from = element(op.getOperand()).getIntOrFloatBitWidth(), to = element(op).getIntOrFloatBitWidth();
  if (from == to || from < 8 || to < 8) return {};
  auto bits = [&](unsigned width) { return IntegerType::get(r.getContext(), width, IntegerType::Unsigned); };
  return from < to ? joined(op, bits(from), bits(to), r) : divided(op, bits(from), bits(to), r);
}

}  // namespace

void add_bitcasts(RewritePatternSet& rules) { add_rule(rules, by_shifts); }

}  // namespace cresset::cpu
