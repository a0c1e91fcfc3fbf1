// Products by a B that runs along K, as linear layers store their weights. Its elements are read where they lie, each as an operand of multiply-adds with vectors of rows of A, which are packed:
// so a weight is read once from memory, in order, transposed never, and there are no sums across a vector.
//
// A task has some of the rows of A and of the columns of B. For each part of K it packs its rows into panels, and lets them pass one group of columns after the other,
// which stays in L2. Sums leave the registers with rows and columns exchanged, and are turned in squares on their way to `store`. The last rows of A, if they would leave more than half of a vector empty,
// are dot products with the same columns.
#include "cpu/matmul/matmul.h"

#include "llvm/ADT/bit.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

// Sums are turned, which takes the more time the fewer terms they have, where otherwise B would be packed, which takes the more the fewer rows share it: by more than
// kManyRows it costs next to nothing (fitted to products of 49 to 3136 rows on a Zen 5). And all of A is packed, which few columns do not pay for: by many rows they are multiplied with A in place.
constexpr int64_t kLeastDepth = 64, kManyRows = 256, kLeastColumns = 64, kFewColumns = 256, kRowsInPlace = 128;
int64_t least_depth(int64_t rows) { return std::max(kLeastDepth, std::min(rows, kManyRows) * 7 / 4); }
constexpr int64_t kFewRows = 32;  // so few are never dot products
// Vectors hold as many rows as they have lanes: how many of them may be nobody's.
constexpr int64_t kMostPadding = 8;

