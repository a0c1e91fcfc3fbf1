#include "device/shapes.h"

#include <numeric>

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/ScalarOps.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/native/Padding.h>
#include <ATen/native/Pool.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/native/im2col_shape_check.h>
#include <ATen/native/layer_norm.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <ATen/ops/addmm_meta_dispatch.h>
#include <ATen/ops/addmv_meta_dispatch.h>
#include <ATen/ops/index_add_meta_dispatch.h>
#include <ATen/ops/mean_meta_dispatch.h>
#include <ATen/ops/mm_meta_dispatch.h>
#include <ATen/ops/sub_meta_dispatch.h>
#include <ATen/ops/sum_meta_dispatch.h>
#include <c10/util/strides.h>

#include <cmath>

namespace cresset::shapes {
namespace {

at::Tensor meta(const at::Tensor& t) { return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta)); }
// A Python number takes part in type promotion as such.
at::Tensor number(const at::Scalar& s) {
  at::Tensor t = meta(c10::scalar_to_tensor(s));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}
Layouts of(const at::Tensor& meta) { return {{{meta.scalar_type(), at::DimVector(meta.sizes())}, at::DimVector(meta.strides()), true}}; }

}  // namespace

trace::Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype) {
  return {{dtype, at::DimVector(sizes)}, c10::contiguous_strides(sizes), true};
}
trace::Layout like(const at::Tensor& t) {
  return {{t.scalar_type(), at::DimVector(t.sizes())}, t.is_non_overlapping_and_dense() ? at::DimVector(t.strides()) : at::DimVector(at::infer_dense_strides(t.sizes(), t.strides())), true};
}
trace::Layout permuted(at::IntArrayRef sizes, at::IntArrayRef order, at::ScalarType dtype) {
  trace::Layout layout{{dtype, at::DimVector(sizes)}, at::DimVector(sizes.size()), true};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0; stride *= std::max<int64_t>(sizes[order[i]], 1)) layout.strides[order[i]] = stride;
  return layout;
}
trace::Layout undefined() { return {{}, {}, false}; }
Layouts elementwise(at::ScalarType dtype, std::initializer_list<at::Tensor> operands) {
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false).set_check_mem_overlap(false).declare_static_dtype_and_device(dtype, at::kMeta).add_owned_output(at::Tensor());
  for (const at::Tensor& t : operands) config.add_owned_const_input(meta(t));
  return of(config.build().output());
}
Layouts reduced(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
  return of(at::meta::sum(meta(self), dim, keepdim, floating(self.scalar_type())));
}
Layouts along(const at::Tensor& self, int64_t dim) {
  at::maybe_wrap_dim(dim, self.dim());
  return {contiguous(self.sizes(), self.scalar_type())};
}
Layouts with_positions(const at::Tensor& self, int64_t dim) {
  Layouts layouts = along(self, dim);
  layouts.push_back(contiguous(self.sizes(), at::kLong));
  return layouts;
}
at::ScalarType statistics_type(const at::Tensor& self) { return self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }
at::ScalarType floating(at::ScalarType dtype) { return at::isIntegralType(dtype, /*includeBool=*/true) ? at::typeMetaToScalarType(at::get_default_dtype()) : dtype; }

