#include "cpu/matmul/made_operand.h"

#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr size_t kMostOperations = 40;
constexpr int64_t kRun = MadeOperand::kRun, kVector = 16;  // whole ones of the former lie along the last dimension, of the latter along groups: what is read are vectors then

bool is_cheap(Operation* op) {
  return isa<AddOp, SubtractOp, MulOp, NegOp, AndOp, OrOp, XorOp, NotOp, ShiftLeftOp, ShiftRightLogicalOp, ShiftRightArithmeticOp, ConvertOp, SelectOp, CompareOp, ClampOp, MinOp, MaxOp, BroadcastInDimOp,
             ReshapeOp, TransposeOp, SliceOp, IotaOp>(op);
}

// Whether neighbours are made of one array's neighbours.
bool keeps_neighbours(Operation* op) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) return transpose.getPermutation().back() == shaped(transpose).getRank() - 1;
  auto last = [](Value v) {
    auto shape = shaped(v).getShape();
    while (!shape.empty() && shape.back() == 1) shape = shape.drop_back();
    return shape.empty() ? 1 : shape.back();
  };
  return !isa<ReshapeOp>(op) || shaped(op->getResult(0)).getShape().back() == 1 || last(op->getOperand(0)) % kVector == 0;
}

// One dimension is summed, columns are one or two of them, and there is one batch at most.
bool has_plain_dimensions(DotGeneralOp op, Value value) {
  auto dims = op.getDotDimensionNumbers();
  int64_t rank = shaped(value).getRank(), batches = dims.getRhsBatchingDimensions().size(), columns = rank - 1 - batches;
  bool plain = dims.getRhsContractingDimensions().size() == 1 && batches <= 1 && (columns == 1 || (columns == 2 && value == op.getRhs()));
  return plain && shaped(value).getDimSize(rank - 1) % (columns == 1 ? kRun : kVector) == 0 && shaped(value).getNumElements() >= kRun * kRun;
}

// Of positions and numbers alone.
bool is_of_positions(Operation* op, int depth = 0) {
  constexpr int kMostDepth = 6;
  if (!op || depth > kMostDepth) return false;
  return isa<IotaOp>(op) || splat(op->getResult(0)) || (is_cheap(op) && llvm::all_of(op->getOperands(), [&](Value v) { return is_of_positions(v.getDefiningOp(), depth + 1); }));
}

// Everything above `v` that is cheap and whose results are used by nothing else, or cost nothing to have again.
DenseSet<Operation*> operations_of(Value v, Operation* reader) {
  SmallVector<Operation*> found{v.getDefiningOp()};
  DenseSet<Operation*> kept{v.getDefiningOp()};
  for (size_t i = 0; i < found.size() && found.size() <= kMostOperations; ++i)
    for (Value operand : found[i]->getOperands())
      if (Operation* op = operand.getDefiningOp(); op && is_cheap(op) && keeps_neighbours(op) && kept.insert(op).second) found.push_back(op);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation* op : found)
      if (kept.contains(op) && !isa<BroadcastInDimOp, ReshapeOp, SliceOp>(op) && !is_of_positions(op) && !llvm::all_of(op->getUsers(), [&](Operation* user) { return user == reader || kept.contains(user); }))
        kept.erase(op), changed = true;
  }
  DenseSet<Operation*> reached;
  SmallVector<Operation*> work{v.getDefiningOp()};
  while (!work.empty()) {
    Operation* op = work.pop_back_val();
    if (!kept.contains(op) || !reached.insert(op).second) continue;
    for (Value operand : op->getOperands())
      if (Operation* above = operand.getDefiningOp()) work.push_back(above);
  }
  return reached;
}

Value main_of(const MadeOperand& made) {
  SmallVector<Value> work{made.value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation* op = v.getDefiningOp();
    if (shaped(v).getNumElements() != shaped(made.value).getNumElements() || splat(v) || !seen.insert(v).second) continue;
    if (!op || !made.operations.contains(op)) return v;
    if (!isa<BroadcastInDimOp, TransposeOp, SliceOp, IotaOp>(op)) llvm::append_range(work, op->getOperands());
  }
  return {};
}

}  // namespace

std::optional<MadeOperand> made_operand(Operation* product) {
  auto op = dyn_cast_or_null<DotGeneralOp>(product);
  if (!op) return std::nullopt;
  Operation* reader = op;
  MadeOperand made{op.getRhs(), {}, {}};
  while (made.value.getDefiningOp<TransposeOp>() && made.value.hasOneUse()) reader = made.value.getDefiningOp(), made.value = reader->getOperand(0);
  Type type = element(made.value);
  Operation* last = made.value.getDefiningOp();
  if (!last || !is_cheap(last) || !keeps_neighbours(last) || isa<BroadcastInDimOp, SliceOp>(last) || !(type.isF32() || type.isBF16() || type.isF16()) || !has_plain_dimensions(op, made.value)) return std::nullopt;
  made.operations = operations_of(made.value, reader);
  if (!made.operations.contains(last) || !made.value.hasOneUse() || made.operations.size() > kMostOperations) return std::nullopt;
  auto computes = [](Operation* op) { return is_elementwise(op) && !isa<ConvertOp>(op); };
  if (llvm::none_of(made.operations, computes)) return std::nullopt;  // products convert what they read
  llvm::SmallDenseSet<Value> arrays;
  for (Operation* inner : made.operations)
    for (Value v : inner->getOperands())
      if (!splat(v) && !(v.getDefiningOp() && made.operations.contains(v.getDefiningOp()))) arrays.insert(v);
  auto bytes = [](Value v) { return shaped(v).getNumElements() * element_bytes(element(v)); };
  int64_t read = 0;
  for (Value v : arrays) read += bytes(v);
  if (4 * read > 3 * bytes(made.value)) return std::nullopt;
  made.main = main_of(made);
  return made;
}

}  // namespace cresset::cpu
