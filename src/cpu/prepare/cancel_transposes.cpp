#include "cpu/prepare/cancel_transposes.h"

#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr size_t kMostOperations = 64;

// The element-wise operations in front of a transpose that nobody else reads, operands last.
llvm::SetVector<Operation*> in_front_of(TransposeOp transpose) {
  llvm::SetVector<Operation*> found;
  auto add = [&](Value v) {
    Operation* op = v.getDefiningOp();
    if (op && op->getBlock() == transpose->getBlock() && is_elementwise(op) && shaped(v).getRank() != 0 && found.size() < kMostOperations) found.insert(op);
  };
  add(transpose.getOperand());
  for (size_t i = 0; i < found.size(); ++i)
    for (Value v : found[i]->getOperands()) add(v);
  auto is_read_elsewhere = [&](Operation* op) {
    return llvm::any_of(op->getUsers(), [&](Operation* user) { return user != transpose && !found.contains(user); });
  };
  while (found.remove_if(is_read_elsewhere)) {}
  return found;
}

// What a transpose of these operations would have to transpose instead.
class Front {
 public:
  Front(TransposeOp transpose, PatternRewriter& r) : permutation_(transpose.getPermutation()), inverse_(invertPermutationVector(permutation_)), r_(r) {}

  // How many transposes less one more of `v` makes: none for what has no order.
  int gain(Value v) const {
    if (is_inverse(v)) return 1;
    Operation* op = v.getDefiningOp();
    return shaped(v).getRank() == 0 || splat(v) || isa_and_nonnull<BroadcastInDimOp, IotaOp, TransposeOp>(op) ? 0 : -1;
  }
  bool is_inverse(Value v) const {
    auto transpose = v.getDefiningOp<TransposeOp>();
    return transpose && transpose.getPermutation() == ArrayRef<int64_t>(inverse_);
  }
  Value transposed(Value v) {
    if (Value known = values_.lookupOrNull(v)) return known;
    Value result = is_inverse(v) ? v.getDefiningOp<TransposeOp>().getOperand() : in_other_order(v);
    values_.map(v, result);
    return result;
  }
  void compute(Operation* op) {
    IRMapping operands;
    for (Value v : op->getOperands()) operands.map(v, transposed(v));
    Operation* again = r_.clone(*op, operands);
    again->getResult(0).setType(type(op->getResult(0)));
    values_.map(op->getResult(0), again->getResult(0));
  }

 private:
  RankedTensorType type(Value v) const { return shaped(v).clone(applyPermutation(shaped(v).getShape(), permutation_)); }
  Value in_other_order(Value v) {
    if (Value same = broadcast_in_order(v, permutation_, r_)) return same;
    if (auto op = v.getDefiningOp<IotaOp>()) return IotaOp::create(r_, v.getLoc(), type(v), uint64_t(inverse_[op.getIotaDimension()]));
    return TransposeOp::create(r_, v.getLoc(), v, permutation_);
  }

  ArrayRef<int64_t> permutation_;
  SmallVector<int64_t> inverse_;
  PatternRewriter& r_;
  IRMapping values_;
};

Value cancel_transposes(TransposeOp op, PatternRewriter& r) {
  auto between = in_front_of(op);
  if (between.empty()) return {};
  Front front(op, r);
  int gain = 1;
  bool meets = false;
  llvm::SetVector<Value> read;
  for (Operation* o : between)
    for (Value v : o->getOperands())
      if (!between.contains(v.getDefiningOp()) && read.insert(v)) gain += front.gain(v), meets |= front.is_inverse(v);
  if (!meets || gain <= 0) return {};
  r.setInsertionPoint(op);
  SmallVector<Operation*> in_order(between.begin(), between.end());
  llvm::sort(in_order, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
  for (Operation* o : in_order) front.compute(o);
  return front.transposed(op.getOperand());
}

}  // namespace

void add_cancelling_transposes(RewritePatternSet& rules) { add_rule(rules, cancel_transposes); }

}  // namespace cresset::cpu
