// aten.scaled_dot_product_attention without the matrix of scores: each block of keys is multiplied with a group of queries, and its
// softmax is corrected as larger scores come along (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao
// et al., "FlashAttention", 2022). Both products run on packed panels. Blocks that a causal mask hides are skipped.
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/attention/attention.h"
#include "cpu/emit/random.h"
#include "cpu/emit/vector_math.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

int64_t rank_of(Value v) { return shaped(v).getRank(); }
bool is_number(Value v) { return rank_of(v) == 0 && element(v).isInteger(64); }

// Shapes and types that the kernels take: all of one narrow or single precision.
bool fits(const AttentionOperands& o) {
  auto query = shaped(o.query), key = shaped(o.key), value = shaped(o.value);
  for (auto type : {query, key, value}) {
    if (type.getRank() != 4 || type.getNumElements() == 0 || type.getElementType() != query.getElementType()) return false;
    if (type.getDimSize(0) != query.getDimSize(0) || query.getDimSize(1) % type.getDimSize(1)) return false;
  }
  if (key.getDimSize(2) != value.getDimSize(2) || key.getDimSize(3) != query.getDimSize(3)) return false;
  if (!query.getElementType().isF32() && !query.getElementType().isBF16() && !query.getElementType().isF16()) return false;
  if (!o.mask) return true;
  // A mask that broadcasts to the scores.
  auto type = shaped(o.mask);
  int64_t scores[] = {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), key.getDimSize(2)};
  if (type.getRank() < 1 || type.getRank() > 4 || !(type.getElementType().isInteger(1) || isa<FloatType>(type.getElementType())) || type.getElementType().isF64()) return false;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1 && type.getDimSize(d) != scores[d + 4 - type.getRank()]) return false;
  return true;
}

// The gradients of query, key and value, and maybe of a mask that is added.
bool is_gradient(CompositeOp op, const AttentionOperands& o) {
  if (op.getNumResults() != 3) {
    if (op.getNumResults() != 4 || !o.mask || !isa<FloatType>(element(o.mask))) return false;
    if (Type type = op.getResult(3).getType(); type != o.mask.getType() && type != MaskGradient(o).type) return false;
  }
  auto query = shaped(o.query), key = shaped(o.key), value = shaped(o.value);
  int64_t out[] = {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), value.getDimSize(3)};
  auto out_type = RankedTensorType::get(out, query.getElementType());
  auto logsumexp = RankedTensorType::get(ArrayRef(out).drop_back(), Float32Type::get(op.getContext()));
  return o.gradient.getType() == out_type && o.out.getType() == out_type && o.logsumexp.getType() == logsumexp && key.getDimSize(1) == value.getDimSize(1) &&
         op.getResult(0).getType() == query && op.getResult(1).getType() == key && op.getResult(2).getType() == value;
}

}  // namespace

std::optional<AttentionOperands> attention_operands(CompositeOp op) {
  AttentionOperands o;
  auto attributes = op.getCompositeAttributes();
  auto p = attributes ? attributes.getAs<FloatAttr>("dropout_p") : FloatAttr();
  SmallVector<Value> rest(op.getOperands());
  auto take = [&](Value& v) {
    if (rest.empty()) return false;
    v = rest.front();
    rest.erase(rest.begin());
    return true;
  };
  bool backward = op.getName() == "aten.scaled_dot_product_attention_backward";
  if (!backward && op.getName() != "aten.scaled_dot_product_attention") return std::nullopt;
  if ((backward && !take(o.gradient)) || !take(o.query) || !take(o.key) || !take(o.value)) return std::nullopt;
  if (p && p.getValueAsDouble() != 0) {
    if (rest.size() < 2 || !is_number(rest[rest.size() - 2]) || !is_number(rest.back())) return std::nullopt;
    o.dropout = p.getValueAsDouble();
    o.offset = rest.pop_back_val(), o.seed = rest.pop_back_val();
  }
  if (backward) {
    if (rest.size() > 2 && rank_of(rest[1]) == 4) take(o.mask);
    if (!take(o.out) || !take(o.logsumexp)) return std::nullopt;
  }
  if (!o.mask) take(o.mask);
  return rest.empty() ? std::optional(o) : std::nullopt;
}

