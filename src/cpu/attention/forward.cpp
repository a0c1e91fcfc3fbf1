#include "cpu/attention/forward.h"

#include <limits>
#include <numeric>

#include "cpu/emit/vector_math.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

ForwardEmitter::ForwardEmitter(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands, bool weights_in_pairs, bool may_use_tiles)
    : AttentionEmitter(c, values, operands[0], operands[1], operands[2], may_use_tiles),
      sums_(product_with_rows(scores_.m, value_, weights_in_pairs && s_.depth > 1 ? value_.type : scores_.type)), o_(c.k, sums_) {}

void ForwardEmitter::run() {
  int64_t heads = scores_.batch, blocks = ceil_div(scores_.m, rows_), width = scores_.k + sums_.n;
  c_.kernel.tasks = heads * blocks;
  c_.kernel.cost = heads * double(scores_.n) * width * std::max(0.25 * scores_.m, double(element_bytes(key_.type)));
  scores_at_ = reserve(group_ * keys_);
  weights_at_ = o_.depth > 1 ? reserve(group_ * keys_ / 2) : scores_at_;
  sums_at_ = reserve(rows_ * round_up(sums_.n, o_.nr));
  largest_at_ = reserve(rows_);
  totals_at_ = reserve(rows_);
  corrections_at_ = reserve(group_);
  k_.loop(k_.begin(), k_.end(), [&](IR task) {
    auto at = place_of_task(k_, {heads, blocks}, task);
    some_queries(at[0].base, k_.mul(at[1].base, rows_));
  });
}

void ForwardEmitter::some_queries(IR head, IR m0) {
  IR rows = k_.min(k_.i64(rows_), b_.CreateSub(k_.i64(scores_.m), m0));
  take_queries(head, m0, rows);
  if (!is_one_block()) {
    k_.loop(k_.i64(0), k_.i64(rows_), [&](IR i) {
      store(f32(std::numeric_limits<float>::lowest()), scratch(largest_at_, i));
      store(f32(0), scratch(totals_at_, i));
    });
    b_.CreateMemSet(scratch(sums_at_, k_.i64(0)), b_.getInt8(0), rows_ * round_up(sums_.n, o_.nr) * 4, llvm::Align(64));
  }
  each_block(head, m0, rows, group_, keys_, all_keys(), [&](const Block& block) {
    groups_that_see(block, [&] { take_keys(block); }, [&](IR m, IR, IR seen) {
      multiply_keys(block, m, seen);
      softmax(block, m, seen);
      add_values(block, m, seen);
    });
  });
  finish(head, m0, rows);
}

// Scores to weights; the sums so far are to be multiplied by what is left in `corrections`.
void ForwardEmitter::softmax(const Block& block, IR m, IR seen) {
  IR head = block.head, m0 = block.m0, n0 = block.n0;
  int lanes = s_.lanes;
  auto* vector = k_.vector(b_.getFloatTy(), lanes);
  IR width = b_.CreateAnd(b_.CreateAdd(seen, k_.i64(lanes - 1)), k_.i64(-int64_t(lanes)));
  IR none = llvm::Constant::getNullValue(vector), weights = scratch(weights_at_, k_.i64(0));
  k_.loop(k_.i64(0), k_.i64(group_), rows_at_once(), [&](IR first) {
    // What there is of each row is folded, and computed further, for all of them as one vector.
    IR states = b_.CreateAdd(m, first), before = is_one_block() ? nullptr : load(scratch(largest_at_, states), int(rows_at_once()));
    IRs largest, totals;
    for (int64_t r = 0; r < rows_at_once(); ++r) {
      IR i = k_.add(first, k_.i64(r)), row = b_.CreateAdd(b_.CreateAdd(m0, m), i), begin = k_.mul(i, keys_), visible = visible_keys(row, n0, seen);
      largest.push_back(k_.loop(k_.i64(0), width, lanes, {k_.splat(f32(std::numeric_limits<float>::lowest()), lanes)}, [&](IR j, ArrayRef<IR> carried) {
        IR address = scratch(scores_at_, b_.CreateAdd(begin, j));
        IR x = score(load(address, lanes), head, row, n0, j, is_visible(j, visible));
        store(x, address);
        return IRs{b_.CreateSelect(b_.CreateFCmpULE(x, carried[0]), carried[0], x)};
      })[0]);
    }
    auto larger = [&](IR x, IR y) { return b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y); };
    IR now = k_.fold_each(largest, lanes, larger);
    if (before) now = larger(now, before);
    store(now, scratch(largest_at_, states));
    // What dropout leaves out is in the total all the same.
    for (int64_t from = 0; from < rows_at_once(); from += rows_together())
      totals.append(k_.loop(k_.i64(0), width, lanes, IRs(rows_together(), none), [&](IR j, ArrayRef<IR> carried) {
        IR here = k_.add(first, k_.i64(from));
        auto keep = kept(head, b_.CreateAdd(b_.CreateAdd(m0, m), here), n0, j);
        IRs sums;
        for (int64_t r = 0; r < rows_together(); ++r) {
          IR at = b_.CreateAdd(k_.mul(k_.add(here, k_.i64(r)), keys_), j);
          IR weight = emit_exp_at_most_zero(k_, b_.CreateFSub(load(scratch(scores_at_, at), lanes), k_.splat(load(scratch(largest_at_, k_.add(states, k_.i64(from + r))), 1), lanes)));
          IR used = keep[r] ? b_.CreateSelect(keep[r], weight, none) : weight;
          k_.store(sums_.a_type, k_.round(sums_.a_type, used, true), weights, at, lanes);
          sums.push_back(b_.CreateFAdd(carried[r], weight));
        }
        return sums;
      }));
    IR end = b_.CreateAnd(b_.CreateAdd(seen, k_.i64(o_.padded(1) - 1)), k_.i64(-o_.padded(1)));
    for (int64_t r = 0; o_.grid && r < rows_at_once(); ++r)
      k_.loop(width, end, lanes, [&](IR j) { k_.store(sums_.a_type, none, weights, b_.CreateAdd(k_.mul(k_.add(first, k_.i64(r)), keys_), j), lanes); });
    IR total = k_.fold_each(totals, lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); });
    if (before) {
      IR correction = emit_exp_at_most_zero(k_, b_.CreateFSub(before, now));
      store(correction, scratch(corrections_at_, first));
      total = b_.CreateFAdd(b_.CreateFMul(load(scratch(totals_at_, states), int(rows_at_once())), correction), total);
    }
    store(total, scratch(totals_at_, states));
  });
}
int64_t ForwardEmitter::rows_at_once() const {
  int64_t rows = seed_ ? rows_together() : s_.lanes;  // random bits are enough code
  while (group_ % rows) rows /= 2;
  return std::max(rows, rows_together());
}

