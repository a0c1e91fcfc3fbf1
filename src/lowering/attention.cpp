// Scaled dot-product attention over [batch, heads, positions, width], forward and backward; the logarithm of each row's sum
// is kept for the backward, as in flash attention (Dao et al. 2022).
#include <cmath>
#include <limits>

#include "generated/lowerings.h"
#include "lowering/random.h"

namespace cresset::lowering::aten {
namespace {


// q·kᵀ scaled, with masks added; in f32 for the narrow types.
Value scores(Builder& b, Value q, Value k, bool is_causal, Value mask, double scale) {
  Value s = b.mul(b.matmul(b.upcast(q), b.upcast(k), false, true), scale);
  Value lowest = b.like(-std::numeric_limits<double>::infinity(), s);
  int64_t rank = rank_of(s);
  if (is_causal) {
    mlir::Type i64 = b.ops.getI64Type();
    s = b.select(b.compare(Direction::LE, b.iota(rank - 1, shape_of(s), i64), b.iota(rank - 2, shape_of(s), i64)), s, lowest);
  }
  if (!mask) return s;
  if (element_of(mask).isInteger(1)) return b.select(b.broadcast(mask, shape_of(s)), s, lowest);
  return b.add(s, b.broadcast(b.convert(mask, element_of(s)), shape_of(s)));
}
// Grouped queries: each head of keys and values serves several of the queries'.
Value repeat_heads(Builder& b, Value kv, int64_t heads) {
  Dims shape(shape_of(kv));
  int64_t own = shape[1];
  if (own == heads) return kv;
  shape.insert(shape.begin() + 2, heads / own);
  Value repeated = b.broadcast(kv, shape, {0, 1, 3, 4});
  return b.reshape(repeated, {shape[0], heads, shape[3], shape[4]});
}
Value sum_heads(Builder& b, Value gradient, int64_t own) {
  auto shape = shape_of(gradient);
  if (shape[1] == own) return gradient;
  return b.sum(b.reshape(gradient, {shape[0], own, shape[1] / own, shape[2], shape[3]}), {2});
}
// The weights that dropout keeps, scaled; all of them without seed and offset.
struct Dropout {
  double p = 0;
  std::optional<Scalar> seed, offset;
};
Value dropped(Builder& b, Value weights, const Dropout& d) {
  if (!d.seed || d.p == 0) return weights;
  // Four neighbouring queries share the numbers of a block.
  Dims shape(shape_of(weights));
  int64_t queries = shape[2];
  shape[2] = (queries + 3) / 4 * 4;
  Value bits = b.slice(random_bits(b, shape, *d.seed, *d.offset, shape[3]), 2, 0, queries);
  return b.select(is_kept(b, bits, d.p), b.mul(weights, d.p < 1 ? 1 / (1 - d.p) : 0), b.like(0, weights));
}

double scale_of(Value q, std::optional<double> scale) { return scale.value_or(1 / std::sqrt(double(shape_of(q).back()))); }

Values attention(Builder& b, Value query, Value key, Value value, bool is_causal, Value mask, std::optional<double> scale, const Dropout& dropout) {
  int64_t heads = shape_of(query)[1];
  key = repeat_heads(b, key, heads), value = repeat_heads(b, value, heads);
  Value s = scores(b, query, key, is_causal, mask, scale_of(query, scale));
  Dims row{rank_of(s) - 1};
  Value m = b.maximum(s, row);
  m = b.max(m, b.like(std::numeric_limits<float>::lowest(), m));
  Value p = b.exp(b.sub(s, b.spread(m, row, shape_of(s)))), sum = b.sum(p, row);
  // A row that is masked out as a whole has weights of 0.
  sum = b.select(b.compare(Direction::EQ, sum, b.like(0, sum)), b.like(1, sum), sum);
  Value weights = dropped(b, b.div(p, b.spread(sum, row, shape_of(s))), dropout);
  return {b.as_result(b.matmul(weights, b.upcast(value)), 0), b.as_result(b.add(b.log(sum), m), 1)};
}

// The gradients of query, key, value and, if it is asked for, the mask.
Values attention_backward(Builder& b, Value grad_out, Value query, Value key, Value value, Value out, Value logsumexp, bool is_causal, Value mask,
                          std::optional<double> scale, const Dropout& dropout, bool mask_gradient) {
  double factor = scale_of(query, scale);
  int64_t heads = shape_of(query)[1], own = shape_of(key)[1];
  key = repeat_heads(b, key, heads), value = repeat_heads(b, value, heads);
  Value s = scores(b, query, key, is_causal, mask, factor);
  Dims row{rank_of(s) - 1};
  Value p = b.exp(b.sub(s, b.spread(b.convert(logsumexp, element_of(s)), row, shape_of(s))));
  if (mask) {  // one that adds -1e9 to a whole row leaves nothing of the sum's logarithm in logsumexp
    Value sum = b.sum(p, row);
    p = b.div(p, b.spread(b.select(b.compare(Direction::EQ, sum, b.like(0, sum)), b.like(1, sum), sum), row, shape_of(s)));
  }
  Value g = b.upcast(grad_out);
  Value delta = b.sum(b.mul(g, b.upcast(out)), {rank_of(g) - 1});
  Value dp = dropped(b, b.matmul(g, b.upcast(value), false, true), dropout);
  Value ds = b.mul(p, b.sub(dp, b.spread(delta, row, shape_of(s))));
  Value scaled = b.mul(ds, factor);
  Values results{b.as_result(b.matmul(scaled, b.upcast(key)), 0), b.as_result(sum_heads(b, b.matmul(scaled, b.upcast(query), true), own), 1),
                 b.as_result(sum_heads(b, b.matmul(dropped(b, p, dropout), g, true), own), 2)};
  if (mask_gradient) results.push_back(b.as_result(b.sum_to(ds, shape_of(mask)), 3));
  return results;
}

}  // namespace

Values _scaled_dot_product_flash_attention_for_cpu(Builder& b, Value query, Value key, Value value, double dropout_p, bool is_causal, Value attn_mask,
                                                   std::optional<double> scale) {
  return attention(b, query, key, value, is_causal, attn_mask, scale, {});
}
Values _scaled_dot_product_flash_attention_for_cpu_backward(Builder& b, Value grad_out, Value query, Value key, Value value, Value out, Value logsumexp,
                                                            double dropout_p, bool is_causal, Value attn_mask, std::optional<double> scale) {
  return attention_backward(b, grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale, {}, false);
}
Values _scaled_dot_product_fused_attention_overrideable(Builder& b, Value query, Value key, Value value, Value attn_bias, double dropout_p, bool is_causal,
                                                        std::optional<double> scale, Scalar seed, Scalar offset) {
  return attention(b, query, key, value, is_causal, attn_bias, scale, {dropout_p, seed, offset});
}
Values _scaled_dot_product_fused_attention_overrideable_backward(Builder& b, Value grad_out, Value query, Value key, Value value, Value attn_bias, Value out,
                                                                 Value logsumexp, double dropout_p, bool is_causal, Value philox_seed, Value philox_offset,
                                                                 std::optional<double> scale) {
  Dropout dropout;
  if (dropout_p > 0) dropout = {dropout_p, Scalar{0, philox_seed}, Scalar{0, philox_offset}};
  return attention_backward(b, grad_out, query, key, value, out, logsumexp, is_causal, attn_bias, scale, dropout, b.node.types().size() == 4);
}

}  // namespace cresset::lowering::aten
