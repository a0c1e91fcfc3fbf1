#include "cpu/panels.h"

#include "llvm/ADT/bit.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;

Panels::Panels(KernelEmitter& k, const MatmulSpec& spec) : k_(k), b_(k.b), s_(spec) {
  type = k.compute_type(s_.type);
  bytes = type->getScalarSizeInBits() / 8;
  lanes = std::max(2, k.target.lanes * 4 / std::max(bytes, 4));
  // As many accumulators as the registers hold, next to the vectors of B and one broadcast of A; few rows get wider tiles.
  bool many = k.target.registers == 32;
  mr = std::clamp<int64_t>(s_.m, 1, many ? 8 : 6);
  int most = many ? 24 / std::max<int64_t>(mr, 4) : 12 / std::max<int64_t>(mr, 3);
  auto width = [&](int v) { return (s_.n + v * lanes - 1) / (v * lanes) * v; };  // vectors of a row, idle ones included
  vectors = most;
  for (int v = most - 1; v >= 1 && v * mr >= 8; --v)
    if (width(v) < width(vectors)) vectors = v;
  vectors = std::min<int64_t>(vectors, std::max<int64_t>(width(1), 1));
  nr = vectors * lanes;
}

IR Panels::min(IR x, IR y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
IR Panels::cast(IR v, Type from) {  // operands may be narrower than the result
  auto* to = v->getType()->getWithNewType(type);
  if (v->getType() == to) return v;
  if (type->isFloatingPointTy()) return b_.CreateFPExt(v, to);
  return from.isUnsignedInteger() || from.isInteger(1) ? b_.CreateZExt(v, to) : b_.CreateSExt(v, to);
}
IR Panels::load_a(IR batch, IR m, IR k, int lanes) { return cast(k_.load(s_.a_type, s_.a, s_.a_offset(batch, m, k), lanes), s_.a_type); }
IR Panels::load_b(IR batch, IR k, IR n, int lanes) { return cast(k_.load(s_.b_type, s_.b, s_.b_offset(batch, k, n), lanes), s_.b_type); }
void Panels::put(IR value, IR panel, IR index) { b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(type, panel, index), llvm::Align(4)); }

void Panels::pack_a(IR batch, IR m, IR k0, IR count, IR panel) {
  SmallVector<IR> rows;
  for (int64_t i = 0; i < mr; ++i) {
    IR row = k_.add(m, k_.i64(i));
    rows.push_back(s_.m % mr ? min(row, k_.i64(s_.m - 1)) : row);
  }
  if (s_.a_unit_m && s_.m % mr == 0 && mr > 1)
    return k_.loop(k_.i64(0), count, [&](IR k) { put(load_a(batch, m, b_.CreateAdd(k0, k), int(mr)), panel, k_.mul(k, mr)); });
  // Squares, transposed in registers. What a vector holds beyond the last row is overwritten by the next one.
  int side = mr == 1 ? lanes : int(llvm::bit_ceil(uint64_t(mr)));
  IR squares = s_.a_unit_k ? b_.CreateAnd(count, k_.i64(-side)) : k_.i64(0);
  if (s_.a_unit_k)
    k_.loop(k_.i64(0), squares, side, [&](IR k) {
      IRs v;
      for (IR row : rows) v.push_back(load_a(batch, row, b_.CreateAdd(k0, k), side));
      if (mr == 1) return put(v[0], panel, k);
      v.resize(side, llvm::PoisonValue::get(v[0]->getType()));
      transpose(v);
      for (int i = 0; i < side; ++i) put(v[i], panel, k_.mul(k_.add(k, k_.i64(i)), mr));
    });
  k_.loop(squares, count, [&](IR k) {
    for (auto [i, row] : llvm::enumerate(rows)) put(load_a(batch, row, b_.CreateAdd(k0, k), 1), panel, k_.add(k_.mul(k, mr), k_.i64(i)));
  });
}

void Panels::one_row_of_b(IR batch, IR n, IR k0, IR k, IR columns, IR panel) {
  k_.loop(k_.i64(0), columns, [&](IR j) {
    IR row = b_.CreateAdd(k0, k), column = b_.CreateAdd(n, j);
    put(s_.b_element ? cast(s_.b_element(batch, row, column), s_.b_type) : load_b(batch, row, column, 1), panel, b_.CreateAdd(k_.mul(k, nr), j));
  });
}

