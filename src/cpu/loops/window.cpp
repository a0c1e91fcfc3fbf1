// Cumulative sums; and straight from the specification select_and_scatter, and those reductions of windows that prepare/windows.h leaves.
#include <numeric>

#include "cpu/emit/kernels.h"
#include "cpu/prepare/windows.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

struct WindowDims {
  SmallVector<int64_t> size, stride, base_dilation, dilation, low;
};

SmallVector<int64_t> or_ones(std::optional<ArrayRef<int64_t>> a, size_t rank) {
  return a ? SmallVector<int64_t>(*a) : SmallVector<int64_t>(rank, 1);
}
SmallVector<int64_t> low_padding(std::optional<DenseIntElementsAttr> padding, size_t rank) {
  SmallVector<int64_t> low(rank, 0);
  if (padding)
    for (auto [i, p] : llvm::enumerate(padding->getValues<int64_t>()))
      if (i % 2 == 0) low[i / 2] = p;
  return low;
}

// Input position of an element of a window, and whether it lies in the input.
std::pair<Indices, IR> position(KernelEmitter& k, const WindowDims& w, ArrayRef<int64_t> shape, const Indices& window, const Indices& offset) {
  auto& b = k.b;
  IR inside = b.getTrue();
  Indices at;
  for (size_t d = 0; d < shape.size(); ++d) {
    IR i = k.add(k.add(k.mul(window[d].base, w.stride[d]), k.mul(offset[d].base, w.dilation[d])), k.i64(-w.low[d]));
    IR ok = b.CreateICmpSGE(i, k.i64(0));
    if (w.base_dilation[d] > 1) {
      ok = b.CreateAnd(ok, b.CreateICmpEQ(b.CreateSRem(i, k.i64(w.base_dilation[d])), k.i64(0)));
      i = b.CreateSDiv(i, k.i64(w.base_dilation[d]));
    }
    ok = b.CreateAnd(ok, b.CreateICmpSLT(i, k.i64(shape[d])));
    inside = b.CreateAnd(inside, ok);
    at.push_back({b.CreateSelect(ok, i, k.i64(0)), 0, 1});
  }
  return {at, inside};
}

// Neighbouring lines that are one vector: of what is in memory or the same across them, and not a constant or another view.
int lanes_of_scan(KernelContext& c, ReduceWindowOp op, size_t dim) {
  auto is_one_across = [&](Value v) {
    auto position = v.getDefiningOp<IotaOp>();
    return position && position.getIotaDimension() <= dim;
  };
  bool held = llvm::all_of(op.getInputs(), [&](Value v) { return c.slots.has(v) || is_one_across(v); });
  bool elementwise = llvm::all_of(op.getBody().front().without_terminator(), [](Operation& inside) { return is_elementwise(&inside) || isa<ConstantOp>(inside); });
  int64_t neighbours = product(shaped(op.getInputs()[0]).getShape().drop_front(dim + 1));
  return elementwise && held && neighbours >= c.k.target.lanes ? c.k.target.lanes : 1;
}

