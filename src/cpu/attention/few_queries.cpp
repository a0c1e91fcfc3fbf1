// Attention of few queries, as those of a token that is generated: packing would touch each element of keys and values twice and use it a few times, so they are read where they lie, in order.
// Scores are dot products, vectors along the width of a few keys at once; sums of values stay in registers for a block of keys.
#include "cpu/attention/forward.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kMostQueries = 8, kMostQueriesOfPairs = 4, kKeys = 128;  // packed, pairs of bf16 take half the time

class FewQueries : public ForwardEmitter {
 public:
  FewQueries(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands) : ForwardEmitter(c, values, operands, false) {
    rows_ = group_ = scores_.m;
    keys_ = round_up(std::min(scores_.n, kKeys), s_.lanes);
  }
  bool is_apt() const {
    const int64_t most = s_.depth > 1 ? kMostQueriesOfPairs : kMostQueries;
    return !seed_ && scores_.m <= most && query_.is_dense() && key_.is_dense() && value_.is_dense() && scores_.k % s_.depth == 0;
  }
  void run() override {
    if (!s_.a_lies_in_units()) queries_at_ = reserve(scores_.m * scores_.k);
    ForwardEmitter::run();
  }

 private:
  // Narrow ones are widened once for all keys.
  void take_queries(IR head, IR, IR) override {
    if (s_.a_lies_in_units()) return;
    k_.loop(k_.i64(0), k_.i64(scores_.m), [&](IR m) {
      k_.along(k_.i64(scores_.k), s_.lanes, [&](IR k, int lanes) { store(s_.load_a(head, m, k, lanes), query_at(m, k)); });
    });
  }
  IR query_at(IR m, IR k) { return scratch(queries_at_, k_.add(k_.mul(m, scores_.k), k)); }
  IR units_of_query(IR head, IR m, IR k, int units) { return s_.a_lies_in_units() ? s_.row_of_a(head, m, k, units) : load(query_at(m, k), units); }