class LinearEmitter {
 public:
  // Inside, as everywhere in Panels, what is broadcast is A and what is packed is B: t_ has rows and columns of C exchanged.
  LinearEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s), dotted_(rows_for_dots(c.k, s)), t_(with_fewer_columns(exchanged(s), dotted_)), p_(best_panels(c.k, t_)), end_(p_.end()) {}

  // With 16 registers it gains nothing, and pairs of bf16 are multiplied too fast for it: up to 16 rows wait for the broadcasts, more than 64 are as fast when everything is packed.
  static bool suits(KernelEmitter& k, const MatmulSpec& s) {
    if (s.any_m || !s.b_unit_k || s.k < least_depth(s.m) || s.n < kLeastColumns || (s.n <= kFewColumns && s.m >= kRowsInPlace) || s.m <= 8 || k.target.registers < 32) return false;
    if (s.pack_b || s.b_made || !s.store_vectors || s.n_run || !isa<FloatType>(s.type)) return false;
    MatmulSpec t = exchanged(s);
    Panels p(k, t);
    if (p.grid || (round_up(s.m, p.lanes) - s.m > kMostPadding && !rows_for_dots(k, s))) return false;
    return p.a_lies_in_units() && (p.depth == 1 || (s.k % p.depth == 0 && s.m > 16 && s.m <= 64));
  }

  void emit() {
    c_.kernel.cost = 0.25 * s_.batch * s_.m * s_.n * s_.k / p_.depth;
    choose_blocks();
    int64_t row_blocks = ceil_div(t_.m, mb_), column_blocks = ceil_div(t_.n, nb_);
    c_.kernel.tasks = t_.batch * row_blocks * column_blocks;
    panels_ = reserve(round_up(nb_, p_.nr) * height());
    sums_ = reserve(is_split() ? round_up(nb_, p_.nr) * round_up(mb_, group_) : group_ * p_.nr);
    strip_ = reserve(p_.lanes * group_);
    dots_ = reserve(dotted_ * round_up(mb_, group_));
    IR end = k_.min(k_.end(), k_.i64(c_.kernel.tasks));  // other products of the kernel may have more
    k_.loop(k_.begin(), end, [&](IR task) {
      auto at = place_of_task(k_, {t_.batch, column_blocks, row_blocks}, task);
      IR m0 = k_.mul(at[2].base, mb_), n0 = k_.mul(at[1].base, nb_);
      block({at[0].base, m0, n0, k_.part(t_.m, mb_, m0), k_.part(t_.n, nb_, n0), nullptr, nullptr});
    });
  }

 private:
  struct Block {
    IR batch, m0, n0;  // its first row and column
    IR m, n;           // its size
    IR k0, k;          // the part of K
  };

  // The last rows of A, if a vector of them would be empty by more than half and they are few beside the others.
  static int64_t rows_for_dots(KernelEmitter& k, const MatmulSpec& s) {
    const int64_t lanes = k.target.lanes, rest = s.m % lanes;
    bool as_they_lie = s.a_unit_k && !s.converted && s.type.isF32() && s.a_type.isF32() && s.b_type.isF32();
    return as_they_lie && s.m > kFewRows && lanes - rest > kMostPadding ? rest : 0;
  }
  static MatmulSpec with_fewer_columns(MatmulSpec t, int64_t by) {
    t.n -= by;
    return t;
  }
  // Four vectors by six rows, or three by eight: what leaves no rows over, and the least to a narrower panel. A single vector takes eight rows, or it would wait for its sums.
  static Panels best_panels(KernelEmitter& k, const MatmulSpec& t) {
    int64_t vectors = ceil_div(t.n, Panels(k, t).lanes);
    auto quality = [&](int64_t rows, int64_t width) {
      int64_t last = vectors % width ? vectors % width : width;
      return (t.m % rows ? 0 : 1) + double(last) / width;
    };
    return Panels(k, t, vectors > 3 && quality(6, 4) >= quality(8, 3) ? 6 : 8, true);
  }

  void choose_blocks() {
    kc_ = equal_part(t_.k, 1024, kUnrolled * p_.depth);
    // Rows that stay in L2, whose sums are turned in whole squares.
    int64_t unit = std::lcm(p_.mr, int64_t(p_.lanes)), bytes = 288 << 10, most_in_l2 = bytes / (kc_ / p_.depth * p_.bytes) / unit * unit;
    // Each task packs its columns, and reads its rows from memory once for all its columns.
    constexpr double kPacking = 12, kReading = 24;
    int64_t threads = c_.kernel.cost >= Kernel::kParallelCost ? num_threads() : 1, most_columns = 512, most_rows = is_split() ? 1024 : 4096;
    double best = 0;
    each_division(t_.n, most_columns, p_.nr, 2 * threads, [&](int64_t nb) {
      each_division(t_.m, most_rows, unit, 2 * threads, [&](int64_t mb) {
        int64_t tasks = t_.batch * ceil_div(t_.m, mb) * ceil_div(t_.n, nb);
        double columns = double(std::min(nb, t_.n)), rows = double(std::min(mb, t_.m));
        double time = (double(ceil_div(tasks, threads)) + (threads > 1 ? 0.05 : 0)) * ((columns + kReading) * rows + kPacking * columns);
        if (!nb_ || time < best) best = time, nb_ = nb, mb_ = mb;
      });
    });
    group_ = equal_part(mb_, most_in_l2, unit);
  }
  bool is_split() const { return t_.k > kc_; }
  int64_t height() const { return p_.padded(kc_) / p_.depth; }  // of a panel, in units

  int64_t reserve(int64_t elements) { return c_.kernel.reserve(elements * p_.bytes); }
  IR element_of_scratch(int64_t at, IR index) { return k_.in_scratch(p_.type, at, index); }
  IR panel(IR n) { return element_of_scratch(panels_, k_.mul(n, height())); }
  // Of the rows from m and the panel of the columns from n on; [row][nr].
  IR sums_of(const Panels& p, IR m, IR n, IR group) {
    if (!is_split()) return element_of_scratch(sums_, k_.mul(b_.CreateSub(m, group), p.nr));
    return element_of_scratch(sums_, b_.CreateAdd(k_.mul(n, round_up(mb_, group_)), k_.mul(m, p.nr)));
  }

  void each_panel(const Block& at, const std::function<void(Panels& p, IR n)>& body) { p_.each(end_, at.n, body); }

  void block(Block at) {
    k_.loop(k_.i64(0), k_.i64(t_.k), kc_, [&](IR k0) {
      at.k0 = k0, at.k = k_.part(t_.k, kc_, k0);
      each_panel(at, [&](Panels& p, IR n) {
        p.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns_of(p), at.k0, at.k, [&](IR) { return panel(n); });
      });
      k_.loop(k_.i64(0), at.m, group_, [&](IR group) {
        IR end = k_.min(at.m, k_.add(group, k_.i64(group_)));
        each_panel(at, [&](Panels& p, IR n) {
          k_.loop(group, end, p.mr, [&](IR m) { tile(p, at, m, n, group); });
          k_.when(is_last_part(at), [&] { write(p, at, group, b_.CreateSub(end, group), n); });
        });
        if (dotted_) k_.when(b_.CreateICmpEQ(b_.CreateAdd(at.n0, at.n), k_.i64(t_.n)), [&] { dots(at, group, end); });
      });
    });
  }
  IR is_last_part(const Block& at) { return is_split() ? b_.CreateICmpSGE(b_.CreateAdd(at.k0, at.k), k_.i64(t_.k)) : b_.getTrue(); }
  IR columns_of(const Panels& p) { return k_.i64(p.is_end ? t_.n % p_.nr : p.nr); }

  IR row(const Block& at, IR m, IR k, bool may_be_beyond) {
    IR index = b_.CreateAdd(at.m0, m);
    if (may_be_beyond) index = k_.min(index, k_.i64(t_.m - 1));
    return b_.CreateInBoundsGEP(k_.memory_type(t_.a_type), t_.a, t_.a_offset(at.batch, index, k));
  }
  void tile(Panels& p, const Block& at, IR m, IR n, IR group) {
    // Rows that may repeat the last one have a pointer each.
    IR is_whole = t_.m % p.mr ? b_.CreateICmpSLE(b_.CreateAdd(at.m0, k_.add(m, k_.i64(p.mr))), k_.i64(t_.m)) : b_.getTrue();
    k_.either(is_whole, [&] { tile(p, at, m, n, group, false); }, [&] { tile(p, at, m, n, group, true); });
  }
  void tile(Panels& p, const Block& at, IR m, IR n, IR group, bool repeats) {
    IR memory = sums_of(p, m, n, group), columns = panel(n), units = p.units(at.k);
    auto* vector = k_.vector(p.type, p.lanes);
    IRs rows, addresses, sums;
    for (int64_t i = 0; i < p.mr; ++i) rows.push_back(row(at, k_.add(m, k_.i64(i)), at.k0, repeats));
    for (int64_t i = 0; i < p.mr * p.vectors; ++i) {
      addresses.push_back(p.vector_at(memory, k_.i64(0), i));
      sums.push_back(llvm::Constant::getNullValue(vector));
    }
    if (s_.prefetch) k_.when(is_last_part(at), [&] { ask_for_result(p, at, m, n, group); });
    auto multiply = [&](IR from, int64_t count, ArrayRef<IR> sums) {
      IRs result(sums.begin(), sums.end());
      for (int64_t d = 0; d < count; ++d) {
        IR u = k_.add(from, k_.i64(d));
        IRs x;
        for (int v = 0; v < p.vectors; ++v) x.push_back(b_.CreateAlignedLoad(k_.vector(p.unit, p.lanes), p.vector_at(columns, k_.mul(u, p.nr), v), llvm::Align(4)));
        for (int64_t i = 0; i < p.mr; ++i) {
          IR w = k_.splat(b_.CreateAlignedLoad(p.unit, b_.CreateInBoundsGEP(p.unit, rows[i], u), llvm::Align(p.bytes / p.depth)), p.lanes);
          for (int v = 0; v < p.vectors; ++v) result[i * p.vectors + v] = p.product(w, x[v], result[i * p.vectors + v]);
        }
      }
      return result;
    };
    auto keep = [&](ArrayRef<IR> sums, bool add) {
      for (auto [sum, address] : llvm::zip(sums, addresses)) {
        IR old = add ? b_.CreateAlignedLoad(vector, address, llvm::Align(p.bytes)) : nullptr;
        b_.CreateAlignedStore(add ? b_.CreateFAdd(old, sum) : sum, address, llvm::Align(p.bytes));
      }
    };
    // Sums of so many terms without a break: twice as many are half as much again off.
    int64_t most = equal_part(kc_, 512, kUnrolled * p_.depth) / p_.depth;
    k_.loop(k_.i64(0), units, most, [&](IR from) {
      IR end = k_.min(b_.CreateAdd(from, k_.i64(most)), units), whole = b_.CreateAnd(end, k_.i64(-kUnrolled));
      IRs parts = k_.loop(from, whole, kUnrolled, sums, [&](IR u, ArrayRef<IR> sums) {
        if (t_.n <= p_.nr) ask_for_rows(p, at, m, u, units);  // with more panels there is time enough, and a burst from memory would be in the way
        return multiply(u, kUnrolled, sums);
      });
      if (t_.k % (kUnrolled * p.depth)) parts = k_.loop(whole, end, 1, parts, [&](IR u, ArrayRef<IR> sums) { return multiply(u, 1, sums); });
      IR is_first = b_.CreateICmpEQ(b_.CreateAdd(at.k0, from), k_.i64(0));
      k_.either(t_.k > most * p.depth ? is_first : b_.getTrue(), [&] { keep(parts, false); }, [&] { keep(parts, true); });
    });
  }
  // Of a row some lines ahead, and at its end of the row that comes after the tile: each step asks for its share of what all steps over a line need.
  void ask_for_rows(Panels& p, const Block& at, IR m, IR u, IR units) {
    constexpr int64_t kLinesAhead = 4;
    int64_t line = 64 / p.bytes, steps = line / kUnrolled, share = ceil_div(p.mr, steps);
    IR ahead = k_.add(u, k_.i64(kLinesAhead * line)), is_beyond = b_.CreateICmpSGE(ahead, units);
    IR k = b_.CreateAdd(at.k0, k_.mul(b_.CreateSelect(is_beyond, b_.CreateSub(ahead, units), ahead), p.depth));
    IR first = b_.CreateAdd(b_.CreateSelect(is_beyond, k_.add(m, k_.i64(p.mr)), m), k_.mul(b_.CreateURem(b_.CreateUDiv(u, k_.i64(kUnrolled)), k_.i64(steps)), share));
    for (int64_t i = 0; i < share; ++i) k_.prefetch(row(at, k_.add(first, k_.i64(i)), k, true));
  }

  // What will be written, or read for it, when the group is complete: each tile asks for some rows of C. Small results too: another thread may have read what was there before.
  void ask_for_result(Panels& p, const Block& at, IR m, IR n, IR group) {
    int64_t share = ceil_div(p.nr * p.mr, group_), line = 64 / s_.streams.widest;
    IR first = k_.mul(b_.CreateUDiv(b_.CreateSub(m, group), k_.i64(p.mr)), share);
    for (int64_t i = 0; i < share; ++i)
      k_.loop(k_.i64(0), k_.i64(group_ + line), line, [&](IR j) {
        IR row = k_.min(b_.CreateAdd(b_.CreateAdd(at.n0, n), k_.add(first, k_.i64(i))), k_.i64(s_.m - 1)), column = k_.min(b_.CreateAdd(at.m0, b_.CreateAdd(group, j)), k_.i64(s_.n - 1));
        for (bool to_write : {false, true}) s_.prefetch(at.batch, row, column, to_write);
      });
  }

  // The sums of some rows and of a panel: turned, `lanes` columns at a time, into rows of C.
  void write(Panels& p, const Block& at, IR group, IR rows, IR n) {
    IR memory = sums_of(p, group, n, group), columns = k_.min(columns_of(p), b_.CreateSub(at.n, n));
    int lanes = p.lanes;
    auto strip = [&](IR i, IR j) { return element_of_scratch(strip_, k_.add(k_.mul(i, group_), j)); };
    k_.loop(k_.i64(0), columns, lanes, [&](IR from) {
      k_.loop(k_.i64(0), rows, lanes, [&](IR m) {
        IRs square;
        for (int i = 0; i < lanes; ++i)
          square.push_back(b_.CreateAlignedLoad(k_.vector(p.type, lanes), p.vector_at(memory, k_.add(k_.mul(k_.add(m, k_.i64(i)), p.nr), from), 0), llvm::Align(p.bytes)));
        k_.transpose(square);
        for (int i = 0; i < lanes; ++i) b_.CreateAlignedStore(square[i], strip(k_.i64(i), m), llvm::Align(p.bytes));
      });
      k_.loop(k_.i64(0), k_.min(k_.i64(lanes), b_.CreateSub(columns, from)), [&](IR i) {
        IR row = b_.CreateAdd(at.n0, k_.add(n, k_.add(from, i))), column = b_.CreateAdd(at.m0, group);
        k_.along(rows, lanes, [&](IR j, int count) {
          s_.store(at.batch, row, k_.add(column, j), b_.CreateAlignedLoad(k_.vector(p.type, count), strip(i, j), llvm::Align(p.bytes)), count);
        });
      });
    });
  }

  // The rows of A beyond the vectors, by a group of columns of B, as many at a time as registers hold sums; these are collected in the order of C.
  void dots(const Block& at, IR group, IR end) {
    const int64_t some = std::min<int64_t>(llvm::bit_floor(uint64_t(p_.most_sums / dotted_)), p_.lanes);
    auto* type = p_.type;
    auto sums_at = [&](int64_t j, IR m) { return element_of_scratch(dots_, k_.add(m, k_.i64(j * round_up(mb_, group_)))); };
    IRs rows;
    for (int64_t j = 0; j < dotted_; ++j) rows.push_back(b_.CreateInBoundsGEP(type, t_.b, t_.b_offset(at.batch, at.k0, k_.i64(t_.n + j))));
    k_.loop(group, end, some, [&](IR m) {
      IRs columns;
      for (int64_t i = 0; i < some; ++i) columns.push_back(row(at, k_.add(m, k_.i64(i)), at.k0, true));
      IRs sums = p_.dots(columns, rows, at.k);
      auto keep = [&](bool adds) {
        for (int64_t i = 0; i < some; ++i)
          for (int64_t j = 0; j < dotted_; ++j) {
            IR place = sums_at(j, k_.add(m, k_.i64(i))), sum = sums[i * dotted_ + j];
            b_.CreateStore(adds ? b_.CreateFAdd(b_.CreateLoad(type, place), sum) : sum, place);
          }
      };
      k_.either(is_split() ? b_.CreateICmpEQ(at.k0, k_.i64(0)) : b_.getTrue(), [&] { keep(false); }, [&] { keep(true); });
    });
    k_.when(is_last_part(at), [&] {
      for (int64_t j = 0; j < dotted_; ++j)
        k_.along(b_.CreateSub(end, group), p_.lanes, [&](IR m, int count) {
          IR sum = b_.CreateAlignedLoad(k_.vector(type, count), sums_at(j, k_.add(group, m)), llvm::Align(p_.bytes));
          s_.store(at.batch, k_.i64(t_.n + j), b_.CreateAdd(at.m0, k_.add(group, m)), sum, count);
        });
    });
  }

  static constexpr int64_t kUnrolled = 4;  // units along K
  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  int64_t dotted_;  // rows of A, of which t_ does not know
  MatmulSpec t_;
  Panels p_;
  std::optional<Panels> end_;                       // of the last columns
  int64_t kc_ = 0, group_ = 0, mb_ = 0, nb_ = 0;    // elements along K, rows that stay in L2, rows and columns of a task
  int64_t panels_ = 0, sums_ = 0, strip_ = 0, dots_ = 0;  // places in scratch
};

}  // namespace

bool is_linear(KernelEmitter& k, const MatmulSpec& spec) { return LinearEmitter::suits(k, spec); }
void emit_linear_matmul(KernelContext& c, const MatmulSpec& spec) { LinearEmitter(c, spec).emit(); }

}  // namespace cresset::cpu
