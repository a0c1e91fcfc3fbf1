// Products with few rows: packing would touch each element of B twice and use it once, so B is read where it lies, in order.
// Where B runs along K, as linear layers store their weights: dot products, vectors along K, a few columns at once.
// Where B runs along N: rows of B, times an element of A each, are added to rows of sums that stay in the L1 cache; in registers, where few columns of all rows are neighbours.
#include "cpu/matmul/matmul.h"

#include "llvm/IR/Intrinsics.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kFewRows = 4, kMostRows = 16, kMostRowsAlongK = 32, kMostRowsOfPairs = 8, kMostRowsOfBytes = 12, kMostRowsOfMade = 8;
constexpr int64_t kBytesInMemory = 512 << 10;  // of weights: if not by themselves, then because a model has many
constexpr int64_t kWorthSharing = 1 << 18;  // multiply-adds: some 2 us of one thread
// Of weights in a task, half of L2 or less, and of the rows that stay in L1 while columns pass: as all caches evict what was not read for longest, one that is nearly full of rows keeps none of them.
int64_t bytes_of_task(const Target& target) { return (target.registers == 32 ? 256 : 128) << 10; }
int64_t bytes_of_rows(const Target& target) { return target.l1 - (16 << 10); }

class ThinEmitter {
 public:
  ThinEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s), p_(c.k, s) {}

  void run() {
    if (s_.b_unit_k) by_dot_products();
    else if (s_.b_run) by_runs();
    else by_rows_of_b();
  }

 private:
  void by_dot_products() {
    int64_t registers = many_registers_ ? 24 : 12;
    rows_ = equal_part(s_.m, registers / 3 - ones(), 1);
    // From memory no more columns at once than the arithmetic needs, which are asked for as one stream; or, of one row or two, some that the hardware follows by itself.
    columns_ = std::min<int64_t>(registers / (rows_ + ones()), !is_in_memory() ? 8 : !asks_for_columns() ? 4 : s_.m > 2 ? 3 : 1);
    int64_t bytes_of_column = s_.k * element_bytes(s_.b_type);
    int64_t most = bytes_of_task(k_.target) / bytes_of_column;
    if (s_.batch < num_threads() && s_.m * s_.n * s_.k >= kWorthSharing) most = std::min(most, ceil_div(s_.n, num_threads()));
    block_ = pitch_ = round_up(std::clamp<int64_t>(most, 1, s_.n), columns_);
    part_ = equal_part(s_.k, bytes_of_rows(k_.target) / (rows_ * element_bytes(s_.a_type)), 64);
    run([&](IR batch, IR n0, IR count) {
      // A part of the few rows stays in L1, and the task's columns in L2 until all rows have met them.
      k_.loop(k_.i64(0), k_.i64(s_.m), rows_, [&](IR m) {
        auto add_part = [&](IR k0, int64_t length) {
          IRs made_up = made_up_for_flips(batch, m, k0, length);
          k_.loop(k_.i64(0), count, columns_, [&](IR n) { sums(batch, m, n0, n, k0, length, made_up); });
        };
        int64_t whole = part_ < s_.k ? s_.k / part_ * part_ : 0;
        if (whole) k_.loop(k_.i64(0), k_.i64(whole), part_, [&](IR k0) { add_part(k0, part_); });
        if (whole < s_.k) add_part(k_.i64(whole), s_.k - whole);
      });
    });
  }
  void by_rows_of_b() {
    int64_t registers = many_registers_ ? 24 : 12, line = 64 / element_bytes(s_.b_type);
    vectors_ = std::max<int64_t>(line / p_.lanes, 2);
    rows_ = equal_part(s_.m, registers / vectors_, 1);
    // Where rows of B begin in the same set of the L1 cache, no more at once than it has ways; where many rows of A share that cache with them, no more either.
    depth_ = many_registers_ || s_.m > kFewRows || row_of_b() * element_bytes(s_.b_type) % 4096 == 0 ? 8 : 16;
    // Long parts of rows are what memory is fastest at; else the sums stay in L1 or near.
    int64_t most = is_in_memory() ? 8192 : 2048;
    int64_t parts = round_up(ceil_div(s_.n, most), s_.batch < num_threads() ? num_threads() : 1);
    block_ = round_up(ceil_div(s_.n, parts), p_.lanes);
    pitch_ = block_ + line;
    run([&](IR batch, IR n0, IR count) {
      auto* zero = llvm::Constant::getNullValue(k_.vector(p_.type, p_.lanes));
      k_.loop(k_.i64(0), k_.i64(s_.m * pitch_), p_.lanes, [&](IR i) { b_.CreateAlignedStore(zero, sum_at(k_.i64(0), i), llvm::Align(p_.bytes)); });
      int64_t whole = s_.k / depth_ * depth_;
      k_.loop(k_.i64(0), k_.i64(whole), depth_, [&](IR k) { add_rows(batch, k, depth_, n0, count); });
      k_.loop(k_.i64(whole), k_.i64(s_.k), [&](IR k) { add_rows(batch, k, 1, n0, count); });
    });
  }
  // A run's columns have all of K in a row: memory is read in order.
  void by_runs() {
    constexpr int64_t kMostVectors = 4, kNumbersOfByte = 4;  // the latter: of a task, of fewer bits than bytes
    vectors_ = kMostVectors;
    while (s_.b_run / p_.lanes % vectors_) --vectors_;
    rows_ = equal_part(s_.m, (many_registers_ ? 24 : 12) / vectors_, 1);
    depth_ = 16;
    const int64_t step = vectors_ * p_.lanes, most = kNumbersOfByte * bytes_of_task(k_.target) / s_.k;
    block_ = pitch_ = round_up(std::clamp<int64_t>(std::min(most, ceil_div(s_.n, num_threads())), 1, s_.n), s_.b_run);
    run([&](IR batch, IR n0, IR count) {
      k_.loop(k_.i64(0), count, step, [&](IR n) {
        for (int64_t m = 0; m < s_.m; m += rows_) sum_run(batch, m, std::min(rows_, s_.m - m), n0, n);
      });
    });
  }
  // All of K for some rows and the vectors of a step.
  void sum_run(IR batch, int64_t m0, int64_t rows, IR n0, IR n) {
    auto* type = k_.vector(p_.type, p_.lanes);
    auto add = [&](IR k, ArrayRef<IR> sums) {
      IRs next, b;
      for (int64_t v = 0; v < vectors_; ++v) b.push_back(p_.load_b(batch, k, k_.add(b_.CreateAdd(n0, n), k_.i64(v * p_.lanes)), p_.lanes));
      for (int64_t i = 0; i < rows; ++i) {
        IR x = k_.splat(p_.load_a(batch, k_.i64(m0 + i), k, 1), p_.lanes);
        for (IR y : b) next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type}, {x, y, sums[next.size()]}));
      }
      return next;
    };
    int64_t whole = s_.k / depth_ * depth_;
    IRs sums(rows * vectors_, llvm::Constant::getNullValue(type));
    sums = k_.loop(k_.i64(0), k_.i64(whole), depth_, sums, [&](IR k, ArrayRef<IR> sums) {
      IRs next(sums.begin(), sums.end());
      for (int64_t d = 0; d < depth_; ++d) next = add(k_.add(k, k_.i64(d)), next);
      return next;
    });
    sums = k_.loop(k_.i64(whole), k_.i64(s_.k), 1, sums, add);
    for (auto [i, sum] : llvm::enumerate(sums))
      b_.CreateAlignedStore(sum, sum_at(k_.i64(m0 + i / vectors_), k_.add(n, k_.i64(i % vectors_ * p_.lanes))), llvm::Align(p_.bytes));
  }
  // From a row of B to the next one, in elements; 0 if that varies.
  int64_t row_of_b() {
    IR zero = k_.i64(0), distance = b_.CreateSub(s_.b_offset(zero, k_.i64(1), zero), s_.b_offset(zero, zero, zero));
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(distance);
    return constant ? constant->getSExtValue() : 0;
  }
  // Adds `depth` rows of B, times elements of A, to all rows of sums, a few columns after the other: those of B come from memory once, and sums are in registers meanwhile.
  void add_rows(IR batch, IR k0, int64_t depth, IR n0, IR count) {
    // Narrow elements of A are widened once for all columns.
    bool widens = k_.memory_type(s_.a_type) != p_.type;
    auto widened = [&](IR m, int64_t d) { return b_.CreateInBoundsGEP(p_.type, k_.scratch(), k_.add(k_.i64(widened_ + d), k_.mul(m, depth))); };
    if (widens)
      k_.loop(k_.i64(0), k_.i64(s_.m), [&](IR m) {
        int lanes = s_.a_unit_k ? int(depth) : 1;
        for (int64_t d = 0; d < depth; d += lanes) b_.CreateAlignedStore(p_.load_a(batch, m, k_.add(k0, k_.i64(d)), lanes), widened(m, d), llvm::Align(p_.bytes));
      });
    auto element = [&](int64_t m, int64_t d) { return widens ? b_.CreateLoad(p_.type, widened(k_.i64(m), d)) : p_.load_a(batch, k_.i64(m), k_.add(k0, k_.i64(d)), 1); };
    auto add = [&](int64_t m0, int64_t rows, IR n, int64_t vectors, int lanes, const std::function<void(int64_t d)>& ask) {
      auto* type = k_.vector(p_.type, lanes);
      IRs addresses, sums;
      for (int64_t at = 0; at < rows * vectors; ++at) {
        addresses.push_back(sum_at(k_.i64(m0 + at / vectors), k_.add(n, k_.i64(at % vectors * lanes))));
        sums.push_back(b_.CreateAlignedLoad(type, addresses.back(), llvm::Align(p_.bytes)));
      }
      for (int64_t d = 0; d < depth; ++d) {
        IRs b;
        IR k = k_.add(k0, k_.i64(d));
        if (ask && m0 == 0) ask(d);
        for (int64_t v = 0; v < vectors; ++v) b.push_back(p_.load_b(batch, k, b_.CreateAdd(n0, k_.add(n, k_.i64(v * lanes))), lanes));
        for (int64_t i = 0; i < rows; ++i) {
          IR x = k_.splat(element(m0 + i, d), lanes);
          for (int64_t v = 0; v < vectors; ++v) {
            IR& sum = sums[i * vectors + v];
            sum = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type}, {x, b[v], sum});
          }
        }
      }
      for (auto [sum, address] : llvm::zip(sums, addresses)) b_.CreateAlignedStore(sum, address, llvm::Align(p_.bytes));
    };
    auto add_to_all = [&](IR n, int64_t vectors, int lanes, const std::function<void(int64_t d)>& ask) {
      for (int64_t m0 = 0; m0 < s_.m; m0 += rows_) add(m0, std::min(rows_, s_.m - m0), n, vectors, lanes, ask);
    };
    int64_t line = 64 / element_bytes(s_.b_type), step = vectors_ * p_.lanes;
    IR whole = k_.mul(b_.CreateUDiv(count, k_.i64(step)), step);
    // So many rows at once are more than the hardware follows. Their lines are asked for between the multiply-adds, because a burst would fill the buffers of misses; at the end of the part
    // those of the next rows.
    int64_t ahead = many_registers_ ? 8 : 4;
    k_.loop(k_.i64(0), whole, step, [&](IR n) {
      IR next = k_.add(n, k_.i64(ahead * line)), is_beyond = b_.CreateICmpSGE(next, whole);
      IR k = b_.CreateSelect(is_beyond, k_.add(k0, k_.i64(depth)), k0);
      next = b_.CreateSelect(is_beyond, b_.CreateSub(next, whole), next);
      add_to_all(n, vectors_, p_.lanes, [&](int64_t d) {
        for (int64_t j = 0; j < step; j += line) p_.prefetch_b(batch, k_.add(k, k_.i64(d)), b_.CreateAdd(n0, k_.add(next, k_.i64(j))));
      });
    });
    k_.along(b_.CreateSub(count, whole), p_.lanes, [&](IR n, int lanes) { add_to_all(k_.add(whole, n), 1, lanes, nullptr); });
  }
  bool is_in_memory() const { return s_.n * s_.k * element_bytes(s_.b_type) >= kBytesInMemory; }
  bool asks_for_columns() const { return is_in_memory() && (s_.m > 2 || many_registers_ || !k_.target.avx2()); }  // the last: older machines, not measured

  // Shares the columns out; `multiply` leaves a block's sums in scratch.
  void run(const std::function<void(IR batch, IR n0, IR count)>& multiply) {
    int64_t blocks = ceil_div(s_.n, block_);
    c_.kernel.tasks = s_.batch * blocks;
    c_.kernel.cost = double(s_.batch) * s_.n * s_.k * element_bytes(s_.b_type);
    widened_ = (s_.m + rows_) * pitch_;
    c_.kernel.scratch_bytes = (widened_ + s_.m * depth_) * p_.bytes;
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = place_of_task(k_, {s_.batch, blocks}, task);
      IR n0 = k_.mul(at[1].base, block_), count = k_.min(k_.i64(block_), b_.CreateSub(k_.i64(s_.n), n0));
      multiply(at[0].base, n0, count);
      write(at[0].base, n0, count);
    });
  }

  IR sum_at(IR m, IR n) { return b_.CreateInBoundsGEP(p_.type, k_.scratch(), b_.CreateAdd(k_.mul(m, pitch_), n)); }

  IRs rows_from(IR m) {
    IRs rows;
    for (int64_t i = 0; i < rows_; ++i) rows.push_back(k_.min(k_.add(m, k_.i64(i)), k_.i64(s_.m - 1)));
    return rows;
  }
  // For each row, if there is anything to make up for. What whole vectors do not reach is multiplied as it is.
  IRs made_up_for_flips(IR batch, IR m, IR k0, int64_t length) {
    if (!p_.flips_b()) return {};
    int64_t width = p_.lanes * p_.depth;
    IR none = llvm::Constant::getNullValue(k_.vector(p_.type, p_.lanes));
    IRs rows = rows_from(m), sums = k_.loop(k_.i64(0), k_.i64(length / width * width), width, IRs(rows_, none), [&](IR k, ArrayRef<IR> sums) {
      IRs next;
      for (auto [row, sum] : llvm::zip(rows, sums)) next.push_back(p_.product(p_.row_of_a(batch, row, b_.CreateAdd(k0, k), p_.lanes), p_.flipped(none), sum));
      return next;
    });
    return llvm::map_to_vector(k_.sums_of(sums, p_.lanes), [&](IR sum) -> IR { return b_.CreateNeg(sum); });
  }
  // A row of ones behind the others sums up the columns, where their sums make up for a_zero.
  int64_t ones() const { return p_.makes_up_for_zero() ? 1 : 0; }
  // Adds the products of `length` elements along K, from k0 on.
  void sums(IR batch, IR m, IR n0, IR n, IR k0, int64_t length, ArrayRef<IR> made_up) {
    IRs rows = rows_from(m), columns;
    for (int64_t j = 0; j < columns_; ++j) columns.push_back(k_.min(b_.CreateAdd(n0, k_.add(n, k_.i64(j))), k_.i64(s_.n - 1)));
    // What there are fewer of stays in registers: with the sums and one of the others, all of them are taken.
    const int64_t all_rows = rows_ + ones();
    bool keep_a = all_rows < columns_;
    // What lies before a whole vector's end is multiplied in units, the rest element by element.
    auto add = [&](IR k, bool by_vectors, ArrayRef<IR> sums) {
      auto a = [&](int64_t i) -> IR {
        if (i == rows_) return by_vectors ? p_.ones() : b_.getInt32(1);
        return by_vectors ? p_.row_of_a(batch, rows[i], k, p_.lanes) : p_.load_a(batch, rows[i], k, 1);
      };
      auto b = [&](int64_t j) { return by_vectors ? p_.flipped(p_.column_of_b(batch, k, columns[j], p_.lanes)) : p_.load_b(batch, k, columns[j], 1); };
      auto product = [&](IR x, IR y, IR sum) -> IR {
        if (by_vectors) return p_.product(x, y, sum);
        return p_.type->isFloatingPointTy() ? b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum->getType()}, {x, y, sum}) : b_.CreateAdd(b_.CreateMul(x, y), sum);
      };
      IRs next(sums.size()), kept;
      for (int64_t i = 0; i < std::min(all_rows, columns_); ++i) kept.push_back(keep_a ? a(i) : b(i));
      for (int64_t i = 0; i < std::max(all_rows, columns_); ++i) {
        IR x = keep_a ? b(i) : a(i);
        for (int64_t j = 0; j < int64_t(kept.size()); ++j) {
          int64_t at = keep_a ? i * all_rows + j : j * all_rows + i;
          next[at] = keep_a ? product(kept[j], x, sums[at]) : product(x, kept[j], sums[at]);
        }
      }
      return next;
    };
    int64_t width = p_.lanes * p_.depth, line = std::max<int64_t>(64 / element_bytes(s_.b_type) / width, 1);  // elements of a vector, vectors of a line
    // One sum or two would wait for their own multiply-adds: lines are added to several of each in turn then.
    constexpr int64_t kFewestSums = 8, kMostTurns = 4;
    size_t count = all_rows * columns_, turns = std::clamp<int64_t>(kFewestSums / count, 1, kMostTurns);
    auto multiply = [&](int64_t from, int64_t to, int64_t vectors, IRs init) {
      return k_.loop(k_.i64(from), k_.i64(to), std::max<int64_t>(width * vectors, 1), init, [&](IR at, ArrayRef<IR> sums) {
        if (!vectors) return add(b_.CreateAdd(k0, at), false, sums);
        IRs next(sums.begin(), sums.end());
        for (int64_t v = 0; v < vectors; ++v) {
          IR from_here = k_.add(at, k_.i64(v * width));
          if (v % line == 0 && vectors >= line && asks_for_columns()) prefetch_columns(batch, m, k0, length, from_here, n0, n);
          size_t turn = v / line * count;
          llvm::copy(add(b_.CreateAdd(k0, from_here), true, ArrayRef<IR>(next).slice(turn, count)), next.begin() + turn);
        }
        return next;
      });
    };
    IRs totals, vectors(turns * count, llvm::Constant::getNullValue(k_.vector(p_.type, p_.lanes)));
    int64_t done = 0;
    for (int64_t together : {int64_t(turns) * line, line, int64_t(1)}) {
      int64_t end = done + (length - done) / (together * width) * together * width;
      if (done < end) vectors = multiply(done, end, together, vectors);
      done = end;
    }
    for (size_t other = count; other < vectors.size(); ++other) vectors[other % count] = k_.plus(vectors[other % count], vectors[other]);
    vectors.resize(count);
    totals = k_.sums_of(vectors, p_.lanes);
    for (auto [at, more] : llvm::enumerate(made_up))
      for (int64_t j = 0; j < columns_; ++j) totals[j * all_rows + at] = k_.plus(totals[j * all_rows + at], more);
    for (int64_t j = 0; ones() && j < columns_; ++j) totals[j * all_rows + rows_] = b_.CreateSub(totals[j * all_rows + rows_], b_.getInt32(uint32_t(done * p_.added_by_flip())));
    if (done < length) totals = multiply(done, length, 0, totals);
    for (int64_t at = 0; ones() && at < rows_ * columns_; ++at) {
      IR& total = totals[at / rows_ * all_rows + at % rows_];
      total = b_.CreateSub(total, b_.CreateMul(totals[at / rows_ * all_rows + rows_], b_.getInt32(uint32_t(s_.a_zero))));
    }
    for (int64_t j = 0; j < columns_; ++j)
      for (int64_t i = 0; i < rows_; ++i) {
        IR total = totals[j * all_rows + i], address = sum_at(k_.add(m, k_.i64(i)), k_.add(n, k_.i64(j)));
        if (part_ < s_.k) total = b_.CreateSelect(b_.CreateICmpEQ(k0, k_.i64(0)), total, k_.plus(b_.CreateLoad(total->getType(), address), total));
        b_.CreateStore(total, address);
      }
  }

  // Asks for the next task's columns, each step for its share, so that memory is busy all the time: in the order in which they lie, as one stream, although several are read;
  // and up to L2, as L1 has too few lines under way for memory, and next to eight rows of A no room for what is not read yet.
  void prefetch_columns(IR batch, IR m, IR k0, int64_t length, IR k, IR n0, IR n) {
    int64_t lines = ceil_div(columns_, ceil_div(s_.m, rows_)), steps = block_ / columns_;
    IR group = b_.CreateUDiv(m, k_.i64(rows_)), before = k_.mul(k_.add(k_.mul(group, s_.k), k0), steps), step = b_.CreateUDiv(n, k_.i64(columns_));
    IR first = k_.mul(b_.CreateAdd(before, b_.CreateAdd(k_.mul(step, length), k)), lines), next = b_.CreateAdd(n0, k_.i64(block_));
    for (int64_t i = 0; i < lines; ++i) {
      IR at = k_.add(first, k_.i64(i * 64 / element_bytes(s_.b_type)));
      p_.prefetch_b(batch, b_.CreateURem(at, k_.i64(s_.k)), b_.CreateAdd(next, b_.CreateUDiv(at, k_.i64(s_.k))), 2);
    }
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
  const bool many_registers_ = k_.target.registers == 32;
  int64_t rows_ = 1, columns_ = 1, vectors_ = 1, depth_ = 1;  // of a step
  int64_t part_ = 1;               // elements along K, of which the rows' stay in L1
  int64_t block_ = 1, pitch_ = 1;  // columns of a task, from one row of its sums to the next
  int64_t widened_ = 0;            // where in scratch, behind the sums, elements of A are that had to be widened
};

}  // namespace

