// Reductions that are not of the last dimension alone, and concatenation. Lanes run along the result's last dimension where
// that is the input's (bias gradients), otherwise along the innermost reduced dimension (batch statistics).
#include <numeric>

#include "cpu/kernels.h"
#include "llvm/IR/Intrinsics.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
ElementEmitter KernelContext::elements(int lanes) const {
  auto load = [this](ElementEmitter& e, Value v, const Indices& i) -> IR {
    if (!slots.has(v) || fusion.outputs.contains(v)) return nullptr;
    return e.load(v, buffer(v), i);
  };
  return ElementEmitter(k, lanes, load);
}

IR neutral(KernelEmitter& k, Operation* reducer, llvm::Type* type) {
  if (isa<AddOp, OrOp>(reducer)) return llvm::Constant::getNullValue(type);
  if (isa<AndOp>(reducer)) return llvm::Constant::getAllOnesValue(type);
  if (isa<MulOp>(reducer)) return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  bool max = isa<MaxOp>(reducer);
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, max);
  unsigned bits = type->getScalarSizeInBits();
  bool has_sign = !is_unsigned(element(reducer->getResult(0)));
  auto value = max ? (has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits))
                   : (has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  return llvm::ConstantInt::get(type, value);
}

IR fold_lanes(KernelEmitter& k, ElementEmitter& scalar, Operation* reducer, IR vector, int lanes) {
  return k.fold(vector, lanes, [&](IR x, IR y) { return scalar.compute(reducer, {x, y}); });
}

Indices delinearise(KernelEmitter& k, ArrayRef<int64_t> shape, IR flat) {
  Indices result(shape.size(), constant_index(k, 0));
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    bool outermost = product(shape.take_front(d)) == 1;
    result[d] = {outermost ? flat : k.b.CreateURem(flat, k.i64(shape[d])), 0, 1};
    if (!outermost) flat = k.b.CreateUDiv(flat, k.i64(shape[d]));
  }
  return result;
}

llvm::Error emit_reduce(KernelContext& c) {
  auto& k = c.k;
  if (reduces_planes(c.fusion, k.target)) return emit_plane_reduction(c), llvm::Error::success();
  auto op = cast<ReduceOp>(c.fusion.roles.back().first);
  auto input = shaped(op.getInputs()[0]), output = shaped(op.getResult(0));
  SmallVector<int64_t> reduced(op.getDimensions()), kept;
  llvm::sort(reduced);
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (!llvm::is_contained(reduced, d)) kept.push_back(d);
  Block& body = op.getBody().front();
  Operation* simple = op.getInputs().size() == 1 ? simple_reducer(body) : nullptr;
  bool along_output = simple && !kept.empty() && kept.back() == input.getRank() - 1 && input.getShape().back() >= k.target.lanes;
  bool along_input = simple && !along_output && !reduced.empty() && reduced.back() == input.getRank() - 1 &&
                     input.getShape().back() % k.target.lanes == 0;
  int lanes = along_output || along_input ? k.target.lanes : 1;
  SmallVector<int64_t> outer(output.getShape());
  if (along_output) outer.pop_back();
  c.kernel.cost = double(input.getNumElements()) * 8;
  // Along the output a task covers some vectors of columns, each with its own accumulator: whole lines of memory, and sums that don't wait for each other.
  int64_t columns = along_output ? output.getShape().back() : 1;
  int64_t threads = c.kernel.cost >= Kernel::kParallelCost ? num_threads() : 1;
  int64_t bits = input.getElementTypeBitWidth(), most = bits == 1 ? 1 : c.fusion.roles.size() > 8 || bits == 64 ? 4 : 8;  // that registers hold
  int64_t vectors = along_output ? std::clamp<int64_t>(product(outer) * columns / (lanes * 2 * threads), 1, std::min<int64_t>(most, columns / lanes)) : 1;
  int64_t part = vectors * lanes, blocks = (columns + part - 1) / part;
  c.kernel.tasks = product(outer) * blocks;

  k.loop(k.begin(), k.end(), [&](IR task) {
    IR row = along_output ? k.b.CreateUDiv(task, k.i64(blocks)) : task;
    Indices outer_at = delinearise(k, outer, row);
    auto reduce_at = [&](IR column, int width) {  // `vectors` times `width` lanes of the output from `column`
      Indices at(input.getRank());
      auto column_of = [&](int64_t v) { return k.add(column, k.i64(v * width)); };
      for (auto [d, i] : llvm::zip(kept, outer_at)) at[d] = i;
      int inner_lanes = along_input ? lanes : width;
      IRs init;
      auto scalar = c.elements(1);
      if (simple) init.assign(vectors, neutral(k, simple, k.vector(k.compute_type(element(op.getInputs()[0])), inner_lanes)));
      else for (Value i : op.getInitValues()) init.push_back(scalar.emit(i, {}));
      std::function<IRs(size_t, ArrayRef<IR>)> nest = [&](size_t depth, ArrayRef<IR> sums) -> IRs {
        if (depth == reduced.size()) {
          auto e = c.elements(inner_lanes);
          IRs values(sums.begin(), sums.end());
          if (!simple) {
            for (Value v : op.getInputs()) values.push_back(e.emit(v, at));
            return e.region(body, values);
          }
          for (auto [v, sum] : llvm::enumerate(values)) {
            if (along_output) at[kept.back()] = {column_of(v), width > 1 ? 1 : 0, 1};
            sum = e.compute(simple, {sum, e.emit(op.getInputs()[0], at)});
          }
          return values;
        }
        int64_t d = reduced[depth];
        bool vector = along_input && depth + 1 == reduced.size();
        return k.loop(k.i64(0), k.i64(input.getDimSize(d)), vector ? lanes : 1, sums, [&](IR i, ArrayRef<IR> inner) {
          at[d] = {i, vector ? 1 : 0, vector ? lanes : 1};
          return nest(depth + 1, inner);
        });
      };
      IRs sums = nest(0, init);
      if (simple) {
        if (along_input) sums[0] = fold_lanes(k, scalar, simple, sums[0], lanes);
        IR start = k.splat(scalar.emit(op.getInitValues()[0], {}), width);
        auto e = c.elements(width);
        for (IR& sum : sums) sum = e.compute(simple, {start, sum});
      }
      auto write = [&](Value v, IR value, IR column) {
        Indices out(outer_at);
        if (along_output) out.push_back({column, 0, 1});
        if (c.slots.has(v)) k.store(element(v), value, c.buffer(v), scalar.offset(output.getShape(), out).base, width);
      };
      if (simple) for (auto [v, sum] : llvm::enumerate(sums)) write(op.getResult(0), sum, column_of(v));
      else for (auto [v, sum] : llvm::zip(op.getResults(), sums)) write(v, sum, column);
    };
    if (!along_output) return reduce_at(k.i64(0), 1);
    IR column = k.b.CreateMul(k.b.CreateURem(task, k.i64(blocks)), k.i64(part));
    if (columns % part) {
      // The last block begins earlier and computes some columns again.
      column = k.min(column, k.i64(columns - part));
    }
    reduce_at(column, lanes);
  });
  return llvm::Error::success();
}

