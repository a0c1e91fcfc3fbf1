// scaled_dot_product_attention whole: PyTorch asks which fused form a device has. Mostly that is the CPU's own fused operator, so that a
// model gives the same composites on every road; the overrideable pair has what that one lacks, dropout and a gradient of the mask.
#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

#include "device/generator.h"
#include "device/shapes.h"
#include "generated/operators.h"
#include "trace/cell.h"
#include "trace/recorder.h"

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using trace::Attribute;

bool given(const MaybeTensor& t) { return t && t->defined(); }

// What has no fused form (other ranks, batches to be broadcast) goes through matmul and softmax. Dynamo asks, too, of sizes that are symbols.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const MaybeTensor& mask, double dropout_p, bool, std::optional<double>,
               bool enable_gqa) {
  bool fits = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && query.sym_size(0) == key.sym_size(0) && key.sym_size(0) == value.sym_size(0) && key.sym_size(1) == value.sym_size(1) &&
              key.sym_size(2) == value.sym_size(2) && query.sym_size(3) == key.sym_size(3) && query.sym_numel() > 0 && key.sym_numel() > 0 && value.sym_numel() > 0 &&
              (enable_gqa ? query.sym_size(1) % key.sym_size(1) == 0 : query.sym_size(1) == key.sym_size(1)) && (!given(mask) || mask->dim() <= 4);
  if (!fits) return int64_t(at::SDPBackend::math);
  bool mask_gradient = given(mask) && mask->requires_grad() && at::GradMode::is_enabled();
  if (dropout_p == 0 && !mask_gradient && query.sym_size(3) == value.sym_size(3)) return int64_t(at::SDPBackend::flash_attention);
  // PyTorch's meta function of the pair saves absent tensors, which AOTAutograd refuses.
  bool compiling = query.unsafeGetTensorImpl()->is_python_dispatch();
  return int64_t(compiling ? at::SDPBackend::math : at::SDPBackend::overrideable);
}


// Dense, with the dimensions in the query's order: mostly [batch, positions, heads, width] in memory. PyTorch's meta function says the same.
trace::Layout output_layout(const at::Tensor& query, int64_t width) {
  std::array<int64_t, 4> order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return query.stride(x) > query.stride(y); });
  at::DimVector sizes(query.sizes());
  sizes[3] = width;
  return shapes::permuted(sizes, order, query.scalar_type());
}
shapes::Layouts forward_layouts(const at::Tensor& query, const at::Tensor& value) {
  return {output_layout(query, value.size(3)), shapes::contiguous({query.size(0), query.size(1), query.size(2)}, shapes::statistics_type(query))};
}

using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

Forward attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const MaybeTensor& attn_bias, double dropout_p, bool is_causal, bool,
                  std::optional<double> scale) {
  bool drops = dropout_p > 0;
  trace::Recorder r(drops ? op::_scaled_dot_product_fused_attention_overrideable : op::_scaled_dot_product_flash_attention_for_cpu);
  r.tensor(query, "query");
  r.tensor(key, "key");
  r.tensor(value, "value");
  if (drops) r.tensor(attn_bias, "attn_bias");
  r.attribute(Attribute(dropout_p));
  r.attribute(Attribute(is_causal));
  if (!drops) r.tensor(attn_bias, "attn_mask");
  r.attribute(scale);
  std::pair<int64_t, int64_t> random;
  trace::Value seed, offset;
  if (drops) {
    // The backward draws the same numbers again.
    random = device::next_random(std::nullopt);
    std::tie(seed, offset) = r.random(random);
  }
  r.infer_layouts([&] { return forward_layouts(query, value); });
  auto as_tensor = [](const trace::Value& v) { return v ? trace::make_tensor(trace::converted(v, at::kLong), {}) : at::Tensor(); };
  return {r.result(0), r.result(1), {}, {}, query.size(2), key.size(2), as_tensor(seed), as_tensor(offset), {}};
}

using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Backward attention_backward(const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& attn_bias,
                            std::array<bool, 4> grad_input_mask, const at::Tensor& out, const at::Tensor& logsumexp, const at::Tensor&, const at::Tensor&, c10::SymInt,
                            c10::SymInt, double dropout_p, bool is_causal, const at::Tensor& philox_seed, const at::Tensor& philox_offset, std::optional<double> scale) {
  if (!grad_out.defined()) return {};
  bool drops = dropout_p > 0, mask_gradient = grad_input_mask[3] && attn_bias.defined(), own = drops || mask_gradient;
  trace::Recorder r(own ? op::_scaled_dot_product_fused_attention_overrideable_backward : op::_scaled_dot_product_flash_attention_for_cpu_backward);
  r.tensor(grad_out, "grad_out");
  r.tensor(query, "query");
  r.tensor(key, "key");
  r.tensor(value, "value");
  if (own) r.tensor(std::optional(attn_bias), "attn_bias");
  r.tensor(out, "out");
  r.tensor(logsumexp, "logsumexp");
  r.attribute(Attribute(dropout_p));
  r.attribute(Attribute(is_causal));
  if (own) {
    r.tensor(drops ? std::optional(philox_seed) : std::nullopt, "philox_seed");
    r.tensor(drops ? std::optional(philox_offset) : std::nullopt, "philox_offset");
  } else {
    r.tensor(std::optional(attn_bias), "attn_mask");
  }
  r.attribute(scale);
  r.infer_layouts([&] {
    shapes::Layouts layouts{shapes::like(query), shapes::like(key), shapes::like(value)};
    if (mask_gradient) layouts.push_back(shapes::like(attn_bias));
    return layouts;
  });
  return {r.result(0), r.result(1), r.result(2), mask_gradient ? r.result(3) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable", TORCH_FN(attention));
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", TORCH_FN(attention_backward));
}

}  // namespace
}  // namespace cresset

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &cresset::choose)
}  // namespace at::native
