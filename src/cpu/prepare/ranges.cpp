#include "cpu/prepare/ranges.h"

#include "cpu/emit/element.h"
#include "cpu/fusion.h"
#include "cpu/prepare/rewrite.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

double least(Value v, int steps) {
  constexpr double kUnknown = -std::numeric_limits<double>::infinity();
  if (steps == 0) return kUnknown;
  if (auto [x, c] = scaled_by_number(v.getDefiningOp<MaxOp>()); x) return std::max(c, least(x, steps - 1));
  if (auto [x, c] = scaled_by_number(v.getDefiningOp<MinOp>()); x) return std::min(c, least(x, steps - 1));
  if (auto [x, c] = scaled_by_number(v.getDefiningOp<MulOp>()); x) return c > 0 && least(x, steps - 1) >= 0 ? 0 : kUnknown;
  auto round = v.getDefiningOp<RoundNearestEvenOp>();
  return round && least(round.getOperand(), steps - 1) >= 0 ? 0 : kUnknown;
}
double most(Value v, int steps) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (steps == 0) return kUnknown;
  if (auto [x, c] = scaled_by_number(v.getDefiningOp<MinOp>()); x) return std::min(c, most(x, steps - 1));
  auto [x, c] = scaled_by_number(v.getDefiningOp<MaxOp>());
  return x ? std::max(c, most(x, steps - 1)) : kUnknown;
}

namespace {

// Whether unsigned bytes are at most 127, as those that are quantised to seven bits.
bool is_at_most_127(Value v) {
  Operation* op = v.getDefiningOp();
  if (!op) return false;
  if (auto pad = dyn_cast<PadOp>(op)) return byte(pad.getPaddingValue()).value_or(255) <= 127 && is_at_most_127(pad.getOperand());
  if (isa<TransposeOp, ReshapeOp, SliceOp, BroadcastInDimOp, ReverseOp>(op)) return is_at_most_127(op->getOperand(0));
  if (isa<MaxOp, MinOp, ConcatenateOp>(op)) return llvm::all_of(op->getOperands(), is_at_most_127);
  auto convert = dyn_cast<ConvertOp>(op);
  if (convert && isa<IntegerType>(element(convert.getOperand()))) convert = convert.getOperand().getDefiningOp<ConvertOp>();
  return convert && isa<FloatType>(element(convert.getOperand())) && least(convert.getOperand()) >= 0 && most(convert.getOperand()) <= 127;
}

}  // namespace

bool is_less_its_maximum(Value v) {
  auto difference = v.getDefiningOp<SubtractOp>();
  auto broadcast = difference ? difference.getRhs().getDefiningOp<BroadcastInDimOp>() : BroadcastInDimOp();
  if (!broadcast) return false;
  auto reduce = before_reshapes(broadcast.getOperand()).getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getInputs().size() != 1 || reduce.getInputs()[0] != difference.getLhs()) return false;
  Operation* reducer = simple_reducer(reduce.getBody().front());
  if (!reducer || !isa<MaxOp>(reducer)) return false;
  SmallVector<int64_t> kept, spread;
  for (auto [d, size] : llvm::enumerate(shaped(v).getShape()))
    if (size != 1 && !llvm::is_contained(reduce.getDimensions(), int64_t(d))) kept.push_back(d);
  for (auto [size, d] : llvm::zip(shaped(broadcast.getOperand()).getShape(), broadcast.getBroadcastDimensions()))
    if (size != 1) spread.push_back(d);
  return kept == spread;
}

void mark_ranges(func::FuncOp function) {
  auto mark = [](Operation* op, StringRef what) { op->setAttr(what, UnitAttr::get(op->getContext())); };
  function.walk([&](ExpOp op) {
    if (is_less_its_maximum(op.getOperand())) mark(op, kAtMostZero);
  });
  function.walk([&](ConvertOp op) {
    auto is_cut = [](Operation* user) { return isa<ConvertOp>(user) && is_byte(element(user->getResult(0))); };
    if (!element(op).isInteger(32)) return;
    if (is_within_i32(op.getOperand()) && llvm::all_of(op->getUsers(), is_cut)) mark(op, kWithinI32);
    Type from = element(op.getOperand());
    if (is_byte(from) && is_unsigned(from) && is_at_most_127(op.getOperand())) mark(op, kSevenBits);
  });
}

}  // namespace cresset::cpu
