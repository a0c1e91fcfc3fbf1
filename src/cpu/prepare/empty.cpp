#include "cpu/prepare/empty.h"

#include "cpu/emit/types.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

bool is_empty(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getElementType().isIntOrFloat() && type.getNumElements() == 0;
}

// What replaces the operation's results; none if it stays.
SmallVector<Value> without_empty(Operation* op, OpBuilder& b) {
  auto zeros = [&](Value v) -> Value { return ConstantOp::create(b, op->getLoc(), cast<ElementsAttr>(b.getZeroAttr(v.getType()))); };
  auto filled = [&](Value v, Value number) -> Value { return BroadcastInDimOp::create(b, op->getLoc(), v.getType(), number, b.getDenseI64ArrayAttr({})); };
  SmallVector<Value> values;
  auto initial = [&](auto reduce) {
    if (is_empty(reduce.getInputs()[0]))
      for (auto [v, init] : llvm::zip(op->getResults(), reduce.getInitValues())) values.push_back(filled(v, init));
  };
  if (llvm::all_of(op->getResults(), is_empty)) {
    for (Value v : op->getResults()) values.push_back(zeros(v));
  } else if (auto update = dyn_cast<DynamicUpdateSliceOp>(op)) {
    if (is_empty(update.getUpdate())) values.push_back(update.getOperand());
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    if (is_empty(scatter.getUpdates()[0])) llvm::append_range(values, scatter.getInputs());
  } else if (auto concatenate = dyn_cast<ConcatenateOp>(op)) {
    if (!llvm::any_of(op->getOperands(), is_empty)) return values;
    SmallVector<Value> parts = llvm::filter_to_vector(op->getOperands(), [](Value v) { return !is_empty(v); });
    values.push_back(ConcatenateOp::create(b, op->getLoc(), op->getResult(0).getType(), parts, concatenate.getDimension()));
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    if (is_empty(pad.getOperand())) values.push_back(filled(pad, pad.getPaddingValue()));
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    initial(reduce);
  } else if (auto window = dyn_cast<ReduceWindowOp>(op)) {
    initial(window);
  } else if (auto select = dyn_cast<SelectAndScatterOp>(op)) {
    if (is_empty(select.getSource())) values.push_back(filled(select, select.getInitValue()));
  } else if (isa<DotGeneralOp, ConvolutionOp>(op)) {
    if (llvm::any_of(op->getOperands(), is_empty)) values.push_back(zeros(op->getResult(0)));
  }
  return values;
}

}  // namespace

void drop_empty(func::FuncOp function) {
  for (Operation& op : llvm::make_early_inc_range(function.getBody().front())) {
    if (isa<ConstantOp, CompositeOp>(op) || op.getNumResults() == 0) continue;
    OpBuilder b(&op);
    SmallVector<Value> values = without_empty(&op, b);
    if (values.empty()) continue;
    op.replaceAllUsesWith(values);
    op.erase();
  }
}

}  // namespace cresset::cpu
