#include "cpu/prepare/move_reshapes.h"

#include "cpu/emit/element.h"
#include "cpu/fusion.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Whether it reshapes what a kernel makes of whole rows, as norms do: the reductions that the rest of the chain is computed of do not come along to another shape.
bool is_of_rows(ReshapeOp op) {
  Operation* from = op.getOperand().getDefiningOp();
  return from && is_elementwise(from) && row_rank_behind(from);
}

// An element-wise operation takes the shape that an element-wise user wants, so that a chain through reshapes is one kernel.
struct HoistReshape final : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter& r) const override {
    Operation* from = op.getOperand().getDefiningOp();
    auto is_alike = [&](Operation* user) { return isa<ReshapeOp>(user) && user->getResult(0).getType() == op.getType(); };
    if (!from || !is_elementwise(from) || !llvm::all_of(from->getUsers(), is_alike)) return failure();
    if (llvm::none_of(op->getUsers(), [](Operation* user) { return is_elementwise(user) || isa<ReduceOp>(user); }) || is_of_rows(op)) return failure();
    // In place: a copy would leave a second user of its operands for a while, and stop the reshape there.
    r.setInsertionPoint(from);
    IRMapping map;
    for (Value v : from->getOperands())
      if (!map.contains(v) && shaped(v).getShape() == shaped(op.getOperand()).getShape())
        map.map(v, ReshapeOp::create(r, op.getLoc(), RankedTensorType::get(shaped(op).getShape(), shaped(v).getElementType()), v));
    r.modifyOpInPlace(from, [&] {
      for (OpOperand& operand : from->getOpOperands()) operand.set(map.lookupOrDefault(operand.get()));
      from->getResult(0).setType(op.getType());
    });
    for (Operation* user : llvm::make_early_inc_range(from->getUsers())) r.replaceOp(user, from->getResults());
    return success();
  }
};

// What is computed of rows element by element is so as rows, and gets its shape afterwards. Once: where it is computed of several kinds of rows, it would change from one to the other for ever.
constexpr const char* kSunk = "cresset.sunk";
struct SinkReshape final : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter& r) const override {
    auto user = llvm::find_if(op->getUsers(), [&](Operation* user) { return sinks_past(op, user); });
    if (user == op->user_end() || !is_of_rows(op)) return failure();
    sink(op, *user, r);
    return success();
  }

 private:
  static bool sinks_past(ReshapeOp op, Operation* user) {
    return is_elementwise(user) && shaped(user->getResult(0)).getShape() == shaped(op).getShape() && !user->hasAttr(kSunk);
  }
  static void sink(ReshapeOp op, Operation* user, PatternRewriter& r) {
    auto rows = shaped(op.getOperand()).getShape(), shape = shaped(op).getShape();
    r.setInsertionPoint(user);
    SmallVector<Value> operands = llvm::map_to_vector(user->getOperands(), [&](Value v) -> Value {
      return shaped(v).getShape() == shape ? ReshapeOp::create(r, op.getLoc(), shaped(v).clone(rows), v) : v;
    });
    auto result = shaped(user->getResult(0));
    r.modifyOpInPlace(user, [&] {
      user->setOperands(operands);
      user->getResult(0).setType(result.clone(rows));
      user->setAttr(kSunk, r.getUnitAttr());
    });
    r.setInsertionPointAfter(user);
    auto back = ReshapeOp::create(r, op.getLoc(), result, user->getResult(0));
    r.replaceAllUsesExcept(user->getResult(0), back, back);
  }
};

}  // namespace

void add_moving_reshapes(RewritePatternSet& rules) { rules.add<HoistReshape, SinkReshape>(rules.getContext()); }

void forget_moved_reshapes(func::FuncOp function) {
  function.walk([](Operation* op) { op->removeAttr(kSunk); });
}

}  // namespace cresset::cpu
