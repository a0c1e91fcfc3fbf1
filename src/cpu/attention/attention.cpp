// aten.scaled_dot_product_attention and its gradient: what their operands are, and what the kernels of both emit.
#include "cpu/attention/attention.h"

#include <cmath>
#include <limits>

#include "cpu/emit/random.h"

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

// Several of these, to be summed up.
bool is_in_parts(RankedTensorType type, RankedTensorType whole) { return type.getRank() == whole.getRank() + 1 && type.getElementType().isF32() && type.getShape().drop_front() == whole.getShape(); }

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
         (type_in_usual_order(op, 0) == query || is_in_parts(shaped(op.getResult(0)), query)) && type_in_usual_order(op, 1) == key && type_in_usual_order(op, 2) == value;
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
  auto is_buffer = [&](Value v) { return c.reads(v); };
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
IR AttentionEmitter::row_of_result(unsigned result, IR head, IR position) {
  auto shape = type_in_usual_order(cast<CompositeOp>(c_.fusion.product), result).getShape().take_back(4);
  auto at = delinearise(k_, shape.take_front(2), head);
  const IR places[] = {at[0].base, at[1].base, position};
  IR row = k_.i64(0);
  int64_t stride = shape.back();
  for (int64_t d : llvm::reverse(result_order(c_.fusion.product, result).drop_back())) row = k_.add(row, k_.mul(places[d], stride)), stride *= shape[d];
  return row;
}
MatmulSpec AttentionEmitter::product_of_widths(const HeadArray& rows, const HeadArray& columns) {
  MatmulSpec s;
  s.batch = query_.view.shape[0] * query_.heads(), s.m = rows.length(), s.n = columns.length(), s.k = rows.width();
  s.any_m = s.any_n = k_.any_size;
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
  s.any_m = k_.any_size;
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
      if (p.grid) return p.multiply_tiles(p.packed_tiles_of_a(rows), scratch(columns_at, k_.mul(n, width)), k_.i64(width), scratch(to, b_.CreateAdd(k_.mul(t, pitch), n)), pitch * 4, b_.getFalse());
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
IR AttentionEmitter::offset_in_mask(IR head, IR row, IR column) {
  auto type = shaped(mask_);
  auto [batch, h] = place(head);
  IR at[] = {batch, h, row, column};
  IR offset = k_.i64(0);
  int64_t stride = 1;
  for (int64_t d = type.getRank(); d-- > 0; stride *= type.getDimSize(d))
    if (type.getDimSize(d) != 1) offset = k_.add(offset, k_.mul(at[d + 4 - type.getRank()], stride));
  return offset;
}
// The mask is broadcast to [batch, heads, queries, keys]: added, or what it leaves out becomes -inf.
IR AttentionEmitter::masked(IR score, IR head, IR row, IR column) {
  if (!mask_) return score;
  int lanes = s_.lanes;
  Type type = element(mask_);
  IR base = c_.buffer(mask_), offset = offset_in_mask(head, row, column), x;
  // A vector may reach beyond the last key: what is there is thrown away, but must not be read.
  if (mask_varies_by_key() && scores_.n % lanes == 0) x = k_.load(type, base, offset, lanes);
  else if (!mask_varies_by_key()) x = k_.splat(k_.load(type, base, offset, 1), lanes);
  else if (k_.can_mask(type)) x = k_.load_masked(type, base, offset, k_.mask(is_visible(column, k_.i64(scores_.n)), type));
  else {
    IR valid = b_.CreateSub(k_.i64(scores_.n - 1), column);
    x = llvm::PoisonValue::get(k_.vector(k_.compute_type(type), lanes));
    for (int i = 0; i < lanes; ++i) x = b_.CreateInsertElement(x, k_.load(type, base, b_.CreateAdd(offset, k_.min(k_.i64(i), valid)), 1), i);
  }
  if (type.isInteger(1)) return b_.CreateSelect(x, score, llvm::ConstantFP::getInfinity(score->getType(), true));
  return b_.CreateFAdd(score, x);
}

//===-- Blocks that are hidden ------------------------------------------------------------------------------------===//

bool AttentionEmitter::mask_may_hide(int64_t keys) const { return mask_ && mask_varies_by_key() && scores_.n > keys; }

IR AttentionEmitter::row_sees(IR head, IR row, IR from, int64_t keys) {
  Type type = element(mask_);
  IR base = c_.buffer(mask_), first = offset_in_mask(head, row, from), any = nullptr;
  const int64_t most = type.isInteger(1) ? 64 : s_.lanes, lanes = std::min(most, keys & -keys);
  for (int64_t at = 0; at < keys; at += lanes) {
    IR x = k_.load(type, base, k_.add(first, k_.i64(at)), int(lanes)), seen = x;
    if (!type.isInteger(1)) seen = b_.CreateFCmpUNE(x, llvm::ConstantFP::getInfinity(x->getType(), true));
    any = any ? b_.CreateOr(any, seen) : seen;
  }
  return lanes == 1 ? any : b_.CreateOrReduce(any);
}
IR AttentionEmitter::some_row_sees(IR head, IR first, IR end, IR n0, int64_t keys) {
  // At the end of all keys some of the block before are looked at, too: a block that is hidden may be multiplied.
  IR from = k_.min(n0, k_.i64(scores_.n - keys)), last = b_.CreateSub(end, k_.i64(1)), sees = row_sees(head, last, from, keys);
  const int64_t rows = shaped(mask_).getRank() < 2 ? 1 : shaped(mask_).getDimSize(shaped(mask_).getRank() - 2);
  if (rows == 1) return sees;
  return k_.unless(b_.CreateNot(sees), sees, [&] {
    return k_.loop(first, last, 1, {b_.getFalse()}, [&](IR row, ArrayRef<IR> before) { return IRs{b_.CreateOr(before[0], row_sees(head, row, from, keys))}; })[0];
  });
}

void AttentionEmitter::each_block(IR head, IR m0, IR rows, int64_t group, int64_t keys, Keys among, const std::function<void(const Block& block)>& body) {
  IR seen = causal_ ? k_.min(among.end, b_.CreateAdd(m0, rows)) : among.end;
  k_.loop(among.begin, seen, keys, [&](IR n0) { body({head, m0, rows, n0, k_.min(k_.i64(keys), b_.CreateSub(among.end, n0)), group, keys}); });
}
void AttentionEmitter::groups_that_see(const Block& block, const std::function<void()>& prepare, const std::function<void(IR m, IR here, IR seen)>& body) {
  const bool looks = mask_may_hide(block.keys);
  if (!looks) prepare();
  k_.loop(k_.i64(0), block.rows, block.group, {b_.getFalse()}, [&](IR m, ArrayRef<IR> prepared) {
    IR here = k_.min(k_.i64(block.group), b_.CreateSub(block.rows, m)), first = b_.CreateAdd(block.m0, m), end = b_.CreateAdd(first, here);
    IR seen = causal_ ? k_.min(block.count, b_.CreateSub(end, block.n0)) : block.count, sees = b_.CreateICmpSGT(seen, k_.i64(0));
    if (looks) {
      sees = b_.CreateAnd(sees, some_row_sees(block.head, first, end, block.n0, block.keys));
      k_.when(b_.CreateAnd(sees, b_.CreateNot(prepared[0])), prepare);
    }
    k_.when(sees, [&] { body(m, here, seen); });
    return IRs{b_.CreateOr(prepared[0], sees)};
  });
}

}  // namespace cresset::cpu
