// aten.scaled_dot_product_attention_backward without the matrix of scores (Dao et al., "FlashAttention", 2022): for each block of keys and
// group of queries the weights P = exp(scores - logsumexp) are computed again, and from them, with G the gradient of the result O,
//
//   dV += Pᵀ G     dS = scale · P ∘ (G Vᵀ - delta),  delta = row sums of G ∘ O     dQ += dS K     dK += dSᵀ Q
//
// A mask that adds -1e9 to a whole row leaves nothing of the sum's logarithm in logsumexp: such rows of P are summed up first, and divided by their sum.
// With dropout D is 1 / (1 - p) where a weight was kept, else 0, drawn again: dV += (P ∘ D)ᵀ G and dS = scale · P ∘ (D ∘ G Vᵀ - delta).
// Products run on packed panels and sum up in f32. A task owns a head of keys and values, with all heads of queries that it serves, or part of its keys where heads are few; where dS is also the gradient of a mask
// that is shared (the bias of relative positions), all or some of the heads that share it, one after the other.
#include <numeric>

#include "cpu/attention/attention.h"
#include "cpu/emit/vector_math.h"
#include "cpu/prepare/rewrite.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr int64_t kKeysOfBlock = 128;  // or a few more, which are packed at once

class GradientEmitter : AttentionEmitter {
 public:
  GradientEmitter(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands)
      : AttentionEmitter(c, values, operands[1], operands[2], operands[3]), gradient_(operands[0]), out_(operands[4]), logsumexp_(operands[5]),
        weight_gradients_(product_of_widths(gradient_, value_)), query_sums_(product_with_rows(scores_.m, key_, scores_.type)),
        key_sums_(product_with_rows(scores_.n, query_, scores_.type)), value_sums_(product_with_rows(scores_.n, gradient_, scores_.type)),
        g_(c.k, weight_gradients_), dq_(c.k, query_sums_), dk_(c.k, key_sums_), dv_(c.k, value_sums_) {
    if (c.fusion.product->getNumResults() == 4) mask_gradient_.emplace(values);
    if (auto of_queries = shaped(c.fusion.product->getResult(0)); of_queries.getRank() == 5) key_parts_ = of_queries.getDimSize(0);
  }