void ForwardEmitter::finish(IR head, IR m0, IR rows) {
  Value out = c_.fusion.product->getResult(0), logarithm = c_.fusion.product->getResult(1);
  k_.along(rows, s_.lanes, [&](IR i, int lanes) {
    IR total = load(scratch(totals_at_, i), lanes), one = k_.splat(f32(1), lanes);
    total = b_.CreateSelect(b_.CreateFCmpOEQ(total, k_.splat(f32(0), lanes)), one, total);  // a row that is masked out as a whole
    k_.store(element(logarithm), b_.CreateFAdd(emit_log(k_, total), load(scratch(largest_at_, i), lanes)), c_.buffer(logarithm), k_.add(k_.mul(head, scores_.m), b_.CreateAdd(m0, i)), lanes);
    store(b_.CreateFDiv(k_.splat(f32(kept_scale()), lanes), total), scratch(totals_at_, i));
  });
  k_.loop(k_.i64(0), rows, [&](IR i) {
    IR row = row_of_result(0, head, b_.CreateAdd(m0, i));
    k_.along(k_.i64(sums_.n), o_.lanes, [&](IR n, int lanes) {
      IR sum = b_.CreateFMul(load(sum_at(i, n), lanes), k_.splat(load(scratch(totals_at_, i), 1), lanes));
      k_.store(element(out), sum, c_.buffer(out), k_.add(row, n), lanes);
    });
  });
}

//===-- Packed panels ---------------------------------------------------------------------------------------------===//

namespace {

class PackedForward : public ForwardEmitter {
 public:
  PackedForward(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands) : ForwardEmitter(c, values, operands, true, fill_tiles(operands)) {
    // Queries of a task share the packed keys and values; few heads are split, so that all threads have work.
    const int64_t unit = std::lcm(s_.nr, s_.padded(1));  // of tiles, weights are cleared up to whole ones
    keys_ = std::min(round_up(scores_.n, unit), round_up(128, unit));
    group_ = tiles_of_group() * s_.mr;
    rows_ = std::min<int64_t>(round_up(scores_.m, group_), round_up(512, group_));
    while (scores_.batch * ceil_div(scores_.m, rows_) < 8 && rows_ > group_) rows_ = round_up(rows_ / 2, group_);
    queries_at_ = reserve(rows_ * scores_.k);
    keys_at_ = reserve(keys_ * scores_.k);
    values_at_ = reserve(keys_ * round_up(sums_.n, o_.nr));
  }
  void run() override {
    if (s_.grid) s_.registers->configure(), o_.registers.emplace(*s_.registers);  // the same
    ForwardEmitter::run();
    if (s_.grid) s_.registers->release();
  }

