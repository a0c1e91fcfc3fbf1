// Element-wise kernels that read along another dimension than they write. Vectors lie along what is read; squares of them are transposed in
// registers, and written as rows. Of a few columns vectors are interleaved. Where only some of what is read lies so, its squares are transposed before anything is computed of them.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Whether `suits` says so of all that is read: the value, and where it is read.
using Suits = llvm::function_ref<bool(Value, const Index&)>;
bool all_read(const KernelContext& c, ElementEmitter& elements, Value v, const Indices& at, Suits suits) {
  if (c.reads(v)) return suits(v, elements.offset(shaped(v).getShape(), at));
  Operation* op = v.getDefiningOp();
  if (isa<ConstantOp>(op)) return true;
  if (is_elementwise(op)) return llvm::all_of(op->getOperands(), [&](Value x) { return all_read(c, elements, x, shaped(x).getRank() ? at : Indices(), suits); });
  auto inner = elements.through(op, at);
  return inner && all_read(c, elements, op->getOperand(0), *inner, suits);
}

// The same of neighbours along a dimension of v.
bool all_read_along(const KernelContext& c, Value v, size_t dim, Suits suits) {
  Indices at(shaped(v).getRank(), Index{c.k.i64(0), 0, 1});  // constants: this leaves no code
  at[dim].step = 1;
  auto elements = c.elements(c.k.target.lanes);
  return all_read(c, elements, v, at, suits);
}

// The dimension along which neighbours in memory are read, a vector of them at least, if along the last one they are not. Of a dimension of one element there are no neighbours.
std::optional<int64_t> dimension_read(const KernelContext& c, Value v, int lanes) {
  ArrayRef<int64_t> shape = shaped(v).getShape();
  size_t last = shape.size() - 1;
  while (last > 0 && shape[last] == 1) --last;
  if (all_read_along(c, v, last, [](Value, const Index& i) { return is_read_by_vectors(i); })) return std::nullopt;
  for (size_t dim = last; dim-- > 0;) {
    bool any = false;
    auto neighbours = [&](Value read, const Index& i) {
      any |= i.step == 1 && shaped(read).getNumElements() >= product(shape);
      return !i.lanes && (i.step == 0 || i.step == 1);
    };
    if (shape[dim] >= lanes && all_read_along(c, v, dim, neighbours) && any) return dim;
  }
  return std::nullopt;
}

// A vector as memory has it, to a place of the output, whose shape may be written otherwise.
void write(KernelContext& c, IR vector, const Indices& at, ArrayRef<int64_t> shape) {
  Type type = element(c.fusion.outputs[0]);
  IR place = c.k.b.CreateInBoundsGEP(c.k.memory_type(type), c.buffer(c.fusion.outputs[0]), c.elements(1).offset(shape, at).base);
  c.k.b.CreateAlignedStore(vector, place, llvm::Align(element_bytes(type)));
}

// Of a few columns, as pixels have channels, right behind the dimension that is read: a vector of each, interleaved.
void emit_interleaved(KernelContext& c, int64_t dim, int lanes) {
  auto& k = c.k;
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
      write(c, k.b.CreateShuffleVector(k.concatenate(values), order), at, shape);
    });
  });
}

// The dimension along which neighbours of all reads are read that are none along the last one, if that is so of something as large as the result.
std::optional<int64_t> dimension_read_by_some(const KernelContext& c, Value v) {
  ArrayRef<int64_t> shape = shaped(v).getShape();
  SmallVector<bool> straight;
  auto note = [&](Value, const Index& i) { return straight.push_back(is_read_by_vectors(i)), !i.lanes; };
  if (shape.back() < c.k.target.lanes || !all_read_along(c, v, shape.size() - 1, note) || !llvm::is_contained(straight, false)) return std::nullopt;
  for (size_t dim = shape.size() - 1; dim-- > 0;) {
    size_t next = 0;
    bool any = false;
    auto suits = [&](Value read, const Index& i) {
      if (straight[next++]) return true;
      any |= shaped(read).getNumElements() >= product(shape);
      return !i.lanes && i.step == 1;
    };
    if (shape[dim] >= c.k.target.lanes && all_read_along(c, v, dim, suits) && any) return dim;
  }
  return std::nullopt;
}

