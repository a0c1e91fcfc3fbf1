#include "cpu/roundings.h"

#include "cpu/emit/element.h"
#include "llvm/ADT/DenseSet.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

bool rounds_to_bf16(Operation* op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()) || !element(op->getResult(0)).isBF16()) return false;
  if (auto convert = dyn_cast<ConvertOp>(op)) return element(convert.getOperand()).isF32() && !convert->hasAttr(kRounds);
  return isa<DotGeneralOp, ConvolutionOp>(op);
}

// Whether the operation calculates with this operand, by a function without jumps.
bool calculates_with(OpOperand& use) {
  Operation* op = use.getOwner();
  if (isa<SelectOp>(op)) return use.getOperandNumber() > 0;
  if (isa<ConvertOp>(op)) return isa<FloatType>(element(op->getResult(0)));
  if (isa<CustomCallOp>(op)) return is_elementwise(op);  // erf
  return isa<AddOp, SubtractOp, MulOp, DivOp, NegOp, AbsOp, MaxOp, MinOp, ClampOp, ExpOp, Expm1Op, LogOp, Log1pOp, LogisticOp, TanhOp, SqrtOp, RsqrtOp>(op);
}

}  // namespace

void skip_roundings(func::FuncOp main, ArrayRef<Fusion> fusions) {
  llvm::DenseSet<Value> in_memory;
  for (const Fusion& fusion : fusions) in_memory.insert(fusion.outputs.begin(), fusion.outputs.end());
  auto only_reader = [&](Value v) -> Operation* { return v.hasOneUse() && !in_memory.contains(v) ? *v.getUsers().begin() : nullptr; };
  main.walk([&](Operation* op) {
    if (!rounds_to_bf16(op)) return;
    Operation* reader = only_reader(op->getResult(0));
    while (reader && isa<ReshapeOp, TransposeOp, BroadcastInDimOp, SliceOp>(reader)) reader = only_reader(reader->getResult(0));
    auto widened = dyn_cast_or_null<ConvertOp>(reader);
    if (widened && element(widened).isF32() && llvm::all_of(widened->getUses(), calculates_with)) op->setAttr(kUnrounded, UnitAttr::get(op->getContext()));
  });
}

}  // namespace cresset::cpu
