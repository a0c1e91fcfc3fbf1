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

// With the dimensions from this one on as one.
Value with_rows(Builder& b, Value v, int64_t first) {
  Dims shape(shape_of(v).take_front(first));
  shape.push_back(int64_t(count(v, range(first, rank_of(v)))));
  return b.reshape(v, shape);
}

// Each row of x has this, a norm's weight or bias.
Value over_rows(Builder& b, Value v, Value x) { return b.broadcast(with_rows(b, b.convert(v, element_of(x)), 0), shape_of(x)); }

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
  if (rank_of(self) == 0) return b.add(b.sub(self, self), b.like(1, self));  // nan of what is no number
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
  if (rank_of(self) == 0) return b.sub(self, self);
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
  int64_t first = rank_of(input) - int64_t(normalized_shape.size());
  Value x = with_rows(b, b.upcast(input), first);
  auto [mean, rstd, variance] = moments(b, x, {first}, eps);
  Value y = b.mul(b.sub(x, b.spread(mean, {first}, shape_of(x))), b.spread(rstd, {first}, shape_of(x)));
  if (weight) y = b.mul(y, over_rows(b, weight, y));
  if (bias) y = b.add(y, over_rows(b, bias, y));
  return {b.as_result(y, 0), b.as_result(mean, 1), b.as_result(rstd, 2)};
}
Values native_layer_norm_backward(Builder& b, Value grad_out, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value mean, Value rstd, Value weight,
                                  Value bias, const std::vector<bool>& output_mask) {
  int64_t first = rank_of(input) - int64_t(normalized_shape.size());
  Value g = with_rows(b, b.upcast(grad_out), first), x = with_rows(b, b.upcast(input), first);
  Dims dims{first}, outer = range(0, first), outer_shape(shape_of(x).take_front(first));
  Value m = b.reshape(b.convert(mean, element_of(x)), outer_shape), r = b.reshape(b.convert(rstd, element_of(x)), outer_shape);
  Value x_hat = b.mul(b.sub(x, b.spread(m, dims, shape_of(x))), b.spread(r, dims, shape_of(x)));
  Values results(3);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, over_rows(b, weight, g)) : g;
    results[0] = b.as_result(normalised_gradient(b, scaled, x_hat, r, dims), 0);
  }
  if (output_mask[1] && weight) results[1] = b.as_result(b.sum(b.mul(g, x_hat), outer), 1);
  if (output_mask[2] && bias) results[2] = b.as_result(b.sum(g, outer), 2);
  return results;
}

// Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019). Without `eps` it is the input type's own.
Values _fused_rms_norm(Builder& b, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value weight, std::optional<double> eps) {
  int64_t first = rank_of(input) - int64_t(normalized_shape.size());
  Value x = with_rows(b, b.upcast(input), first);
  llvm::APFloat one = llvm::APFloat::getOne(mlir::cast<mlir::FloatType>(element_of(x)).getFloatSemantics()), above = one;
  above.next(false);
  double least = (above - one).convertToDouble();
  Value rstd = b.rsqrt(b.add(mean_of(b, b.mul(x, x), {first}), eps.value_or(least)));
  Value y = b.mul(x, b.spread(rstd, {first}, shape_of(x)));
  if (weight) y = b.mul(y, over_rows(b, weight, y));
  return {b.as_result(y, 0), b.as_result(rstd, 1)};
}
Values _fused_rms_norm_backward(Builder& b, Value grad_out, Value input, llvm::ArrayRef<int64_t> normalized_shape, Value rstd, Value weight,
                                const std::vector<bool>& output_mask) {
  int64_t first = rank_of(input) - int64_t(normalized_shape.size());
  Value g = with_rows(b, b.upcast(grad_out), first), x = with_rows(b, b.upcast(input), first);
  Dims dims{first}, outer = range(0, first), outer_shape(shape_of(x).take_front(first));
  Value r = b.spread(b.reshape(b.convert(rstd, element_of(x)), outer_shape), dims, shape_of(x)), x_hat = b.mul(x, r);
  Values results(2);
  if (output_mask[0]) {
    Value scaled = weight ? b.mul(g, over_rows(b, weight, g)) : g;
    Value mean = b.spread(mean_of(b, b.mul(scaled, x_hat), dims), dims, shape_of(x));
    results[0] = b.as_result(b.mul(r, b.sub(scaled, b.mul(x_hat, mean))), 0);
  }
  if (output_mask[1] && weight) results[1] = b.as_result(b.sum(b.mul(g, x_hat), outer), 1);
  return results;
}

