// Fused operators of torch.nn (the encoder layer and the multi-head attention of inference, weight normalisation), made of ordinary ones, so
// that the norms, activations and attention inside stay whole.
#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <torch/library.h>

#include <cmath>

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

// True where attention is allowed, as [batch, heads, queries, keys]. Masks come as src_mask (0), key padding (1) or both (2), true where it is not.
MaybeTensor allowed(const MaybeTensor& mask, std::optional<int64_t> mask_type) {
  if (!mask || !mask->defined()) return std::nullopt;
  at::Tensor keep = mask->to(at::kBool).logical_not();  // of a mask to be added, what is not zero is -inf
  if (mask->dim() == 4) return keep;
  return mask_type.value_or(mask->dim() == 2 ? 0 : 2) == 1 ? keep.unsqueeze(1).unsqueeze(1) : keep.unsqueeze(0).unsqueeze(0);
}

std::tuple<at::Tensor, at::Tensor> multi_head_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t embed_dim, int64_t num_head,
                                                        const at::Tensor& qkv_weight, const at::Tensor& qkv_bias, const at::Tensor& proj_weight, const at::Tensor& proj_bias,
                                                        const MaybeTensor& mask, bool need_weights, bool average_attn_weights, std::optional<int64_t> mask_type) {
  TORCH_CHECK(query.dim() == 3 && query.size(2) == embed_dim, "expected a 3-D query with last dimension ", embed_dim, ", got ", query.sizes());
  TORCH_CHECK(num_head > 0 && embed_dim % num_head == 0, "embed_dim ", embed_dim, " is not divisible by num_head ", num_head);
  auto heads = [&](const at::Tensor& x) { return x.view({x.size(0), x.size(1), num_head, embed_dim / num_head}).transpose(1, 2); };
  at::Tensor q, k, v;
  if (key.is_same(value) && query.is_same(key)) {
    auto parts = at::linear(query, qkv_weight, qkv_bias).chunk(3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    auto weights = qkv_weight.chunk(3), biases = qkv_bias.chunk(3);
    q = at::linear(query, weights[0], biases[0]), k = at::linear(key, weights[1], biases[1]), v = at::linear(value, weights[2], biases[2]);
  }
  // The parts lie beside each other in memory.
  q = heads(q.contiguous()), k = heads(k.contiguous()), v = heads(v.contiguous());
  auto keep = allowed(mask, mask_type);
  at::Tensor attended, weights;
  if (need_weights) {
    at::Tensor scores = at::matmul(q, k.transpose(-2, -1)) / std::sqrt(double(q.size(3)));
    weights = at::_safe_softmax(keep ? scores.masked_fill(keep->logical_not(), -INFINITY) : scores, -1);
    attended = at::matmul(weights, v);
    if (average_attn_weights) weights = weights.mean(1);
  } else {
    attended = at::scaled_dot_product_attention(q, k, v, keep);
  }
  return {at::linear(attended.transpose(1, 2).reshape(query.sizes()), proj_weight, proj_bias), weights};
}

at::Tensor encoder_layer(const at::Tensor& src, int64_t embed_dim, int64_t num_heads, const at::Tensor& qkv_weight, const at::Tensor& qkv_bias, const at::Tensor& proj_weight,
                         const at::Tensor& proj_bias, bool use_gelu, bool norm_first, double eps, const at::Tensor& norm_weight_1, const at::Tensor& norm_bias_1,
                         const at::Tensor& norm_weight_2, const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1, const at::Tensor& ffn_bias_1,
                         const at::Tensor& ffn_weight_2, const at::Tensor& ffn_bias_2, const MaybeTensor& mask, std::optional<int64_t> mask_type) {
  auto first_norm = [&](const at::Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_1, norm_bias_1, eps); };
  auto second_norm = [&](const at::Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_2, norm_bias_2, eps); };
  at::Tensor x = norm_first ? first_norm(src) : src;
  x = src + std::get<0>(multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, false, true, mask_type));
  if (!norm_first) x = first_norm(x);
  at::Tensor hidden = at::linear(norm_first ? second_norm(x) : x, ffn_weight_1, ffn_bias_1);
  x = x + at::linear(use_gelu ? at::gelu(hidden) : at::relu(hidden), ffn_weight_2, ffn_bias_2);
  return norm_first ? x : second_norm(x);
}

std::tuple<at::Tensor, at::Tensor> weight_norm(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
  at::Tensor norm = at::norm_except_dim(v.scalar_type() == at::kDouble ? v : v.to(at::kFloat), 2, dim);
  return {(v * (g / norm)).to(v.scalar_type()), norm};
}
std::tuple<at::Tensor, at::Tensor> weight_norm_backward(const at::Tensor& grad_w, const at::Tensor& saved_v, const at::Tensor& saved_g, const at::Tensor& saved_norms, int64_t dim) {
  std::vector<int64_t> others;
  for (int64_t d = 0; d < saved_v.dim(); ++d) if (d != at::maybe_wrap_dim(dim, saved_v.dim())) others.push_back(d);
  at::Tensor along = (grad_w * saved_v).sum(others, true);
  at::Tensor grad_v = (saved_g / saved_norms) * (grad_w - saved_v * (along / (saved_norms * saved_norms)));
  return {grad_v.to(saved_v.scalar_type()), (along / saved_norms).to(saved_g.scalar_type())};
}

// nn.TransformerEncoder makes padded batches nested tensors where they are; this device has dense ones only.
bool left_aligned(const at::Tensor&, const at::Tensor&) { return false; }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_native_multi_head_attention", TORCH_FN(multi_head_attention));
  m.impl("_transformer_encoder_layer_fwd", TORCH_FN(encoder_layer));
  m.impl("_weight_norm_interface", TORCH_FN(weight_norm));
  m.impl("_weight_norm_interface_backward", TORCH_FN(weight_norm_backward));
  m.impl("_nested_tensor_from_mask_left_aligned", TORCH_FN(left_aligned));
}

}  // namespace
}  // namespace cresset