std::optional<Fusion::Kind> attention_kind(Operation* operation) {
  auto op = dyn_cast_or_null<CompositeOp>(operation);
  auto operands = op ? attention_operands(op) : std::nullopt;
  if (!operands || !fits(*operands)) return std::nullopt;
  if (!operands->gradient) return op.getNumResults() == 2 ? std::optional(Fusion::Attention) : std::nullopt;
  return is_gradient(op, *operands) ? std::optional(Fusion::AttentionGradient) : std::nullopt;
}

bool reads_window(Operation* product, unsigned operand) {
  auto op = dyn_cast<CompositeOp>(product);
  if (!op) return true;
  if (is_grouped_product(op)) return operand < 2;
  auto o = attention_operands(op);
  Value v = op.getOperand(operand);
  return o && v != o->mask && v != o->seed && v != o->offset;
}

llvm::Expected<SmallVector<HeadArray>> head_arrays(KernelContext& c, ArrayRef<Value> operands) {
  auto is_buffer = [&](Value v) { return c.slots.has(v) && !c.fusion.outputs.contains(v); };
  SmallVector<HeadArray> arrays;
  for (Value v : operands) {
    auto view = view_of(v, is_buffer);
    if (!view) return llvm::createStringError("aten.scaled_dot_product_attention: operand %zu has no strided form", arrays.size());
    arrays.push_back({*view, element(v), c.buffer(view->base)});
  }
  return arrays;
}

//===-- What forward and backward share ---------------------------------------------------------------------------===//

AttentionEmitter::AttentionEmitter(KernelContext& c, const AttentionOperands& operands, HeadArray query, HeadArray key, HeadArray value, bool may_use_tiles)
    : c_(c), k_(c.k), b_(c.k.b), query_(query), key_(key), value_(value), mask_(operands.mask), dropout_(operands.dropout), may_use_tiles_(may_use_tiles),
      scores_(product_of_widths(query_, key_)), s_(c.k, scores_) {
  if (operands.seed) {
    seed_ = k_.load(element(operands.seed), c.buffer(operands.seed), k_.i64(0), 1);
    offset_ = k_.load(element(operands.offset), c.buffer(operands.offset), k_.i64(0), 1);
  }
  auto attributes = cast<CompositeOp>(c.fusion.product).getCompositeAttributes();
  auto causal = attributes ? attributes.getAs<BoolAttr>("is_causal") : BoolAttr();
  auto scale = attributes ? attributes.getAs<FloatAttr>("scale") : FloatAttr();
  causal_ = causal && causal.getValue();
  scale_ = scale ? scale.getValueAsDouble() : 1 / std::sqrt(double(query_.width()));
}

// The query's batch and head.
std::pair<IR, IR> AttentionEmitter::place(IR head) {
  auto at = delinearise(k_, ArrayRef(query_.view.shape).take_front(2), head);
  return {at[0].base, at[1].base};
}
IR AttentionEmitter::offset(const HeadArray& operand, IR head, IR position, IR column) {
  auto [batch, h] = place(head);
  auto& strides = operand.view.strides;
  if (int64_t shared = query_.heads() / operand.heads(); shared > 1) h = b_.CreateUDiv(h, k_.i64(shared));
  IR row = k_.add(k_.add(k_.i64(operand.view.offset), k_.mul(batch, strides[0])), k_.add(k_.mul(h, strides[1]), k_.mul(position, strides[2])));
  return column ? k_.add(row, k_.mul(column, strides[3])) : row;
}
MatmulSpec AttentionEmitter::product_of_widths(const HeadArray& rows, const HeadArray& columns) {
  MatmulSpec s;
  s.batch = query_.view.shape[0] * query_.heads(), s.m = rows.length(), s.n = columns.length(), s.k = rows.width();
  s.a_type = rows.type, s.b_type = columns.type, s.type = Float32Type::get(rows.type.getContext());
  s.a = rows.base, s.b = columns.base;
  s.a_offset = [this, &rows](IR head, IR m, IR k) { return offset(rows, head, m, k); };
  s.b_offset = [this, &columns](IR head, IR k, IR n) { return offset(columns, head, n, k); };
  s.a_unit_k = rows.is_dense(), s.b_unit_k = columns.is_dense();
  s.may_use_tiles = may_use_tiles_;
  return s;
}
MatmulSpec AttentionEmitter::product_with_rows(int64_t count, const HeadArray& rows, Type weights) {
  MatmulSpec s;
  s.batch = scores_.batch, s.m = count, s.n = rows.width(), s.k = rows.length();
  s.a_type = weights, s.type = scores_.type, s.b_type = rows.type, s.b = rows.base;
  s.b_offset = [this, &rows](IR head, IR k, IR n) { return offset(rows, head, k, n); };
  s.b_unit_n = rows.is_dense();
  s.may_use_tiles = may_use_tiles_;
  return s;
}

