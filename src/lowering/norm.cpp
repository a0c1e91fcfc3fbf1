// Softmax and the normalisations, forward and backward. Statistics are in f32 for the narrow types, as on the CPU.
#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

Dims range(int64_t from, int64_t to) {
  Dims dims;
  for (int64_t d = from; d < to; ++d) dims.push_back(d);
  return dims;
}
double count(Value x, const Dims& dims) {
  double n = 1;
  for (int64_t d : dims) n *= double(shape_of(x)[d]);
  return n;
}
Value mean_of(Builder& b, Value x, const Dims& dims) { return b.mul(b.sum(x, dims), 1 / count(x, dims)); }

struct Moments {
  Value mean, rstd, variance;
};
Moments moments(Builder& b, Value x, const Dims& dims, double eps) {
  Value mean = mean_of(b, x, dims);
  Value centred = b.sub(x, b.spread(mean, dims, shape_of(x)));
  Value var = mean_of(b, b.mul(centred, centred), dims);
  return {mean, b.rsqrt(b.add(var, eps)), var};
}

// Gradient of (x - mean) · rstd: rstd (g - mean(g) - x̂ mean(g x̂)), over `dims`.
Value normalised_gradient(Builder& b, Value g, Value x_hat, Value rstd, const Dims& dims) {
  auto mean = [&](Value v) { return b.spread(mean_of(b, v, dims), dims, shape_of(g)); };
  return b.mul(b.spread(rstd, dims, shape_of(g)), b.sub(b.sub(g, mean(g)), b.mul(x_hat, mean(b.mul(g, x_hat)))));
}

}  // namespace

Value _softmax(Builder& b, Value self, int64_t dim, bool half_to_float) {
  if (rank_of(self) == 0) return b.like(1, self);
  Value x = b.upcast(self);
  Dims dims{wrap(dim, rank_of(x))};
  Value e = b.exp(b.sub(x, b.spread(b.maximum(x, dims), dims, shape_of(x))));
  return b.as_result(b.div(e, b.spread(b.sum(e, dims), dims, shape_of(x))));
}
Value _softmax_backward_data(Builder& b, Value grad_output, Value output, int64_t dim, at::ScalarType input_dtype) {
  Value g = b.upcast(grad_output), y = b.upcast(output);
  if (rank_of(y) == 0) return b.as_result(b.like(0, y));
  Dims dims{wrap(dim, rank_of(y))};
  Value gy = b.mul(g, y);
  return b.as_result(b.sub(gy, b.mul(y, b.spread(b.sum(gy, dims), dims, shape_of(y)))));
}
Value _log_softmax(Builder& b, Value self, int64_t dim, bool half_to_float) {
  if (rank_of(self) == 0) return b.like(0, self);
  Value x = b.upcast(self);
  Dims dims{wrap(dim, rank_of(x))};
  Value shifted = b.sub(x, b.spread(b.maximum(x, dims), dims, shape_of(x)));
  return b.as_result(b.sub(shifted, b.spread(b.log(b.sum(b.exp(shifted), dims)), dims, shape_of(x))));
}
Value _log_softmax_backward_data(Builder& b, Value grad_output, Value output, int64_t dim, at::ScalarType input_dtype) {
  Value g = b.upcast(grad_output), y = b.upcast(output);
  if (rank_of(y) == 0) return b.as_result(b.like(0, y));
  Dims dims{wrap(dim, rank_of(y))};
  return b.as_result(b.sub(g, b.mul(b.exp(y), b.spread(b.sum(g, dims), dims, shape_of(y)))));
}

