// Concatenation: for each position before the dimension, the inputs' pieces one after the other.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

namespace {

// Pairs along the last dimension, as of complex numbers or of a rotation: vectors run along the dimension before it.
bool is_interleaved(ConcatenateOp op) {
  auto shape = shaped(op.getResult()).getShape();
  return op.getInputs().size() == 2 && shape.size() >= 2 && int64_t(op.getDimension()) == int64_t(shape.size()) - 1 && shape.back() == 2 &&
         shaped(op.getInputs()[0]).getShape().back() == 1;
}

void emit_interleaved(KernelContext& c, ConcatenateOp op) {
  auto& k = c.k;
  auto shape = shaped(op.getResult()).getShape();
  SmallVector<int64_t> rows(shape.drop_back(2));
  int64_t length = shape[shape.size() - 2];
  c.kernel.tasks = product(rows);
  c.kernel.cost = double(product(shape)) * 8;
  k.loop(k.begin(), k.end(), [&](IR row) {
    Indices at = delinearise(k, rows, row);
    at.append({Index{}, constant_index(k, 0)});
    k.along(k.size(length), k.target.lanes, [&](IR i, int n) {
      at[at.size() - 2] = {i, n > 1 ? 1 : 0, n};
      auto part = [&](unsigned which) { return c.elements(n).emit(op.getInputs()[which], at); };
      IR first = part(0), second = part(1), place = k.mul(k.add(k.mul(row, length), i), 2);
      auto store = [&](IR value, IR offset, int lanes) { k.store(element(op.getResult()), value, c.buffer(op.getResult()), offset, lanes); };
      if (n > 1) return store(k.b.CreateVectorInterleave({first, second}), place, 2 * n);
      store(first, place, 1), store(second, k.add(place, k.i64(1)), 1);
    });
  });
}

// How many inputs from that one on lie in memory, are of one type, and have buffers that follow each other: one loop copies them.
size_t alike(const KernelContext& c, OperandRange inputs, size_t first) {
  auto slot = c.slots.find(inputs[first]);
  size_t count = 1;
  while (slot && first + count < inputs.size() && inputs[first + count].getType() == inputs[first].getType() && c.slots.find(inputs[first + count]) == *slot + int(count)) ++count;
  return count;
}

}  // namespace

llvm::Error emit_concatenate(KernelContext& c) {
  auto& k = c.k;
  auto op = cast<ConcatenateOp>(c.fusion.roles.back().first);
  if (is_interleaved(op)) return emit_interleaved(c, op), llvm::Error::success();
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
    // Elements of an input at these indices, which are that place of its piece.
    using Read = std::function<IR(const Indices& at, IR place, int lanes)>;
    auto write_piece = [&](Value input, IR start, const Read& read) {
      ArrayRef<int64_t> piece = shaped(input).getShape().drop_front(dim);
      size_t joined = 1;  // dimensions that are one run
      while (joined < piece.size() && !tells_apart(c.fusion, input, joined + 1)) ++joined;
      int64_t last = product(piece.take_back(joined)), others = product(piece) / last;
      int lanes = k.target.lanes;
      IR base = k.b.CreateAdd(k.b.CreateMul(task, k.i64(output.getDimSize(dim) * inner)), start);
      // Rows, or what there is of a single one, by parts.
      bool by_rows = others > 1;
      int64_t units = by_rows ? others : last / lanes, each = ceil_div(units, parts);
      IR from = k.min(k.mul(part, each), k.i64(units)), to = k.min(k.add(k.mul(part, each), k.i64(each)), k.i64(units));
      k.loop(by_rows ? from : k.i64(0), by_rows ? to : k.i64(others), [&](IR r) {
        Indices at(outer_at);
        at.append(delinearise(k, piece.drop_back(joined), r));
        at.append(joined, constant_index(k, 0));
        IR row = k.mul(r, last);
        auto copy = [&](IR i, int n) {
          at.back() = {i, n > 1 ? 1 : 0, n};
          IR place = k.add(row, i);
          k.store(element(input), read(at, place, n), c.buffer(op.getResult()), k.add(base, place), n);
        };
        k.loop(by_rows ? k.i64(0) : k.mul(from, lanes), by_rows ? k.i64(last / lanes * lanes) : k.mul(to, lanes), lanes, [&](IR i) { copy(i, lanes); });
        auto rest = [&] { k.rest_along(k.size(last), lanes, copy); };
        if (by_rows || parts == 1) rest();
        else k.when(k.b.CreateICmpEQ(part, k.i64(parts - 1)), rest);  // of a divided row
      });
    };
    constexpr size_t kWorthALoop = 8;
    int64_t start = 0;
    for (size_t i = 0, count; i < op.getInputs().size(); i += count) {
      Value input = op.getInputs()[i];
      const int64_t size = shaped(input).getDimSize(dim) * inner;
      if (count = alike(c, op.getInputs(), i); count >= kWorthALoop)
        k.loop(k.i64(0), k.i64(int64_t(count)), [&](IR which) {
          IR array = k.buffer_at(k.add(which, k.i64(c.slots.at(input))));
          write_piece(input, k.add(k.i64(start), k.mul(which, size)),
                      [&](const Indices&, IR place, int n) { return k.load(element(input), array, k.add(k.mul(task, size), place), n); });
        });
      else
        write_piece(input, k.i64(start), [&](const Indices& at, IR, int n) { return c.elements(n).emit(input, at); }), count = 1;
      start += int64_t(count) * size;
    }
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