void AttentionEmitter::multiply_widths(Panels& p, int64_t width, int64_t rows_at, IR m, int64_t group, int64_t columns_at, IR seen, int64_t to, int64_t pitch) {
  k_.loop(k_.i64(0), seen, p.nr, [&](IR n) {
    k_.loop(k_.i64(0), k_.i64(group), p.mr, [&](IR t) {
      IR rows = scratch(rows_at, k_.mul(b_.CreateAdd(m, t), width));
      if (p.grid) return p.multiply_tiles(p.packed_tiles(rows), scratch(columns_at, k_.mul(n, width)), k_.i64(width), scratch(to, b_.CreateAdd(k_.mul(t, pitch), n)), pitch * 4, b_.getFalse());
      auto element = [&](int64_t i, IR k) { return b_.CreateInBoundsGEP(p.unit, rows, k_.add(k_.mul(k, p.mr), k_.i64(i))); };
      IRs tile = p.multiply(element, scratch(columns_at, k_.mul(n, width)), k_.i64(width), p.zeros());
      for (int64_t i = 0; i < p.mr; ++i)
        for (int v = 0; v < p.vectors; ++v)
          store(tile[i * p.vectors + v], scratch(to, b_.CreateAdd(k_.mul(b_.CreateAdd(t, k_.i64(i)), pitch), k_.add(n, k_.i64(v * p.lanes)))));
    });
  });
}

