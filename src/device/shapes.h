// Result shapes of operators for which PyTorch has no meta function in C++ (or one that does not know this device).
#pragma once

#include <ATen/ATen.h>

#include "trace/recorder.h"

namespace cresset::shapes {

using Layouts = std::vector<trace::Layout>;

trace::Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype);
trace::Layout like(const at::Tensor& t);
/// Dense, with the dimensions in this order in memory.
trace::Layout permuted(at::IntArrayRef sizes, at::IntArrayRef order, at::ScalarType dtype);
trace::Layout undefined();
/// The result of an element-wise operator, of the operands' common shape, with strides as TensorIterator chooses them.
Layouts elementwise(at::ScalarType dtype, std::initializer_list<at::Tensor> operands);
/// A reduction of these dimensions, or of all, to floating numbers.
Layouts reduced(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim);
/// Of the same shape; raises if there is no such dimension.
Layouts along(const at::Tensor& self, int64_t dim);
/// The same, with the position along one dimension that each element comes from.
Layouts with_positions(const at::Tensor& self, int64_t dim);
/// The type in which statistics of rows and channels are kept: f64 or f32.
at::ScalarType statistics_type(const at::Tensor& self);
/// The type itself, or the default one for integers.
at::ScalarType floating(at::ScalarType dtype);

Layouts where_self(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other);
Layouts masked_fill_Scalar(const at::Tensor& self, const at::Tensor& mask, const at::Scalar& value);
Layouts masked_fill(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& value);
Layouts add_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha);
Layouts sub_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha);
Layouts rsub_Scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha);
Layouts rsub(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha);
Layouts log_sigmoid_forward(const at::Tensor& self);
Layouts huber_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double delta);
Layouts mean(const at::Tensor& self, std::optional<at::ScalarType> dtype);
Layouts mv(const at::Tensor& self, const at::Tensor& vec);
Layouts _int_mm(const at::Tensor& self, const at::Tensor& mat2);
Layouts _weight_int8pack_mm(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& scales);
Layouts _weight_int4pack_mm_for_cpu(const at::Tensor& self, const at::Tensor& mat2, int64_t qGroupSize, const at::Tensor& qScaleAndZeros);
Layouts _grouped_mm(const at::Tensor& self, const at::Tensor& mat2, const std::optional<at::Tensor>& offs, const std::optional<at::Tensor>& bias,
                    std::optional<at::ScalarType> out_dtype);
/// The result, and which elements lie within the integers.
Layouts fake_quantized(const at::Tensor& self, int64_t quant_min, int64_t quant_max);
Layouts fake_quantized(const at::Tensor& self, int64_t zero_point, int64_t quant_min, int64_t quant_max);
Layouts fake_quantized(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero_point, int64_t axis, int64_t quant_min, int64_t quant_max);
/// Of matrices whose columns are dense, as LAPACK leaves them.
Layouts linalg_solve_triangular(const at::Tensor& self, const at::Tensor& B, bool upper, bool left, bool unitriangular);
Layouts trace(const at::Tensor& self);
Layouts flip(const at::Tensor& self, at::IntArrayRef dims);
Layouts repeat(const at::Tensor& self, at::IntArrayRef repeats);
Layouts embedding(const at::Tensor& weight, const at::Tensor& indices);
/// What is pooled; of each item its bag; of each bag how many items it has; of its greatest elements where they are from.
Layouts embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, int64_t mode, const std::optional<at::Tensor>& per_sample_weights,
                      bool include_last_offset);
Layouts _embedding_bag_backward(const at::Tensor& grad, const at::Tensor& indices, const at::Tensor& offsets, const at::Tensor& offset2bag, const at::Tensor& bag_size,
                                const at::Tensor& maximum_indices, int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool sparse,
                                const std::optional<at::Tensor>& per_sample_weights, int64_t padding_idx);
Layouts _embedding_bag_per_sample_weights_backward(const at::Tensor& grad, const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                                                   const at::Tensor& offset2bag, int64_t mode, int64_t padding_idx);
Layouts _scaled_dot_product_flash_attention_for_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double dropout_p, bool is_causal,
                                                    const std::optional<at::Tensor>& attn_mask, std::optional<double> scale);
Layouts _scaled_dot_product_flash_attention_for_cpu_backward(const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                                             const at::Tensor& out, const at::Tensor& logsumexp, double dropout_p, bool is_causal,
                                                             const std::optional<at::Tensor>& attn_mask, std::optional<double> scale);
/// What PyTorch's own gives is of oneDNN's LSTM alone.
Layouts mkldnn_rnn_layer(const at::Tensor& input, const at::Tensor& weight0, const at::Tensor& weight1, const at::Tensor& weight2, const at::Tensor& weight3, const at::Tensor& hx_,
                         const at::Tensor& cx_, bool reverse, int64_t mode, bool has_biases);
Layouts mkldnn_rnn_layer_backward(const at::Tensor& input, const at::Tensor& weight1, const at::Tensor& weight2, const at::Tensor& weight3, const at::Tensor& weight4,
                                  const at::Tensor& hx_, const at::Tensor& cx_tmp, const at::Tensor& output, const at::Tensor& hy_, const at::Tensor& cy_,
                                  const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_hy, const std::optional<at::Tensor>& grad_cy, bool reverse,
                                  int64_t mode, bool has_biases, const at::Tensor& workspace);