void emit_partly_transposed(KernelContext& c, int64_t dim) {
  auto& k = c.k;
  auto& b = k.b;
  const int lanes = k.target.lanes;
  Value output = c.fusion.outputs[0];
  auto shape = shaped(output).getShape();
  const int64_t columns = shape.back(), rows = std::max(lanes, 16);  // lines of memory are read as a whole
  SmallVector<int64_t> outer(shape.drop_back());
  outer[dim] = ceil_div(shape[dim], rows);
  c.kernel.tasks = product(outer);
  c.kernel.cost = double(product(shape)) * (4 + c.fusion.roles.size() * 2);
  struct Square {
    Value read;
    IR first, memory;  // its first element, and where the rows are
    int64_t pitch;
  };
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at = delinearise(k, outer, task);
    at.push_back({});
    IR first = k.mul(at[dim].base, rows);
    k.loop(k.i64(0), k.i64(columns), lanes, [&](IR begin) {
      k.loop(first, k.min(k.add(first, k.i64(rows)), k.i64(shape[dim])), lanes, [&](IR part) {
        // What is left at the ends is read together with what comes before it. Nothing is written twice: an array that is overwritten would be read as it is then.
        IR row = k.min(part, k.i64(shape[dim] - lanes)), column = k.min(begin, k.i64(columns - lanes));
        SmallVector<Square> squares;
        auto type_in_memory = [&](Value read) { return k.vector(k.memory_type(element(read)), lanes); };
        auto emit_row = [&](IR i, auto load) {
          at[dim] = {k.add(row, i), 0, 1}, at.back() = {column, 1, 1};
          return ElementEmitter(k, c.fusion, lanes, [&](ElementEmitter& e, Value v, const Indices& where) -> IR {
            return c.reads(v) ? load(e, v, where, e.offset(shaped(v).getShape(), where)) : nullptr;
          }).emit(output, at);
        };
        // Once of constants, of which no code is left: only to see what is read.
        emit_row(k.i64(0), [&](ElementEmitter&, Value v, const Indices&, const Index& offset) -> IR {
          if (!is_read_by_vectors(offset)) squares.push_back({v, offset.base, k.alloca_in_entry(type_in_memory(v), lanes), offset.step});
          auto* type = k.vector(k.compute_type(element(v)), lanes);
          return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1) : llvm::ConstantInt::get(type, 1);
        });
        for (const Square& square : squares) {
          IRs values;
          for (int i = 0; i < lanes; ++i) {
            IR line = b.CreateInBoundsGEP(k.memory_type(element(square.read)), c.buffer(square.read), k.add(square.first, k.i64(i * square.pitch)));
            values.push_back(b.CreateAlignedLoad(type_in_memory(square.read), line, llvm::Align(element_bytes(element(square.read)))));
          }
          k.transpose(values);
          for (int i = 0; i < lanes; ++i) b.CreateStore(values[i], b.CreateConstInBoundsGEP1_64(values[i]->getType(), square.memory, i));
        }
        k.loop(b.CreateSub(part, row), k.i64(lanes), [&](IR i) {
          size_t next = 0;
          IR value = emit_row(i, [&](ElementEmitter& e, Value v, const Indices& where, const Index& offset) -> IR {
            if (is_read_by_vectors(offset)) return e.load(v, c.buffer(v), where);
            return k.from_memory(element(v), b.CreateLoad(type_in_memory(v), b.CreateInBoundsGEP(type_in_memory(v), squares[next++].memory, i)));
          });
          IR target = c.elements(1).offset(shape, at).base;
          auto whole = [&] { k.store(element(output), value, c.buffer(output), target, lanes); };
          auto rest = [&] {
            const int count = int(columns % lanes);
            for (int size = lanes / 2, done = 0; done < count; size /= 2) {
              if (!(count & size)) continue;
              int from = lanes - count + done;
              IR some = size == 1 ? b.CreateExtractElement(value, from) : b.CreateShuffleVector(value, llvm::to_vector(llvm::seq(from, from + size)));
              k.store(element(output), some, c.buffer(output), k.add(target, k.i64(from)), size);
              done += size;
            }
          };
          columns % lanes ? k.either(b.CreateICmpEQ(begin, column), whole, rest) : whole();
        });
      });
    });
  });
}

}  // namespace

bool emit_transposition(KernelContext& c) {
  constexpr int64_t kLeastColumns = 64, kMostInterleaved = 8;
  constexpr int kNarrowest = 4;
  const Fusion& f = c.fusion;
  auto& k = c.k;
  int lanes = k.target.lanes;
  Value output = f.outputs[0];
  auto shape = shaped(output).getShape();
  bool by_rows = llvm::any_of(f.roles, [](auto& role) { return role.second == Fusion::Row; });
  if (by_rows || f.outputs.size() != 1 || element(output).isInteger(1) || shape != ArrayRef<int64_t>(f.shape) || shape.size() < 2) return false;
  auto is_interleaved = [&](int64_t dim) { return dim + 2 == int64_t(shape.size()) && shape.back() <= kMostInterleaved && shape.back() < lanes; };
  auto dim = dimension_read(c, output, lanes);
  // Of short rows, narrower vectors.
  for (int narrow = lanes / 2; !dim && narrow >= kNarrowest; narrow /= 2)
    if (auto read = dimension_read(c, output, narrow); read && is_interleaved(*read)) return emit_interleaved(c, *read, narrow), true;
  if (!dim) {
    if (auto some = dimension_read_by_some(c, output)) return emit_partly_transposed(c, *some), true;
    return false;
  }
  if (is_interleaved(*dim)) return emit_interleaved(c, *dim, lanes), true;
  // The last dimensions count as one where they are short. A task takes whole lines of what is read, unless there is less.
  size_t rank = shape.size() - 1;
  int64_t columns = shape[rank];
  while (columns < kLeastColumns && int64_t(rank) > *dim + 1) columns *= shape[--rank];
  int64_t along = shape[*dim], line = 64 / element_bytes(element(output)), squares = along >= line && lanes < line ? line / lanes : 1, rows = squares * lanes;
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
          values.push_back(k.to_memory(element(output), c.elements(lanes).emit(output, from)));  // what is narrower is transposed faster
        }
        k.transpose(values);
        for (int i = 0; i < lanes; ++i) {
          at[*dim] = {k.add(row, k.i64(i)), 0, 1};
          Indices to(at);
          to.push_back({column, 1, 1});
          write(c, values[i], to, written);
        }
      }
    });
  });
  return true;
}

}  // namespace cresset::cpu