void Panels::pack_b(IR batch, IR n0, IR columns, IR k0, IR count, const std::function<IR(IR n)>& panel) {
  if (s_.b_unit_k)
    return k_.loop(k_.i64(0), columns, nr, [&](IR n) { pack_b_transposed(batch, b_.CreateAdd(n0, n), b_.CreateSub(columns, n), k0, count, panel(n)); });
  // Row after row, each as far as the block goes: neighbours in memory.
  IR whole = k_.mul(b_.CreateUDiv(columns, k_.i64(nr)), nr);
  k_.loop(k_.i64(0), count, [&](IR k) {
    k_.loop(k_.i64(0), whole, nr, [&](IR n) {
      IR first = b_.CreateAdd(n0, n);
      if (!s_.b_unit_n) return one_row_of_b(batch, first, k0, k, k_.i64(nr), panel(n));
      for (int v = 0; v < vectors; ++v)
        put(load_b(batch, b_.CreateAdd(k0, k), k_.add(first, k_.i64(v * lanes)), lanes), panel(n), k_.add(k_.mul(k, nr), k_.i64(v * lanes)));
    });
    if (s_.n % nr == 0) return;
    k_.when(b_.CreateICmpSLT(whole, columns), [&] {
      for (int v = 0; v < vectors; ++v) put(llvm::Constant::getNullValue(k_.vector(type, lanes)), panel(whole), k_.add(k_.mul(k, nr), k_.i64(v * lanes)));
      one_row_of_b(batch, b_.CreateAdd(n0, whole), k0, k, b_.CreateSub(columns, whole), panel(whole));
    });
  });
}

// Squares of lanes x lanes, transposed in registers; columns beyond N repeat the last one.
void Panels::pack_b_transposed(IR batch, IR n, IR left, IR k0, IR count, IR panel) {
  IR squares = b_.CreateAnd(count, k_.i64(-int64_t(lanes)));
  SmallVector<IR> columns;
  for (int64_t j = 0; j < nr; ++j) {
    IR column = k_.add(n, k_.i64(j));
    columns.push_back(s_.n % nr ? min(column, k_.i64(s_.n - 1)) : column);
  }
  k_.loop(k_.i64(0), squares, lanes, [&](IR k) {
    for (int v = 0; v < vectors; ++v) {
      IRs rows;
      for (int i = 0; i < lanes; ++i) rows.push_back(load_b(batch, b_.CreateAdd(k0, k), columns[v * lanes + i], lanes));
      transpose(rows);
      for (int i = 0; i < lanes; ++i) put(rows[i], panel, k_.add(k_.mul(k_.add(k, k_.i64(i)), nr), k_.i64(v * lanes)));
    }
  });
  IR columns_left = s_.n % nr ? min(k_.i64(nr), left) : k_.i64(nr);
  k_.loop(squares, count, [&](IR k) { one_row_of_b(batch, n, k0, k, columns_left, panel); });
}

// log2(n) rounds of interleaving row i with row i + n/2.
void Panels::transpose(IRs& rows) {
  int n = int(rows.size());
  SmallVector<int> low, high;
  for (int i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  for (int round = 1; round < n; round *= 2) {
    IRs next(n);
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = b_.CreateShuffleVector(rows[i], rows[i + n / 2], low);
      next[2 * i + 1] = b_.CreateShuffleVector(rows[i], rows[i + n / 2], high);
    }
    rows = next;
  }
}

IRs Panels::multiply(const std::function<IR(int64_t i, IR k)>& a, IR panel, IR count, IRs sums) {
  auto* vector = k_.vector(type, lanes);
  return k_.loop(k_.i64(0), count, 1, sums, [&](IR k, ArrayRef<IR> sums) {
    IRs next, columns;
    for (int v = 0; v < vectors; ++v) columns.push_back(b_.CreateAlignedLoad(vector, vector_at(panel, k_.mul(k, nr), v), llvm::Align(4)));
    for (int64_t i = 0; i < mr; ++i) {
      IR x = k_.splat(b_.CreateLoad(type, a(i, k)), lanes);
      for (int v = 0; v < vectors; ++v) {
        IR sum = sums[next.size()];
        next.push_back(type->isFloatingPointTy() ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, columns[v], sum}) : b_.CreateAdd(b_.CreateMul(x, columns[v]), sum));
      }
    }
    return next;
  });
}

}  // namespace cresset::cpu