Layouts dot(const at::Tensor& self, const at::Tensor& tensor);
Layouts stack(at::TensorList tensors, int64_t dim);
Layouts channel_shuffle(const at::Tensor& self, int64_t groups);

Layouts native_layer_norm(const at::Tensor& input, at::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                          double eps);
Layouts native_group_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, int64_t n, int64_t c, int64_t hxw,
                          int64_t group, double eps);
Layouts native_layer_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor& mean,
                                   const at::Tensor& rstd, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                                   std::array<bool, 3> output_mask);
Layouts _fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight, std::optional<double> eps);
Layouts _fused_rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                 const std::optional<at::Tensor>& weight, std::array<bool, 2> output_mask);
Layouts native_batch_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                   const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
                                   const std::optional<at::Tensor>& save_mean, const std::optional<at::Tensor>& save_invstd, bool train, double eps,
                                   std::array<bool, 3> output_mask);
Layouts binary_cross_entropy(const at::Tensor& self, const at::Tensor& target, const std::optional<at::Tensor>& weight, int64_t reduction);
Layouts binary_cross_entropy_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                                      const std::optional<at::Tensor>& weight, int64_t reduction);
Layouts _adaptive_avg_pool3d(const at::Tensor& self, at::IntArrayRef output_size);
Layouts _adaptive_avg_pool3d_backward(const at::Tensor& grad_output, const at::Tensor& self);
Layouts max_pool3d_with_indices(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                bool ceil_mode);
Layouts max_pool3d_with_indices_backward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef stride,
                                         at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode, const at::Tensor& indices);
Layouts index_add(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source, const at::Scalar& alpha);
Layouts index_fill_int_Scalar(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar& value);
Layouts index_fill_int_Tensor(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& value);
Layouts searchsorted(const at::Tensor& sorted_sequence, const at::Tensor& self, bool out_int32, bool right, std::optional<c10::string_view> side,
                            const std::optional<at::Tensor>& sorter);
Layouts bucketize(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool right);
/// A number of each line along `dim`, and its position. Raises in the name of the function where lines are empty.
Layouts of_sorted_lines(const char* name, const at::Tensor& self, int64_t dim, bool keepdim);
Layouts kthvalue(const at::Tensor& self, int64_t k, int64_t dim, bool keepdim);
Layouts histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max);
Layouts native_dropout(const at::Tensor& input, double p, std::optional<bool> train);
Layouts arange_start_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out);
Layouts linspace_out(const at::Scalar& start, const at::Scalar& end, int64_t steps, const at::Tensor& out);
Layouts eye_m_out(int64_t n, int64_t m, const at::Tensor& out);
Layouts convolution_overrideable(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                                 at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups);
Layouts convolution_backward_overrideable(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                                          at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding,
                                          int64_t groups, std::array<bool, 3> output_mask);

Layouts reflection_pad2d(const at::Tensor& self, at::IntArrayRef padding);
Layouts im2col(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef dilation, at::IntArrayRef padding, at::IntArrayRef stride);
Layouts col2im(const at::Tensor& self, at::IntArrayRef output_size, at::IntArrayRef kernel_size, at::IntArrayRef dilation, at::IntArrayRef padding, at::IntArrayRef stride);
Layouts unfold_backward(const at::Tensor& grad_in, at::IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step);
Layouts grid_sampler_2d(const at::Tensor& input, const at::Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners);
Layouts grid_sampler_2d_backward(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                                 bool align_corners, std::array<bool, 2> output_mask);
Layouts _cdist_forward(const at::Tensor& x1, const at::Tensor& x2, double p, std::optional<int64_t> compute_mode);
Layouts _cdist_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2, double p, const at::Tensor& cdist);
Layouts _adaptive_avg_pool2d(const at::Tensor& self, at::IntArrayRef output_size);
Layouts _adaptive_avg_pool2d_backward(const at::Tensor& grad_output, const at::Tensor& self);
Layouts linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias);
Layouts linear_backward(const at::Tensor& self, const at::Tensor& grad_output, const at::Tensor& weight, std::array<bool, 3> output_mask);
Layouts native_group_norm_backward(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& rstd,
                                   const std::optional<at::Tensor>& weight, int64_t n, int64_t c, int64_t hxw, int64_t group, std::array<bool, 3> output_mask);

/// Whether an indexing lowers to a gather or scatter; a mask's result shape depends on values.
bool indexed_by_integers(const c10::List<std::optional<at::Tensor>>& indices);
/// The mask among the indices where it is the only one that is given, a mask of bools on the device that fits `self` from dimension `place` on.
struct OneMask {
  at::Tensor mask;
  int64_t place;
};
std::optional<OneMask> one_mask(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices);
/// The sizes of x[mask] where `count` elements are true.
at::DimVector masked_sizes(const at::Tensor& self, const OneMask& one, int64_t count);
/// x[mask] = values that are the same for all true elements of the one mask: a choice, which needs not know how many there are.
bool fills_mask(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices, const at::Tensor& values);
Layouts index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices);
Layouts _index_put_impl_(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices, const at::Tensor& values, bool accumulate, bool unsafe);

}  // namespace cresset::shapes
