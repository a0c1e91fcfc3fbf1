#include "cpu/prepare/quantised_operand.h"

#include <cmath>

#include "cpu/emit/types.h"
#include "cpu/prepare/quantised.h"
#include "cpu/prepare/rewrite.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

std::optional<Spread> spread_of(Value v) {
  auto broadcast = v.getDefiningOp<BroadcastInDimOp>();
  Value repeated = v;
  while (auto inner = repeated.getDefiningOp<BroadcastInDimOp>()) repeated = inner.getOperand();
  if (auto number = splat(repeated)) return Spread{{}, number, {}};
  if (auto convert = repeated.getDefiningOp<ConvertOp>(); convert && splat(convert.getOperand())) return std::nullopt;  // becomes a number first
  return broadcast ? std::optional(Spread{broadcast.getOperand(), {}, SmallVector<int64_t>(broadcast.getBroadcastDimensions())}) : std::nullopt;
}

// The argument that a zero is, which is 0 nearly always: PyTorch quantises weights around 0, but has a zero for each row of them all the same.
BlockArgument given_zero(const Spread& zero) {
  constexpr int64_t kMost = 1 << 16;
  Value v = zero.value;
  while (v && v.getDefiningOp() && isa<ReshapeOp, BroadcastInDimOp, TransposeOp, ConvertOp>(v.getDefiningOp())) v = v.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast_or_null<BlockArgument>(v);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  bool is_free = function && !function->hasAttr(kAssumesNothing) && !function.getArgAttr(argument.getArgNumber(), "tf.aliasing_output");
  return is_free && isa<IntegerType>(element(v)) && shaped(v).getNumElements() <= kMost ? argument : BlockArgument();
}

}  // namespace

std::optional<int64_t> whole_number(const Spread& s) {
  if (!s.number) return std::nullopt;
  bool is_float = isa<FloatType>(s.number.getElementType());
  auto whole = [&](const APInt& n) { return is_unsigned(s.number.getElementType()) ? double(n.getZExtValue()) : double(n.getSExtValue()); };
  double n = is_float ? s.number.getSplatValue<APFloat>().convertToDouble() : whole(s.number.getSplatValue<APInt>());
  return n == std::trunc(n) && std::abs(n) <= 255 ? std::optional(int64_t(n)) : std::nullopt;
}

int64_t Quantised::reach() const {
  int64_t low = is_unsigned(element(bytes)) ? 0 : -128, z = zero ? whole_number(*zero).value_or(low) : 0;
  return std::max(std::abs(low - z), std::abs(low + 255 - z));
}

Value Quantised::all_bytes(PatternRewriter& r) const {
  Value v = bytes;
  for (Operation* move : llvm::reverse(moves)) {
    auto transpose = dyn_cast<TransposeOp>(move);
    if (transpose) v = TransposeOp::create(r, bytes.getLoc(), v, transpose.getPermutation());
    else v = ReshapeOp::create(r, bytes.getLoc(), shaped(move->getResult(0)).clone(element(bytes)), v);
  }
  return v;
}

void note_assumption(const Quantised& q) {
  if (!q.assumed) return;
  auto function = cast<func::FuncOp>(q.assumed.getOwner()->getParentOp());
  function.setArgAttr(q.assumed.getArgNumber(), kAssumedZero, UnitAttr::get(function.getContext()));
}
std::optional<Quantised> quantised(Value v) {
  if (Operation* move = v.getDefiningOp(); isa_and_nonnull<TransposeOp, ReshapeOp>(move)) {
    auto q = quantised(move->getOperand(0));
    if (!q) return q;
    q->moves.insert(q->moves.begin(), move);
    auto transpose = dyn_cast<TransposeOp>(move);
    for (Spread* s : {&q->scale, q->zero ? &*q->zero : nullptr}) {
      if (!s || s->dims.empty()) continue;
      if (!transpose) return std::nullopt;  // what varies would have to be reshaped, too
      for (int64_t& d : s->dims) d = llvm::find(transpose.getPermutation(), d) - transpose.getPermutation().begin();
    }
    return q;
  }
  auto multiply = v.getDefiningOp<MulOp>();
  if (!multiply || !element(v).isF32()) return std::nullopt;
  Quantised q;
  Value difference = multiply.getLhs();
  auto scale = spread_of(multiply.getRhs());
  if (!scale) scale = spread_of(multiply.getLhs()), difference = multiply.getRhs();
  if (!scale) return std::nullopt;
  q.scale = *scale;
  auto subtracted = [&](Value v) {  // in floats, or in integers before the conversion to these
    auto subtract = v.getDefiningOp<SubtractOp>();
    if (!subtract) return v;
    q.zero = spread_of(subtract.getRhs());
    return q.zero ? subtract.getLhs() : v;
  };
  auto before_conversion = [](Value v) {
    auto convert = v.getDefiningOp<ConvertOp>();
    return convert ? convert.getOperand() : Value();
  };
  q.bytes = before_conversion(subtracted(difference));
  if (q.bytes && !q.zero && isa<IntegerType>(element(q.bytes)) && element(q.bytes).getIntOrFloatBitWidth() >= 32) q.bytes = before_conversion(subtracted(q.bytes));
  if (!q.bytes || !is_byte(element(q.bytes))) return std::nullopt;
  if (q.zero && (q.assumed = given_zero(*q.zero))) q.zero.reset();
  return q;
}

Value converted(Value v, Type to, PatternRewriter& r) { return element(v) == to ? v : Value(ConvertOp::create(r, v.getLoc(), shaped(v).clone(to), v)); }
Value constant(RankedTensorType type, int64_t number, PatternRewriter& r) {
  Type of = type.getElementType();
  auto attribute = isa<FloatType>(of) ? TypedAttr(r.getFloatAttr(of, double(number))) : TypedAttr(r.getIntegerAttr(of, number));
  return ConstantOp::create(r, r.getUnknownLoc(), cast<ElementsAttr>(Attribute(DenseElementsAttr::get(type, attribute))));
}
Value less(Value bytes, int64_t number, PatternRewriter& r) {
  Value wide = converted(bytes, r.getI32Type(), r);
  return SubtractOp::create(r, bytes.getLoc(), wide, constant(shaped(wide), number, r));
}

}  // namespace cresset::cpu