namespace {

// A channel's dimensions, [N, C, …] but the second, and those of one plane of it.
Dims of_plane(Value v) { return range(2, rank_of(v)); }
Dims of_channel(Value v) {
  Dims dims = of_plane(v);
  dims.insert(dims.begin(), 0);
  return dims;
}
// Whether planes are so large that what each sums up to is worth a place of its own: then one kernel reads it once for several sums.
bool has_large_planes(Value v) { return count(v, of_plane(v)) >= 64; }

// Statistics of a channel from those of its planes: by Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979.
Moments moments_of_channels(Builder& b, Value x, double eps) {
  if (!has_large_planes(x)) return moments(b, x, of_channel(x), eps);
  Dims plane = of_plane(x);
  Value means = mean_of(b, x, plane), centred = b.sub(x, b.spread(means, plane, shape_of(x))), squares = b.sum(b.mul(centred, centred), plane);
  Value mean = mean_of(b, means, {0}), apart = b.sub(means, b.spread(mean, {0}, shape_of(means)));
  Value var = b.mul(b.add(b.sum(squares, {0}), b.mul(b.sum(b.mul(apart, apart), {0}), count(x, plane))), 1 / count(x, of_channel(x)));
  return {mean, b.rsqrt(b.add(var, eps)), var};
}

// The sums of planes come before those of channels, so that one kernel can compute them.
std::pair<Value, Value> sums_of_channels(Builder& b, Value v, Value w) {
  if (!has_large_planes(v)) return {b.sum(v, of_channel(v)), b.sum(w, of_channel(w))};
  v = b.sum(v, of_plane(v)), w = b.sum(w, of_plane(w));
  return {b.sum(v, {0}), b.sum(w, {0})};
}

}  // namespace