  void multiply_keys(const Block& block, IR, IR seen) override {
    // As many sums as one vector has lanes are folded together.
    const int64_t rows = std::min<int64_t>(scores_.m, s_.lanes), keys = llvm::bit_floor(uint64_t(s_.lanes / rows));
    k_.loop(k_.i64(0), seen, keys, [&](IR n) {
      IRs places;
      for (int64_t j = 0; j < keys; ++j) places.push_back(k_.min(b_.CreateAdd(block.n0, k_.add(n, k_.i64(j))), k_.i64(scores_.n - 1)));
      for (int64_t m = 0; m < scores_.m; m += rows) dots(block.head, m, std::min(rows, scores_.m - m), places, n);
    });
  }
  // Of the rows from m on and some keys, to the scores of those from n on.
  void dots(IR head, int64_t m, int64_t rows, ArrayRef<IR> keys, IR n) {
    constexpr int64_t kTogether = 8;  // vectors along the width, code for which stands side by side
    auto* vector = k_.vector(s_.type, s_.lanes);
    const int64_t units = scores_.k / s_.depth, count = keys.size();
    auto add = [&](IR unit, int64_t lanes, ArrayRef<IR> sums) {
      IR k = k_.mul(unit, s_.depth);
      IRs columns = llvm::map_to_vector(keys, [&](IR key) { return whole(s_.column_of_b(head, k, key, int(lanes))); }), next;
      for (int64_t i = 0; i < rows; ++i) {
        IR row = whole(units_of_query(head, k_.i64(m + i), k, int(lanes)));
        for (IR column : columns) next.push_back(s_.product(row, column, sums[next.size()]));
      }
      return next;
    };
    IRs sums(rows * count, llvm::Constant::getNullValue(vector));
    const int64_t step = kTogether * s_.lanes;
    int64_t done = units / step * step;
    if (done)
      sums = k_.loop(k_.i64(0), k_.i64(done), step, sums, [&](IR unit, ArrayRef<IR> sums) {
        IRs next(sums);
        for (int64_t v = 0; v < kTogether; ++v) next = add(k_.add(unit, k_.i64(v * s_.lanes)), s_.lanes, next);
        return next;
      });
    for (int64_t lanes = s_.lanes; lanes; lanes /= 2)
      for (; done + lanes <= units; done += lanes) sums = add(k_.i64(done), lanes, sums);
    IR totals = k_.fold_each(sums, s_.lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); });
    for (int64_t i = 0; i < rows; ++i) {
      IR of_row = totals;
      if (rows * count > 1) of_row = b_.CreateShuffleVector(totals, llvm::to_vector_of<int>(llvm::seq(i * count, (i + 1) * count)));
      store(of_row, scratch(scores_at_, k_.add(k_.i64((m + i) * keys_), n)));
    }
  }
  // Part of a vector as one, zeros behind it.
  IR whole(IR part) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(part->getType());
    auto* vector = k_.vector(part->getType()->getScalarType(), s_.lanes);
    IR none = llvm::Constant::getNullValue(vector);
    if (!type) return b_.CreateInsertElement(none, part, uint64_t(0));
    const int count = int(type->getNumElements());
    if (count == s_.lanes) return part;
    llvm::SmallVector<int> order;
    for (int i = 0; i < s_.lanes; ++i) order.push_back(std::min(i, count));
    return b_.CreateShuffleVector(part, llvm::Constant::getNullValue(type), order);
  }

  void add_values(const Block& block, IR, IR seen) override {
    const int64_t vectors = equal_part(std::max<int64_t>(sums_.n / o_.lanes, 1), o_.most_sums / scores_.m, 1), step = vectors * o_.lanes, whole = sums_.n / step * step;
    k_.loop(k_.i64(0), k_.i64(whole), step, [&](IR n) { add_columns(block, seen, n, vectors, o_.lanes); });
    k_.along(k_.i64(sums_.n - whole), o_.lanes, [&](IR n, int lanes) { add_columns(block, seen, k_.add(k_.i64(whole), n), 1, lanes); });
  }
  void add_columns(const Block& block, IR seen, IR n, int64_t vectors, int lanes) {
    constexpr int64_t kTogether = 4;  // keys
    auto* type = k_.vector(o_.type, lanes);
    IRs sums, addresses;
    for (int64_t i = 0; i < scores_.m; ++i)
      for (int64_t v = 0; v < vectors; ++v) {
        addresses.push_back(sum_at(k_.i64(i), k_.add(n, k_.i64(v * lanes))));
        sums.push_back(is_one_block() ? llvm::Constant::getNullValue(type) : b_.CreateFMul(load(addresses.back(), lanes), k_.splat(load(scratch(corrections_at_, k_.i64(i)), 1), lanes)));
      }
    auto add = [&](IR key, ArrayRef<IR> sums) {
      IRs values, next;
      for (int64_t v = 0; v < vectors; ++v) values.push_back(o_.load_b(block.head, b_.CreateAdd(block.n0, key), k_.add(n, k_.i64(v * lanes)), lanes));
      for (int64_t i = 0; i < scores_.m; ++i) {
        IR weight = k_.splat(load(scratch(weights_at_, k_.add(k_.i64(i * keys_), key)), 1), lanes);
        for (IR value : values) next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type}, {weight, value, sums[next.size()]}));
      }
      return next;
    };
    IR whole = b_.CreateAnd(seen, k_.i64(-kTogether));
    sums = k_.loop(k_.i64(0), whole, kTogether, sums, [&](IR key, ArrayRef<IR> sums) {
      IRs next(sums);
      for (int64_t d = 0; d < kTogether; ++d) next = add(k_.add(key, k_.i64(d)), next);
      return next;
    });
    sums = k_.loop(whole, seen, 1, sums, add);
    for (auto [sum, address] : llvm::zip(sums, addresses)) store(sum, address);
  }

  int64_t queries_at_ = 0;
};

}  // namespace

std::unique_ptr<ForwardEmitter> attention_of_few_queries(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands) {
  auto few = std::make_unique<FewQueries>(c, values, operands);
  return few->is_apt() ? std::move(few) : nullptr;
}

}  // namespace cresset::cpu