// A task is as many neighbouring lines as a vector has lanes, or a few that are walked together, so that their sums don't wait for themselves alone.
void emit_scan(KernelContext& c, ReduceWindowOp op, size_t dim) {
  constexpr int64_t kTogether = 4;
  auto& k = c.k;
  auto shape = shaped(op.getInputs()[0]).getShape();
  Block& body = op.getBody().front();
  int64_t n = shape[dim], inner = product(shape.drop_front(dim + 1)), outer = product(shape.take_front(dim));
  Operation* simple = op.getInputs().size() == 1 ? simple_reducer(body) : nullptr;
  int lanes = lanes_of_scan(c, op, dim);
  int64_t blocks = ceil_div(inner, lanes), lines = outer * inner;
  c.kernel.tasks = lanes > 1 ? outer * blocks : ceil_div(lines, kTogether);
  c.kernel.cost = double(product(shape)) * 8;
  // Long sums of f32 are kept in f64.
  bool doubled = simple && isa<AddOp>(simple) && element(op.getResult(0)).isF32();
  auto along = [&](ArrayRef<IR> firsts, int width) {  // lines by their first elements, `width` neighbours each
    auto scalar = c.elements(1);
    IRs init;
    for (Value v : op.getInitValues()) init.push_back(k.splat(scalar.emit(v, {}), width));
    if (doubled) init[0] = k.b.CreateFPExt(init[0], k.vector(k.b.getDoubleTy(), width));
    size_t values = init.size();
    for (size_t line = 1; line < firsts.size(); ++line) init.append(init.begin(), init.begin() + values);
    k.loop(k.i64(0), k.i64(n), 1, init, [&](IR i, ArrayRef<IR> sums) {
      IRs all;
      for (auto [line, first] : llvm::enumerate(firsts)) {
        IR at = k.add(first, k.mul(i, inner));
        IRs next(sums.slice(line * values, values));
        for (Value v : op.getInputs())
          next.push_back(c.slots.has(v) ? k.load(element(v), c.buffer(v), at, width) : k.splat(c.elements(1).emit(v, delinearise(k, shape, at)), width));
        if (doubled) next = {k.b.CreateFAdd(next[0], k.b.CreateFPExt(next[1], next[0]->getType()))};
        else next = simple ? IRs{c.elements(width).compute(simple, next)} : c.elements(width).region(body, next);
        for (auto [v, sum] : llvm::zip(op.getResults(), next)) {
          IR stored = doubled ? k.b.CreateFPTrunc(sum, k.vector(k.b.getFloatTy(), width)) : sum;
          if (c.slots.has(v)) k.store(element(v), stored, c.buffer(v), at, width);
        }
        llvm::append_range(all, next);
      }
      return all;
    });
  };
  auto first_of = [&](IR line) { return k.add(k.mul(k.b.CreateUDiv(line, k.i64(inner)), n * inner), k.b.CreateURem(line, k.i64(inner))); };
  // The lines from `line` to `end` one by one, if they are fewer than would go together; where none are ever left over, there is no code for them.
  auto together_or_not = [&](bool none_left, IR is_whole, ArrayRef<IR> firsts, int width, IR line, IR end) {
    if (none_left) return along(firsts, width);
    k.when(is_whole, [&] { along(firsts, width); });
    k.loop(line, k.b.CreateSelect(is_whole, line, end), [&](IR rest) { along(first_of(rest), 1); });
  };
  k.loop(k.begin(), k.end(), [&](IR task) {
    if (lanes > 1) {
      IR column = k.mul(k.b.CreateURem(task, k.i64(blocks)), lanes), before = k.mul(k.b.CreateUDiv(task, k.i64(blocks)), inner), line = k.add(before, column);
      return together_or_not(inner % lanes == 0, k.b.CreateICmpSLE(k.add(column, k.i64(lanes)), k.i64(inner)), first_of(line), lanes, line, k.add(before, k.i64(inner)));
    }
    IR line = k.mul(task, kTogether);
    IRs firsts;
    for (int64_t i = 0; i < kTogether; ++i) firsts.push_back(first_of(k.add(line, k.i64(i))));
    together_or_not(lines % kTogether == 0, k.b.CreateICmpSLE(k.add(line, k.i64(kTogether)), k.i64(lines)), firsts, 1, line, k.i64(lines));
  });
}

}  // namespace