  void run() {
    int64_t queries = scores_.m, keys = scores_.n, width = scores_.k, value_width = weight_gradients_.k, shared = query_.heads() / key_.heads();
    group_ = std::min<int64_t>(kTiles * s_.mr, round_up(queries, s_.mr));
    // The queries of a part, as operands of all products, stay in L2.
    rows_ = std::min(round_up(queries, group_), round_up(std::max<int64_t>(32768 / (width + value_width), 1), group_));
    int64_t parts = ceil_div(queries, rows_), unit = std::lcm(s_.nr, dk_.mr);
    keys_ = round_up(std::min(keys, kKeysOfBlock), unit);
    most_keys_ = round_up(ceil_div(keys, key_parts_), keys_);
    pitch_ = keys_ + 16;  // rows that are a multiple of 4 KiB apart would collide in L1
    c_.kernel.tasks = mask_gradient_ ? mask_gradient_->independent * mask_gradient_->sums : scores_.batch / shared * key_parts_;
    c_.kernel.cost = 0.25 * scores_.batch * double(queries) * keys * (3 * width + 2 * value_width) * (causal_ ? 0.5 : 1);

    // Products over queries and over keys may have panels of different widths.
    int64_t columns = round_up(width, dq_.nr), columns_of_keys = round_up(width, dk_.nr), value_columns = round_up(value_width, dv_.nr);
    queries_at_ = reserve(rows_ * width), gradients_at_ = reserve(rows_ * value_width);
    query_rows_at_ = reserve(rows_ * columns_of_keys), gradient_rows_at_ = reserve(rows_ * value_columns);
    keys_at_ = reserve(keys_ * width), values_at_ = reserve(keys_ * value_width), key_rows_at_ = reserve(keys_ * columns);
    int64_t rows = round_up(group_, rows_together());
    weights_at_ = reserve(rows * pitch_), weight_gradients_at_ = reserve(rows * pitch_);
    logsumexp_at_ = reserve(rows_ + rows_together()), delta_at_ = reserve(rows_ + rows_together());
    if (mask_) factors_at_ = reserve(rows_ + rows_together());
    query_sums_at_ = reserve(rows_ * columns), key_sums_at_ = reserve(most_keys_ * columns_of_keys), value_sums_at_ = reserve(most_keys_ * value_columns);

    auto head_of_keys = [&](IR own) {
      clear(key_sums_at_, most_keys_ * columns_of_keys);
      clear(value_sums_at_, most_keys_ * value_columns);
      k_.loop(k_.i64(0), k_.i64(shared * parts), [&](IR part) {
        IR head = b_.CreateAdd(k_.mul(own, shared), b_.CreateUDiv(part, k_.i64(parts))), m0 = k_.mul(b_.CreateURem(part, k_.i64(parts)), rows_);
        clear(query_sums_at_, rows_ * columns);
        if (mask_gradient_) mask_gradient_at_ = part_of_mask(head);
        some_queries(head, m0, k_.min(k_.i64(rows_), b_.CreateSub(k_.i64(queries), m0)));
      });
      IR count = b_.CreateSub(own_keys_.end, own_keys_.begin);
      write(1, own, own_keys_.begin, count, dk_, key_sums_at_, most_keys_);
      write(2, own, own_keys_.begin, count, dv_, value_sums_at_, most_keys_);
    };
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      if (mask_gradient_) return with_mask_gradient(task, head_of_keys);
      if (key_parts_ == 1) return head_of_keys(task);
      auto at = place_of_task(k_, {scores_.batch / shared, key_parts_}, task);
      part_ = at[1].base;
      // A part may begin beyond the last key.
      own_keys_.begin = k_.min(k_.mul(part_, most_keys_), k_.i64(keys)), own_keys_.end = k_.min(k_.add(own_keys_.begin, k_.i64(most_keys_)), k_.i64(keys));
      head_of_keys(at[0].base);
    });
  }

 private:
  static constexpr int kTiles = 8;  // of queries in a group: the products over queries sum up so many before they go to memory

  // The heads of keys and values that a task sums the mask's gradient of.
  void with_mask_gradient(IR task, const std::function<void(IR own)>& head_of_keys) {
    const MaskGradient& g = *mask_gradient_;
    int64_t together = g.shared / g.sums;
    bool all_batches = g.batches == 1, all_heads = g.heads == 1;
    auto at = place_of_task(k_, {g.sums, g.independent}, task);
    auto part = place_of_task(k_, {all_batches ? 1 : g.batches, all_heads ? 1 : g.own_heads}, at[1].base);
    int64_t heads = all_heads ? 1 : g.heads / g.own_heads, bytes = product(g.type.getShape().take_back(2)) * 4;
    first_part_ = b_.CreateAdd(k_.mul(b_.CreateAdd(k_.mul(at[0].base, g.batches), part[0].base), g.heads), k_.mul(part[1].base, heads));
    b_.CreateMemSet(mask_part(first_part_), b_.getInt8(0), heads * bytes, llvm::Align(64));
    k_.loop(k_.i64(0), k_.i64(together), [&](IR i) {
      IR which = k_.add(k_.mul(at[0].base, together), i);
      if (all_batches && all_heads) return head_of_keys(which);
      head_of_keys(k_.add(k_.mul(all_batches ? which : part[0].base, g.own_heads), all_heads ? which : part[1].base));
    });
  }
  IR mask_part(IR part) { return b_.CreateInBoundsGEP(b_.getFloatTy(), c_.buffer(c_.fusion.product->getResult(3)), k_.mul(part, product(mask_gradient_->type.getShape().take_back(2)))); }
  IR part_of_mask(IR head) {
    int64_t heads = mask_gradient_->heads / mask_gradient_->own_heads;
    return mask_part(mask_gradient_->heads == 1 ? first_part_ : b_.CreateAdd(first_part_, b_.CreateURem(head, k_.i64(heads))));
  }
  void add_to_mask(IR gradient, IR row, IR column) {
    IR at = b_.CreateInBoundsGEP(b_.getFloatTy(), mask_gradient_at_, k_.add(k_.mul(row, mask_gradient_->type.getShape().back()), column));
    store(b_.CreateFAdd(load(at, s_.lanes), gradient), at);
  }

  void clear(int64_t at, int64_t floats) { b_.CreateMemSet(scratch(at, k_.i64(0)), b_.getInt8(0), floats * 4, llvm::Align(64)); }

  void some_queries(IR head, IR m0, IR rows) {
    pack_queries(head, m0, rows);
    if (mask_) k_.when(is_rounded(rows), [&] { find_factors(head, m0, rows); });
    each_block(head, m0, rows, group_, keys_, own_keys_, [&](const Block& block) {
      IR zero = k_.i64(0), n0 = block.n0, count = block.count;
      auto pack = [&] {
        pack_keys(block);
        g_.pack_b(head, n0, count, zero, k_.i64(weight_gradients_.k), [&](IR n) { return scratch(values_at_, k_.mul(n, weight_gradients_.k)); });
        dq_.pack_b(head, zero, k_.i64(query_sums_.n), n0, count, [&](IR n) { return scratch(key_rows_at_, k_.mul(n, keys_)); });
      };
      groups_that_see(block, pack, [&](IR m, IR here, IR seen) {
        multiply_widths(s_, scores_.k, queries_at_, m, group_, keys_at_, seen, weights_at_, pitch_);
        multiply_widths(g_, weight_gradients_.k, gradients_at_, m, group_, values_at_, seen, weight_gradients_at_, pitch_);
        weights(head, m0, m, here, n0, seen);
        add_to_keys(dv_, weights_at_, gradient_rows_at_, value_sums_at_, m, here, n0, seen);
        add_to_keys(dk_, weight_gradients_at_, query_rows_at_, key_sums_at_, m, here, n0, seen);
        add_to_queries(m, here, seen);
      });
    });
    write(0, head, m0, rows, dq_, query_sums_at_, rows_);
  }

  void pack_keys(const Block& block) {
    s_.pack_b(block.head, block.n0, block.count, k_.i64(0), k_.i64(scores_.k), [&](IR n) { return scratch(keys_at_, k_.mul(n, scores_.k)); });
  }

  // Whether logsumexp is so large in some row that rounding it shows: by 2^-14 and more.
  IR is_rounded(IR rows) {
    return k_.loop(k_.i64(0), rows, 1, {b_.getFalse()}, [&](IR i, ArrayRef<IR> carried) {
      IR size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, load(scratch(logsumexp_at_, i), 1));
      return IRs{b_.CreateOr(carried[0], b_.CreateFCmpOGE(size, f32(1024)))};
    })[0];
  }
  // What the weights of each row, over all its keys, are to be multiplied by, so that their sum is 1; 1 where all of them are 0.
  void find_factors(IR head, IR m0, IR rows) {
    clear(factors_at_, rows_);
    each_block(head, m0, rows, group_, keys_, all_keys(), [&](const Block& block) {
      groups_that_see(block, [&] { pack_keys(block); }, [&](IR m, IR here, IR seen) {
        multiply_widths(s_, scores_.k, queries_at_, m, group_, keys_at_, seen, weights_at_, pitch_);
        k_.loop(k_.i64(0), here, [&](IR i) { add_to_factor(head, m0, b_.CreateAdd(m, i), i, block.n0, seen); });
      });
    });
    k_.loop(k_.i64(0), rows, [&](IR i) {
      IR sum = load(scratch(factors_at_, i), 1), one = f32(1);
      store(b_.CreateSelect(b_.CreateFCmpOEQ(sum, f32(0)), one, b_.CreateFDiv(one, sum)), scratch(factors_at_, i));
    });
  }
  void add_to_factor(IR head, IR m0, IR state, IR i, IR n0, IR seen) {
    int lanes = s_.lanes;
    IR row = b_.CreateAdd(m0, state), visible = visible_keys(row, n0, seen), factor = scratch(factors_at_, state);
    IR logsumexp = k_.splat(load(scratch(logsumexp_at_, state), 1), lanes), none = llvm::Constant::getNullValue(logsumexp->getType());
    IR sum = k_.loop(k_.i64(0), seen, lanes, {none}, [&](IR j, ArrayRef<IR> carried) {
      IR inside = is_visible(j, visible), product = load(scratch(weights_at_, b_.CreateAdd(k_.mul(i, pitch_), j)), lanes);
      IR weight = emit_exp_at_most_zero(k_, b_.CreateFSub(score(product, head, row, n0, j, inside), logsumexp));
      return IRs{b_.CreateFAdd(carried[0], b_.CreateSelect(inside, weight, none))};
    })[0];
    store(b_.CreateFAdd(load(factor, 1), k_.fold(sum, lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); })), factor);
  }

  // Queries and the gradient of the result, as rows and as columns of products; the numbers of each row.
  void pack_queries(IR head, IR m0, IR rows) {
    IR zero = k_.i64(0);
    k_.loop(zero, rows, s_.mr, [&](IR m) {
      s_.pack_a(head, b_.CreateAdd(m0, m), zero, k_.i64(scores_.k), scratch(queries_at_, k_.mul(m, scores_.k)));
      g_.pack_a(head, b_.CreateAdd(m0, m), zero, k_.i64(weight_gradients_.k), scratch(gradients_at_, k_.mul(m, weight_gradients_.k)));
    });
    dk_.pack_b(head, zero, k_.i64(key_sums_.n), m0, rows, [&](IR n) { return scratch(query_rows_at_, k_.mul(n, rows_)); });
    dv_.pack_b(head, zero, k_.i64(value_sums_.n), m0, rows, [&](IR n) { return scratch(gradient_rows_at_, k_.mul(n, rows_)); });
    k_.loop(zero, rows, [&](IR i) {
      IR row = b_.CreateAdd(m0, i);
      store(k_.load(logsumexp_.type, logsumexp_.base, offset(logsumexp_, head, row, nullptr), 1), scratch(logsumexp_at_, i));
      store(delta(head, row), scratch(delta_at_, i));
      if (mask_) store(f32(1), scratch(factors_at_, i));
    });
  }
  IR delta(IR head, IR row) {
    IR width = k_.i64(weight_gradients_.k), zero = k_.i64(0);
    auto sum = [&](IR from, IR to, int lanes, IR start) {
      return k_.loop(from, to, lanes, {start}, [&](IR j, ArrayRef<IR> carried) {
        auto element = [&](const HeadArray& x) { return k_.load(x.type, x.base, offset(x, head, row, j), lanes); };
        return IRs{b_.CreateFAdd(carried[0], b_.CreateFMul(element(gradient_), element(out_)))};
      })[0];
    };
    if (!gradient_.is_dense() || !out_.is_dense()) return sum(zero, width, 1, f32(0));
    int lanes = s_.lanes;
    IR whole = k_.i64(weight_gradients_.k / lanes * lanes), vector = sum(zero, whole, lanes, llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), lanes)));
    return sum(whole, width, 1, k_.fold(vector, lanes, [&](IR x, IR y) { return b_.CreateFAdd(x, y); }));
  }

  // Scores to weights and the gradient of weights to that of scores; 0 up to the last tile's last key.
  void weights(IR head, IR m0, IR m, IR here, IR n0, IR seen) {
    int lanes = s_.lanes;
    auto* vector = k_.vector(b_.getFloatTy(), lanes);
    IR none = llvm::Constant::getNullValue(vector);
    auto up_to = [&](int64_t unit) { return k_.mul(b_.CreateUDiv(b_.CreateAdd(seen, k_.i64(unit - 1)), k_.i64(unit)), unit); };
    IR width = up_to(lanes), end = up_to(std::lcm(int64_t(lanes), dk_.mr));
    k_.loop(k_.i64(0), here, rows_together(), [&](IR first) {
      auto each_row = [&](auto&& body) {
        for (int64_t r = 0; r < rows_together(); ++r) body(r, k_.add(first, k_.i64(r)));
      };
      IRs rows, visible, logsumexp, delta, factor;
      each_row([&](int64_t, IR i) {
        IR state = b_.CreateAdd(m, i);
        rows.push_back(b_.CreateAdd(m0, state)), visible.push_back(visible_keys(rows.back(), n0, seen));
        for (auto [all, at] : {std::pair(&logsumexp, logsumexp_at_), std::pair(&delta, delta_at_)}) all->push_back(k_.splat(load(scratch(at, state), 1), lanes));
        if (mask_) factor.push_back(k_.splat(load(scratch(factors_at_, state), 1), lanes));
      });
      k_.loop(k_.i64(0), width, lanes, [&](IR j) {
        auto keep = kept(head, rows[0], n0, j);
        each_row([&](int64_t r, IR i) {
          IR at = b_.CreateAdd(k_.mul(i, pitch_), j), weight_at = scratch(weights_at_, at), gradient_at = scratch(weight_gradients_at_, at), inside = is_visible(j, visible[r]);
          auto dropped = [&](IR x) { return keep[r] ? b_.CreateSelect(keep[r], b_.CreateFMul(x, llvm::ConstantFP::get(vector, kept_scale())), none) : x; };
          IR weight = emit_exp_at_most_zero(k_, b_.CreateFSub(score(load(weight_at, lanes), head, rows[r], n0, j, inside), logsumexp[r]));
          weight = b_.CreateSelect(inside, mask_ ? b_.CreateFMul(weight, factor[r]) : weight, none);
          IR gradient = b_.CreateFMul(weight, b_.CreateFSub(dropped(load(gradient_at, lanes)), delta[r]));
          gradient = b_.CreateSelect(inside, gradient, none);
          store(dropped(weight), weight_at);
          store(b_.CreateFMul(gradient, llvm::ConstantFP::get(vector, scale_)), gradient_at);
          auto add = [&] { add_to_mask(gradient, rows[r], k_.add(n0, j)); };
          if (!mask_gradient_) return;
          if (rows_together() == 1) add();
          else k_.when(b_.CreateICmpSLT(rows[r], k_.i64(scores_.m)), add);
        });
      });
      k_.loop(width, end, lanes, [&](IR j) {
        each_row([&](int64_t, IR i) {
          for (int64_t to : {weights_at_, weight_gradients_at_}) store(none, scratch(to, b_.CreateAdd(k_.mul(i, pitch_), j)));
        });
      });
    });
  }

  // A tile of sums in memory, to which the product of rows in scratch and a packed panel is added.
  void add_product(Panels& p, const std::function<IR(int64_t i, IR k)>& row, IR panel, IR count, IR at) {
    IRs tile;
    for (int64_t i = 0; i < p.mr * p.vectors; ++i) tile.push_back(load(p.vector_at(at, k_.i64(0), i), p.lanes));
    for (auto [i, sum] : llvm::enumerate(p.multiply(row, panel, count, tile))) store(sum, p.vector_at(at, k_.i64(0), i));
  }
  // Transposed weights times the rows of queries: sums of keys.
  void add_to_keys(Panels& p, int64_t weights_at, int64_t rows_at, int64_t sums_at, IR m, IR here, IR n0, IR seen) {
    k_.loop(k_.i64(0), k_.i64(p.columns()), p.nr, [&](IR n) {
      k_.loop(k_.i64(0), seen, p.mr, [&](IR key) {
        auto weight = [&](int64_t i, IR k) { return scratch(weights_at, b_.CreateAdd(k_.mul(k, pitch_), k_.add(key, k_.i64(i)))); };
        IR panel = scratch(rows_at, b_.CreateAdd(k_.mul(n, rows_), k_.mul(m, p.nr)));
        add_product(p, weight, panel, here, scratch(sums_at, b_.CreateAdd(k_.mul(n, most_keys_), k_.mul(b_.CreateAdd(b_.CreateSub(n0, own_keys_.begin), key), p.nr))));
      });
    });
  }
  void add_to_queries(IR m, IR here, IR seen) {
    k_.loop(k_.i64(0), k_.i64(query_sums_.n), dq_.nr, [&](IR n) {
      k_.loop(k_.i64(0), here, dq_.mr, [&](IR t) {
        auto weight = [&](int64_t i, IR k) { return scratch(weight_gradients_at_, b_.CreateAdd(k_.mul(k_.add(t, k_.i64(i)), pitch_), k)); };
        IR at = scratch(query_sums_at_, b_.CreateAdd(k_.mul(n, rows_), k_.mul(b_.CreateAdd(m, t), dq_.nr)));
        add_product(dq_, weight, scratch(key_rows_at_, k_.mul(n, keys_)), seen, at);
      });
    });
  }

  // Sums to rows [from, from + rows) of a head of a result.
  void write(unsigned result, IR head, IR from, IR rows, const Panels& p, int64_t sums_at, int64_t height) {
    Value to = c_.fusion.product->getResult(result);
    k_.loop(k_.i64(0), rows, [&](IR i) {
      IR row = row_of_result(result, head, b_.CreateAdd(from, i));
      if (result == 0 && part_) row = k_.add(row, k_.mul(part_, product(shaped(to).getShape().drop_front())));
      k_.along(k_.i64(shaped(to).getShape().back()), p.lanes, [&](IR n, int lanes) { k_.store(element(to), load(sums(p, sums_at, height, i, n), lanes), c_.buffer(to), k_.add(row, n), lanes); });
    });
  }

  HeadArray gradient_, out_, logsumexp_;
  MatmulSpec weight_gradients_, query_sums_, key_sums_, value_sums_;
  Panels g_, dq_, dk_, dv_;
  std::optional<MaskGradient> mask_gradient_;
  int64_t key_parts_ = 1;
  IR part_ = nullptr;  // of the keys, if they have parts
  Keys own_keys_ = all_keys();
  IR first_part_ = nullptr, mask_gradient_at_ = nullptr;  // of the mask: the number of the task's first part, the address of the head's
  int64_t group_ = 0, rows_ = 0, keys_ = 0, most_keys_ = 0, pitch_ = 0;  // queries of a group and of a part, keys of a block and of a part
  int64_t queries_at_ = 0, gradients_at_ = 0, query_rows_at_ = 0, gradient_rows_at_ = 0, keys_at_ = 0, values_at_ = 0, key_rows_at_ = 0;  // places in scratch
  int64_t weights_at_ = 0, weight_gradients_at_ = 0, logsumexp_at_ = 0, delta_at_ = 0, factors_at_ = 0, query_sums_at_ = 0, key_sums_at_ = 0, value_sums_at_ = 0;
};

}  // namespace

