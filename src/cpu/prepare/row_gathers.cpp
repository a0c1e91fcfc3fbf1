#include "cpu/prepare/row_gathers.h"

#include "cpu/emit/element.h"
#include "mlir/IR/Matchers.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The positions, if each result element is the operand's at its own place but for the last dimension.
std::optional<SmallVector<int64_t>> positions_in_row(GatherOp op) {
  auto dims = op.getDimensionNumbers();
  auto operand = shaped(op.getOperand());
  int64_t last = operand.getRank() - 1;
  DenseIntElementsAttr constant;
  if (shaped(op.getStartIndices()).getRank() != 1 || dims.getIndexVectorDim() != 1 || !matchPattern(op.getStartIndices(), m_Constant(&constant))) return std::nullopt;
  bool in_row = dims.getStartIndexMap() == ArrayRef{last} && dims.getCollapsedSliceDims() == ArrayRef{last} && dims.getOperandBatchingDims().empty();
  if (!in_row || op.getSliceSizes().drop_back() != operand.getShape().drop_back()) return std::nullopt;
  bool is_unsigned = element(op.getStartIndices()).isUnsignedInteger();
  SmallVector<int64_t> positions;
  for (const APInt& p : constant) positions.push_back(is_unsigned ? int64_t(p.getLimitedValue(INT64_MAX)) : p.getSExtValue());
  return positions;
}

}  // namespace

void mark_row_gathers(func::FuncOp function) {
  function.walk([](GatherOp op) {
    auto positions = positions_in_row(op);
    if (!positions || !llvm::is_sorted(*positions) || positions->front() < 0 || positions->back() >= shaped(op.getOperand()).getShape().back()) return;
    auto reach = [&](size_t lanes) {
      int64_t most = 0;
      for (size_t i = 0; i + lanes <= positions->size(); ++i) most = std::max(most, (*positions)[i + lanes - 1] - (*positions)[i]);
      return most;
    };
    SmallVector<int64_t> reaches;
    for (int lanes = kLeastReach; lanes <= kMostReach; lanes *= 2) reaches.push_back(reach(size_t(lanes)));
    op->setAttr(kReaches, DenseI64ArrayAttr::get(op.getContext(), reaches));
  });
}

}  // namespace cresset::cpu
