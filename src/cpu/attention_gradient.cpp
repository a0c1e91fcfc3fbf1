// aten.scaled_dot_product_attention_backward without the matrix of scores (Dao et al., "FlashAttention", 2022): for each block of keys and
// group of queries the weights P = exp(scores - logsumexp) are computed again, and from them, with G the gradient of the result O,
//
//   dV += Pᵀ G     dS = scale · P ∘ (G Vᵀ - delta),  delta = row sums of G ∘ O     dQ += dS K     dK += dSᵀ Q
//
// With dropout D is 1 / (1 - p) where a weight was kept, else 0, drawn again: dV += (P ∘ D)ᵀ G and dS = scale · P ∘ (D ∘ G Vᵀ - delta).
// Products run on packed panels and sum up in f32. A task owns a head of keys and values, with all heads of queries that it serves.
#include <numeric>

#include "cpu/attention.h"
#include "cpu/vector_math.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

class GradientEmitter : AttentionEmitter {
 public:
  GradientEmitter(KernelContext& c, const AttentionOperands& values, ArrayRef<HeadArray> operands)
      : AttentionEmitter(c, values, operands[1], operands[2], operands[3]), gradient_(operands[0]), out_(operands[4]), logsumexp_(operands[5]),
        weight_gradients_(product_of_widths(gradient_, value_)), query_sums_(product_with_rows(scores_.m, key_, scores_.type)),
        key_sums_(product_with_rows(scores_.n, query_, scores_.type)), value_sums_(product_with_rows(scores_.n, gradient_, scores_.type)),
        g_(c.k, weight_gradients_), dq_(c.k, query_sums_), dk_(c.k, key_sums_), dv_(c.k, value_sums_) {}

  void run() {
    int64_t queries = scores_.m, keys = scores_.n, width = scores_.k, value_width = weight_gradients_.k, shared = query_.heads() / key_.heads();
    group_ = std::min<int64_t>(kTiles * s_.mr, round_up(queries, s_.mr));
    // The queries of a part, as operands of all products, stay in L2.
    rows_ = std::min(round_up(queries, group_), round_up(std::max<int64_t>(32768 / (width + value_width), 1), group_));
    int64_t parts = ceil_div(queries, rows_), unit = std::lcm(s_.nr, dk_.mr);
    keys_ = round_up(std::min<int64_t>(keys, 128), unit);
    all_keys_ = round_up(keys, keys_);
    pitch_ = keys_ + 16;  // rows that are a multiple of 4 KiB apart would collide in L1
    c_.kernel.tasks = scores_.batch / shared;
    c_.kernel.cost = 0.25 * scores_.batch * double(queries) * keys * (3 * width + 2 * value_width) * (causal_ ? 0.5 : 1);

    int64_t columns = round_up(width, dq_.nr), value_columns = round_up(value_width, dv_.nr);
    queries_at_ = reserve(rows_ * width), gradients_at_ = reserve(rows_ * value_width);
    query_rows_at_ = reserve(rows_ * columns), gradient_rows_at_ = reserve(rows_ * value_columns);
    keys_at_ = reserve(keys_ * width), values_at_ = reserve(keys_ * value_width), key_rows_at_ = reserve(keys_ * columns);
    int64_t rows = round_up(group_, rows_together());
    weights_at_ = reserve(rows * pitch_), weight_gradients_at_ = reserve(rows * pitch_);
    logsumexp_at_ = reserve(rows_ + rows_together()), delta_at_ = reserve(rows_ + rows_together());
    query_sums_at_ = reserve(rows_ * columns), key_sums_at_ = reserve(all_keys_ * columns), value_sums_at_ = reserve(all_keys_ * value_columns);

    k_.loop(k_.begin(), k_.end(), [&](IR own) {
      clear(key_sums_at_, all_keys_ * columns);
      clear(value_sums_at_, all_keys_ * value_columns);
      k_.loop(k_.i64(0), k_.i64(shared * parts), [&](IR part) {
        IR head = b_.CreateAdd(k_.mul(own, shared), b_.CreateUDiv(part, k_.i64(parts))), m0 = k_.mul(b_.CreateURem(part, k_.i64(parts)), rows_);
        clear(query_sums_at_, rows_ * columns);
        some_queries(head, m0, k_.min(k_.i64(rows_), b_.CreateSub(k_.i64(queries), m0)));
      });
      write(1, own, k_.i64(0), k_.i64(keys), dk_, key_sums_at_, all_keys_);
      write(2, own, k_.i64(0), k_.i64(keys), dv_, value_sums_at_, all_keys_);
    });
  }

 private:
  static constexpr int kTiles = 8;  // of queries in a group: the products over queries sum up so many before they go to memory

  void clear(int64_t at, int64_t floats) { b_.CreateMemSet(scratch(at, k_.i64(0)), b_.getInt8(0), floats * 4, llvm::Align(64)); }