// Whether the end of a dot product, whose vector is summed up and which is written by itself, takes longer than packing: in instructions for each of its terms. Of 16 registers, as with 32 there are
// linear layers (linear_matmul.cpp), and where all of K is one block, whose sums stay in registers.
static bool ends_soon(const MatmulSpec& s, const Target& target) {
  constexpr int64_t kMostTerms = 256;
  constexpr double kEnd = 20, kPackedElement = 0.6, kMoreOfTile = 0.013;
  return target.registers == 16 && !s.b_made && s.k <= kMostTerms && double(s.k) * (kPackedElement / double(s.m) + kMoreOfTile) < kEnd;
}

// Whether a B that a loop does not change is packed, in the first of its rounds (with 32 registers, rather than read in place, not measured).
static bool is_packed_once(const MatmulSpec& s, const Target& target) { return s.packed && s.type.isF32() && s.m > kFewRows && target.registers == 16; }

bool is_thin(const MatmulSpec& s, const Target& target) {
  if (s.m > s.n || s.pack_b || (s.b_made && s.m > kMostRowsOfMade)) return false;
  if (!isa<FloatType>(s.type)) return s.type.isInteger(32) && is_byte(s.a_type) && is_byte(s.b_type) && s.a_unit_k && s.b_unit_k && s.k >= 64 && s.m <= kMostRowsOfBytes;
  bool pairs = target.bf16_dot != Target::None && (s.converted ? s.converted.isBF16() : s.a_type.isBF16() && s.b_type.isBF16());
  if (s.b_unit_k) return s.a_unit_k && s.k >= 64 && !ends_soon(s, target) && !is_packed_once(s, target) && s.m <= (pairs && target.tiles ? kMostRowsOfPairs : kMostRowsAlongK);
  return s.b_unit_n && s.m <= (pairs ? kMostRowsOfPairs : kMostRows);  // pairs along N are made by packing
}

MatmulSpec exchanged(const MatmulSpec& s) {
  MatmulSpec result = s;
  std::swap(result.m, result.n);
  std::swap(result.any_m, result.any_n);
  std::swap(result.a, result.b);
  std::swap(result.a_type, result.b_type);
  std::swap(result.a_unit_k, result.b_unit_k);
  result.a_unit_m = s.b_unit_n, result.b_unit_n = s.a_unit_m;
  result.a_offset = [&s](IR batch, IR m, IR k) { return s.b_offset(batch, k, m); };
  result.b_offset = [&s](IR batch, IR k, IR n) { return s.a_offset(batch, n, k); };
  result.store = [&s](IR batch, IR m, IR n, IR sum, int lanes) { s.store(batch, n, m, sum, lanes); };
  result.store_vectors = false;
  return result;
}

void emit_thin_matmul(KernelContext& c, const MatmulSpec& spec) {
  MatmulSpec by_vectors = spec;
  by_vectors.may_use_tiles = false;
  ThinEmitter(c, by_vectors).run();
}

}  // namespace cresset::cpu