IR AttentionEmitter::visible_keys(IR row, IR n0, IR seen) {
  IR visible = k_.min(b_.CreateSub(k_.i64(scores_.n), n0), seen);
  return causal_ ? k_.min(visible, b_.CreateAdd(b_.CreateSub(row, n0), k_.i64(1))) : visible;
}
IR AttentionEmitter::is_visible(IR column, IR visible) {
  auto narrow = [&](IR x) { return b_.CreateTrunc(x, b_.getInt32Ty()); };
  return b_.CreateICmpSLT(k_.sequence(narrow(column), s_.lanes), k_.splat(narrow(visible), s_.lanes));
}
// As cresset.random_bits of [batch, heads, queries rounded up to 4, keys] with as many keys between words of a block.
std::array<IR, 4> AttentionEmitter::kept(IR head, IR row, IR n0, IR column) {
  std::array<IR, 4> kept{};
  if (!seed_) return kept;
  IR block = k_.mul(b_.CreateAdd(k_.mul(head, ceil_div(scores_.m, 4)), b_.CreateUDiv(row, k_.i64(4))), scores_.n);
  IR first = b_.CreateAdd(b_.CreateAdd(offset_, block), b_.CreateAdd(n0, column));
  double limit = std::ceil(std::ldexp(dropout_, 32));
  auto words = emit_philox(k_, k_.sequence(first, s_.lanes), seed_);
  for (int i = 0; i < 4; ++i)
    kept[i] = limit >= 0x1p32 ? llvm::Constant::getNullValue(k_.vector(b_.getInt1Ty(), s_.lanes)) : b_.CreateICmpUGE(words[i], llvm::ConstantInt::get(words[i]->getType(), uint64_t(limit)));
  return kept;
}
IR AttentionEmitter::score(IR product, IR head, IR row, IR n0, IR column, IR is_visible) {
  IR x = b_.CreateFMul(product, llvm::ConstantFP::get(product->getType(), scale_));
  x = masked(x, head, k_.min(row, k_.i64(scores_.m - 1)), b_.CreateAdd(n0, column));
  return b_.CreateSelect(is_visible, x, llvm::ConstantFP::getInfinity(x->getType(), true));
}
// The mask is broadcast to [batch, heads, queries, keys]: added, or what it leaves out becomes -inf.
IR AttentionEmitter::masked(IR score, IR head, IR row, IR column) {
  if (!mask_) return score;
  auto type = shaped(mask_);
  int lanes = s_.lanes;
  auto [batch, h] = place(head);
  IR at[] = {batch, h, row, column};
  IR offset = k_.i64(0);
  int64_t stride = 1;
  for (int64_t d = type.getRank(); d-- > 0; stride *= type.getDimSize(d))
    if (type.getDimSize(d) != 1) offset = k_.add(offset, k_.mul(at[d + 4 - type.getRank()], stride));
  bool along_keys = type.getDimSize(type.getRank() - 1) != 1;
  IR base = c_.buffer(mask_), x;
  // A vector may reach beyond the last key: what is there is thrown away, but must not be read.
  if (along_keys && scores_.n % lanes == 0) x = k_.load(type.getElementType(), base, offset, lanes);
  else if (!along_keys) x = k_.splat(k_.load(type.getElementType(), base, offset, 1), lanes);
  else if (k_.can_mask(type.getElementType())) x = k_.load_masked(type.getElementType(), base, offset, k_.mask(is_visible(column, k_.i64(scores_.n)), type.getElementType()));
  else {
    IR valid = b_.CreateSub(k_.i64(scores_.n - 1), column);
    x = llvm::PoisonValue::get(k_.vector(k_.compute_type(type.getElementType()), lanes));
    for (int i = 0; i < lanes; ++i) x = b_.CreateInsertElement(x, k_.load(type.getElementType(), base, b_.CreateAdd(offset, k_.min(k_.i64(i), valid)), 1), i);
  }
  if (type.getElementType().isInteger(1)) return b_.CreateSelect(x, score, llvm::ConstantFP::getInfinity(score->getType(), true));
  return b_.CreateFAdd(score, x);
}

//===-- Forward ---------------------------------------------------------------------------------------------------===//

namespace {

class ForwardEmitter : AttentionEmitter {
 public:
  ForwardEmitter(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands)
      : AttentionEmitter(c, values, operands[0], operands[1], operands[2], fill_tiles(operands)), sums_(product_with_rows(scores_.m, value_, s_.depth > 1 ? value_.type : scores_.type)), o_(c.k, sums_) {}

