// Element-wise kernels that read everything along another dimension than they write. Vectors lie along what is read; squares of them are transposed in
// registers, and written as rows.
#include "cpu/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The dimension of the result that all inputs have last, if it is one and the same and not the result's last.
std::optional<int64_t> dimension_read(const Fusion& f) {
  if (f.outputs.size() != 1 || f.shape.size() < 2 || shaped(f.outputs[0]).getElementType().isInteger(1) || shaped(f.outputs[0]).getShape() != ArrayRef<int64_t>(f.shape)) return std::nullopt;
  std::optional<int64_t> result;
  auto known = [&](Operation* op) { return op && f.roles.contains(op); };
  std::function<bool(Value)> visit = [&](Value v) {
    Operation* op = v.getDefiningOp();
    if (shaped(v).getRank() == 0) return true;
    if (!known(op) || f.roles.lookup(op) == Fusion::Row || shaped(v).getShape() != ArrayRef<int64_t>(f.shape)) return false;
    if (is_elementwise(op)) return llvm::all_of(op->getOperands(), visit);
    if (isa<ConstantOp>(op) || (isa<BroadcastInDimOp>(op) && shaped(op->getOperand(0)).getRank() == 0)) return true;
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || known(transpose.getOperand().getDefiningOp())) return false;
    auto last = llvm::find(transpose.getPermutation(), int64_t(f.shape.size()) - 1);
    int64_t dim = last - transpose.getPermutation().begin();
    if (dim == int64_t(f.shape.size()) - 1 || (result && *result != dim)) return false;
    result = dim;
    return true;
  };
  return visit(f.outputs[0]) ? result : std::nullopt;
}

}  // namespace

bool emit_transposition(KernelContext& c) {
  const Fusion& f = c.fusion;
  auto& k = c.k;
  int lanes = k.target.lanes;
  auto dim = dimension_read(f);
  // A task takes whole lines of what is read, unless there is less.
  int64_t columns = f.shape.back(), along = dim ? f.shape[*dim] : 0, squares = along >= 16 && lanes < 16 ? 16 / lanes : 1, rows = squares * lanes;
  if (!dim || columns < lanes || along < lanes) return false;
  Value output = f.outputs[0];
  SmallVector<int64_t> outer(ArrayRef(f.shape).drop_back());
  outer[*dim] = (along + rows - 1) / rows;
  c.kernel.tasks = product(outer);
  c.kernel.cost = double(product(f.shape)) * (4 + f.roles.size() * 2);
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at = delinearise(k, outer, task);
    at.push_back({});
    // What is left at the ends is written together with what comes before it.
    IR first = k.min(k.mul(at[*dim].base, rows), k.i64(along - rows));
    k.loop(k.i64(0), k.i64(columns), lanes, [&](IR begin) {
      IR column = k.min(begin, k.i64(columns - lanes));
      for (int64_t square = 0; square < squares; ++square) {
        IR row = k.add(first, k.i64(square * lanes));
        IRs values;
        for (int i = 0; i < lanes; ++i) {
          at[*dim] = {row, 1, 1};
          at.back() = {k.add(column, k.i64(i)), 0, 1};
          values.push_back(c.elements(lanes).emit(output, at));
        }
        k.transpose(values);
        for (int i = 0; i < lanes; ++i) {
          at[*dim] = {k.add(row, k.i64(i)), 0, 1};
          at.back() = {column, 1, 1};
          k.store(element(output), values[i], c.buffer(output), c.elements(1).offset(f.shape, at).base, lanes);
        }
      }
    });
  });
  return true;
}

}  // namespace cresset::cpu