Layouts where_self(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(condition.scalar_type() == at::kBool || condition.scalar_type() == at::kByte, "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              condition.scalar_type());
  return elementwise(at::result_type(self, other), {condition, self, other});
}
Layouts masked_fill_Scalar(const at::Tensor& self, const at::Tensor& mask, const at::Scalar&) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_fill only supports boolean masks, but got mask with dtype ", mask.scalar_type());
  return {contiguous(at::infer_size(self.sizes(), mask.sizes()), self.scalar_type())};
}
Layouts masked_fill(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  return masked_fill_Scalar(self, mask, 0);
}
Layouts add_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha) { return of(at::meta::add(meta(self), number(other), alpha)); }
Layouts sub_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha) { return of(at::meta::sub(meta(self), number(other), alpha)); }
Layouts rsub_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha) { return of(at::meta::sub(number(other), meta(self), alpha)); }
Layouts rsub(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) { return of(at::meta::sub(meta(other), meta(self), alpha)); }
Layouts log_sigmoid_forward(const at::Tensor& self) { return {like(self), contiguous(self.sizes(), self.scalar_type())}; }
Layouts huber_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  auto each = elementwise(self.scalar_type(), {self, target});
  return reduction == at::Reduction::None ? each : Layouts{contiguous({}, each.front().type.dtype)};
}
Layouts mean(const at::Tensor& self, std::optional<at::ScalarType> dtype) { return of(at::meta::mean(meta(self), at::IntArrayRef(), false, dtype)); }
Layouts mv(const at::Tensor& self, const at::Tensor& vec) {
  auto result = at::empty({self.size(0)}, meta(self).options());
  return of(at::meta::addmv(result, meta(self), meta(vec), 0, 1));
}
Layouts _int_mm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "_int_mm: Expected self to be of dimension 2 but got ", self.dim());
  TORCH_CHECK(mat2.dim() == 2, "_int_mm: Expected mat2 to be of dimension 2 but got ", mat2.dim());
  TORCH_CHECK(self.size(1) == mat2.size(0), "_int_mm: self.size(1) needs to match mat2.size(0) but got ", self.size(1), " and ", mat2.size(0));
  TORCH_CHECK(self.scalar_type() == at::kChar || self.scalar_type() == at::kByte, "_int_mm: Expected self dtype to be int8 or uint8 but got ", self.scalar_type());
  TORCH_CHECK(mat2.scalar_type() == at::kChar, "_int_mm: Expected mat2 dtype to be of type int8 but got ", mat2.scalar_type());
  return {contiguous({self.size(0), mat2.size(1)}, at::kInt)};
}
static void check_weights(const char* name, const at::Tensor& self, const at::Tensor& mat2, at::ScalarType bytes, int64_t in_a_byte, const at::Tensor& scales, const char* name_of_scales) {
  TORCH_CHECK(self.dim() == 2 && mat2.dim() == 2, name, ": expected self and mat2 to be matrices, but their shapes are ", self.sizes(), " and ", mat2.sizes());
  TORCH_CHECK(self.scalar_type() == at::kFloat || self.scalar_type() == at::kBFloat16 || self.scalar_type() == at::kHalf, name, ": expected self to be float32, bfloat16 or float16, but got ",
              self.scalar_type());
  TORCH_CHECK(mat2.scalar_type() == bytes, name, ": expected mat2 to be ", bytes, " but got ", mat2.scalar_type());
  TORCH_CHECK(self.size(1) == mat2.size(1) * in_a_byte, name, ": mat2 has weights for ", mat2.size(1) * in_a_byte, " features, but self has ", self.size(1));
  TORCH_CHECK(scales.scalar_type() == self.scalar_type(), name, ": expected ", name_of_scales, " to have the dtype of self, ", self.scalar_type(), ", but got ", scales.scalar_type());
}
Layouts _weight_int8pack_mm(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& scales) {
  check_weights("_weight_int8pack_mm", self, mat2, at::kChar, 1, scales, "scales");
  TORCH_CHECK(scales.dim() == 1 && scales.size(0) == mat2.size(0), "_weight_int8pack_mm: expected scales of the shape [", mat2.size(0), "], but got ", scales.sizes());
  return {contiguous({self.size(0), mat2.size(0)}, self.scalar_type())};
}
Layouts _weight_int4pack_mm_for_cpu(const at::Tensor& self, const at::Tensor& mat2, int64_t qGroupSize, const at::Tensor& qScaleAndZeros) {
  const char* name = "_weight_int4pack_mm_for_cpu";
  check_weights(name, self, mat2, at::kByte, 2, qScaleAndZeros, "qScaleAndZeros");
  TORCH_CHECK(qGroupSize == 32 || qGroupSize == 64 || qGroupSize == 128 || qGroupSize == 256, name, ": expected qGroupSize to be 32, 64, 128 or 256, but got ", qGroupSize);
  TORCH_CHECK(self.size(1) % qGroupSize == 0, name, ": the ", self.size(1), " features of self are no whole groups of ", qGroupSize);
  TORCH_CHECK(mat2.size(0) % 16 == 0, name, ": the rows of mat2 have to be a multiple of 16, but are ", mat2.size(0));
  at::DimVector expected{self.size(1) / qGroupSize, mat2.size(0), 2};
  TORCH_CHECK(qScaleAndZeros.sizes() == at::IntArrayRef(expected), name, ": expected qScaleAndZeros of the shape ", at::IntArrayRef(expected), ", but got ", qScaleAndZeros.sizes());
  return {contiguous({self.size(0), mat2.size(0)}, self.scalar_type())};
}
// Dense: the CPU's rows begin at multiples of 16 bytes, which only kernels of other devices need.
Layouts _grouped_mm(const at::Tensor& self, const at::Tensor& mat2, const std::optional<at::Tensor>& offs, const std::optional<at::Tensor>& bias,
                    std::optional<at::ScalarType> out_dtype) {
  for (const at::Tensor& t : {self, mat2}) {
    const char* name = t.is_same(self) ? "self" : "mat2";
    TORCH_CHECK(t.scalar_type() == at::kFloat || t.scalar_type() == at::kBFloat16 || t.scalar_type() == at::kHalf, "_grouped_mm: expected ", name,
                " to be a Float32, BFloat16 or Float16 matrix, but got ", t.scalar_type());
    TORCH_CHECK(t.dim() == 2 || t.dim() == 3, "_grouped_mm: ", name, " has to have 2 or 3 dimensions, but has the shape ", t.sizes());
  }
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(), "_grouped_mm: expected self and mat2 to have the same dtype, but got ", self.scalar_type(), " and ", mat2.scalar_type());
  TORCH_CHECK(self.size(-1) == mat2.size(-2), "_grouped_mm: contraction dimension of self and mat2 must match, but their shapes are ", self.sizes(), " and ", mat2.sizes());
  bool grouped = self.dim() == 2 || mat2.dim() == 2, given = offs && offs->defined();
  TORCH_CHECK(given == grouped, "_grouped_mm: have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
  if (given) {
    TORCH_CHECK(offs->dim() == 1, "_grouped_mm: offs has to be 1D, but has the shape ", offs->sizes());
    TORCH_CHECK(offs->scalar_type() == at::kInt, "_grouped_mm: offs has to be int32, but is ", offs->scalar_type(), "; convert it with .to(torch.int32)");
  }
  TORCH_CHECK(!bias || !bias->defined(), "_grouped_mm: bias is not supported by PyTorch yet; add it to the result");
  TORCH_CHECK(!out_dtype || *out_dtype == self.scalar_type(), "_grouped_mm: out_dtype must be the dtype of self, ", self.scalar_type());
  for (const at::Tensor& t : {self, mat2})
    if (t.dim() == 3)
      TORCH_CHECK((given ? offs->size(0) : self.size(0)) == t.size(0), "_grouped_mm: matrix batch sizes have to match, but there are ",
                  given ? offs->size(0) : self.size(0), " groups and ", t.size(0), " matrices");
  at::DimVector sizes{self.size(-2), mat2.size(-1)};
  if (self.dim() == mat2.dim()) sizes.insert(sizes.begin(), given ? offs->size(0) : self.size(0));
  return {contiguous(sizes, self.scalar_type())};
}
Layouts linalg_solve_triangular(const at::Tensor& self, const at::Tensor& B, bool, bool left, bool) {
  TORCH_CHECK(self.dim() >= 2 && B.dim() >= 2, "linalg_solve_triangular: A and B must have 2 dimensions or more, but their shapes are ", self.sizes(), " and ", B.sizes());
  TORCH_CHECK(self.scalar_type() == B.scalar_type(), "linalg_solve_triangular: A and B must have the same dtype, but got ", self.scalar_type(), " and ", B.scalar_type());
  TORCH_CHECK(self.size(-1) == self.size(-2), "linalg_solve_triangular: A must be batches of square matrices, but its shape is ", self.sizes());
  TORCH_CHECK(self.size(-1) == B.size(left ? -2 : -1), "linalg_solve_triangular: incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", ": ", self.sizes(), " and ", B.sizes());
  at::DimVector sizes(at::infer_size(self.sizes().slice(0, self.dim() - 2), B.sizes().slice(0, B.dim() - 2)));
  at::DimVector order(sizes.size() + 2);
  sizes.append({B.size(-2), B.size(-1)});
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return {permuted(sizes, order, self.scalar_type())};
}
Layouts trace(const at::Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got a tensor of sizes ", self.sizes());
  return {contiguous({}, at::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong : self.scalar_type())};
}
Layouts flip(const at::Tensor& self, at::IntArrayRef dims) {
  at::dim_list_to_bitset(dims, self.dim());
  return {like(self)};
}
Layouts repeat(const at::Tensor& self, at::IntArrayRef repeats) {
  int64_t added = int64_t(repeats.size()) - self.dim();
  TORCH_CHECK(added >= 0, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  at::DimVector sizes(repeats);
  for (int64_t d = 0; d < self.dim(); ++d) sizes[added + d] *= self.size(d);
  for (int64_t size : sizes) TORCH_CHECK(size >= 0, "repeat: Trying to create tensor with negative dimension ", size, ": ", at::IntArrayRef(sizes));
  return {contiguous(sizes, self.scalar_type())};
}
Layouts embedding(const at::Tensor& weight, const at::Tensor& indices) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D, but has sizes ", weight.sizes());
  at::DimVector sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  return {contiguous(sizes, weight.scalar_type())};
}
Layouts embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, int64_t mode, const std::optional<at::Tensor>& per_sample_weights,
                      bool include_last_offset) {
  constexpr int64_t kSum = 0, kMax = 2;
  TORCH_CHECK(weight.dim() == 2, "embedding_bag: 'weight' must be 2-D, but has sizes ", weight.sizes());
  TORCH_CHECK(at::isFloatingType(weight.scalar_type()), "embedding_bag: 'weight' must be of floating point, but is ", weight.scalar_type());
  for (const at::Tensor& t : {indices, offsets})
    TORCH_CHECK(t.scalar_type() == at::kLong || t.scalar_type() == at::kInt, "embedding_bag: 'indices' and 'offsets' must be int64 or int32, but one is ", t.scalar_type());
  TORCH_CHECK(!include_last_offset || offsets.size(0) >= 1, "embedding_bag: with include_last_offset 'offsets' must have an element at least");
  if (per_sample_weights && per_sample_weights->defined()) {
    TORCH_CHECK(mode == kSum, "embedding_bag: per_sample_weights go with mode 'sum' only");
    TORCH_CHECK(per_sample_weights->sizes() == indices.sizes(), "embedding_bag: per_sample_weights must have the sizes of 'indices', ", indices.sizes(), ", but have ", per_sample_weights->sizes());
  }
  int64_t bags = offsets.size(0) - include_last_offset, width = weight.size(1);
  at::DimVector from{bags};
  if (mode == kMax) from.push_back(width);
  return {contiguous({bags, width}, weight.scalar_type()), contiguous({indices.size(0)}, offsets.scalar_type()), contiguous({bags}, offsets.scalar_type()),
          contiguous(from, offsets.scalar_type())};
}
Layouts _embedding_bag_backward(const at::Tensor& grad, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t num_weights, bool,
                                int64_t, bool, const std::optional<at::Tensor>&, int64_t) {
  return {contiguous({num_weights, grad.size(1)}, grad.scalar_type())};
}
Layouts _embedding_bag_per_sample_weights_backward(const at::Tensor& grad, const at::Tensor&, const at::Tensor& indices, const at::Tensor&, const at::Tensor&, int64_t, int64_t) {
  return {contiguous({indices.size(0)}, grad.scalar_type())};
}
// As PyTorch's meta functions, which are Python: positions lie before heads in what is computed for rows and in gradients.
Layouts _scaled_dot_product_flash_attention_for_cpu(const at::Tensor& query, const at::Tensor&, const at::Tensor&, double, bool, const std::optional<at::Tensor>&,
                                                    std::optional<double>) {
  return {like(query), permuted(query.sizes().slice(0, 3), {0, 2, 1}, statistics_type(query))};
}
Layouts _scaled_dot_product_flash_attention_for_cpu_backward(const at::Tensor&, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor&,
                                                             const at::Tensor&, double, bool, const std::optional<at::Tensor>&, std::optional<double>) {
  auto gradient = [](const at::Tensor& t) { return permuted(t.sizes(), {0, 2, 1, 3}, t.scalar_type()); };
  return {gradient(query), gradient(key), gradient(value)};
}
// Of time, batch and features, without projection; modes as in src/lowering/recurrent.cpp.
Layouts mkldnn_rnn_layer(const at::Tensor& input, const at::Tensor& weight0, const at::Tensor& weight1, const at::Tensor&, const at::Tensor&, const at::Tensor& hx_, const at::Tensor&, bool,
                         int64_t mode, bool) {
  constexpr int64_t kGates[] = {1, 1, 4, 3}, kKept[] = {0, 0, 5, 3};
  TORCH_CHECK(0 <= mode && mode < 4, "mkldnn_rnn_layer: mode must be 0 to 3, but is ", mode);
  TORCH_CHECK(input.dim() == 3 && input.numel() > 0 && weight1.dim() == 2 && weight0.sizes() == at::IntArrayRef({weight1.size(0), input.size(2)}) &&
                  weight1.size(0) == kGates[mode] * weight1.size(1) && hx_.sizes() == at::IntArrayRef({input.size(1), weight1.size(1)}),
              "mkldnn_rnn_layer: sizes do not fit: input ", input.sizes(), ", weights ", weight0.sizes(), " and ", weight1.sizes(), ", hx ", hx_.sizes());
  int64_t steps = input.size(0), batch = input.size(1), hidden = weight1.size(1);
  at::ScalarType dtype = input.scalar_type();
  Layouts found{contiguous({steps, batch, hidden}, dtype), contiguous(hx_.sizes(), dtype), contiguous({0}, dtype), contiguous({0}, dtype)};
  if (mode == 2) found[2] = found[1];
  if (kKept[mode]) found[3] = contiguous({steps, batch, kKept[mode] * hidden}, dtype);
  return found;
}
Layouts mkldnn_rnn_layer_backward(const at::Tensor& input, const at::Tensor& weight1, const at::Tensor& weight2, const at::Tensor& weight3, const at::Tensor& weight4,
                                  const at::Tensor& hx_, const at::Tensor& cx_tmp, const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                                  const std::optional<at::Tensor>&, const std::optional<at::Tensor>&, bool, int64_t, bool, const at::Tensor&) {
  Layouts found;
  for (const at::Tensor& t : {input, weight1, weight2, weight3, weight4, hx_, cx_tmp}) found.push_back(contiguous(t.sizes(), t.scalar_type()));
  return found;
}
Layouts dot(const at::Tensor& self, const at::Tensor& tensor) {
  TORCH_CHECK(self.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ", tensor.dim(), "D tensors");
  TORCH_CHECK(self.numel() == tensor.numel(), "inconsistent tensor size, expected tensor ", self.sizes(), " and src ", tensor.sizes(),
              " to have the same number of elements, but got ", self.numel(), " and ", tensor.numel(), " elements respectively");
  return {contiguous({}, self.scalar_type())};
}
Layouts stack(at::TensorList tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  for (size_t i = 1; i < tensors.size(); ++i)
    TORCH_CHECK(tensors[i].sizes() == tensors[0].sizes(), "stack expects each tensor to be equal size, but got ", tensors[0].sizes(), " at entry 0 and ", tensors[i].sizes(),
                " at entry ", i);
  at::DimVector sizes(tensors[0].sizes());
  sizes.insert(sizes.begin() + at::maybe_wrap_dim(dim, tensors[0].dim() + 1), int64_t(tensors.size()));
  return {contiguous(sizes, at::native::result_type(tensors))};
}

// What a norm saves, as on the CPU: of the input's type, or in f32 where parameters have another one, as under autocast.
static at::ScalarType saved_type(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias) {
  for (const auto& parameter : {weight, bias})
    if (parameter && parameter->defined() && parameter->scalar_type() != input.scalar_type()) return statistics_type(input);
  return input.scalar_type();
}
Layouts native_layer_norm(const at::Tensor& input, at::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                          double) {
  at::native::_check_layer_norm_inputs(input, normalized_shape, weight.value_or(at::Tensor()), bias.value_or(at::Tensor()));
  at::DimVector outer(input.sizes());
  std::fill(outer.end() - normalized_shape.size(), outer.end(), 1);
  auto statistic = contiguous(outer, saved_type(input, weight, bias));
  return {contiguous(input.sizes(), input.scalar_type()), statistic, statistic};
}
Layouts native_group_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, int64_t n, int64_t c, int64_t hxw,
                          int64_t group, double) {
  TORCH_CHECK(input.numel() == n * c * hxw, "Expect ", n * c * hxw, " elements of the input, but got ", input.numel());
  TORCH_CHECK(group > 0 && c % group == 0, "Expected number of channels in input to be divisible by num_groups, but got input of shape ", input.sizes(),
              " and num_groups=", group);
  for (const auto& scale : {weight, bias})
    TORCH_CHECK(!scale || !scale->defined() || (scale->dim() == 1 && scale->numel() == c), "Expected weight and bias to be vectors of size equal to the number of channels in input, but got ",
                scale ? scale->sizes() : at::IntArrayRef(), " and input of shape ", input.sizes());
  auto statistic = contiguous({n, group}, saved_type(input, weight, bias));
  return {contiguous(input.sizes(), input.scalar_type()), statistic, statistic};
}
Layouts native_layer_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor&, const at::Tensor&,
                                   const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, std::array<bool, 3> mask) {
  auto of = [&](bool wanted, const std::optional<at::Tensor>& t) { return wanted && t && t->defined() ? like(*t) : undefined(); };
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), of(mask[1], weight), of(mask[2], bias)};
}
Layouts _fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight, std::optional<double>) {
  int64_t rank = input.dim(), inner = int64_t(normalized_shape.size());
  TORCH_CHECK(inner > 0 && rank >= inner && input.sizes().slice(rank - inner) == normalized_shape, "Given normalized_shape=", normalized_shape,
              ", expected input with shape [*", normalized_shape, "], but got input of size ", input.sizes());
  TORCH_CHECK(!weight || !weight->defined() || weight->sizes() == normalized_shape, "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              weight ? weight->sizes() : at::IntArrayRef(), " and normalized_shape = ", normalized_shape);
  TORCH_CHECK(at::isFloatingType(input.scalar_type()), "rms_norm: expected a floating-point input, got ", input.scalar_type());
  at::DimVector outer(input.sizes());
  std::fill(outer.end() - inner, outer.end(), 1);
  return {contiguous(input.sizes(), input.scalar_type()), contiguous(outer, statistics_type(input))};
}
Layouts _fused_rms_norm_backward(const at::Tensor&, const at::Tensor& input, at::IntArrayRef, const at::Tensor&, const std::optional<at::Tensor>& weight,
                                 std::array<bool, 2> mask) {
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), mask[1] && weight && weight->defined() ? like(*weight) : undefined()};
}
Layouts native_batch_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>&,
                                   const std::optional<at::Tensor>&, const std::optional<at::Tensor>& save_mean, const std::optional<at::Tensor>&, bool, double,
                                   std::array<bool, 3> mask) {
  at::ScalarType dtype = weight && weight->defined() ? weight->scalar_type() : input.scalar_type();
  auto channel = contiguous({input.size(1)}, dtype);
  return {mask[0] ? like(input) : undefined(), mask[1] ? channel : undefined(), mask[2] ? channel : undefined()};
}
Layouts binary_cross_entropy(const at::Tensor& self, const at::Tensor& target, const std::optional<at::Tensor>&, int64_t reduction) {
  TORCH_CHECK_VALUE(self.sizes() == target.sizes(), "Using a target size (", target.sizes(), ") that is different to the input size (", self.sizes(),
                    ") is deprecated. Please ensure they have the same size.");
  return {reduction == 0 ? like(self) : contiguous({}, self.scalar_type())};
}
Layouts binary_cross_entropy_backward(const at::Tensor&, const at::Tensor& self, const at::Tensor&, const std::optional<at::Tensor>&, int64_t) { return {like(self)}; }
Layouts fake_quantized(const at::Tensor& self, int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`, but they are ", quant_min, " and ", quant_max);
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()), "fake_quantize: not implemented for '", self.scalar_type(), "'; it takes floats");
  auto like = elementwise(self.scalar_type(), {self}).front(), mask = elementwise(at::kBool, {self}).front();
  return {like, mask};
}
Layouts fake_quantized(const at::Tensor& self, int64_t zero_point, int64_t quant_min, int64_t quant_max) {
  auto layouts = fake_quantized(self, quant_min, quant_max);
  TORCH_CHECK(zero_point >= quant_min && zero_point <= quant_max, "`zero_point` must be between `quant_min` and `quant_max`, but is ", zero_point, " of ", quant_min, " to ", quant_max);
  return layouts;
}
Layouts fake_quantized(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero_point, int64_t axis, int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(axis >= 0 && axis <= self.dim(), "`axis` must be between 0 and number of dimensions of input, but is ", axis);
  TORCH_CHECK(scale.dim() == 1 && zero_point.dim() == 1 && axis < self.dim() && scale.size(0) == self.size(axis) && zero_point.size(0) == self.size(axis),
              "dimensions of scale and zero-point are not consistent with input tensor: ", scale.sizes(), " and ", zero_point.sizes(), " for dimension ", axis, " of ", self.sizes());
  TORCH_CHECK(scale.scalar_type() == at::kFloat || scale.scalar_type() == at::kBFloat16, "Scale must be Float or BFloat16, found ", scale.scalar_type());
  TORCH_CHECK(zero_point.scalar_type() == at::kInt || zero_point.scalar_type() == at::kFloat || zero_point.scalar_type() == at::kHalf,
              "Zero-point must be Int32, Float or Half, found ", zero_point.scalar_type());
  return fake_quantized(self, quant_min, quant_max);
}
Layouts native_dropout(const at::Tensor& input, double p, std::optional<bool>) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  auto mask = like(input);
  mask.type.dtype = at::kBool;
  return {like(input), mask};
}
Layouts arange_start_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out) {
  return {contiguous(at::arange(start, end, step, at::device(at::kMeta).dtype(out.scalar_type())).sizes(), out.scalar_type())};
}
Layouts linspace_out(const at::Scalar&, const at::Scalar&, int64_t steps, const at::Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return {contiguous({steps}, out.scalar_type())};
}
Layouts eye_m_out(int64_t n, int64_t m, const at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  return {contiguous({n, m}, out.scalar_type())};
}

Layouts convolution_overrideable(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>&, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  // PyTorch has checked the other arguments when it asks for this operator.
  for (size_t i = 0; i < dilation.size(); ++i) {
    TORCH_CHECK(dilation[i] > 0, "dilation should be greater than zero, but got ", dilation);
    TORCH_CHECK(!transposed || output_padding[i] < std::max(stride[i], dilation[i]), "output padding must be smaller than either stride or dilation, but got ", output_padding,
                " with stride ", stride, " and dilation ", dilation);
  }
  auto sizes = transposed ? at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding, stride, dilation, groups)
                          : at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  for (int64_t size : sizes) TORCH_CHECK(size >= 0, "convolution: Output size is too small: ", at::IntArrayRef(sizes));
  return {contiguous(sizes, input.scalar_type())};
}
Layouts convolution_backward_overrideable(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef, at::IntArrayRef,
                                          at::IntArrayRef, bool, at::IntArrayRef, int64_t, std::array<bool, 3> mask) {
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), mask[1] ? contiguous(weight.sizes(), weight.scalar_type()) : undefined(),
          mask[2] ? contiguous({grad_output.size(1)}, grad_output.scalar_type()) : undefined()};
}

Layouts reflection_pad2d(const at::Tensor& self, at::IntArrayRef padding) {
  at::native::padding::check_valid_input<2>(self, padding);
  at::DimVector sizes(self.sizes());
  for (size_t k = 0; k < 2; ++k) {
    int64_t& n = sizes[sizes.size() - 1 - k];
    TORCH_CHECK(padding[2 * k] < n && padding[2 * k + 1] < n, "Padding size should be less than the corresponding input dimension, but got: padding ", padding, " of input ", self.sizes());
    n += padding[2 * k] + padding[2 * k + 1];
    TORCH_CHECK(n > 0, "reflection_pad2d: nothing is left of input ", self.sizes(), " with padding ", padding);
  }
  return {contiguous(sizes, self.scalar_type())};
}
Layouts channel_shuffle(const at::Tensor& self, int64_t groups) {
  TORCH_CHECK(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ", self.sizes());
  TORCH_CHECK(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:", groups);
  TORCH_CHECK(self.size(1) % groups == 0, "Number of channels must be divisible by groups. Got ", self.size(1), " channels and ", groups, " groups.");
  return {like(at::empty(self.sizes(), self.options().device(at::kMeta).memory_format(self.suggest_memory_format())))};
}
Layouts im2col(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef dilation, at::IntArrayRef padding, at::IntArrayRef stride) {
  for (at::IntArrayRef pair : {kernel_size, dilation, padding, stride}) TORCH_CHECK(pair.size() == 2, "im2col: expected kernel_size, dilation, padding and stride of 2 numbers, got ", pair);
  at::native::im2col_shape_check(self, at::Tensor(), kernel_size[0], kernel_size[1], dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
  auto windows = [&](int64_t d) { return (self.size(d - 2) + 2 * padding[d] - dilation[d] * (kernel_size[d] - 1) - 1) / stride[d] + 1; };
  at::DimVector sizes(self.sizes().slice(0, self.dim() - 2));
  sizes.back() *= kernel_size[0] * kernel_size[1];
  sizes.push_back(windows(0) * windows(1));
  return {contiguous(sizes, self.scalar_type())};
}
Layouts col2im(const at::Tensor& self, at::IntArrayRef output_size, at::IntArrayRef kernel_size, at::IntArrayRef dilation, at::IntArrayRef padding, at::IntArrayRef stride) {
  for (at::IntArrayRef pair : {output_size, kernel_size, dilation, padding, stride})
    TORCH_CHECK(pair.size() == 2, "col2im: expected output_size, kernel_size, dilation, padding and stride of 2 numbers, got ", pair);
  at::native::col2im_shape_check(self, at::Tensor(), output_size[0], output_size[1], kernel_size[0], kernel_size[1], dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
  at::DimVector sizes(self.sizes().slice(0, self.dim() - 1));
  sizes.back() /= kernel_size[0] * kernel_size[1];
  sizes.append(output_size.begin(), output_size.end());
  return {contiguous(sizes, self.scalar_type())};
}
Layouts unfold_backward(const at::Tensor& grad_in, at::IntArrayRef input_sizes, int64_t, int64_t, int64_t) { return {contiguous(input_sizes, grad_in.scalar_type())}; }
Layouts grid_sampler_2d(const at::Tensor& input, const at::Tensor& grid, int64_t, int64_t, bool) {
  at::native::check_grid_sampler_common(input, grid);
  at::native::check_grid_sampler_2d(input, grid);
  TORCH_CHECK(input.scalar_type() == grid.scalar_type(), "grid_sampler_2d: expected input and grid to have the same dtype, but got ", input.scalar_type(), " and ", grid.scalar_type());
  return {contiguous({input.size(0), input.size(1), grid.size(1), grid.size(2)}, input.scalar_type())};
}
Layouts grid_sampler_2d_backward(const at::Tensor&, const at::Tensor& input, const at::Tensor& grid, int64_t, int64_t, bool, std::array<bool, 2> mask) {
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), contiguous(grid.sizes(), grid.scalar_type())};
}
Layouts _cdist_forward(const at::Tensor& x1, const at::Tensor& x2, double p, std::optional<int64_t>) {
  TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D, X2 got: ", x2.dim(), "D");
  TORCH_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1), " X2: ", x2.size(-1));
  TORCH_CHECK(x1.scalar_type() == x2.scalar_type() && (x1.scalar_type() == at::kFloat || x1.scalar_type() == at::kDouble), "cdist: expected two tensors of float32 or float64, got ",
              x1.scalar_type(), " and ", x2.scalar_type());
  TORCH_CHECK(p >= 0, "cdist only supports non-negative p values");
  at::DimVector sizes(at::infer_size(x1.sizes().slice(0, x1.dim() - 2), x2.sizes().slice(0, x2.dim() - 2)));
  sizes.push_back(x1.size(-2)), sizes.push_back(x2.size(-2));
  return {contiguous(sizes, x1.scalar_type())};
}
Layouts _cdist_backward(const at::Tensor&, const at::Tensor& x1, const at::Tensor&, double, const at::Tensor& cdist) {
  at::DimVector sizes(cdist.sizes());
  sizes.back() = x1.size(-1);
  return {contiguous(sizes, x1.scalar_type())};
}
// Of images of two or three dimensions, with channels and perhaps a batch before them.
static void check_images(const char* name, int64_t dims, std::initializer_list<at::Tensor> all) {
  int64_t rank = all.begin()->dim();
  for (const at::Tensor& t : all)
    TORCH_CHECK(t.dim() == rank && (rank == dims + 1 || rank == dims + 2), name, "(): Expected ", dims + 1, "D or ", dims + 2, "D tensor", all.size() > 1 ? "s" : "", ", but got ", t.sizes());
}
static Layouts adaptive_pool(const char* name, int64_t dims, const at::Tensor& self, at::IntArrayRef output_size) {
  TORCH_CHECK(int64_t(output_size.size()) == dims, name, ": output_size must be ", dims);
  check_images(name, dims, {self});
  at::DimVector sizes(self.sizes());
  std::copy(output_size.begin(), output_size.end(), sizes.end() - dims);
  return {contiguous(sizes, self.scalar_type())};
}
Layouts _adaptive_avg_pool2d(const at::Tensor& self, at::IntArrayRef output_size) { return adaptive_pool("adaptive_avg_pool2d", 2, self, output_size); }
Layouts _adaptive_avg_pool3d(const at::Tensor& self, at::IntArrayRef output_size) { return adaptive_pool("adaptive_avg_pool3d", 3, self, output_size); }
Layouts _adaptive_avg_pool2d_backward(const at::Tensor& grad_output, const at::Tensor& self) {
  check_images("adaptive_avg_pool2d_backward", 2, {self, grad_output});
  return {contiguous(self.sizes(), self.scalar_type())};
}
Layouts _adaptive_avg_pool3d_backward(const at::Tensor& grad_output, const at::Tensor& self) {
  check_images("adaptive_avg_pool3d_backward", 3, {self, grad_output});
  return {contiguous(self.sizes(), self.scalar_type())};
}
Layouts linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  auto shift = bias && bias->defined() ? std::optional(meta(*bias)) : std::nullopt;
  if (input.dim() == 0 || weight.dim() != 2) return of(at::linear(meta(input), meta(weight), shift));
  at::DimVector sizes(input.sizes());
  sizes.back() = weight.size(0);
  int64_t rows = c10::multiply_integers(input.sizes().begin(), input.sizes().end() - 1);
  // The meta functions of its product, so that their errors are raised.
  auto x = at::empty({rows, input.size(-1)}, meta(input).options()), w = meta(weight).t();
  return {contiguous(sizes, (shift ? at::meta::addmm(*shift, x, w, 1, 1) : at::meta::mm(x, w)).scalar_type())};
}
Layouts linear_backward(const at::Tensor& self, const at::Tensor& grad_output, const at::Tensor& weight, std::array<bool, 3> mask) {
  auto bias = contiguous(weight.dim() == 2 ? weight.sizes().slice(0, 1) : at::IntArrayRef(), grad_output.scalar_type());
  return {mask[0] ? contiguous(self.sizes(), self.scalar_type()) : undefined(), mask[1] ? contiguous(weight.sizes(), weight.scalar_type()) : undefined(),
          mask[2] ? bias : undefined()};
}
Layouts max_pool3d_with_indices(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode) {
  TORCH_CHECK(self.dim() == 4 || self.dim() == 5, "max_pool3d(): Expected 4D or 5D tensor, but got ", self.sizes());
  for (int64_t size : self.sizes().slice(self.dim() - 4)) TORCH_CHECK(size > 0, "max_pool3d(): Expected input's non-batch dimensions to have positive length, but got ", self.sizes());
  auto at = [](at::IntArrayRef list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
  at::DimVector sizes(self.sizes());
  for (size_t i = 0; i < 3; ++i) {
    int64_t kernel = at(kernel_size, i), step = stride.empty() ? kernel : at(stride, i), pad = at(padding, i), gap = at(dilation, i);
    TORCH_CHECK(kernel > 0 && step > 0 && gap > 0, "max_pool3d(): kernel size, stride and dilation must be greater than zero");
    TORCH_CHECK(pad >= 0 && pad * 2 <= (kernel - 1) * gap + 1, "pad should be at most half of effective kernel size, but got pad=", pad, ", kernel_size=", kernel,
                " and dilation=", gap);
    int64_t& n = sizes[sizes.size() - 3 + i];
    n = at::native::pooling_output_shape<int64_t>(n, kernel, pad, step, gap, ceil_mode);
    TORCH_CHECK(n > 0, "max_pool3d(): the output of an input of ", self.sizes(), " would be empty");
  }
  return {contiguous(sizes, self.scalar_type()), contiguous(sizes, at::kLong)};
}
Layouts max_pool3d_with_indices_backward(const at::Tensor&, const at::Tensor& self, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, const at::Tensor&) {
  return {contiguous(self.sizes(), self.scalar_type())};
}
Layouts native_group_norm_backward(const at::Tensor&, const at::Tensor& input, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>& weight, int64_t,
                                   int64_t c, int64_t, int64_t, std::array<bool, 3> mask) {
  auto channel = contiguous({c}, weight && weight->defined() ? weight->scalar_type() : input.scalar_type());
  return {mask[0] ? contiguous(input.sizes(), input.scalar_type()) : undefined(), mask[1] ? channel : undefined(), mask[2] ? channel : undefined()};
}

bool indexed_by_integers(const c10::List<std::optional<at::Tensor>>& indices) {
  bool any = false;
  for (size_t i = 0; i < indices.size(); ++i) {
    auto t = indices.get(i);
    if (!t || !t->defined()) continue;
    if (!t->is_privateuseone() || t->scalar_type() == at::kBool || t->scalar_type() == at::kByte) return false;
    any = true;
  }
  return any;
}
std::optional<OneMask> one_mask(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
  std::optional<OneMask> one;
  for (size_t i = 0; i < indices.size(); ++i) {
    auto t = indices.get(i);
    if (!t || !t->defined()) continue;
    if (one || !t->is_privateuseone() || t->scalar_type() != at::kBool) return std::nullopt;
    one = OneMask{*t, int64_t(i)};
  }
  if (!one || one->place + one->mask.dim() > self.dim() || one->mask.sizes() != self.sizes().slice(one->place, one->mask.dim())) return std::nullopt;
  return one;
}
at::DimVector masked_sizes(const at::Tensor& self, const OneMask& one, int64_t count) {
  at::DimVector sizes(self.sizes().slice(0, one.place));
  sizes.push_back(count);
  for (int64_t size : self.sizes().slice(one.place + one.mask.dim())) sizes.push_back(size);
  return sizes;
}
bool fills_mask(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices, const at::Tensor& values) {
  auto one = one_mask(self, indices);
  if (!one || values.numel() == 1) return one.has_value();
  return one->mask.dim() > 0 && at::is_expandable_to(values.sizes(), masked_sizes(self, *one, 1));
}
Layouts index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
  c10::List<std::optional<at::Tensor>> meta;
  for (size_t i = 0; i < indices.size(); ++i) {
    auto t = indices.get(i);
    meta.push_back(t && t->defined() ? std::optional(at::empty(t->sizes(), t->options().device(at::kMeta))) : std::nullopt);
  }
  auto result = at::index(at::empty_strided(self.sizes(), self.strides(), self.options().device(at::kMeta)), meta);
  return {{{self.scalar_type(), at::DimVector(result.sizes())}, at::DimVector(result.strides()), true}};
}
Layouts _index_put_impl_(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices, const at::Tensor& values, bool, bool) {
  if (indexed_by_integers(indices)) {
    at::DimVector indexed = shapes::index(self, indices)[0].type.sizes;
    TORCH_CHECK(at::is_expandable_to(values.sizes(), indexed), "shape mismatch: value tensor of shape ", values.sizes(), " cannot be broadcast to indexing result of shape ",
                at::IntArrayRef(indexed));
  }
  return {like(self)};
}

// PyTorch's own looks for the first slice of what is added, also where there is none.
Layouts index_add(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source, const at::Scalar& alpha) {
  if (index.numel() == 0 && source.numel() == 0) return {contiguous(self.sizes(), self.scalar_type())};
  return of(at::meta::index_add(meta(self), dim, meta(index), meta(source), alpha));
}
Layouts index_fill_int_Scalar(const at::Tensor& self, int64_t, const at::Tensor& index, const at::Scalar&) {
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  return {like(self)};
}
Layouts index_fill_int_Tensor(const at::Tensor& self, int64_t, const at::Tensor& index, const at::Tensor& value) {
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  TORCH_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  return {like(self)};
}
Layouts searchsorted(const at::Tensor& sorted_sequence, const at::Tensor& self, bool out_int32, bool right, std::optional<c10::string_view> side,
                            const std::optional<at::Tensor>&) {
  TORCH_CHECK(!side || *side == "left" || *side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ", *side);
  TORCH_CHECK(!side || *side == "right" || !right, "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
  TORCH_CHECK(sorted_sequence.dim() == 1 || (sorted_sequence.dim() == self.dim() && self.dim() > 0 && sorted_sequence.sizes().slice(0, self.dim() - 1) == self.sizes().slice(0, self.dim() - 1)),
              "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries "
              "tensor ", sorted_sequence.sizes(), " and input value tensor ", self.sizes());
  return {contiguous(self.sizes(), out_int32 ? at::kInt : at::kLong)};
}
Layouts bucketize(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return {contiguous(self.sizes(), out_int32 ? at::kInt : at::kLong)};
}
Layouts of_sorted_lines(const char* name, const at::Tensor& self, int64_t dim, bool keepdim) {
  dim = at::maybe_wrap_dim(dim, self.dim());
  at::native::zero_numel_check_dims(self, dim, name);
  at::DimVector sizes = at::meta::get_reduction_shape(self, dim, keepdim);
  return {contiguous(sizes, self.scalar_type()), contiguous(sizes, at::kLong)};
}
Layouts kthvalue(const at::Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  Layouts layouts = of_sorted_lines("kthvalue()", self, dim, keepdim);
  TORCH_CHECK(k > 0 && k <= (self.dim() ? self.size(dim) : 1), "kthvalue(): selected number k out of range for dimension ", at::maybe_wrap_dim(dim, self.dim()));
  return layouts;
}
Layouts histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max) {
  TORCH_CHECK(bins > 0, "torch.histc(): bins must be > 0, but got ", bins);
  TORCH_CHECK(min.toDouble() <= max.toDouble(), "torch.histc: max must be larger than min");
  return {contiguous({bins}, self.scalar_type())};
}

}  // namespace cresset::shapes
