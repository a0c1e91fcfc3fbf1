#include "cpu/matmul.h"

#include <numeric>

#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

class MatmulEmitter {
 public:
  MatmulEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s) {}

  void run() {
    type_ = k_.compute_type(s_.c_type);
    bool wide = type_->getScalarSizeInBits() == 64;
    lanes_ = std::max(2, k_.target.lanes / (wide ? 2 : 1));
    // As many accumulators as the registers hold, next to the vectors of B and one broadcast of A.
    vectors_ = k_.target.registers == 32 ? 3 : 2;
    mr_ = k_.target.registers == 32 ? 8 : 6;
    if (s_.m < mr_) mr_ = std::max<int64_t>(s_.m, 1);
    nr_ = vectors_ * lanes_;
    // C is rounded to its type between K blocks, so narrow types take all of K at once.
    bool exact = s_.c_type.isF32() || s_.c_type.isF64() || s_.c_type.isInteger();
    kc_ = exact ? std::min<int64_t>(s_.k, 320) : s_.k;
    if (exact && s_.k > kc_) kc_ = ceil_div(s_.k, ceil_div(s_.k, kc_));
    pack_a_ = !(s_.a_unit_k && s_.a_type == s_.c_type && (s_.c_type.isF32() || s_.c_type.isF64()));
    mc_ = pack_a_ ? std::min(round_up(s_.m, mr_), round_up(192, mr_)) : std::min(round_up(s_.m, mr_), round_up(384, mr_));
    nb_ = std::min(round_up(s_.n, nr_), round_up(384, nr_));
    auto tasks = [&] { return s_.batch * ceil_div(s_.m, mc_) * ceil_div(s_.n, nb_); };
    while (tasks() < 8 && nb_ > 2 * nr_) nb_ = round_up(nb_ / 2, nr_);
    while (tasks() < 4 && mc_ > 4 * mr_) mc_ = round_up(mc_ / 2, mr_);

    int64_t bytes = type_->getScalarSizeInBits() / 8;
    a_scratch_ = pack_a_ ? round_up(mc_ * kc_ * bytes, 64) : 0;
    c_.kernel.tasks = tasks();
    c_.kernel.cost = 0.25 * s_.batch * s_.m * s_.n * s_.k;
    c_.kernel.scratch_bytes = a_scratch_ + round_up(nr_ * kc_ * bytes, 64) + 64;
    tile_ = k_.alloca_in_entry(type_, mr_ * nr_);

    int64_t m_blocks = ceil_div(s_.m, mc_), n_blocks = ceil_div(s_.n, nb_);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {s_.batch, n_blocks, m_blocks}, task);
      block(at[0].base, k_.mul(at[2].base, mc_), k_.mul(at[1].base, nb_));
    });
  }

 private:
  IR min(IR x, IR y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  IR panel_a(IR m, IR m0) {  // packed panel of the rows from m
    return b_.CreateInBoundsGEP(type_, k_.scratch(), b_.CreateMul(b_.CreateSub(m, m0), k_.i64(kc_)));
  }
  IR panel_b() { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), k_.scratch(), a_scratch_); }

  void block(IR batch, IR m0, IR n0) {
    IR m1 = min(b_.CreateAdd(m0, k_.i64(mc_)), k_.i64(s_.m)), n1 = min(b_.CreateAdd(n0, k_.i64(nb_)), k_.i64(s_.n));
    k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(s_.k, 1)), std::max<int64_t>(kc_, 1), [&](IR k0) {
      IR kn = s_.k % std::max<int64_t>(kc_, 1) == 0 ? k_.i64(kc_) : min(k_.i64(kc_), b_.CreateSub(k_.i64(s_.k), k0));
      if (pack_a_) k_.loop(m0, m1, mr_, [&](IR m) { pack_a(batch, m, m0, k0, kn); });
      k_.loop(n0, n1, nr_, [&](IR n) {
        pack_b(batch, n, k0, kn);
        k_.loop(m0, m1, mr_, [&](IR m) { tile(batch, m, m0, n, k0, kn); });
      });
    });
  }

  IR a_element(IR batch, IR m, IR k) { return k_.load(s_.a_type, s_.a, s_.a_offset(batch, m, k), 1); }
  IR b_element(IR batch, IR k, IR n) { return s_.b_element ? s_.b_element(batch, k, n) : k_.load(s_.b_type, s_.b, s_.b_offset(batch, k, n), 1); }
  IR cast(IR v, Type from) {  // operands may be narrower than the result
    auto* to = v->getType()->getWithNewType(type_);
    if (v->getType() == to) return v;
    if (type_->isFloatingPointTy()) return b_.CreateFPExt(v, to);
    return from.isUnsignedInteger() || from.isInteger(1) ? b_.CreateZExt(v, to) : b_.CreateSExt(v, to);
  }

  // [k][mr]; rows beyond M repeat the last one, their results are not stored.
  void pack_a(IR batch, IR m, IR m0, IR k0, IR kn) {
    IR panel = panel_a(m, m0);
    auto rows = [&](bool full) {
      k_.loop(k_.i64(0), kn, [&](IR k) {
        IR source_k = b_.CreateAdd(k0, k), target = b_.CreateMul(k, k_.i64(mr_));
        if (full && s_.a_unit_m) {
          IR v = cast(k_.load(s_.a_type, s_.a, s_.a_offset(batch, m, source_k), mr_), s_.a_type);
          b_.CreateAlignedStore(v, b_.CreateInBoundsGEP(type_, panel, target), llvm::Align(4));
          return;
        }
        for (int64_t i = 0; i < mr_; ++i) {
          IR row = k_.add(m, k_.i64(i));
          if (!full) row = min(row, k_.i64(s_.m - 1));
          b_.CreateStore(cast(a_element(batch, row, source_k), s_.a_type), b_.CreateInBoundsGEP(type_, panel, k_.add(target, k_.i64(i))));
        }
      });
    };
    if (s_.m % mr_ == 0) return rows(true);
    IR fits = b_.CreateICmpSLE(b_.CreateAdd(m, k_.i64(mr_)), k_.i64(s_.m));
    k_.when(fits, [&] { rows(true); });
    k_.when(b_.CreateNot(fits), [&] { rows(false); });
  }

  // [k][nr]; columns beyond N are zero.
  void pack_b(IR batch, IR n, IR k0, IR kn) {
    auto full = [&] {
      if (s_.b_unit_n) {
        k_.loop(k_.i64(0), kn, [&](IR k) {
          for (int v = 0; v < vectors_; ++v) {
            IR x = k_.load(s_.b_type, s_.b, s_.b_offset(batch, b_.CreateAdd(k0, k), k_.add(n, k_.i64(v * lanes_))), lanes_);
            store_b(cast(x, s_.b_type), k, v * lanes_);
          }
        });
      } else if (s_.b_unit_k) {
        // Squares of lanes x lanes, transposed in registers.
        IR squares = b_.CreateAnd(kn, k_.i64(-int64_t(lanes_)));
        k_.loop(k_.i64(0), squares, lanes_, [&](IR k) {
          for (int v = 0; v < vectors_; ++v) {
            IRs rows;
            for (int i = 0; i < lanes_; ++i)
              rows.push_back(cast(k_.load(s_.b_type, s_.b, s_.b_offset(batch, b_.CreateAdd(k0, k), k_.add(n, k_.i64(v * lanes_ + i))), lanes_), s_.b_type));
            transpose(rows);
            for (int i = 0; i < lanes_; ++i) store_b(rows[i], k_.add(k, k_.i64(i)), v * lanes_);
          }
        });
        k_.loop(squares, kn, [&](IR k) { one_by_one(batch, n, k0, k, k_.i64(nr_)); });
      } else {
        k_.loop(k_.i64(0), kn, [&](IR k) { one_by_one(batch, n, k0, k, k_.i64(nr_)); });
      }
    };
    if (s_.n % nr_ == 0) return full();
    IR left = b_.CreateSub(k_.i64(s_.n), n);
    IR fits = b_.CreateICmpSGE(left, k_.i64(nr_));
    k_.when(fits, full);
    k_.when(b_.CreateNot(fits), [&] {
      k_.loop(k_.i64(0), kn, [&](IR k) {
        for (int v = 0; v < vectors_; ++v) store_b(llvm::Constant::getNullValue(k_.vector(type_, lanes_)), k, v * lanes_);
        one_by_one(batch, n, k0, k, left);
      });
    });
  }
  void one_by_one(IR batch, IR n, IR k0, IR k, IR count) {
    k_.loop(k_.i64(0), count, [&](IR j) {
      IR x = cast(b_element(batch, b_.CreateAdd(k0, k), b_.CreateAdd(n, j)), s_.b_type);
      b_.CreateStore(x, b_.CreateInBoundsGEP(type_, panel_b(), b_.CreateAdd(b_.CreateMul(k, k_.i64(nr_)), j)));
    });
  }
  void store_b(IR vector, IR k, int64_t column) {
    b_.CreateAlignedStore(vector, b_.CreateInBoundsGEP(type_, panel_b(), k_.add(b_.CreateMul(k, k_.i64(nr_)), k_.i64(column))), llvm::Align(16));
  }
  // log2(n) rounds of interleaving row i with row i + n/2.
  void transpose(IRs& rows) {
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

  void tile(IR batch, IR m, IR m0, IR n, IR k0, IR kn) {
    auto* vector = k_.vector(type_, lanes_);
    IRs zero(mr_ * vectors_, llvm::Constant::getNullValue(vector));
    IR packed = pack_a_ ? panel_a(m, m0) : nullptr;
    IRs rows;
    if (!pack_a_)
      for (int64_t i = 0; i < mr_; ++i) {
        IR row = k_.add(m, k_.i64(i));
        if (s_.m % mr_) row = min(row, k_.i64(s_.m - 1));
        rows.push_back(b_.CreateInBoundsGEP(type_, s_.a, s_.a_offset(batch, row, k0)));
      }
    IRs sums = k_.loop(k_.i64(0), kn, 1, zero, [&](IR k, ArrayRef<IR> sums) {
      IRs next(sums.size()), columns;
      for (int v = 0; v < vectors_; ++v)
        columns.push_back(b_.CreateAlignedLoad(vector, b_.CreateInBoundsGEP(type_, panel_b(), k_.add(b_.CreateMul(k, k_.i64(nr_)), k_.i64(v * lanes_))), llvm::Align(16)));
      for (int64_t i = 0; i < mr_; ++i) {
        IR address = pack_a_ ? b_.CreateInBoundsGEP(type_, packed, k_.add(b_.CreateMul(k, k_.i64(mr_)), k_.i64(i)))
                             : b_.CreateInBoundsGEP(type_, rows[i], k);
        IR a = k_.splat(b_.CreateLoad(type_, address), lanes_);
        for (int v = 0; v < vectors_; ++v) {
          IR& sum = next[i * vectors_ + v];
          sum = type_->isFloatingPointTy() ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {a, columns[v], sums[i * vectors_ + v]})
                                           : b_.CreateAdd(b_.CreateMul(a, columns[v]), sums[i * vectors_ + v]);
        }
      }
      return next;
    });
    bool blocks = s_.k > kc_;
    if (!blocks) return write(batch, m, n, sums, false);
    IR first = b_.CreateICmpEQ(k0, k_.i64(0));
    k_.when(first, [&] { write(batch, m, n, sums, false); });
    k_.when(b_.CreateNot(first), [&] { write(batch, m, n, sums, true); });
  }

  void write(IR batch, IR m, IR n, ArrayRef<IR> sums, bool accumulate) {
    auto sum = [&](IR x, IR offset, int lanes) {
      if (!accumulate) return x;
      IR old = k_.load(s_.c_type, s_.c, offset, lanes);
      return type_->isFloatingPointTy() ? b_.CreateFAdd(old, x) : b_.CreateAdd(old, x);
    };
    auto vectors = [&] {
      for (int64_t i = 0; i < mr_; ++i)
        for (int v = 0; v < vectors_; ++v) {
          IR offset = s_.c_offset(batch, k_.add(m, k_.i64(i)), k_.add(n, k_.i64(v * lanes_)));
          k_.store(s_.c_type, sum(sums[i * vectors_ + v], offset, lanes_), s_.c, offset, lanes_);
        }
    };
    auto singly = [&] {  // through memory: the part that lies within C
      for (int64_t i = 0; i < mr_ * vectors_; ++i)
        b_.CreateAlignedStore(sums[i], b_.CreateConstInBoundsGEP1_64(type_, tile_, i * lanes_), llvm::Align(16));
      IR rows = min(k_.i64(mr_), b_.CreateSub(k_.i64(s_.m), m)), columns = min(k_.i64(nr_), b_.CreateSub(k_.i64(s_.n), n));
      k_.loop(k_.i64(0), rows, [&](IR i) {
        k_.loop(k_.i64(0), columns, [&](IR j) {
          IR x = b_.CreateLoad(type_, b_.CreateInBoundsGEP(type_, tile_, b_.CreateAdd(b_.CreateMul(i, k_.i64(nr_)), j)));
          IR offset = s_.c_offset(batch, b_.CreateAdd(m, i), b_.CreateAdd(n, j));
          k_.store(s_.c_type, sum(x, offset, 1), s_.c, offset, 1);
        });
      });
    };
    if (!s_.c_unit_n) return singly();
    if (s_.m % mr_ == 0 && s_.n % nr_ == 0) return vectors();
    IR fits = b_.CreateAnd(b_.CreateICmpSLE(b_.CreateAdd(m, k_.i64(mr_)), k_.i64(s_.m)),
                           b_.CreateICmpSLE(b_.CreateAdd(n, k_.i64(nr_)), k_.i64(s_.n)));
    k_.when(fits, vectors);
    k_.when(b_.CreateNot(fits), singly);
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  llvm::Type* type_ = nullptr;
  int lanes_ = 8, vectors_ = 2;
  int64_t mr_ = 6, nr_ = 16, mc_ = 0, kc_ = 0, nb_ = 0, a_scratch_ = 0;
  bool pack_a_ = false;
  IR tile_ = nullptr;
};

