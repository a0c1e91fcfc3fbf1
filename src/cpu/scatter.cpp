// Scatter and sort. Updates of the same place are applied one after the other, so that the result does not depend on the threads.
#include <algorithm>
#include <numeric>

#include "cpu/kernels.h"
#include "llvm/IR/Intrinsics.h"

/// Sorts the positions 0 … n - 1 stably by a compiled comparator of two of them; only the first `wanted` need be right. Called by compiled sort kernels.
extern "C" void cresset_stable_sort(int64_t* order, int64_t n, int64_t wanted, bool (*less)(void*, int64_t, int64_t), void* context) {
  auto before = [&](int64_t a, int64_t b) { return less(context, a, b); };
  if (wanted > 256 || wanted * 4 > n) {
    std::iota(order, order + n, 0);
    return std::stable_sort(order, order + n, before);
  }
  // The best so far, in order: most positions are compared with the last of these only.
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (kept == wanted && (!kept || !before(i, order[kept - 1]))) continue;
    int64_t* place = std::upper_bound(order, order + kept, i, before);
    if (kept < wanted) ++kept;
    std::move_backward(place, order + kept - 1, order + kept);
    *place = i;
  }
}

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
  int64_t parts = side_by_side ? input.getDimSize(0) : 1, elements = product(input.getShape());
  c.kernel.tasks = parts;
  c.kernel.cost = 4.0 * elements + (side_by_side ? 8.0 * product(update.getShape()) : 0);

  auto copy_input = [&](IR part) {
    for (auto [from, to] : llvm::zip(op.getInputs(), op.getResults()))
      k.along(k.i64(elements / std::max<int64_t>(parts, 1)), k.target.lanes, [&, from = from, to = to](IR i, int lanes) {
        Indices at(input.getRank(), Index{k.i64(0), 0, int64_t(1) << 40});
        if (!at.empty()) at.back() = {i, lanes > 1 ? 1 : 0, lanes};
        if (side_by_side) at.front() = {part, 0, 1};
        auto e = c.elements(lanes);
        k.store(element(to), e.emit(from, at), c.buffer(to), e.offset(input.getShape(), at).base, lanes);
      });
  };
  auto update_one = [&](const Indices& batch) {
    // Where the window begins in the input, for each input dimension.
    IRs start(input.getRank(), k.i64(0));
    for (auto [component, d] : llvm::enumerate(dims.getScatterDimsToOperandDims())) {
      Indices at(batch);
      if (dims.getIndexVectorDim() < indices.getRank()) at.insert(at.begin() + dims.getIndexVectorDim(), Index{k.i64(component), 0, 1});
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
        Index i = it == window_dims.end() ? Index{k.i64(0), 0, int64_t(1) << 40} : in_window[it - window_dims.begin()];
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
    k.loop(k.i64(0), k.i64(product(window_shape) / std::max<int64_t>(columns, 1)), [&](IR i) {
      if (!whole_rows) return update_at(delinearise(k, window_shape, i), 1);
      k.along(k.i64(columns), k.target.lanes, [&](IR column, int lanes) {
        Indices in_window = delinearise(k, ArrayRef(window_shape).drop_back(), i);
        in_window.push_back({column, lanes > 1 ? 1 : 0, lanes});
        update_at(std::move(in_window), lanes);
      });
    });
  };
  if (side_by_side) batch_shape.front() = 1;
  k.loop(k.begin(), k.end(), [&](IR part) {
    copy_input(part);
    k.loop(k.i64(0), k.i64(product(batch_shape)), [&](IR which) {
      Indices batch = delinearise(k, batch_shape, which);
      if (side_by_side) batch.front() = {part, 0, 1};
      update_one(batch);
    });
  });
  return llvm::Error::success();
}

llvm::Error emit_sort(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<SortOp>(c.fusion.roles.back().first);
  auto type = shaped(op.getInputs()[0]);
  int64_t dim = int64_t(op.getDimension());
  if (dim < 0) dim += type.getRank();
  int64_t n = type.getDimSize(dim), stride = product(type.getShape().drop_front(dim + 1));
  int64_t lines = n ? type.getNumElements() / n : 0;
  c.kernel.tasks = lines;
  c.kernel.cost = double(type.getNumElements()) * 100;
  c.kernel.scratch_bytes = n * 8;

  // less(context, i, j): context is an array of the inputs' addresses at the line's first element.
  auto* pointer = b.getPtrTy();
  auto* less = llvm::Function::Create(llvm::FunctionType::get(b.getInt1Ty(), {pointer, b.getInt64Ty(), b.getInt64Ty()}, false),
                                      llvm::Function::InternalLinkage, k.function()->getName() + ".less", k.module);
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", less));
    ElementEmitter e(k, 1, [](Value, const Indices&) -> IR { return nullptr; });
    IRs arguments;
    for (auto [i, v] : llvm::enumerate(op.getInputs())) {
      IR base = b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, less->getArg(0), i));
      for (int side : {1, 2}) arguments.push_back(k.load(element(v), base, b.CreateMul(less->getArg(side), k.i64(stride)), 1));
    }
    b.CreateRet(e.region(op.getComparator().front(), arguments)[0]);
  }
  auto sort = k.module.getOrInsertFunction("cresset_stable_sort", llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer, pointer}, false));
  auto first = op->getAttrOfType<IntegerAttr>(kFirstWanted);
  int64_t wanted = first ? first.getInt() : n;
  IR context = k.alloca_in_entry(pointer, op.getInputs().size());
  k.loop(k.begin(), k.end(), [&](IR line) {
    IR first = b.CreateAdd(b.CreateMul(b.CreateUDiv(line, k.i64(stride)), k.i64(n * stride)), b.CreateURem(line, k.i64(stride)));
    for (auto [i, v] : llvm::enumerate(op.getInputs()))
      b.CreateStore(b.CreateInBoundsGEP(k.memory_type(element(v)), c.buffer(v), first), b.CreateConstGEP1_64(pointer, context, i));
    b.CreateCall(sort, {k.scratch(), k.i64(n), k.i64(wanted), less, context});
    k.loop(k.i64(0), k.i64(wanted), [&](IR i) {
      IR from = b.CreateAdd(first, b.CreateMul(b.CreateLoad(b.getInt64Ty(), b.CreateInBoundsGEP(b.getInt64Ty(), k.scratch(), i)), k.i64(stride)));
      IR to = b.CreateAdd(first, b.CreateMul(i, k.i64(stride)));
      for (auto [v, r] : llvm::zip(op.getInputs(), op.getResults()))
        if (c.slots.has(r)) k.store(element(r), k.load(element(v), c.buffer(v), from, 1), c.buffer(r), to, 1);
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