llvm::Error emit_window(KernelContext& c) {
  auto& k = c.k;
  auto op = cast<ReduceWindowOp>(c.fusion.roles.back().first);
  auto input = shaped(op.getInputs()[0]), output = shaped(op.getResult(0));
  size_t rank = input.getRank();
  WindowDims w{SmallVector<int64_t>(op.getWindowDimensions()), or_ones(op.getWindowStrides(), rank), or_ones(op.getBaseDilations(), rank),
               or_ones(op.getWindowDilations(), rank), low_padding(op.getPadding(), rank)};
  if (auto dim = scanned_dimension(op)) return emit_scan(c, op, *dim), llvm::Error::success();
  c.kernel.tasks = output.getNumElements();
  c.kernel.cost = double(output.getNumElements()) * product(w.size) * 8;
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at = delinearise(k, output.getShape(), task);
    auto scalar = c.elements(1);
    IRs init;
    for (Value v : op.getInitValues()) init.push_back(scalar.emit(v, {}));
    IRs sums = k.loop(k.i64(0), k.i64(product(w.size)), 1, init, [&](IR element_of_window, ArrayRef<IR> sums) {
      auto [from, inside] = position(k, w, input.getShape(), at, delinearise(k, w.size, element_of_window));
      auto e = c.elements(1);
      IRs arguments(sums.begin(), sums.end());
      for (Value v : op.getInputs()) arguments.push_back(e.emit(v, from));
      IRs next = e.region(op.getBody().front(), arguments);
      for (auto [n, s] : llvm::zip(next, sums)) n = k.b.CreateSelect(inside, n, s);
      return next;
    });
    for (auto [v, sum] : llvm::zip(op.getResults(), sums))
      if (c.slots.has(v)) k.store(element(v), sum, c.buffer(v), task, 1);
  });
  return llvm::Error::success();
}

llvm::Error emit_select_and_scatter(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<SelectAndScatterOp>(c.fusion.roles.back().first);
  auto operand = shaped(op.getOperand()), source = shaped(op.getSource());
  size_t rank = operand.getRank();
  WindowDims w{or_ones(op.getWindowDimensions(), rank), or_ones(op.getWindowStrides(), rank), SmallVector<int64_t>(rank, 1),
               SmallVector<int64_t>(rank, 1), low_padding(op.getPadding(), rank)};
  // Leading dimensions that windows don't mix are independent tasks.
  size_t outer = 0;
  while (outer < rank && w.size[outer] == 1 && w.stride[outer] == 1 && w.low[outer] == 0 && source.getDimSize(outer) == operand.getDimSize(outer)) ++outer;
  SmallVector<int64_t> planes(operand.getShape().take_front(outer)), windows(source.getShape().drop_front(outer));
  int64_t plane = product(operand.getShape().drop_front(outer));
  c.kernel.tasks = product(planes);
  c.kernel.cost = double(source.getNumElements()) * product(w.size) * 8;
  Type type = operand.getElementType();
  IR result = c.buffer(op.getResult());
  k.loop(k.begin(), k.end(), [&](IR task) {
    auto scalar = c.elements(1);
    IR init = scalar.emit(op.getInitValue(), {});
    k.loop(k.i64(0), k.i64(plane), [&](IR i) { k.store(type, init, result, k.add(k.mul(task, plane), i), 1); });
    Indices outer_at = delinearise(k, planes, task);
    k.loop(k.i64(0), k.i64(product(windows)), [&](IR which) {
      Indices at(outer_at);
      at.append(delinearise(k, windows, which));
      IRs init{b.getFalse(), llvm::Constant::getNullValue(k.compute_type(type)), k.i64(0)};
      IRs best = k.loop(k.i64(0), k.i64(product(w.size)), 1, init, [&](IR i, ArrayRef<IR> best) -> IRs {
        auto [from, inside] = position(k, w, operand.getShape(), at, delinearise(k, w.size, i));
        auto e = c.elements(1);
        IR v = e.emit(op.getOperand(), from);
        IR keep = b.CreateAnd(best[0], e.region(op.getSelect().front(), {best[1], v})[0]);
        IR take = b.CreateAnd(inside, b.CreateNot(keep));
        return {b.CreateOr(best[0], inside), b.CreateSelect(take, v, best[1]),
                b.CreateSelect(take, e.offset(operand.getShape(), from).base, best[2])};
      });
      k.when(best[0], [&] {
        auto e = c.elements(1);
        IR old = k.load(type, result, best[2], 1);
        k.store(type, e.region(op.getScatter().front(), {old, e.emit(op.getSource(), at)})[0], result, best[2], 1);
      });
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
