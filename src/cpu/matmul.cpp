#include "cpu/matmul.h"

#include "llvm/ADT/bit.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
// Equal parts of at most `most`, each a multiple of `unit`.
int64_t equal_part(int64_t n, int64_t most, int64_t unit) {
  return std::max(unit, round_up(ceil_div(n, ceil_div(n, std::max(most, unit))), unit));
}

class MatmulEmitter {
 public:
  MatmulEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s) {}

  void run() {
    type_ = k_.compute_type(s_.type);
    bytes_ = type_->getScalarSizeInBits() / 8;
    lanes_ = std::max(2, k_.target.lanes * 4 / std::max<int>(bytes_, 4));
    choose_blocks();
    int64_t m_blocks = ceil_div(s_.m, mc_), n_blocks = ceil_div(s_.n, nb_);
    c_.kernel.tasks = s_.batch * m_blocks * n_blocks;
    c_.kernel.cost = 0.25 * s_.batch * s_.m * s_.n * s_.k;

    auto reserve = [&](int64_t elements) {
      int64_t at = c_.kernel.scratch_bytes;
      c_.kernel.scratch_bytes += round_up(elements * bytes_, 64) + 64;  // the vectors that pack A end beyond their panel
      return at;
    };
    packed_a_ = reserve(mc_ * kc_);
    packed_b_ = reserve(nb_ * kc_);
    sums_ = reserve(is_split() ? mc_ * nb_ : mr_ * nr_);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {s_.batch, n_blocks, m_blocks}, task);
      block(at[0].base, k_.mul(at[2].base, mc_), k_.mul(at[1].base, nb_));
    });
  }

 private:
  void choose_blocks() {
    // As many accumulators as the registers hold, next to the vectors of B and one broadcast of A; few rows get wider tiles.
    bool many = k_.target.registers == 32;
    mr_ = std::clamp<int64_t>(s_.m, 1, many ? 8 : 6);
    int vectors = many ? 24 / std::max<int64_t>(mr_, 4) : 12 / std::max<int64_t>(mr_, 3);
    vectors_ = int(std::clamp<int64_t>(ceil_div(s_.n, lanes_), 1, vectors));
    nr_ = vectors_ * lanes_;
    // A panel of B takes half of the L1 cache. Large blocks, because each row of blocks packs its part of B again and each column its part of A;
    // that A then comes from L3 does not show, it is read in order.
    kc_ = equal_part(std::max<int64_t>(s_.k, 1), (many ? 36 : 16) * 1024 / (nr_ * bytes_), 1);
    mc_ = equal_part(s_.m, many ? 768 : 512, mr_);
    nb_ = equal_part(s_.n, many ? 480 : 384, nr_);
    auto tasks = [&] { return s_.batch * ceil_div(s_.m, mc_) * ceil_div(s_.n, nb_); };
    while (tasks() < 8 && nb_ > 4 * nr_) nb_ = equal_part(s_.n, nb_ - nr_, nr_);
    while (tasks() < 8 && mc_ > 4 * mr_) mc_ = equal_part(s_.m, mc_ - mr_, mr_);
    while (tasks() < 4 && nb_ > nr_) nb_ = equal_part(s_.n, nb_ - nr_, nr_);
  }
  bool is_split() const { return s_.k > kc_; }

  IR min(IR x, IR y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  IR element_of_scratch(int64_t at, IR index) {
    return b_.CreateInBoundsGEP(type_, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), k_.scratch(), at), index);
  }
  // Where the panels of the rows from m, the columns from n begin; both count from the block's own first one.
  IR panel_a(IR m) { return element_of_scratch(packed_a_, k_.mul(m, kc_)); }
  IR panel_b(IR n) { return element_of_scratch(packed_b_, k_.mul(n, kc_)); }
  IR sums_of(IR m, IR n) { return is_split() ? element_of_scratch(sums_, b_.CreateAdd(k_.mul(n, mc_), k_.mul(m, nr_))) : element_of_scratch(sums_, k_.i64(0)); }

  struct Block {
    IR batch, m0, n0, k0;  // its first element
    IR m, n, k;            // its size
  };

  void block(IR batch, IR m0, IR n0) {
    auto size = [&](int64_t all, int64_t part, IR from) { return all % part == 0 ? k_.i64(part) : min(k_.i64(part), b_.CreateSub(k_.i64(all), from)); };
    Block at{batch, m0, n0, nullptr, size(s_.m, mc_, m0), size(s_.n, nb_, n0), nullptr};
    k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(s_.k, 1)), kc_, [&](IR k0) {
      at.k0 = k0;
      at.k = s_.k ? size(s_.k, kc_, k0) : k_.i64(0);
      k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { pack_a(at, m); });
      pack_b(at);
      k_.loop(k_.i64(0), at.n, nr_, [&](IR n) {
        k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { tile(at, m, n); });
      });
    });
  }

  //===-- Packing ---------------------------------------------------------------------------------------------------===//

  IR cast(IR v, Type from) {  // operands may be narrower than the result
    auto* to = v->getType()->getWithNewType(type_);
    if (v->getType() == to) return v;
    if (type_->isFloatingPointTy()) return b_.CreateFPExt(v, to);
    return from.isUnsignedInteger() || from.isInteger(1) ? b_.CreateZExt(v, to) : b_.CreateSExt(v, to);
  }
  IR load_a(IR batch, IR m, IR k, int lanes) { return cast(k_.load(s_.a_type, s_.a, s_.a_offset(batch, m, k), lanes), s_.a_type); }
  IR load_b(IR batch, IR k, IR n, int lanes) { return cast(k_.load(s_.b_type, s_.b, s_.b_offset(batch, k, n), lanes), s_.b_type); }
  void put(IR value, IR panel, IR index) { b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(type_, panel, index), llvm::Align(4)); }

  // [k][mr]; rows beyond M repeat the last one, their results are not stored.
  void pack_a(const Block& at, IR m) {
    IR panel = panel_a(m), first = b_.CreateAdd(at.m0, m);
    SmallVector<IR> rows;
    for (int64_t i = 0; i < mr_; ++i) {
      IR row = k_.add(first, k_.i64(i));
      rows.push_back(s_.m % mr_ ? min(row, k_.i64(s_.m - 1)) : row);
    }
    auto singly = [&](IR k) {
      for (auto [i, row] : llvm::enumerate(rows)) put(load_a(at.batch, row, b_.CreateAdd(at.k0, k), 1), panel, k_.add(k_.mul(k, mr_), k_.i64(i)));
    };
    if (s_.a_unit_m && s_.m % mr_ == 0 && mr_ > 1)
      return k_.loop(k_.i64(0), at.k, [&](IR k) { put(load_a(at.batch, first, b_.CreateAdd(at.k0, k), int(mr_)), panel, k_.mul(k, mr_)); });
    // Squares, transposed in registers. What a vector holds beyond the last row is overwritten by the next one.
    int side = mr_ == 1 ? lanes_ : int(llvm::bit_ceil(uint64_t(mr_)));
    IR squares = s_.a_unit_k ? b_.CreateAnd(at.k, k_.i64(-side)) : k_.i64(0);
    if (s_.a_unit_k)
      k_.loop(k_.i64(0), squares, side, [&](IR k) {
        IRs vectors;
        for (IR row : rows) vectors.push_back(load_a(at.batch, row, b_.CreateAdd(at.k0, k), side));
        if (mr_ == 1) return put(vectors[0], panel, k);
        vectors.resize(side, llvm::PoisonValue::get(vectors[0]->getType()));
        transpose(vectors);
        for (int i = 0; i < side; ++i) put(vectors[i], panel, k_.mul(k_.add(k, k_.i64(i)), mr_));
      });
    k_.loop(squares, at.k, singly);
  }

  // Panels of [k][nr]. What columns beyond N hold does not matter, but is no signalling rubbish.
  void pack_b(const Block& at) {
    IR whole = s_.n % nr_ == 0 ? at.n : k_.mul(b_.CreateUDiv(at.n, k_.i64(nr_)), nr_);
    auto panel_row = [&](IR n, IR k, IR count) {  // one element after the other
      k_.loop(k_.i64(0), count, [&](IR j) {
        IR row = b_.CreateAdd(at.k0, k), column = b_.CreateAdd(b_.CreateAdd(at.n0, n), j);
        put(s_.b_element ? cast(s_.b_element(at.batch, row, column), s_.b_type) : load_b(at.batch, row, column, 1), panel_b(n), b_.CreateAdd(k_.mul(k, nr_), j));
      });
    };
    if (s_.b_unit_k) {
      k_.loop(k_.i64(0), at.n, nr_, [&](IR n) { pack_b_transposed(at, n, panel_row); });
      return;
    }
    // Row after row, each as far as the block goes: neighbours in memory.
    k_.loop(k_.i64(0), at.k, [&](IR k) {
      k_.loop(k_.i64(0), whole, nr_, [&](IR n) {
        if (!s_.b_unit_n) return panel_row(n, k, k_.i64(nr_));
        for (int v = 0; v < vectors_; ++v) {
          IR column = k_.add(b_.CreateAdd(at.n0, n), k_.i64(v * lanes_));
          put(load_b(at.batch, b_.CreateAdd(at.k0, k), column, lanes_), panel_b(n), k_.add(k_.mul(k, nr_), k_.i64(v * lanes_)));
        }
      });
      if (s_.n % nr_ == 0) return;
      k_.when(b_.CreateICmpSLT(whole, at.n), [&] {
        for (int v = 0; v < vectors_; ++v)
          put(llvm::Constant::getNullValue(k_.vector(type_, lanes_)), panel_b(whole), k_.add(k_.mul(k, nr_), k_.i64(v * lanes_)));
        panel_row(whole, k, b_.CreateSub(at.n, whole));
      });
    });
  }
  // Squares of lanes x lanes, transposed in registers; columns beyond N repeat the last one.
  void pack_b_transposed(const Block& at, IR n, const std::function<void(IR, IR, IR)>& panel_row) {
    IR squares = b_.CreateAnd(at.k, k_.i64(-int64_t(lanes_))), panel = panel_b(n);
    SmallVector<IR> columns;
    for (int64_t j = 0; j < nr_; ++j) {
      IR column = k_.add(b_.CreateAdd(at.n0, n), k_.i64(j));
      columns.push_back(s_.n % nr_ ? min(column, k_.i64(s_.n - 1)) : column);
    }
    k_.loop(k_.i64(0), squares, lanes_, [&](IR k) {
      for (int v = 0; v < vectors_; ++v) {
        IRs rows;
        for (int i = 0; i < lanes_; ++i) rows.push_back(load_b(at.batch, b_.CreateAdd(at.k0, k), columns[v * lanes_ + i], lanes_));
        transpose(rows);
        for (int i = 0; i < lanes_; ++i) put(rows[i], panel, k_.add(k_.mul(k_.add(k, k_.i64(i)), nr_), k_.i64(v * lanes_)));
      }
    });
    IR count = s_.n % nr_ ? min(k_.i64(nr_), b_.CreateSub(at.n, n)) : k_.i64(nr_);
    k_.loop(squares, at.k, [&](IR k) { panel_row(n, k, count); });
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

  //===-- Tiles -----------------------------------------------------------------------------------------------------===//

  void tile(const Block& at, IR m, IR n) {
    auto* vector = k_.vector(type_, lanes_);
    IR rows = panel_a(m), columns = panel_b(n);
    auto vector_at = [&](IR base, IR index, int64_t v) { return b_.CreateInBoundsGEP(type_, base, k_.add(index, k_.i64(v * lanes_))); };
    IRs sums = k_.loop(k_.i64(0), at.k, 1, IRs(mr_ * vectors_, llvm::Constant::getNullValue(vector)), [&](IR k, ArrayRef<IR> sums) {
      IRs next, b;
      for (int v = 0; v < vectors_; ++v) b.push_back(b_.CreateAlignedLoad(vector, vector_at(columns, k_.mul(k, nr_), v), llvm::Align(4)));
      for (int64_t i = 0; i < mr_; ++i) {
        IR a = k_.splat(b_.CreateLoad(type_, b_.CreateInBoundsGEP(type_, rows, k_.add(k_.mul(k, mr_), k_.i64(i)))), lanes_);
        for (int v = 0; v < vectors_; ++v) {
          IR sum = sums[next.size()];
          next.push_back(type_->isFloatingPointTy() ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {a, b[v], sum}) : b_.CreateAdd(b_.CreateMul(a, b[v]), sum));
        }
      }
      return next;
    });
    IR memory = sums_of(m, n);
    auto keep = [&](bool add) {
      for (auto [i, sum] : llvm::enumerate(sums)) {
        IR address = vector_at(memory, k_.i64(0), i), x = sum;
        if (IR old = add ? b_.CreateAlignedLoad(vector, address, llvm::Align(16)) : nullptr) x = type_->isFloatingPointTy() ? b_.CreateFAdd(old, x) : b_.CreateAdd(old, x);
        b_.CreateAlignedStore(x, address, llvm::Align(16));
      }
    };
    if (!is_split()) return keep(false), write(at, m, n, memory);
    IR first = b_.CreateICmpEQ(at.k0, k_.i64(0));
    k_.when(first, [&] { keep(false); });
    k_.when(b_.CreateNot(first), [&] { keep(true); });
    k_.when(b_.CreateICmpSGE(b_.CreateAdd(at.k0, at.k), k_.i64(s_.k)), [&] { write(at, m, n, memory); });
  }

  // The part of the tile that lies within C.
  void write(const Block& at, IR m, IR n, IR memory) {
    IR row0 = b_.CreateAdd(at.m0, m), column0 = b_.CreateAdd(at.n0, n);
    IR rows = s_.m % mr_ ? min(k_.i64(mr_), b_.CreateSub(at.m, m)) : k_.i64(mr_);
    k_.loop(k_.i64(0), rows, [&](IR i) {
      auto store = [&](IR j, int lanes) {
        IR sum = b_.CreateAlignedLoad(k_.vector(type_, lanes), b_.CreateInBoundsGEP(type_, memory, k_.add(k_.mul(i, nr_), j)), llvm::Align(bytes_));
        s_.store(at.batch, b_.CreateAdd(row0, i), k_.add(column0, j), sum, lanes);
      };
      auto full = [&] { for (int v = 0; v < vectors_; ++v) store(k_.i64(v * lanes_), lanes_); };
      if (s_.store_vectors && s_.n % nr_ == 0) return full();
      IR columns = min(k_.i64(nr_), b_.CreateSub(at.n, n));
      IR vectors = s_.store_vectors ? b_.CreateAnd(columns, k_.i64(-int64_t(lanes_))) : k_.i64(0);
      if (s_.store_vectors) k_.loop(k_.i64(0), vectors, lanes_, [&](IR j) { store(j, lanes_); });
      k_.loop(vectors, columns, [&](IR j) { store(j, 1); });
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  llvm::Type* type_ = nullptr;
  int bytes_ = 4, lanes_ = 8, vectors_ = 2;
  int64_t mr_ = 6, nr_ = 16, mc_ = 0, kc_ = 0, nb_ = 0;
  int64_t packed_a_ = 0, packed_b_ = 0, sums_ = 0;  // places in scratch
};

}  // namespace

void emit_matmul(KernelContext& c, const MatmulSpec& spec) { MatmulEmitter(c, spec).run(); }

}  // namespace cresset::cpu
