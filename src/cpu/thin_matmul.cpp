// Products with few rows: packing would touch each element of B twice and use it once, so B is read where it lies, in order.
// Where B runs along K, as linear layers store their weights: dot products, vectors along K, a few columns at once.
// Where B runs along N: rows of B, times an element of A each, are added to rows of sums that stay in the L1 cache.
#include "cpu/matmul.h"

#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kBytesOfTask = 128 << 10;

class ThinEmitter {
 public:
  ThinEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s), p_(c.k, s) {}

  void run() {
    if (s_.b_unit_k) by_dot_products();
    else by_rows_of_b();
  }

 private:
  void by_dot_products() {
    int64_t registers = k_.target.registers == 32 ? 24 : 12;
    rows_ = std::min<int64_t>(s_.m, registers / 3);
    columns_ = std::min<int64_t>(registers / rows_, 8);
    int64_t bytes_of_column = s_.k * (s_.b_type.getIntOrFloatBitWidth() / 8);
    block_ = std::clamp<int64_t>(kBytesOfTask / bytes_of_column, 1, s_.n);
    block_ = (block_ + columns_ - 1) / columns_ * columns_;
    run([&](IR batch, IR n0, IR count) {
      k_.loop(k_.i64(0), count, columns_, [&](IR n) {
        k_.loop(k_.i64(0), k_.i64(s_.m), rows_, [&](IR m) { sums(batch, m, n0, n); });
      });
    });
  }
  void by_rows_of_b() {
    int64_t most = std::max<int64_t>(2048 / s_.m, 128);
    block_ = std::clamp<int64_t>((s_.n / 8 + p_.lanes - 1) / p_.lanes * p_.lanes, p_.lanes, most);
    run([&](IR batch, IR n0, IR count) {
      k_.loop(k_.i64(0), k_.i64(s_.m * block_), [&](IR i) { b_.CreateStore(llvm::Constant::getNullValue(p_.type), sum_at(k_.i64(0), i)); });
      int64_t whole = s_.k / 4 * 4;
      k_.loop(k_.i64(0), k_.i64(whole), 4, [&](IR k) { add_rows(batch, k, 4, n0, count); });
      k_.loop(k_.i64(whole), k_.i64(s_.k), [&](IR k) { add_rows(batch, k, 1, n0, count); });
    });
  }
  void add_rows(IR batch, IR k0, int64_t depth, IR n0, IR count) {
    for (int64_t m0 = 0; m0 < s_.m; m0 += 2) {
      int64_t rows = std::min<int64_t>(2, s_.m - m0);
      IRs a;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t d = 0; d < depth; ++d) a.push_back(p_.load_a(batch, k_.i64(m0 + i), k_.add(k0, k_.i64(d)), 1));
      k_.along(count, p_.lanes, [&](IR n, int lanes) {
        IRs b;
        for (int64_t d = 0; d < depth; ++d) b.push_back(p_.load_b(batch, k_.add(k0, k_.i64(d)), b_.CreateAdd(n0, n), lanes));
        for (int64_t i = 0; i < rows; ++i) {
          IR address = sum_at(k_.i64(m0 + i), n);
          IR sum = b_.CreateAlignedLoad(k_.vector(p_.type, lanes), address, llvm::Align(p_.bytes));
          for (int64_t d = 0; d < depth; ++d) sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {k_.splat(a[i * depth + d], lanes), b[d], sum});
          b_.CreateAlignedStore(sum, address, llvm::Align(p_.bytes));
        }
      });
    }
  }

  // Shares the columns out; `multiply` leaves a block's sums in scratch.
  void run(const std::function<void(IR batch, IR n0, IR count)>& multiply) {
    int64_t blocks = (s_.n + block_ - 1) / block_;
    c_.kernel.tasks = s_.batch * blocks;
    c_.kernel.cost = double(s_.batch) * s_.n * s_.k * (s_.b_type.getIntOrFloatBitWidth() / 8);
    c_.kernel.scratch_bytes = (s_.m + rows_) * block_ * p_.bytes;
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {s_.batch, blocks}, task);
      IR n0 = k_.mul(at[1].base, block_), count = k_.min(k_.i64(block_), b_.CreateSub(k_.i64(s_.n), n0));
      multiply(at[0].base, n0, count);
      write(at[0].base, n0, count);
    });
  }

  IR sum_at(IR m, IR n) { return b_.CreateInBoundsGEP(p_.type, k_.scratch(), b_.CreateAdd(k_.mul(m, block_), n)); }

  void sums(IR batch, IR m, IR n0, IR n) {
    IRs rows, columns;
    for (int64_t i = 0; i < rows_; ++i) rows.push_back(k_.min(k_.add(m, k_.i64(i)), k_.i64(s_.m - 1)));
    for (int64_t j = 0; j < columns_; ++j) columns.push_back(k_.min(b_.CreateAdd(n0, k_.add(n, k_.i64(j))), k_.i64(s_.n - 1)));
    auto multiply = [&](IR from, IR to, int lanes, IRs init) {
      return k_.loop(from, to, lanes, init, [&](IR k, ArrayRef<IR> sums) {
        IRs next, a;
        for (IR row : rows) a.push_back(p_.load_a(batch, row, k, lanes));
        for (IR column : columns) {
          IR b = p_.load_b(batch, k, column, lanes);
          for (IR x : a) next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fma, {b->getType()}, {x, b, sums[next.size()]}));
        }
        return next;
      });
    };
    int64_t whole = s_.k / p_.lanes * p_.lanes;
    IRs vectors = multiply(k_.i64(0), k_.i64(whole), p_.lanes, IRs(rows_ * columns_, llvm::Constant::getNullValue(k_.vector(p_.type, p_.lanes)))), totals;
    for (IR v : vectors) {
      totals.push_back(k_.fold(v, p_.lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); }));
    }
    if (whole < s_.k) totals = multiply(k_.i64(whole), k_.i64(s_.k), 1, totals);
    for (int64_t j = 0; j < columns_; ++j)
      for (int64_t i = 0; i < rows_; ++i) b_.CreateStore(totals[j * rows_ + i], sum_at(k_.add(m, k_.i64(i)), k_.add(n, k_.i64(j))));
  }

  void write(IR batch, IR n0, IR count) {
    auto store = [&](IR m, IR n, int lanes) {
      s_.store(batch, m, b_.CreateAdd(n0, n), b_.CreateAlignedLoad(k_.vector(p_.type, lanes), sum_at(m, n), llvm::Align(p_.bytes)), lanes);
    };
    k_.loop(k_.i64(0), k_.i64(s_.m), [&](IR m) {
      if (s_.store_vectors) k_.along(count, p_.lanes, [&](IR n, int lanes) { store(m, n, lanes); });
      else k_.loop(k_.i64(0), count, [&](IR n) { store(m, n, 1); });
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  Panels p_;
  int64_t rows_ = 1, columns_ = 1, block_ = 1;  // of a step; columns of a task
};

}  // namespace

bool is_thin(const MatmulSpec& s) {
  return s.m <= kMostRows && s.m < s.n && !s.pack_b && isa<FloatType>(s.type) && ((s.b_unit_k && s.a_unit_k && s.k >= 64) || (s.b_unit_n && s.m <= 4));
}

void emit_thin_matmul(KernelContext& c, const MatmulSpec& spec) { ThinEmitter(c, spec).run(); }

}  // namespace cresset::cpu
