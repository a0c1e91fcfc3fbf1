// aten.scaled_dot_product_attention without the matrix of scores: each block of keys is multiplied with a group of queries, and its
// softmax is corrected as larger scores come along (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao
// et al., "FlashAttention", 2022). Both products run on packed panels. Blocks that a causal mask hides are skipped.
#include <cmath>
#include <limits>

#include "cpu/panels.h"
#include "cpu/vector_math.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// [batch, heads, positions, width] as a strided array.
struct Operand {
  View view;
  Type type;
  IR base;
  IR offset(KernelEmitter& k, IR batch, IR head, IR position, IR column) const {
    auto& s = view.strides;
    return k.add(k.add(k.i64(view.offset), k.mul(batch, s[0])), k.add(k.mul(head, s[1]), k.add(k.mul(position, s[2]), k.mul(column, s[3]))));
  }
};

class AttentionEmitter {
 public:
  AttentionEmitter(KernelContext& c, CompositeOp op, Operand q, Operand k, Operand v)
      : c_(c), k_(c.k), b_(c.k.b), op_(op), q_(q), key_(k), value_(v), scores_(score_spec()), sums_(sum_spec()), s_(c.k, scores_), o_(c.k, sums_) {
    causal_ = op.getCompositeAttributes() && op.getCompositeAttributes().getAs<BoolAttr>("is_causal") && op.getCompositeAttributes().getAs<BoolAttr>("is_causal").getValue();
    auto scale = op.getCompositeAttributes() ? op.getCompositeAttributes().getAs<FloatAttr>("scale") : FloatAttr();
    scale_ = scale ? scale.getValueAsDouble() : 1 / std::sqrt(double(q.view.shape[3]));
  }