  void run() {
    // Queries of a task share the packed keys and values; few heads are split, so that all threads have work.
    keys_ = std::min<int64_t>(round_up(scores_.n, std::max(s_.nr, s_.padded(1))), round_up(128, s_.nr));
    tiles_ = tiles_of_group();
    int64_t group = tiles_ * s_.mr, heads = scores_.batch, length = scores_.m;
    rows_ = std::min<int64_t>(round_up(length, group), round_up(512, group));
    while (heads * ceil_div(length, rows_) < 8 && rows_ > group) rows_ = round_up(rows_ / 2, group);
    int64_t blocks = ceil_div(length, rows_), width = round_up(sums_.n, o_.nr);
    c_.kernel.tasks = heads * blocks;
    c_.kernel.cost = 0.25 * heads * double(length) * scores_.n * (scores_.k + sums_.n);
    queries_at_ = reserve(rows_ * scores_.k);
    keys_at_ = reserve(keys_ * scores_.k);
    values_at_ = reserve(keys_ * width);
    scores_at_ = reserve(group * keys_);
    weights_at_ = narrow() ? reserve(group * keys_ / 2) : scores_at_;
    sums_at_ = reserve(rows_ * width);
    largest_at_ = reserve(rows_);
    totals_at_ = reserve(rows_);
    corrections_at_ = reserve(group);
    if (s_.grid) s_.registers->configure(), o_.registers.emplace(*s_.registers);  // the same
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {heads, blocks}, task);
      block(at[0].base, k_.mul(at[1].base, rows_));
    });
    if (s_.grid) s_.registers->release();
  }

 private:
  // Both products, or none: they share rows and the shapes of tiles.
  static bool fill_tiles(ArrayRef<HeadArray> operands) {
    constexpr int64_t kLeast = 32;
    return operands[0].width() >= kLeast && operands[2].width() >= kLeast && operands[1].length() >= kLeast && operands[2].type.isBF16();
  }
  // Weights are rounded to bf16, as the values are, where pairs of them are multiplied.
  bool narrow() const { return o_.depth > 1; }
  // As many as leave the fewest rows beyond the last query, and room in L1 beside their scores for what these are made of: with half of it full, 128 tokens take a twentieth longer.
  int64_t tiles_of_group() const {
    if (s_.grid) return 2;
    constexpr int64_t kUsual = 4;  // of any tiles as many rows as dropout takes together, or a multiple
    const int64_t unit = rows_together() / std::gcd(s_.mr, rows_together()), room = k_.target.l1 * 3 / 8 / (keys_ * s_.mr * int64_t(sizeof(float)));
    const int64_t most = std::max(room / unit * unit, unit);
    auto computed = [&](int64_t tiles) { return round_up(scores_.m, tiles * s_.mr); };
    int64_t best = std::min(most, kUsual);
    for (int64_t tiles = most; tiles > 0; tiles -= unit)
      if (computed(tiles) < computed(best)) best = tiles;
    return best;
  }

  void block(IR head, IR m0) {
    int64_t group = tiles_ * s_.mr;
    IR rows = k_.min(k_.i64(rows_), b_.CreateSub(k_.i64(scores_.m), m0));
    k_.loop(k_.i64(0), rows, s_.mr, [&](IR m) {
      s_.pack_a(head, b_.CreateAdd(m0, m), k_.i64(0), k_.i64(scores_.k), scratch(queries_at_, k_.mul(m, scores_.k)));
    });
    if (!is_one_block())
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
          multiply_widths(s_, scores_.k, queries_at_, m, group, keys_at_, seen, scores_at_, keys_);
          softmax(head, m0, m, n0, seen);
          add_values(m, seen, b_.CreateICmpEQ(n0, k_.i64(0)));
        });
      });
    });
    finish(head, m0, rows);
  }

  // Scores to weights; the sums so far are to be multiplied by what is left in `corrections`.
  void softmax(IR head, IR m0, IR m, IR n0, IR seen) {
    int lanes = s_.lanes;
    auto* vector = k_.vector(b_.getFloatTy(), lanes);
    IR width = b_.CreateAnd(b_.CreateAdd(seen, k_.i64(lanes - 1)), k_.i64(-int64_t(lanes)));
    IR none = llvm::Constant::getNullValue(vector), weights = scratch(weights_at_, k_.i64(0));
    k_.loop(k_.i64(0), k_.i64(tiles_ * s_.mr), rows_at_once(), [&](IR first) {
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
  int64_t rows_at_once() const {
    int64_t rows = seed_ ? rows_together() : s_.lanes;  // random bits are enough code
    while (tiles_ * s_.mr % rows) rows /= 2;
    return std::max(rows, rows_together());
  }
  // Then no sums have to be corrected.
  bool is_one_block() const { return scores_.n <= keys_; }
  // sums = sums * correction + weights · values
  void add_values(IR m, IR seen, IR first) {
    if (o_.grid) return add_values_by_tiles(m, seen, first);
    k_.loop(k_.i64(0), k_.i64(sums_.n), o_.nr, [&](IR n) {
      k_.loop(k_.i64(0), k_.i64(tiles_ * o_.mr), o_.mr, [&](IR t) {
        auto sum_at = [&](int64_t i, int v) {
          return scratch(sums_at_, b_.CreateAdd(b_.CreateAdd(k_.mul(n, rows_), k_.mul(k_.add(b_.CreateAdd(m, t), k_.i64(i)), o_.nr)), k_.i64(v * o_.lanes)));
        };
        auto weight = [&](int64_t i, IR k) { return scratch(weights_at_, b_.CreateAdd(k_.mul(k_.add(t, k_.i64(i)), keys_ / o_.depth), k)); };
        IRs tile = o_.multiply(weight, scratch(values_at_, k_.mul(n, keys_)), seen, o_.zeros());
        auto write = [&](bool add) {
          for (int64_t i = 0; i < o_.mr; ++i) {
            IR correction = add ? k_.splat(load(scratch(corrections_at_, k_.add(t, k_.i64(i))), 1), o_.lanes) : nullptr;
            for (int v = 0; v < o_.vectors; ++v) {
              IR x = tile[i * o_.vectors + v];
              if (add) x = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {load(sum_at(i, v), o_.lanes), correction, x});
              store(x, sum_at(i, v));
            }
          }
        };
        k_.either(is_one_block() ? b_.getTrue() : first, [&] { write(false); }, [&] { write(true); });
      });
    });
  }

  void add_values_by_tiles(IR m, IR seen, IR first) {
    k_.loop(k_.i64(0), k_.i64(sums_.n), o_.nr, [&](IR n) {
      auto sum_at = [&](IR i) { return scratch(sums_at_, b_.CreateAdd(k_.mul(n, rows_), k_.mul(b_.CreateAdd(m, i), o_.nr))); };
      k_.when(b_.CreateNot(first), [&] {
        k_.loop(k_.i64(0), k_.i64(tiles_ * o_.mr), [&](IR i) {
          IR correction = k_.splat(load(scratch(corrections_at_, i), 1), o_.lanes);
          for (int v = 0; v < o_.vectors; ++v) {
            IR address = o_.vector_at(sum_at(i), k_.i64(0), v);
            store(b_.CreateFMul(load(address, o_.lanes), correction), address);
          }
        });
      });
      k_.loop(k_.i64(0), k_.i64(tiles_ * o_.mr), o_.mr, [&](IR t) {
        auto weights = o_.rows_as_tiles(scratch(weights_at_, k_.mul(t, keys_ / 2)), keys_ * 2);
        o_.multiply_tiles(weights, scratch(values_at_, k_.mul(n, keys_)), seen, sum_at(t), o_.nr * 4, b_.CreateNot(first));
      });
    });
  }

  void finish(IR head, IR m0, IR rows) {
    Value out = c_.fusion.product->getResult(0), logarithm = c_.fusion.product->getResult(1);
    auto row = [&](IR i) { return k_.add(k_.mul(head, scores_.m), b_.CreateAdd(m0, i)); };
    k_.along(rows, s_.lanes, [&](IR i, int lanes) {
      IR total = load(scratch(totals_at_, i), lanes), one = k_.splat(f32(1), lanes);
      total = b_.CreateSelect(b_.CreateFCmpOEQ(total, k_.splat(f32(0), lanes)), one, total);  // a row that is masked out as a whole
      k_.store(element(logarithm), b_.CreateFAdd(emit_log(k_, total), load(scratch(largest_at_, i), lanes)), c_.buffer(logarithm), row(i), lanes);
      store(b_.CreateFDiv(k_.splat(f32(kept_scale()), lanes), total), scratch(totals_at_, i));
    });
    k_.loop(k_.i64(0), rows, [&](IR i) {
      k_.along(k_.i64(sums_.n), o_.lanes, [&](IR n, int lanes) {
        IR sum = b_.CreateFMul(load(sums(o_, sums_at_, rows_, i, n), lanes), k_.splat(load(scratch(totals_at_, i), 1), lanes));
        k_.store(element(out), sum, c_.buffer(out), k_.add(k_.mul(row(i), sums_.n), n), lanes);
      });
    });
  }

  MatmulSpec sums_;
  Panels o_;
  int64_t rows_ = 0, keys_ = 0, tiles_ = 0;  // queries of a task, keys of a block, tiles of queries that a panel of keys is used for while it is in L1
  int64_t queries_at_ = 0, keys_at_ = 0, values_at_ = 0, scores_at_ = 0, weights_at_ = 0, sums_at_ = 0, largest_at_ = 0, totals_at_ = 0, corrections_at_ = 0;  // places in scratch
};

}  // namespace

llvm::Error emit_attention(KernelContext& c) {
  auto values = *attention_operands(cast<CompositeOp>(c.fusion.product));
  auto operands = head_arrays(c, {values.query, values.key, values.value});
  if (!operands) return operands.takeError();
  ForwardEmitter(c, values, *operands).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