// Several dimensions taken as one.
struct Dims {
  SmallVector<int64_t> sizes, strides;
  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()); }
  Dims merged() const {
    Dims result;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      if (!result.sizes.empty() && result.strides.back() == sizes[d] * strides[d]) {
        result.sizes.back() *= sizes[d];
        result.strides.back() = strides[d];
      } else {
        result.sizes.push_back(sizes[d]);
        result.strides.push_back(strides[d]);
      }
    }
    return result;
  }
  bool unit() const { return sizes.empty() || (sizes.size() == 1 && strides[0] == 1); }
  IR offset(KernelEmitter& k, IR flat) const {
    if (sizes.empty()) return k.i64(0);
    if (sizes.size() == 1) return k.mul(flat, strides[0]);
    IR sum = k.i64(0);
    for (auto [i, stride] : llvm::zip(delinearise(k, sizes, flat), strides)) sum = k.add(sum, k.mul(i.base, stride));
    return sum;
  }
};

Dims select(const View& view, ArrayRef<int64_t> dims) {
  Dims result;
  for (int64_t d : dims) {
    result.sizes.push_back(view.shape[d]);
    result.strides.push_back(view.strides[d]);
  }
  return result;
}

}  // namespace

void emit_matmul(KernelContext& c, const MatmulSpec& spec) { MatmulEmitter(c, spec).run(); }