  void run() {
    // Queries of a task share the packed keys and values; few heads are split, so that all threads have work.
    int64_t group = kTiles * s_.mr, heads = scores_.batch, length = scores_.m;
    rows_ = std::min<int64_t>(round_up(length, group), round_up(512, group));
    while (heads * ((length + rows_ - 1) / rows_) < 8 && rows_ > group) rows_ = round_up(rows_ / 2, group);
    keys_ = std::min<int64_t>(round_up(scores_.n, s_.nr), round_up(128, s_.nr));
    int64_t blocks = (length + rows_ - 1) / rows_, width = round_up(sums_.n, o_.nr);
    c_.kernel.tasks = heads * blocks;
    c_.kernel.cost = 0.25 * heads * double(length) * scores_.n * (scores_.k + sums_.n);
    auto reserve = [&](int64_t floats) { return c_.kernel.reserve(floats * 4); };
    queries_at_ = reserve(rows_ * scores_.k);
    keys_at_ = reserve(keys_ * scores_.k);
    values_at_ = reserve(keys_ * width);
    scores_at_ = reserve(group * keys_);
    sums_at_ = reserve(rows_ * width);
    largest_at_ = reserve(rows_);
    totals_at_ = reserve(rows_);
    corrections_at_ = reserve(group);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {heads, blocks}, task);
      block(at[0].base, k_.mul(at[1].base, rows_));
    });
  }

 private:
  static constexpr int kTiles = 4;  // of queries that a panel of keys is used for while it is in L1

  IR f32(double x) { return llvm::ConstantFP::get(b_.getFloatTy(), x); }
  IR scratch(int64_t at, IR index) { return b_.CreateInBoundsGEP(b_.getFloatTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), k_.scratch(), at), index); }
  IR load(IR address, int lanes) { return b_.CreateAlignedLoad(k_.vector(b_.getFloatTy(), lanes), address, llvm::Align(4)); }
  void store(IR x, IR address) { b_.CreateAlignedStore(x, address, llvm::Align(4)); }

  // A head of queries, flat over batch and heads, and the head of keys and values that serves it.
  std::pair<IR, IR> place(IR head) {
    auto at = delinearise(k_, ArrayRef(q_.view.shape).take_front(2), head);
    return {at[0].base, at[1].base};
  }
  IR offset_in_heads(const Operand& operand, IR head, IR position, IR column) {
    auto [batch, h] = place(head);
    int64_t shared = q_.view.shape[1] / operand.view.shape[1];
    return operand.offset(k_, batch, shared == 1 ? h : b_.CreateUDiv(h, k_.i64(shared)), position, column);
  }
  MatmulSpec score_spec() {
    MatmulSpec s;
    s.batch = q_.view.shape[0] * q_.view.shape[1], s.m = q_.view.shape[2], s.n = key_.view.shape[2], s.k = q_.view.shape[3];
    s.a_type = q_.type, s.b_type = key_.type, s.type = Float32Type::get(op_.getContext());
    s.a = q_.base, s.b = key_.base;
    s.a_offset = [this](IR head, IR m, IR k) { return offset_in_heads(q_, head, m, k); };
    s.b_offset = [this](IR head, IR k, IR n) { return offset_in_heads(key_, head, n, k); };
    s.a_unit_k = q_.view.strides[3] == 1, s.b_unit_k = key_.view.strides[3] == 1;
    return s;
  }
  MatmulSpec sum_spec() {
    MatmulSpec s = scores_;
    s.n = value_.view.shape[3], s.k = value_.view.shape[2];
    s.a_type = s.type, s.b_type = value_.type, s.b = value_.base;  // the weights are f32
    s.b_offset = [this](IR head, IR k, IR n) { return offset_in_heads(value_, head, k, n); };
    s.b_unit_k = false, s.b_unit_n = value_.view.strides[3] == 1;
    return s;
  }

  void block(IR head, IR m0) {
    int64_t group = kTiles * s_.mr;
    IR rows = k_.min(k_.i64(rows_), b_.CreateSub(k_.i64(scores_.m), m0));
    k_.loop(k_.i64(0), rows, s_.mr, [&](IR m) {
      s_.pack_a(head, b_.CreateAdd(m0, m), k_.i64(0), k_.i64(scores_.k), scratch(queries_at_, k_.mul(m, scores_.k)));
    });
    k_.loop(k_.i64(0), k_.i64(rows_), [&](IR i) {
      store(f32(std::numeric_limits<float>::lowest()), scratch(largest_at_, i));
      store(f32(0), scratch(totals_at_, i));
    });
    IR keys = causal_ ? k_.min(k_.i64(scores_.n), b_.CreateAdd(m0, rows)) : k_.i64(scores_.n);
    k_.loop(k_.i64(0), keys, keys_, [&](IR n0) {
      IR count = k_.min(k_.i64(keys_), b_.CreateSub(k_.i64(scores_.n), n0));
      s_.pack_b(head, n0, count, k_.i64(0), k_.i64(scores_.k), [&](IR n) { return scratch(keys_at_, k_.mul(n, scores_.k)); });
      o_.pack_b(head, k_.i64(0), k_.i64(sums_.n), n0, count, [&](IR n) { return scratch(values_at_, k_.mul(n, keys_)); });
      k_.loop(k_.i64(0), rows, group, [&](IR m) {
        IR last = b_.CreateAdd(b_.CreateAdd(m0, m), k_.i64(group - 1));
        IR seen = causal_ ? k_.min(count, b_.CreateAdd(b_.CreateSub(last, n0), k_.i64(1))) : count;
        k_.when(b_.CreateICmpSGT(seen, k_.i64(0)), [&] {
          scores(m, seen);
          softmax(head, m0, m, n0, seen);
          add_values(m, seen, b_.CreateICmpEQ(n0, k_.i64(0)));
        });
      });
    });
    finish(head, m0, rows);
  }

  // [group][keys]
  void scores(IR m, IR seen) {
    k_.loop(k_.i64(0), seen, s_.nr, [&](IR n) {
      k_.loop(k_.i64(0), k_.i64(kTiles * s_.mr), s_.mr, [&](IR t) {
        IR rows = scratch(queries_at_, k_.mul(b_.CreateAdd(m, t), scores_.k));
        auto element = [&](int64_t i, IR k) { return b_.CreateInBoundsGEP(s_.unit, rows, k_.add(k_.mul(k, s_.mr), k_.i64(i))); };
        IRs tile = s_.multiply(element, scratch(keys_at_, k_.mul(n, scores_.k)), k_.i64(scores_.k), s_.zeros());
        for (int64_t i = 0; i < s_.mr; ++i)
          for (int v = 0; v < s_.vectors; ++v)
            store(tile[i * s_.vectors + v], scratch(scores_at_, b_.CreateAdd(k_.mul(b_.CreateAdd(t, k_.i64(i)), keys_), k_.add(n, k_.i64(v * s_.lanes)))));
      });
    });
  }

  // Scores to weights; the sums so far are to be multiplied by what is left in `corrections`.
  void softmax(IR head, IR m0, IR m, IR n0, IR seen) {
    int lanes = s_.lanes;
    auto* vector = k_.vector(b_.getFloatTy(), lanes);
    IR width = b_.CreateAnd(b_.CreateAdd(seen, k_.i64(lanes - 1)), k_.i64(-int64_t(lanes)));
    IR lane = steps(lanes);
    k_.loop(k_.i64(0), k_.i64(kTiles * s_.mr), [&](IR i) {
      IR row = b_.CreateAdd(b_.CreateAdd(m0, m), i), state = b_.CreateAdd(m, i), begin = k_.mul(i, keys_);
      IR limit = k_.min(b_.CreateSub(k_.i64(scores_.n), n0), seen);
      if (causal_) limit = k_.min(limit, b_.CreateAdd(b_.CreateSub(row, n0), k_.i64(1)));
      limit = k_.splat(b_.CreateTrunc(limit, b_.getInt32Ty()), lanes);
      IR none = llvm::ConstantFP::getInfinity(vector, true);
      IR before = load(scratch(largest_at_, state), 1);
      IR largest = k_.loop(k_.i64(0), width, lanes, {k_.splat(before, lanes)}, [&](IR j, ArrayRef<IR> carried) {
        IR address = scratch(scores_at_, b_.CreateAdd(begin, j));
        IR score = b_.CreateFMul(load(address, lanes), llvm::ConstantFP::get(vector, scale_));
        score = masked(score, head, k_.min(row, k_.i64(scores_.m - 1)), b_.CreateAdd(n0, j), lanes);
        IR column = b_.CreateAdd(k_.splat(b_.CreateTrunc(j, b_.getInt32Ty()), lanes), lane);
        score = b_.CreateSelect(b_.CreateICmpSLT(column, limit), score, none);
        store(score, address);
        return IRs{b_.CreateSelect(b_.CreateFCmpULE(score, carried[0]), carried[0], score)};
      })[0];
      IR now = k_.fold(largest, lanes, [&](IR x, IR y) { return b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y); });
      IR total = k_.loop(k_.i64(0), width, lanes, {llvm::Constant::getNullValue(vector)}, [&](IR j, ArrayRef<IR> carried) {
        IR address = scratch(scores_at_, b_.CreateAdd(begin, j));
        IR weight = emit_exp(k_, b_.CreateFSub(load(address, lanes), k_.splat(now, lanes)));
        store(weight, address);
        return IRs{b_.CreateFAdd(carried[0], weight)};
      })[0];
      IR correction = emit_exp(k_, b_.CreateFSub(before, now));
      store(now, scratch(largest_at_, state));
      store(correction, scratch(corrections_at_, i));
      IR sum = k_.fold(total, lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); });
      store(b_.CreateFAdd(b_.CreateFMul(load(scratch(totals_at_, state), 1), correction), sum), scratch(totals_at_, state));
    });
  }
  IR steps(int lanes) {
    SmallVector<llvm::Constant*> values;
    for (int i = 0; i < lanes; ++i) values.push_back(b_.getInt32(i));
    return llvm::ConstantVector::get(values);
  }
  // The mask is broadcast to [batch, heads, queries, keys]: added, or what it leaves out becomes -inf.
  IR masked(IR score, IR head, IR row, IR column, int lanes) {
    if (op_.getNumOperands() < 4) return score;
    Value mask = op_.getOperand(3);
    auto type = shaped(mask);
    auto [batch, h] = place(head);
    IR at[] = {batch, h, row, column};
    IR offset = k_.i64(0), step = k_.i64(0);
    int64_t stride = 1;
    for (int64_t d = type.getRank(); d-- > 0; stride *= type.getDimSize(d))
      if (type.getDimSize(d) != 1) offset = k_.add(offset, k_.mul(at[d + 4 - type.getRank()], stride));
    bool along_keys = type.getDimSize(type.getRank() - 1) != 1;
    IR base = c_.buffer(mask), x;
    // A vector may reach beyond the last key: what is there is thrown away, but must not be read.
    if (along_keys && scores_.n % lanes == 0) x = k_.load(type.getElementType(), base, offset, lanes);
    else if (!along_keys) x = k_.splat(k_.load(type.getElementType(), base, offset, 1), lanes);
    else {
      IR valid = b_.CreateSub(k_.i64(scores_.n - 1), column);
      x = llvm::PoisonValue::get(k_.vector(k_.compute_type(type.getElementType()), lanes));
      for (int i = 0; i < lanes; ++i) x = b_.CreateInsertElement(x, k_.load(type.getElementType(), base, b_.CreateAdd(offset, k_.min(k_.i64(i), valid)), 1), i);
    }
    if (type.getElementType().isInteger(1)) return b_.CreateSelect(x, score, llvm::ConstantFP::getInfinity(score->getType(), true));
    return b_.CreateFAdd(score, x);
  }

  // sums = sums * correction + weights · values
  void add_values(IR m, IR seen, IR first) {
    k_.loop(k_.i64(0), k_.i64(sums_.n), o_.nr, [&](IR n) {
      k_.loop(k_.i64(0), k_.i64(kTiles * o_.mr), o_.mr, [&](IR t) {
        auto sum_at = [&](int64_t i, int v) {
          return scratch(sums_at_, b_.CreateAdd(b_.CreateAdd(k_.mul(n, rows_), k_.mul(k_.add(b_.CreateAdd(m, t), k_.i64(i)), o_.nr)), k_.i64(v * o_.lanes)));
        };
        auto weight = [&](int64_t i, IR k) { return scratch(scores_at_, b_.CreateAdd(k_.mul(k_.add(t, k_.i64(i)), keys_), k)); };
        IRs tile = o_.multiply(weight, scratch(values_at_, k_.mul(n, keys_)), seen, o_.zeros());
        auto write = [&](bool add) {
          for (int64_t i = 0; i < o_.mr; ++i) {
            IR correction = add ? k_.splat(load(scratch(corrections_at_, k_.add(t, k_.i64(i))), 1), o_.lanes) : nullptr;
            for (int v = 0; v < o_.vectors; ++v) {
              IR x = tile[i * o_.vectors + v];
              if (add) x = b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {load(sum_at(i, v), o_.lanes), correction, x});
              store(x, sum_at(i, v));
            }
          }
        };
        k_.when(first, [&] { write(false); });
        k_.when(b_.CreateNot(first), [&] { write(true); });
      });
    });
  }

  void finish(IR head, IR m0, IR rows) {
    Value out = op_.getResult(0), logarithm = op_.getResult(1);
    k_.loop(k_.i64(0), rows, [&](IR i) {
      IR row = k_.add(k_.mul(head, scores_.m), b_.CreateAdd(m0, i)), total = load(scratch(totals_at_, i), 1);
      total = b_.CreateSelect(b_.CreateFCmpOEQ(total, f32(0)), f32(1), total);  // a row that is masked out as a whole
      IR factor = b_.CreateFDiv(f32(1), total);
      auto put = [&](IR n, int lanes) {
        IR panel = b_.CreateSub(n, b_.CreateURem(n, k_.i64(o_.nr)));
        IR sum = load(scratch(sums_at_, b_.CreateAdd(k_.mul(panel, rows_), b_.CreateAdd(k_.mul(i, o_.nr), b_.CreateSub(n, panel)))), lanes);
        k_.store(element(out), b_.CreateFMul(sum, k_.splat(factor, lanes)), c_.buffer(out), k_.add(k_.mul(row, sums_.n), n), lanes);
      };
      k_.along(k_.i64(sums_.n), o_.lanes, put);
      k_.store(element(logarithm), b_.CreateFAdd(emit_log(k_, total), load(scratch(largest_at_, i), 1)), c_.buffer(logarithm), row, 1);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  CompositeOp op_;
  Operand q_, key_, value_;
  MatmulSpec scores_, sums_;
  Panels s_, o_;
  bool causal_ = false;
  double scale_ = 1;
  int64_t rows_ = 0, keys_ = 0;  // queries of a task, keys of a block
  int64_t queries_at_ = 0, keys_at_ = 0, values_at_ = 0, scores_at_ = 0, sums_at_ = 0, largest_at_ = 0, totals_at_ = 0, corrections_at_ = 0;  // places in scratch
};

}  // namespace

bool is_attention(Operation* operation) {
  auto op = dyn_cast_or_null<CompositeOp>(operation);
  if (!op || op.getName() != "aten.scaled_dot_product_attention" || op.getNumResults() != 2 || op.getNumOperands() < 3 || op.getNumOperands() > 4) return false;
  auto p = op.getCompositeAttributes() ? op.getCompositeAttributes().getAs<FloatAttr>("dropout_p") : FloatAttr();
  if (p && p.getValueAsDouble() != 0) return false;
  auto query = shaped(op.getOperand(0));
  for (int i = 0; i < 3; ++i) {
    auto type = shaped(op.getOperand(i));
    if (type.getRank() != 4 || type.getNumElements() == 0 || type.getElementType() != query.getElementType()) return false;
    if (query.getDimSize(1) % type.getDimSize(1)) return false;
  }
  if (!query.getElementType().isF32() && !query.getElementType().isBF16() && !query.getElementType().isF16()) return false;
  if (op.getNumOperands() == 3) return true;
  // A mask that broadcasts to the scores.
  auto mask = shaped(op.getOperand(3));
  int64_t scores[] = {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), shaped(op.getOperand(1)).getDimSize(2)};
  if (mask.getRank() < 1 || mask.getRank() > 4 || !(mask.getElementType().isInteger(1) || isa<FloatType>(mask.getElementType())) || mask.getElementType().isF64()) return false;
  for (int64_t d = 0; d < mask.getRank(); ++d)
    if (mask.getDimSize(d) != 1 && mask.getDimSize(d) != scores[d + 4 - mask.getRank()]) return false;
  return true;
}

llvm::Error emit_attention(KernelContext& c) {
  auto op = cast<CompositeOp>(c.fusion.product);
  auto is_buffer = [&](Value v) { return c.slots.has(v) && !c.fusion.outputs.contains(v); };
  Operand operands[3];
  for (int i = 0; i < 3; ++i) {
    auto view = view_of(op.getOperand(i), is_buffer);
    if (!view) return llvm::createStringError("aten.scaled_dot_product_attention: operand %d has no strided form", i);
    operands[i] = {*view, element(op.getOperand(i)), c.buffer(view->base)};
  }
  AttentionEmitter(c, op, operands[0], operands[1], operands[2]).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
