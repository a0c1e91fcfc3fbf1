// Slices at run time, gather, scatter, sort.
#include "interpreter/evaluator.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The start indices, clamped so that the slice stays inside.
Indices clamped(Evaluator& e, ValueRange starts, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  Indices result;
  for (auto [d, v] : llvm::enumerate(starts)) {
    Number start = e[v].values[0];
    bool huge = is_unsigned(e[v].element()) && start.i < 0;
    result.push_back(huge ? shape[d] - sizes[d] : std::clamp<int64_t>(start.i, 0, shape[d] - sizes[d]));
  }
  return result;
}
Indices sum(Indices a, ArrayRef<int64_t> b) {
  for (auto [x, y] : llvm::zip_equal(a, b)) x += y;
  return a;
}

Tensors dynamic_slice(Evaluator& e, DynamicSliceOp op) {
  const Tensor& operand = e[op.getOperand()];
  Tensor result(type_of(op.getResult()));
  Indices start = clamped(e, op.getStartIndices(), operand.shape(), op.getSliceSizes());
  for_each_index(result.shape(), [&](const Indices& at) { result.at(at) = operand.at(sum(at, start)); });
  return {std::move(result)};
}
Tensors dynamic_update_slice(Evaluator& e, DynamicUpdateSliceOp op) {
  Tensor result = e[op.getOperand()];
  const Tensor& update = e[op.getUpdate()];
  Indices start = clamped(e, op.getStartIndices(), result.shape(), update.shape());
  for_each_index(update.shape(), [&](const Indices& at) { result.at(sum(at, start)) = update.at(at); });
  return {std::move(result)};
}

// What gather and scatter share, by gather's names: `at` indexes the result (the updates).
struct Window {
  ArrayRef<int64_t> offset_dims, collapsed, operand_batching, indices_batching, index_map;
  int64_t index_vector;

  // Where the window of `at` starts in the operand, before clamping.
  Indices start(const Tensor& indices, const Indices& at, int64_t rank) const {
    Indices batch, result(rank, 0);
    for (size_t d = 0; d < at.size(); ++d)
      if (!llvm::is_contained(offset_dims, int64_t(d))) batch.push_back(at[d]);
    for (auto [k, d] : llvm::enumerate(index_map)) {
      Indices from = batch;
      if (index_vector < indices.rank()) from.insert(from.begin() + index_vector, k);
      const Number& v = indices.at(from);
      result[d] = is_unsigned(indices.element()) && v.i < 0 ? std::numeric_limits<int64_t>::max() / 2 : std::clamp<int64_t>(v.i, -(int64_t(1) << 60), int64_t(1) << 60);
    }
    for (auto [d, from] : llvm::zip_equal(operand_batching, indices_batching)) result[d] = batch[from - (from > index_vector)];
    return result;
  }
  // The place inside of the window.
  Indices offset(const Indices& at, int64_t rank) const {
    Indices result(rank, 0);
    size_t k = 0;
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(collapsed, d) && !llvm::is_contained(operand_batching, d)) result[d] = at[offset_dims[k++]];
    return result;
  }
};

Tensors gather(Evaluator& e, GatherOp op) {
  auto n = op.getDimensionNumbers();
  Window window{n.getOffsetDims(), n.getCollapsedSliceDims(), n.getOperandBatchingDims(), n.getStartIndicesBatchingDims(), n.getStartIndexMap(), n.getIndexVectorDim()};
  const Tensor &operand = e[op.getOperand()], &indices = e[op.getStartIndices()];
  Tensor result(type_of(op.getResult()));
  for_each_index(result.shape(), [&](const Indices& at) {
    Indices start = window.start(indices, at, operand.rank());
    for (int64_t d : n.getStartIndexMap()) start[d] = std::clamp<int64_t>(start[d], 0, operand.shape()[d] - op.getSliceSizes()[d]);
    result.at(at) = operand.at(sum(start, window.offset(at, operand.rank())));
  });
  return {std::move(result)};
}

Tensors scatter(Evaluator& e, ScatterOp op) {
  auto n = op.getScatterDimensionNumbers();
  Window window{n.getUpdateWindowDims(), n.getInsertedWindowDims(), n.getInputBatchingDims(), n.getScatterIndicesBatchingDims(), n.getScatterDimsToOperandDims(), n.getIndexVectorDim()};
  const Tensor& indices = e[op.getScatterIndices()];
  Tensors results;
  for (Value v : op.getInputs()) results.push_back(e[v]);
  int64_t rank = results[0].rank();
  for_each_index(type_of(op.getUpdates()[0]).getShape(), [&](const Indices& at) {
    Indices to = sum(window.start(indices, at, rank), window.offset(at, rank));
    if (!results[0].contains(to)) return;
    Tensors elements, updates;
    for (const Tensor& r : results) elements.emplace_back(r.at(to), r.element());
    for (Value v : op.getUpdates()) updates.emplace_back(e[v].at(at), e[v].element());
    e.combine(op.getUpdateComputation(), elements, updates);
    for (auto [r, v] : llvm::zip_equal(results, elements)) r.at(to) = v.values[0];
  });
  return results;
}

Tensors sort(Evaluator& e, SortOp op) {
  Tensors results;
  for (Value v : op.getInputs()) results.push_back(e[v]);
  SmallVector<int64_t> rows(results[0].shape());
  int64_t dimension = op.getDimension() < 0 ? op.getDimension() + int64_t(rows.size()) : op.getDimension();
  if (rows.empty()) return results;
  int64_t size = std::exchange(rows[dimension], 1);
  for_each_index(rows, [&](Indices at) {
    auto element = [&](const Tensor& t, int64_t i) { return at[dimension] = i, t.at(at); };
    auto before = [&](int64_t i, int64_t j) {
      Tensors arguments;
      for (const Tensor& t : results)
        for (int64_t k : {i, j}) arguments.emplace_back(element(t, k), t.element());
      return e.holds(op.getComparator(), arguments);
    };
    // Insertion by halving: stable, and safe for a comparator that is no order.
    std::vector<int64_t> order;
    for (int64_t i = 0; i < size; ++i) order.insert(std::upper_bound(order.begin(), order.end(), i, before), i);
    for (Tensor& t : results) {
      std::vector<Number> sorted;
      for (int64_t i : order) sorted.push_back(element(t, i));
      for (int64_t i = 0; i < size; ++i) at[dimension] = i, t.at(at) = sorted[i];
    }
  });
  return results;
}

}  // namespace

std::optional<Tensors> evaluate_indexing(Evaluator& e, Operation* op) {
  if (auto slice = dyn_cast<DynamicSliceOp>(op)) return dynamic_slice(e, slice);
  if (auto update = dyn_cast<DynamicUpdateSliceOp>(op)) return dynamic_update_slice(e, update);
  if (auto g = dyn_cast<GatherOp>(op)) return gather(e, g);
  if (auto s = dyn_cast<ScatterOp>(op)) return scatter(e, s);
  if (auto s = dyn_cast<SortOp>(op)) return sort(e, s);
  return std::nullopt;
}

}  // namespace cresset::interpreter