llvm::Error emit_concatenate(KernelContext& c) {
  auto& k = c.k;
  auto op = cast<ConcatenateOp>(c.fusion.roles.back().first);
  auto output = shaped(op.getResult());
  int64_t dim = op.getDimension();
  SmallVector<int64_t> outer(output.getShape().begin(), output.getShape().begin() + dim);
  int64_t inner = product(output.getShape().drop_front(dim + 1));
  // For each outer position the inputs' pieces stand one after the other; a few long pieces are divided.
  int64_t parts = product(outer) >= 16 || output.getNumElements() < 16384 ? 1 : 16;
  c.kernel.tasks = product(outer) * parts;
  c.kernel.cost = double(output.getNumElements()) * 8;
  k.loop(k.begin(), k.end(), [&](IR all) {
    IR task = parts == 1 ? all : k.b.CreateUDiv(all, k.i64(parts)), part = parts == 1 ? k.i64(0) : k.b.CreateURem(all, k.i64(parts));
    Indices outer_at = delinearise(k, outer, task);
    int64_t start = 0;
    for (Value input : op.getInputs()) {
      int64_t rows = shaped(input).getDimSize(dim);
      SmallVector<int64_t> piece(shaped(input).getShape().drop_front(dim));
      int64_t last = piece.back(), others = rows * inner / last;
      int lanes = k.target.lanes;
      IR base = k.b.CreateAdd(k.b.CreateMul(task, k.i64(output.getDimSize(dim) * inner)), k.i64(start * inner));
      // Rows, or what there is of a single one, by parts.
      bool by_rows = others > 1;
      int64_t units = by_rows ? others : last / lanes, each = (units + parts - 1) / parts;
      IR from = k.min(k.mul(part, each), k.i64(units)), to = k.min(k.add(k.mul(part, each), k.i64(each)), k.i64(units));
      k.loop(by_rows ? from : k.i64(0), by_rows ? to : k.i64(others), [&](IR r) {
        Indices at(outer_at);
        at.append(delinearise(k, ArrayRef(piece).drop_back(), r));
        at.push_back({});
        IR row = k.b.CreateAdd(base, k.mul(r, last));
        auto copy = [&](IR i, int n) {
          at.back() = {i, n > 1 ? 1 : 0, n};
          k.store(element(input), c.elements(n).emit(input, at), c.buffer(op.getResult()), k.add(row, i), n);
        };
        k.loop(by_rows ? k.i64(0) : k.mul(from, lanes), by_rows ? k.i64(last / lanes * lanes) : k.mul(to, lanes), lanes, [&](IR i) { copy(i, lanes); });
        auto rest = [&] {
          for (int n = lanes / 2; n; n /= 2)
            if (last & n) copy(k.i64(last & -2 * n), n);
        };
        if (by_rows || parts == 1) rest();
        else if (last % lanes) k.when(k.b.CreateICmpEQ(part, k.i64(parts - 1)), rest);  // of a divided row
      });
      start += rows;
    }
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