llvm::Error emit_dot(KernelContext& c) {
  auto& k = c.k;
  auto op = mlir::cast<DotGeneralOp>(c.fusion.roles.back().first);
  auto dims = op.getDotDimensionNumbers();
  auto is_buffer = [&](Value v) { return c.slots.has(v) && !c.fusion.outputs.contains(v); };
  auto lhs = view_of(op.getLhs(), is_buffer), rhs = view_of(op.getRhs(), is_buffer);
  if (element(op.getLhs()) != element(op.getRhs()))
    return llvm::createStringError("stablehlo.dot_general: operands of different element types are not supported");
  if (!lhs || !rhs) return llvm::createStringError("stablehlo.dot_general: an operand has no strided form");
  auto free_dims = [](const View& v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> result;
    for (int64_t d = 0; d < int64_t(v.shape.size()); ++d)
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d)) result.push_back(d);
    return result;
  };
  Dims m = select(*lhs, free_dims(*lhs, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions())).merged();
  Dims n = select(*rhs, free_dims(*rhs, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions())).merged();
  Dims ka = select(*lhs, dims.getLhsContractingDimensions()), kb = select(*rhs, dims.getRhsContractingDimensions());
  Dims ba = select(*lhs, dims.getLhsBatchingDimensions()), bb = select(*rhs, dims.getRhsBatchingDimensions());
  MatmulSpec spec;
  spec.batch = ba.count();
  spec.m = m.count(), spec.n = n.count(), spec.k = ka.count();
  ka = ka.merged(), kb = kb.merged();
  spec.a_type = mlir::cast<RankedTensorType>(lhs->base.getType()).getElementType();
  spec.b_type = mlir::cast<RankedTensorType>(rhs->base.getType()).getElementType();
  spec.c_type = mlir::cast<RankedTensorType>(op.getType()).getElementType();
  spec.a = c.buffer(lhs->base), spec.b = c.buffer(rhs->base), spec.c = c.buffer(op.getResult());
  spec.a_offset = [&](IR batch, IR row, IR kk) {
    return k.add(k.add(k.i64(lhs->offset), ba.offset(k, batch)), k.add(m.offset(k, row), ka.offset(k, kk)));
  };
  spec.b_offset = [&](IR batch, IR kk, IR column) {
    return k.add(k.add(k.i64(rhs->offset), bb.offset(k, batch)), k.add(n.offset(k, column), kb.offset(k, kk)));
  };
  spec.c_offset = [&](IR batch, IR row, IR column) { return k.add(k.mul(k.add(k.mul(batch, spec.m), row), spec.n), column); };
  spec.a_unit_k = ka.unit(), spec.a_unit_m = m.unit(), spec.b_unit_n = n.unit(), spec.b_unit_k = kb.unit();
  emit_matmul(c, spec);
  return llvm::Error::success();
}

}  // namespace cresset::cpu