Values native_layer_norm(Builder& b, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value weight, Value bias, double eps) {
  Value x = b.upcast(input);
  int64_t rank = rank_of(x), first = rank - int64_t(normalized_shape.size());
  Dims dims = range(first, rank);
  auto [mean, rstd, variance] = moments(b, x, dims, eps);
  Value y = b.mul(b.sub(x, b.spread(mean, dims, shape_of(x))), b.spread(rstd, dims, shape_of(x)));
  if (weight) y = b.mul(y, b.broadcast(b.convert(weight, element_of(y)), shape_of(y)));
  if (bias) y = b.add(y, b.broadcast(b.convert(bias, element_of(y)), shape_of(y)));
  return {b.as_result(y, 0), b.as_result(mean, 1), b.as_result(rstd, 2)};
}
Values native_layer_norm_backward(Builder& b, Value grad_out, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value mean, Value rstd, Value weight,
                                  Value bias, const std::vector<bool>& output_mask) {
  Value g = b.upcast(grad_out), x = b.upcast(input);
  int64_t rank = rank_of(x), first = rank - int64_t(normalized_shape.size());
  Dims dims = range(first, rank), outer = range(0, first), outer_shape(shape_of(x).take_front(first));
  Value m = b.reshape(b.convert(mean, element_of(x)), outer_shape), r = b.reshape(b.convert(rstd, element_of(x)), outer_shape);
  Value x_hat = b.mul(b.sub(x, b.spread(m, dims, shape_of(x))), b.spread(r, dims, shape_of(x)));
  Values results(3);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, b.broadcast(b.convert(weight, element_of(g)), shape_of(g))) : g;
    results[0] = b.as_result(normalised_gradient(b, scaled, x_hat, r, dims), 0);
  }
  if (output_mask[1] && weight) results[1] = b.as_result(b.sum(b.mul(g, x_hat), outer), 1);
  if (output_mask[2] && bias) results[2] = b.as_result(b.sum(g, outer), 2);
  return results;
}

// Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019). Without `eps` it is the input type's own.
Values _fused_rms_norm(Builder& b, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value weight, std::optional<double> eps) {
  Value x = b.upcast(input);
  int64_t rank = rank_of(x), first = rank - int64_t(normalized_shape.size());
  Dims dims = range(first, rank);
  llvm::APFloat one = llvm::APFloat::getOne(mlir::cast<mlir::FloatType>(element_of(x)).getFloatSemantics()), above = one;
  above.next(false);
  double least = (above - one).convertToDouble();
  Value rstd = b.rsqrt(b.add(mean_of(b, b.mul(x, x), dims), eps.value_or(least)));
  Value y = b.mul(x, b.spread(rstd, dims, shape_of(x)));
  if (weight) y = b.mul(y, b.broadcast(b.convert(weight, element_of(y)), shape_of(y)));
  return {b.as_result(y, 0), b.as_result(rstd, 1)};
}
Values _fused_rms_norm_backward(Builder& b, Value grad_out, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value rstd, Value weight,
                                const std::vector<bool>& output_mask) {
  Value g = b.upcast(grad_out), x = b.upcast(input);
  int64_t rank = rank_of(x), first = rank - int64_t(normalized_shape.size());
  Dims dims = range(first, rank), outer = range(0, first), outer_shape(shape_of(x).take_front(first));
  Value r = b.spread(b.reshape(b.convert(rstd, element_of(x)), outer_shape), dims, shape_of(x)), x_hat = b.mul(x, r);
  Values results(2);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, b.broadcast(b.convert(weight, element_of(g)), shape_of(g))) : g;
    Value mean = b.spread(mean_of(b, b.mul(scaled, x_hat), dims), dims, shape_of(x));
    results[0] = b.as_result(b.mul(r, b.sub(scaled, b.mul(x_hat, mean))), 0);
  }
  if (output_mask[1] && weight) results[1] = b.as_result(b.sum(b.mul(g, x_hat), outer), 1);
  return results;
}