Values native_batch_norm(Builder& b, Value input, Value weight, Value bias, Value running_mean, Value running_var, bool training, double momentum, double eps) {
  Value x = b.upcast(input);
  Dims dims = of_channel(x);
  auto over = [&](Value channel) { return b.spread(b.convert(channel, element_of(x)), dims, shape_of(x)); };
  if (!training) {  // x · scale + shift, as eager computes it: both are known for each channel
    auto as_x = [&](Value channel) { return b.convert(channel, element_of(x)); };
    Value scale = b.rsqrt(b.add(as_x(running_var), eps));
    if (weight) scale = b.mul(as_x(weight), scale);
    Value shift = b.mul(as_x(running_mean), scale);
    shift = bias ? b.sub(as_x(bias), shift) : b.neg(shift);
    return {b.as_result(b.add(b.mul(x, over(scale)), over(shift)), 0), Value(), Value()};
  }
  auto [mean, rstd, variance] = moments_of_channels(b, x, eps);
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
// In training mean(g · weight) = weight · sum(g) / n for the n elements of a channel, likewise mean(g · weight · x̂): two sums serve all three gradients.
Values native_batch_norm_backward(Builder& b, Value grad_out, Value input, Value weight, Value running_mean, Value running_var, Value save_mean,
                                  Value save_invstd, bool train, double eps, const std::vector<bool>& output_mask) {
  Value g = b.upcast(grad_out), x = b.upcast(input);
  Dims dims = of_channel(x);
  auto over = [&](Value channel) { return b.spread(b.convert(channel, element_of(x)), dims, shape_of(x)); };
  Value mean = train ? save_mean : running_mean, rstd = train ? b.convert(save_invstd, element_of(x)) : b.rsqrt(b.add(b.convert(running_var, element_of(x)), eps));
  Value x_hat = b.mul(b.sub(x, over(mean)), over(rstd));
  auto [of_g, of_product] = sums_of_channels(b, g, b.mul(g, x_hat));
  Values results(3);
  if (output_mask[0]) {
    auto mean_over = [&](Value sum) { return over(b.mul(sum, 1 / count(x, dims))); };
    Value scale = weight ? b.mul(b.convert(weight, element_of(x)), rstd) : rstd, centred = train ? b.sub(b.sub(g, mean_over(of_g)), b.mul(x_hat, mean_over(of_product))) : g;
    results[0] = b.as_result(b.mul(centred, over(scale)), 0);
  }
  if (output_mask[1]) results[1] = b.as_result(of_product, 1);
  if (output_mask[2]) results[2] = b.as_result(of_g, 2);
  return results;
}

namespace {

// Groups of channels are rows: [N · groups, C / groups, HxW], or [N · groups, HxW] of one channel each.
struct Groups {
  Groups(int64_t n, int64_t c, int64_t hxw, int64_t group) : n(n), group(group), channels(c / group), hxw(hxw) {
    shape = channels == 1 ? Dims{n * group, hxw} : Dims{n * group, channels, hxw};
    dims = range(1, int64_t(shape.size()));
  }
  // [N · groups, C / groups] of what each channel has.
  Value of_channels(Builder& b, Value v) const {
    v = b.reshape(v, {group, channels});
    return n == 1 ? v : b.reshape(b.broadcast(v, {n, group, channels}, {1, 2}), {n * group, channels});
  }
  // The same for all elements of the channel.
  Value over_channels(Builder& b, Value v) const {
    v = of_channels(b, v);
    return channels == 1 ? b.broadcast(b.reshape(v, {n * group}), shape, {0}) : b.broadcast(v, shape, {0, 1});
  }
  int64_t n, group, channels, hxw;
  Dims shape, dims;
};

}  // namespace

Values native_group_norm(Builder& b, Value input, Value weight, Value bias, int64_t n, int64_t c, int64_t hxw, int64_t group, double eps) {
  Groups groups(n, c, hxw, group);
  Value x = b.reshape(b.upcast(input), groups.shape);
  auto [mean, rstd, variance] = moments(b, x, groups.dims, eps);
  Value y = b.mul(b.sub(x, b.spread(mean, groups.dims, groups.shape)), b.spread(rstd, groups.dims, groups.shape));
  if (weight) y = b.mul(y, groups.over_channels(b, b.convert(weight, element_of(y))));
  if (bias) y = b.add(y, groups.over_channels(b, b.convert(bias, element_of(y))));
  return {b.as_result(y, 0), b.as_result(mean, 1), b.as_result(rstd, 2)};
}
// With g' and x' the sums over HxW of g and of g · x̂ for each channel, of which weight and bias have their gradients: mean(g · weight) = sum(g' · weight) / D for a group of D elements,
// likewise mean(g · weight · x̂). So the arrays are read once for all sums, and once more for the input's gradient.
Values native_group_norm_backward(Builder& b, Value grad_out, Value input, Value mean, Value rstd, Value weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                                  const std::vector<bool>& output_mask) {
  Groups groups(n, c, hxw, group);
  Value x = b.reshape(b.upcast(input), groups.shape), g = b.reshape(b.upcast(grad_out), groups.shape);
  auto of_groups = [&](Value v) { return b.reshape(b.convert(v, element_of(x)), {n * group}); };
  Value r = of_groups(rstd), w = weight ? groups.over_channels(b, b.convert(weight, element_of(x))) : Value();
  Value x_hat = b.mul(b.sub(x, b.spread(of_groups(mean), groups.dims, groups.shape)), b.spread(r, groups.dims, groups.shape));
  Value scaled = w ? b.mul(g, w) : g;
  Values results(3);
  if (!output_mask[1] && !output_mask[2]) return results[0] = b.as_result(normalised_gradient(b, scaled, x_hat, r, groups.dims), 0), results;
  auto sums = [&](Value v) { return b.reshape(b.sum(v, {int64_t(groups.shape.size()) - 1}), {n * group, groups.channels}); };
  Value of_g = sums(g), of_product = sums(b.mul(g, x_hat));
  if (output_mask[0]) {
    auto mean_of_scaled = [&](Value sums) {
      if (weight) sums = b.mul(sums, groups.of_channels(b, b.convert(weight, element_of(x))));
      return b.spread(b.mul(b.sum(sums, {1}), 1.0 / double(groups.channels * hxw)), groups.dims, groups.shape);
    };
    results[0] = b.as_result(b.mul(b.spread(r, groups.dims, groups.shape), b.sub(b.sub(scaled, mean_of_scaled(of_g)), b.mul(x_hat, mean_of_scaled(of_product)))), 0);
  }
  if (output_mask[1]) results[1] = b.as_result(b.sum(b.reshape(of_product, {n, c}), {0}), 1);
  if (output_mask[2]) results[2] = b.as_result(b.sum(b.reshape(of_g, {n, c}), {0}), 2);
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
