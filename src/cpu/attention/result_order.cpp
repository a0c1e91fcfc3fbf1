// Results in the order that their readers want. Models transpose what attention gives, [batch, heads, positions, width], so that a position's heads lie side by side, and so do gradients
// that go on to the projections of queries, keys and values: the kernels write it so, which costs them nothing, rather than leave it to another that reads and writes all of it again.
#include "cpu/attention/attention.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr StringLiteral kResultOrders = "cresset.result_orders";  // a permutation for each result, as a transpose's
constexpr int64_t kUsual[] = {0, 1, 2, 3};

// Rows of whole heads remain.
bool moves_rows(Operation* op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && transpose.getPermutation().back() == 3;
}
// The gradient's kernel reads the result of the forward through strides.
bool reads_in_any_order(OpOperand& use) {
  auto op = dyn_cast<CompositeOp>(use.getOwner());
  return op && attention_kind(op) == Fusion::AttentionGradient && attention_operands(op)->out == use.get();
}
// That of a transpose, if nothing needs the usual one.
ArrayRef<int64_t> wanted_order(OpResult result) {
  ArrayRef<int64_t> order;
  for (OpOperand& use : result.getUses()) {
    if (moves_rows(use.getOwner())) order = cast<TransposeOp>(use.getOwner()).getPermutation();
    else if (!reads_in_any_order(use)) return {};
  }
  return order;
}

}  // namespace

ArrayRef<int64_t> result_order(Operation* op, unsigned result) {
  auto orders = op->getAttrOfType<ArrayAttr>(kResultOrders);
  return orders && result < orders.size() ? cast<DenseI64ArrayAttr>(orders[result]).asArrayRef() : ArrayRef<int64_t>(kUsual);
}

RankedTensorType type_in_usual_order(CompositeOp op, unsigned result) {
  auto type = shaped(op.getResult(result));
  return type.getRank() != 4 ? type : type.clone(applyPermutation(type.getShape(), invertPermutationVector(result_order(op, result))));
}

void write_results_in_order(CompositeOp op) {
  auto kind = attention_kind(op);
  if (!kind) return;
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  SmallVector<Attribute> orders;
  for (OpResult result : op.getResults().take_front(*kind == Fusion::Attention ? 1 : 3)) {
    ArrayRef<int64_t> order = wanted_order(result);
    orders.push_back(b.getDenseI64ArrayAttr(order.empty() ? ArrayRef<int64_t>(kUsual) : order));
    if (order.empty()) continue;
    auto type = shaped(result);
    result.setType(type.clone(applyPermutation(type.getShape(), order)));
    auto usual = TransposeOp::create(b, op.getLoc(), type, result, invertPermutationVector(order));  // which transposes back take away
    result.replaceAllUsesExcept(usual, usual);
  }
  if (llvm::any_of(orders, [](Attribute order) { return cast<DenseI64ArrayAttr>(order).asArrayRef() != ArrayRef<int64_t>(kUsual); })) op->setAttr(kResultOrders, b.getArrayAttr(orders));
}

}  // namespace cresset::cpu