Values native_batch_norm(Builder& b, Value input, Value weight, Value bias, Value running_mean, Value running_var, bool training, double momentum, double eps) {
  Value x = b.upcast(input);
  Dims dims{0};
  for (int64_t d = 2; d < rank_of(x); ++d) dims.push_back(d);
  auto over = [&](Value channel) { return b.spread(b.convert(channel, element_of(x)), dims, shape_of(x)); };
  if (!training) {  // x · scale + shift, as eager computes it: both are known for each channel
    auto as_x = [&](Value channel) { return b.convert(channel, element_of(x)); };
    Value scale = b.rsqrt(b.add(as_x(running_var), eps));
    if (weight) scale = b.mul(as_x(weight), scale);
    Value shift = b.mul(as_x(running_mean), scale);
    shift = bias ? b.sub(as_x(bias), shift) : b.neg(shift);
    return {b.as_result(b.add(b.mul(x, over(scale)), over(shift)), 0), Value(), Value()};
  }
  auto [mean, rstd, variance] = moments(b, x, dims, eps);
  Value y = b.mul(b.sub(x, over(mean)), over(rstd));
  if (weight) y = b.mul(y, over(weight));
  if (bias) y = b.add(y, over(bias));
  Values results{b.as_result(y, 0), b.as_result(mean, 1), b.as_result(rstd, 2)};
  if (b.node.types().size() == 5) {
    // The running statistics after this batch; the variance there is the unbiased one.
    double n = count(x, dims);
    auto moved = [&](Value running, Value batch, size_t i) {
      Value r = b.convert(running, element_of(x));
      return b.as_result(b.add(b.mul(r, 1 - momentum), b.mul(batch, momentum)), i);
    };
    results.push_back(moved(running_mean, mean, 3));
    results.push_back(moved(running_var, b.mul(variance, n / (n - 1)), 4));
  }
  return results;
}
Values native_batch_norm_backward(Builder& b, Value grad_out, Value input, Value weight, Value running_mean, Value running_var, Value save_mean,
                                  Value save_invstd, bool train, double eps, const std::vector<bool>& output_mask) {
  Value g = b.upcast(grad_out), x = b.upcast(input);
  Dims dims{0};
  for (int64_t d = 2; d < rank_of(x); ++d) dims.push_back(d);
  Value mean = b.convert(train ? save_mean : running_mean, element_of(x));
  Value rstd = train ? b.convert(save_invstd, element_of(x)) : b.rsqrt(b.add(b.convert(running_var, element_of(x)), eps));
  Value x_hat = b.mul(b.sub(x, b.spread(mean, dims, shape_of(x))), b.spread(rstd, dims, shape_of(x)));
  Values results(3);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, b.spread(b.convert(weight, element_of(g)), dims, shape_of(g))) : g;
    results[0] = b.as_result(train ? normalised_gradient(b, scaled, x_hat, rstd, dims) : b.mul(scaled, b.spread(rstd, dims, shape_of(g))), 0);
  }
  if (output_mask[1]) results[1] = b.as_result(b.sum(b.mul(g, x_hat), dims), 1);
  if (output_mask[2]) results[2] = b.as_result(b.sum(g, dims), 2);
  return results;
}

// Groups of channels are rows: [N · groups, C / groups · HxW].
Values native_group_norm(Builder& b, Value input, Value weight, Value bias, int64_t n, int64_t c, int64_t hxw, int64_t group, double eps) {
  Value x = b.reshape(b.upcast(input), {n * group, c / group * hxw});
  auto [mean, rstd, variance] = moments(b, x, {1}, eps);
  Value y = b.mul(b.sub(x, b.spread(mean, {1}, shape_of(x))), b.spread(rstd, {1}, shape_of(x)));
  y = b.reshape(y, {n, c, hxw});
  if (weight) y = b.mul(y, b.broadcast(b.convert(weight, element_of(y)), {n, c, hxw}, {1}));
  if (bias) y = b.add(y, b.broadcast(b.convert(bias, element_of(y)), {n, c, hxw}, {1}));
  return {b.as_result(y, 0), b.as_result(mean, 1), b.as_result(rstd, 2)};
}
Values native_group_norm_backward(Builder& b, Value grad_out, Value input, Value mean, Value rstd, Value weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                                  const std::vector<bool>& output_mask) {
  Value x = b.reshape(b.upcast(input), {n * group, c / group * hxw}), g = b.reshape(b.upcast(grad_out), {n, c, hxw});
  Value r = b.reshape(b.convert(rstd, element_of(x)), {n * group}), m = b.reshape(b.convert(mean, element_of(x)), {n * group});
  Value x_hat = b.mul(b.sub(x, b.spread(m, {1}, shape_of(x))), b.spread(r, {1}, shape_of(x)));
  Values results(3);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, b.broadcast(b.convert(weight, element_of(g)), shape_of(g), {1})) : g;
    results[0] = b.as_result(normalised_gradient(b, b.reshape(scaled, shape_of(x)), x_hat, r, {1}), 0);
  }
  if (output_mask[1]) results[1] = b.as_result(b.sum(b.mul(g, b.reshape(x_hat, shape_of(g))), {0, 2}), 1);
  if (output_mask[2]) results[2] = b.as_result(b.sum(g, {0, 2}), 2);
  return results;
}

// As native_batch_norm, whose five results in training are these.
Values _native_batch_norm_legit_functional(Builder& b, Value input, Value weight, Value bias, Value running_mean, Value running_var, bool training,
                                           double momentum, double eps) {
  Values results = native_batch_norm(b, input, weight, bias, running_mean, running_var, training, momentum, eps);
  if (!training) results.append({running_mean, running_var});
  return results;
}

}  // namespace cresset::lowering::aten