MaskGradient::MaskGradient(const AttentionOperands& o) {
  constexpr int64_t kTasks = 16, kLanes = 16;  // at least so many tasks, and the longest vectors
  auto mask = shaped(o.mask), query = shaped(o.query), key = shaped(o.key);
  auto size = [&](int64_t d) { return d < 4 - mask.getRank() ? 1 : mask.getDimSize(d + mask.getRank() - 4); };
  batches = size(0), heads = size(1), own_heads = key.getDimSize(1);
  if (batches == 1) shared *= query.getDimSize(0);
  if (heads == 1) shared *= own_heads;
  independent = query.getDimSize(0) * own_heads / shared;
  while (sums < shared && (shared % sums || sums * independent < kTasks)) ++sums;
  type = RankedTensorType::get({sums, batches, heads, query.getDimSize(2), round_up(key.getDimSize(2), kLanes)}, Float32Type::get(mask.getContext()));
}

namespace {

// Where heads are too few for all threads, each part of the keys is a task, which sums the gradient of queries for itself: f32 [parts, batch, heads, queries, width].
int64_t parts_of_keys(const AttentionOperands& o) {
  constexpr int64_t kMostParts = 8, kLeastWork = 1 << 20;  // multiply-adds of a part
  constexpr double kIdle = 1.1;                            // up to a tenth of the threads' time may pass without work
  auto query = shaped(o.query), key = shaped(o.key);
  const int64_t heads = key.getDimSize(0) * key.getDimSize(1), threads = num_threads(), keys = key.getDimSize(2);
  const double work = double(query.getNumElements()) / double(heads) * double(keys);
  auto idle = [&](int64_t parts) { return double(round_up(heads * parts, threads)) / double(heads * parts); };
  int64_t parts = 1;
  for (int64_t more = 2; more <= kMostParts && idle(parts) > kIdle; ++more)
    if (keys >= more * kKeysOfBlock && work >= double(more * kLeastWork) && idle(more) < idle(parts)) parts = more;
  return parts;
}

void split_keys(CompositeOp op, const AttentionOperands& operands) {
  const int64_t parts = parts_of_keys(operands);
  if (parts == 1) return;
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  auto type = shaped(op.getResult(0));
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, type.getShape());
  op.getResult(0).setType(RankedTensorType::get(shape, b.getF32Type()));
  Value sum = sum_over(b, op.getResult(0), {0});
  Operation* first = sum.getDefiningOp();
  if (element(sum) != type.getElementType()) sum = ConvertOp::create(b, op.getLoc(), type, sum);
  op.getResult(0).replaceUsesWithIf(sum, [&](OpOperand& use) { return use.getOwner() != first; });
}

