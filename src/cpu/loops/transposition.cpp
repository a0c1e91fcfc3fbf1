// Element-wise kernels that read everything along another dimension than they write. Vectors lie along what is read; squares of them are transposed in
// registers, and written as rows. Of a few columns vectors are interleaved.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Whether `suits` says so of all that is read: the value, and where it is read.
using Suits = llvm::function_ref<bool(Value, const Index&)>;
bool all_read(const KernelContext& c, ElementEmitter& elements, Value v, const Indices& at, Suits suits) {
  if (c.slots.has(v) && !c.fusion.outputs.contains(v)) return suits(v, elements.offset(shaped(v).getShape(), at));
  Operation* op = v.getDefiningOp();
  if (isa<ConstantOp>(op)) return true;
  if (is_elementwise(op)) return llvm::all_of(op->getOperands(), [&](Value x) { return all_read(c, elements, x, shaped(x).getRank() ? at : Indices(), suits); });
  auto inner = elements.through(op, at);
  return inner && all_read(c, elements, op->getOperand(0), *inner, suits);
}

// The dimension along which neighbours in memory are read, if along the last one they are not.
std::optional<int64_t> dimension_read(const KernelContext& c, Value v) {
  ArrayRef<int64_t> shape = shaped(v).getShape();
  auto along = [&](size_t dim, Suits suits) {
    Indices at(shape.size(), Index{c.k.i64(0), 0, 1});  // constants: this leaves no code
    at[dim].step = 1;
    auto elements = c.elements(c.k.target.lanes);
    return all_read(c, elements, v, at, suits);
  };
  if (along(shape.size() - 1, [](Value, const Index& i) { return is_read_by_vectors(i); })) return std::nullopt;
  for (size_t dim = shape.size() - 1; dim-- > 0;) {
    bool any = false;
    auto neighbours = [&](Value read, const Index& i) {
      any |= i.step == 1 && shaped(read).getNumElements() >= product(shape);
      return !i.lanes && (i.step == 0 || i.step == 1);
    };
    if (shape[dim] >= c.k.target.lanes && along(dim, neighbours) && any) return dim;
  }
  return std::nullopt;
}

// Of a few columns, as pixels have channels, right behind the dimension that is read: a vector of each, interleaved.
void emit_interleaved(KernelContext& c, int64_t dim) {
  auto& k = c.k;
  int lanes = k.target.lanes;
  Value output = c.fusion.outputs[0];
  auto shape = shaped(output).getShape();
  int64_t columns = shape.back(), along = shape[dim];
  SmallVector<int64_t> outer(shape.take_front(dim));
  SmallVector<int> order;
  for (int64_t i = 0; i < lanes * columns; ++i) order.push_back(int(i % columns * lanes + i / columns));
  c.kernel.tasks = product(outer);
  c.kernel.cost = double(product(shape)) * (1 + c.fusion.roles.size());
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at = delinearise(k, outer, task);
    at.resize(shape.size());
    k.loop(k.i64(0), k.i64(along), lanes, [&](IR begin) {
      IR first = k.min(begin, k.i64(along - lanes));  // what is left at the end is written with what comes before it
      IRs values;
      for (int64_t column = 0; column < columns; ++column) {
        at[dim] = {first, 1, 1}, at[dim + 1] = constant_index(k, column);
        values.push_back(k.to_memory(element(output), c.elements(lanes).emit(output, at)));
      }
      at[dim] = {first, 0, 1}, at[dim + 1] = constant_index(k, 0);
      IR all = k.concatenate(values), place = c.elements(1).offset(shape, at).base;
      k.b.CreateAlignedStore(k.b.CreateShuffleVector(all, order), k.b.CreateInBoundsGEP(k.memory_type(element(output)), c.buffer(output), place), llvm::Align(element_bytes(element(output))));
    });
  });
}

}  // namespace

bool emit_transposition(KernelContext& c) {
  constexpr int64_t kLeastColumns = 64, kMostInterleaved = 8;
  const Fusion& f = c.fusion;
  auto& k = c.k;
  int lanes = k.target.lanes;
  Value output = f.outputs[0];
  auto shape = shaped(output).getShape();
  bool by_rows = llvm::any_of(f.roles, [](auto& role) { return role.second == Fusion::Row; });
  if (by_rows || f.outputs.size() != 1 || element(output).isInteger(1) || shape != ArrayRef<int64_t>(f.shape) || shape.size() < 2) return false;
  auto dim = dimension_read(c, output);
  if (!dim) return false;
  if (*dim + 2 == int64_t(shape.size()) && shape.back() <= kMostInterleaved && shape.back() < lanes) return emit_interleaved(c, *dim), true;
  // The last dimensions count as one where they are short. A task takes whole lines of what is read, unless there is less.
  size_t rank = shape.size() - 1;
  int64_t columns = shape[rank];
  while (columns < kLeastColumns && int64_t(rank) > *dim + 1) columns *= shape[--rank];
  int64_t along = shape[*dim], squares = along >= 16 && lanes < 16 ? 16 / lanes : 1, rows = squares * lanes;
  if (columns < lanes) return false;
  SmallVector<int64_t> outer(shape.take_front(rank)), written(outer);
  written.push_back(columns);
  outer[*dim] = ceil_div(along, rows);
  c.kernel.tasks = product(outer);
  c.kernel.cost = double(product(shape)) * (4 + f.roles.size() * 2);
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at = delinearise(k, outer, task);
    // What is left at the ends is written together with what comes before it.
    IR first = k.min(k.mul(at[*dim].base, rows), k.i64(along - rows));
    k.loop(k.i64(0), k.i64(columns), lanes, [&](IR begin) {
      IR column = k.min(begin, k.i64(columns - lanes));
      for (int64_t square = 0; square < squares; ++square) {
        IR row = k.add(first, k.i64(square * lanes));
        IRs values;
        for (int i = 0; i < lanes; ++i) {
          at[*dim] = {row, 1, 1};
          Indices from(at);
          llvm::append_range(from, delinearise(k, shape.drop_front(rank), k.add(column, k.i64(i))));
          values.push_back(c.elements(lanes).emit(output, from));
        }
        k.transpose(values);
        for (int i = 0; i < lanes; ++i) {
          at[*dim] = {k.add(row, k.i64(i)), 0, 1};
          Indices to(at);
          to.push_back({column, 1, 1});
          k.store(element(output), values[i], c.buffer(output), c.elements(1).offset(written, to).base, lanes);
        }
      }
    });
  });
  return true;
}

}  // namespace cresset::cpu
