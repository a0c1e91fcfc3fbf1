// Updates of the same place are applied one after the other, so that the result does not depend on the threads.
#include "cpu/kernels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
llvm::Error emit_scatter(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<ScatterOp>(c.fusion.roles.back().first);
  auto dims = op.getScatterDimensionNumbers();
  auto input = shaped(op.getInputs()[0]), update = shaped(op.getUpdates()[0]), indices = shaped(op.getScatterIndices());
  auto window = dims.getUpdateWindowDims();
  SmallVector<int64_t> batch_dims, batch_shape, window_shape;
  for (int64_t d = 0; d < update.getRank(); ++d)
    if (llvm::is_contained(window, d)) window_shape.push_back(update.getDimSize(d));
    else batch_dims.push_back(d), batch_shape.push_back(update.getDimSize(d));
  for (Value to : op.getResults())
    if (!c.slots.has(to)) return llvm::createStringError("stablehlo.scatter: every result must be used");
  // Scatters side by side, each into its own part of the input, are tasks.
  auto in_batch = dims.getInputBatchingDims(), indices_batch = dims.getScatterIndicesBatchingDims();
  bool side_by_side = !in_batch.empty() && in_batch[0] == 0 && indices_batch[0] == 0 && dims.getIndexVectorDim() != 0 && input.getRank() > 1;
  // So are ranges of slices that are updated as a whole: each task looks through all updates for its own, which only pays for long ones.
  bool slices = !side_by_side && llvm::is_contained(dims.getInsertedWindowDims(), 0) && llvm::is_contained(dims.getScatterDimsToOperandDims(), 0);
  int64_t first_size = input.getRank() ? input.getDimSize(0) : 1, ranges = slices ? std::clamp<int64_t>(product(window_shape) / 64, 1, 8) : 1;
  int64_t parts = side_by_side ? first_size : ranges, elements = product(input.getShape()), each = ceil_div(first_size, ranges);
  auto begin_of = [&](IR part) { return k.min(k.mul(part, each), k.i64(first_size)); };
  auto end_of = [&](IR part) { return begin_of(k.add(part, k.i64(1))); };
  c.kernel.tasks = parts;
  c.kernel.cost = 4.0 * elements + (parts > 1 ? 8.0 * product(update.getShape()) : 0);

  auto copy_input = [&](IR part) {
    IR begin = k.i64(0), count = k.i64(side_by_side ? elements / parts : elements);
    if (ranges > 1) begin = k.mul(begin_of(part), elements / first_size), count = b.CreateSub(k.mul(end_of(part), elements / first_size), begin);
    for (auto [from, to] : llvm::zip(op.getInputs(), op.getResults()))
      k.along(count, k.target.lanes, [&, from = from, to = to](IR i, int lanes) {
        Indices at(input.getRank(), constant_index(k, 0));
        if (!at.empty()) at.back() = {k.add(begin, i), lanes > 1 ? 1 : 0, ranges > 1 ? 1 : lanes};
        if (side_by_side) at.front() = {part, 0, 1};
        auto e = c.elements(lanes);
        k.store(element(to), e.emit(from, at), c.buffer(to), e.offset(input.getShape(), at).base, lanes);
      });
  };
  auto update_one = [&](const Indices& batch, IR part) {
    // Where the window begins in the input, for each input dimension.
    IRs start(input.getRank(), k.i64(0));
    for (auto [component, d] : llvm::enumerate(dims.getScatterDimsToOperandDims())) {
      Indices at(batch);
      if (dims.getIndexVectorDim() < indices.getRank()) at.insert(at.begin() + dims.getIndexVectorDim(), constant_index(k, component));
      IR v = c.elements(1).emit(op.getScatterIndices(), at);
      start[d] = element(op.getScatterIndices()).isUnsignedInteger() ? b.CreateZExtOrTrunc(v, b.getInt64Ty()) : b.CreateSExtOrTrunc(v, b.getInt64Ty());
    }
    for (auto [i, d] : llvm::enumerate(dims.getInputBatchingDims())) {
      int64_t from = dims.getScatterIndicesBatchingDims()[i];
      start[d] = batch[from - (from > dims.getIndexVectorDim())].base;
    }
    SmallVector<int64_t> window_dims;  // input dimension of each window dimension
    for (int64_t d = 0; d < input.getRank(); ++d)
      if (!llvm::is_contained(dims.getInsertedWindowDims(), d) && !llvm::is_contained(dims.getInputBatchingDims(), d)) window_dims.push_back(d);
    // Rows of the window that are rows of the input are updated in vectors.
    int64_t last = input.getRank() - 1;
    bool whole_rows = !window.empty() && window.back() == update.getRank() - 1 && !window_dims.empty() && window_dims.back() == last &&
                      window_shape.back() == input.getDimSize(last) && !llvm::is_contained(dims.getScatterDimsToOperandDims(), last);
    int64_t columns = whole_rows ? window_shape.back() : 1;
    auto update_at = [&](Indices in_window, int lanes) {
      Indices at(update.getRank()), to;
      for (auto [n, d] : llvm::enumerate(batch_dims)) at[d] = batch[n];
      for (auto [n, d] : llvm::enumerate(window)) at[d] = in_window[n];
      IR inside = b.getTrue();
      for (int64_t d = 0; d < input.getRank(); ++d) {
        auto it = llvm::find(window_dims, d);
        Index i = it == window_dims.end() ? constant_index(k, 0) : in_window[it - window_dims.begin()];
        IR position = i.base = k.add(start[d], i.base);
        if (!whole_rows || d != last) inside = b.CreateAnd(inside, b.CreateAnd(b.CreateICmpSGE(position, k.i64(0)), b.CreateICmpSLT(position, k.i64(input.getDimSize(d)))));
        to.push_back({position, i.step, 1});
      }
      k.when(inside, [&] {
        auto e = c.elements(lanes);
        IR offset = e.offset(input.getShape(), to).base;
        IRs arguments;
        for (Value r : op.getResults()) arguments.push_back(k.load(element(r), c.buffer(r), offset, lanes));
        for (Value u : op.getUpdates()) arguments.push_back(e.emit(u, at));
        IRs values = e.region(op.getUpdateComputation().front(), arguments);
        for (auto [r, v] : llvm::zip(op.getResults(), values)) k.store(element(r), v, c.buffer(r), offset, lanes);
      });
    };
    auto update_window = [&] {
      k.loop(k.i64(0), k.i64(product(window_shape) / columns), [&](IR i) {
        if (!whole_rows) return update_at(delinearise(k, window_shape, i), 1);
        k.along(k.i64(columns), k.target.lanes, [&](IR column, int lanes) {
          Indices in_window = delinearise(k, ArrayRef(window_shape).drop_back(), i);
          in_window.push_back({column, lanes > 1 ? 1 : 0, lanes});
          update_at(std::move(in_window), lanes);
        });
      });
    };
    if (ranges == 1) return update_window();
    k.when(b.CreateAnd(b.CreateICmpSGE(start[0], begin_of(part)), b.CreateICmpSLT(start[0], end_of(part))), update_window);
  };
  if (side_by_side) batch_shape.front() = 1;
  k.loop(k.begin(), k.end(), [&](IR part) {
    copy_input(part);
    k.loop(k.i64(0), k.i64(product(batch_shape)), [&](IR which) {
      Indices batch = delinearise(k, batch_shape, which);
      if (side_by_side) batch.front() = {part, 0, 1};
      update_one(batch, part);
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