void split_mask_gradient(CompositeOp op, const AttentionOperands& operands) {
  MaskGradient gradient(operands);
  auto mask = shaped(operands.mask);
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  op.getResult(3).setType(gradient.type);
  Value all = op.getResult(3), sum = all;
  SmallVector<int64_t> limits(gradient.type.getShape()), dims{0}, zero(5, 0), one(5, 1);
  limits[4] = shaped(operands.key).getDimSize(2);
  sum = SliceOp::create(b, op.getLoc(), sum, zero, limits, one);
  Operation* first = sum.getDefiningOp();
  for (int64_t d : {3, 4})
    if (int64_t in_mask = d - 5 + mask.getRank(); in_mask < 0 || mask.getDimSize(in_mask) == 1) dims.push_back(d);
  if (gradient.sums > 1 || dims.size() > 1) sum = sum_over(b, sum, dims);
  if (mask.getElementType() != b.getF32Type()) sum = ConvertOp::create(b, op.getLoc(), shaped(sum).clone(mask.getElementType()), sum);
  sum = ReshapeOp::create(b, op.getLoc(), mask, sum);
  all.replaceUsesWithIf(sum, [&](OpOperand& use) { return use.getOwner() != first; });
}

}  // namespace

void split_attention_gradient(CompositeOp op) {
  if (attention_kind(op) != Fusion::AttentionGradient) return;
  auto operands = *attention_operands(op);
  if (op->getNumResults() == 3) split_keys(op, operands);
  else if (op.getResult(3).getType() == operands.mask.getType()) split_mask_gradient(op, operands);
}

llvm::Error emit_attention_gradient(KernelContext& c) {
  auto v = *attention_operands(cast<CompositeOp>(c.fusion.product));
  auto operands = head_arrays(c, {v.gradient, v.query, v.key, v.value, v.out, v.logsumexp});
  if (!operands) return operands.takeError();
  GradientEmitter(c, v, *operands).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