 private:
  // Both products, or none: they share rows and the shapes of tiles.
  static bool fill_tiles(ArrayRef<HeadArray> operands) {
    constexpr int64_t kLeast = 32;
    return operands[0].width() >= kLeast && operands[2].width() >= kLeast && operands[1].length() >= kLeast && operands[2].type.isBF16();
  }
  // As many as leave the fewest rows beyond the last query, and room in L1 beside their scores for what these are made of: with half of it full, 128 tokens take a twentieth longer.
  int64_t tiles_of_group() const {
    if (s_.grid) return std::max<int64_t>(2, rows_together() / std::gcd(s_.mr, rows_together()));
    constexpr int64_t kUsual = 4;  // of any tiles as many rows as dropout takes together, or a multiple
    const int64_t unit = rows_together() / std::gcd(s_.mr, rows_together()), room = k_.target.l1 * 3 / 8 / (keys_ * s_.mr * int64_t(sizeof(float)));
    const int64_t most = std::max(room / unit * unit, unit);
    auto computed = [&](int64_t tiles) { return round_up(scores_.m, tiles * s_.mr); };
    int64_t best = std::min(most, kUsual);
    for (int64_t tiles = most; tiles > 0 && !k_.any_size; tiles -= unit)
      if (computed(tiles) < computed(best)) best = tiles;
    return best;
  }

  void take_queries(IR head, IR m0, IR rows) override {
    k_.loop(k_.i64(0), rows, s_.mr, [&](IR m) {
      s_.pack_a(head, b_.CreateAdd(m0, m), k_.i64(0), k_.i64(scores_.k), scratch(queries_at_, k_.mul(m, scores_.k)));
    });
  }
  void take_keys(const Block& block) override {
    s_.pack_b(block.head, block.n0, block.count, k_.i64(0), k_.i64(scores_.k), [&](IR n) { return scratch(keys_at_, k_.mul(n, scores_.k)); });
    o_.pack_b(block.head, k_.i64(0), k_.i64(sums_.n), block.n0, block.count, [&](IR n) { return scratch(values_at_, k_.mul(n, keys_)); });
  }
  void multiply_keys(const Block&, IR m, IR seen) override { multiply_widths(s_, scores_.k, queries_at_, m, group_, keys_at_, seen, scores_at_, keys_); }
  void add_values(const Block&, IR m, IR seen) override {
    if (o_.grid) return add_values_by_tiles(m, seen);
    k_.loop(k_.i64(0), k_.i64(sums_.n), o_.nr, [&](IR n) {
      k_.loop(k_.i64(0), k_.i64(group_), o_.mr, [&](IR t) {
        auto weight = [&](int64_t i, IR k) { return scratch(weights_at_, b_.CreateAdd(k_.mul(k_.add(t, k_.i64(i)), keys_ / o_.depth), k)); };
        IRs tile = o_.multiply(weight, scratch(values_at_, k_.mul(n, keys_)), seen, o_.zeros());
        for (int64_t i = 0; i < o_.mr; ++i) {
          IR correction = is_one_block() ? nullptr : k_.splat(load(scratch(corrections_at_, k_.add(t, k_.i64(i))), 1), o_.lanes);
          for (int v = 0; v < o_.vectors; ++v) {
            IR x = tile[i * o_.vectors + v], at = o_.vector_at(sums_of_panel(n, k_.add(b_.CreateAdd(m, t), k_.i64(i))), k_.i64(0), v);
            if (correction) x = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {load(at, o_.lanes), correction, x});
            store(x, at);
          }
        }
      });
    });
  }
  void add_values_by_tiles(IR m, IR seen) {
    k_.loop(k_.i64(0), k_.i64(sums_.n), o_.nr, [&](IR n) {
      if (!is_one_block())
        k_.loop(k_.i64(0), k_.i64(group_), [&](IR i) {
          IR correction = k_.splat(load(scratch(corrections_at_, i), 1), o_.lanes);
          for (int v = 0; v < o_.vectors; ++v) {
            IR address = o_.vector_at(sums_of_panel(n, b_.CreateAdd(m, i)), k_.i64(0), v);
            store(b_.CreateFMul(load(address, o_.lanes), correction), address);
          }
        });
      k_.loop(k_.i64(0), k_.i64(group_), o_.mr, [&](IR t) {
        auto weights = o_.rows_as_tiles(scratch(weights_at_, k_.mul(t, keys_ / 2)), keys_ * 2);
        o_.multiply_tiles(weights, scratch(values_at_, k_.mul(n, keys_)), seen, sums_of_panel(n, b_.CreateAdd(m, t)), o_.nr * 4, b_.getInt1(!is_one_block()));
      });
    });
  }
  IR sums_of_panel(IR n, IR row) { return scratch(sums_at_, b_.CreateAdd(k_.mul(n, rows_), k_.mul(row, o_.nr))); }

  int64_t queries_at_ = 0, keys_at_ = 0, values_at_ = 0;
};

}  // namespace

llvm::Error emit_attention(KernelContext& c) {
  auto values = *attention_operands(cast<CompositeOp>(c.fusion.product));
  auto operands = head_arrays(c, {values.query, values.key, values.value});
  if (!operands) return operands.takeError();
  auto few = attention_of_few_queries(c, values, *operands);
  if (few) few->run();
  else PackedForward(c, values, *operands).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