  void some_queries(IR head, IR m0, IR rows) {
    pack_queries(head, m0, rows);
    IR keys = causal_ ? k_.min(k_.i64(scores_.n), b_.CreateAdd(m0, rows)) : k_.i64(scores_.n);
    k_.loop(k_.i64(0), keys, keys_, [&](IR n0) {
      IR count = k_.min(k_.i64(keys_), b_.CreateSub(k_.i64(scores_.n), n0)), zero = k_.i64(0);
      s_.pack_b(head, n0, count, zero, k_.i64(scores_.k), [&](IR n) { return scratch(keys_at_, k_.mul(n, scores_.k)); });
      g_.pack_b(head, n0, count, zero, k_.i64(weight_gradients_.k), [&](IR n) { return scratch(values_at_, k_.mul(n, weight_gradients_.k)); });
      dq_.pack_b(head, zero, k_.i64(query_sums_.n), n0, count, [&](IR n) { return scratch(key_rows_at_, k_.mul(n, keys_)); });
      k_.loop(zero, rows, group_, [&](IR m) {
        IR here = k_.min(k_.i64(group_), b_.CreateSub(rows, m)), last = b_.CreateAdd(b_.CreateAdd(m0, m), here);
        IR seen = causal_ ? k_.min(count, b_.CreateSub(last, n0)) : count;
        k_.when(b_.CreateICmpSGT(seen, zero), [&] {
          multiply_widths(s_, scores_.k, queries_at_, m, group_, keys_at_, seen, weights_at_, pitch_);
          multiply_widths(g_, weight_gradients_.k, gradients_at_, m, group_, values_at_, seen, weight_gradients_at_, pitch_);
          weights(head, m0, m, here, n0, seen);
          add_to_keys(dv_, weights_at_, gradient_rows_at_, value_sums_at_, m, here, n0, seen);
          add_to_keys(dk_, weight_gradients_at_, query_rows_at_, key_sums_at_, m, here, n0, seen);
          add_to_queries(m, here, seen);
        });
      });
    });
    write(0, head, m0, rows, dq_, query_sums_at_, rows_);
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
      IRs rows, visible, logsumexp, delta;
      each_row([&](int64_t, IR i) {
        IR state = b_.CreateAdd(m, i);
        rows.push_back(b_.CreateAdd(m0, state)), visible.push_back(visible_keys(rows.back(), n0, seen));
        for (auto [all, at] : {std::pair(&logsumexp, logsumexp_at_), std::pair(&delta, delta_at_)}) all->push_back(k_.splat(load(scratch(at, state), 1), lanes));
      });
      k_.loop(k_.i64(0), width, lanes, [&](IR j) {
        auto keep = kept(head, rows[0], n0, j);
        each_row([&](int64_t r, IR i) {
          IR at = b_.CreateAdd(k_.mul(i, pitch_), j), weight_at = scratch(weights_at_, at), gradient_at = scratch(weight_gradients_at_, at), inside = is_visible(j, visible[r]);
          auto dropped = [&](IR x) { return keep[r] ? b_.CreateSelect(keep[r], b_.CreateFMul(x, llvm::ConstantFP::get(vector, kept_scale())), none) : x; };
          IR weight = emit_exp(k_, b_.CreateFSub(score(load(weight_at, lanes), head, rows[r], n0, j, inside), logsumexp[r]));
          weight = b_.CreateSelect(inside, weight, none);
          IR gradient = b_.CreateFMul(weight, b_.CreateFSub(dropped(load(gradient_at, lanes)), delta[r]));
          store(dropped(weight), weight_at);
          store(b_.CreateSelect(inside, b_.CreateFMul(gradient, llvm::ConstantFP::get(vector, scale_)), none), gradient_at);
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
        add_product(p, weight, panel, here, scratch(sums_at, b_.CreateAdd(k_.mul(n, all_keys_), k_.mul(b_.CreateAdd(n0, key), p.nr))));
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
    int64_t length = shaped(to).getDimSize(2), width = shaped(to).getDimSize(3);
    k_.loop(k_.i64(0), rows, [&](IR i) {
      IR row = b_.CreateAdd(k_.mul(head, length), b_.CreateAdd(from, i));
      k_.along(k_.i64(width), p.lanes, [&](IR n, int lanes) { k_.store(element(to), load(sums(p, sums_at, height, i, n), lanes), c_.buffer(to), k_.add(k_.mul(row, width), n), lanes); });
    });
  }

  HeadArray gradient_, out_, logsumexp_;
  MatmulSpec weight_gradients_, query_sums_, key_sums_, value_sums_;
  Panels g_, dq_, dk_, dv_;
  int64_t group_ = 0, rows_ = 0, keys_ = 0, all_keys_ = 0, pitch_ = 0;  // queries of a group and of a part, keys of a block and of all
  int64_t queries_at_ = 0, gradients_at_ = 0, query_rows_at_ = 0, gradient_rows_at_ = 0, keys_at_ = 0, values_at_ = 0, key_rows_at_ = 0;  // places in scratch
  int64_t weights_at_ = 0, weight_gradients_at_ = 0, logsumexp_at_ = 0, delta_at_ = 0, query_sums_at_ = 0, key_sums_at_ = 0, value_sums_at_ = 0;
};

}  // namespace

llvm::Error emit_attention_gradient(KernelContext& c) {
  auto v = *attention_operands(cast<CompositeOp>(c.fusion.product));
  auto operands = head_arrays(c, {v.gradient, v.query, v.key, v.value, v.out, v.logsumexp});
  if (!operands) return operands.takeError();
  GradientEmitter(c, v, *operands).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
