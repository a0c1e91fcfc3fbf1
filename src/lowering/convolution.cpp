// Convolution of any rank, forward and backward. Both gradients are convolutions again: of the gradient with the flipped
// kernel, and of the input with the gradient, batch and features exchanged.
#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

struct Geometry {
  Dims stride, padding, dilation;
  int64_t groups;
};

Geometry geometry(Value x, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation, int64_t groups) {
  size_t spatial = size_t(rank_of(x) - 2);
  auto full = [&](llvm::ArrayRef<int64_t> v) { return v.size() == 1 ? Dims(spatial, v[0]) : Dims(v); };
  return {full(stride), full(padding), full(dilation), groups};
}

Value convolve(Builder& b, Value x, Value kernel, llvm::ArrayRef<int64_t> shape, const Dims& stride, const Dims& pads, const Dims& lhs_dilation,
               const Dims& rhs_dilation, int64_t groups, int64_t batch_groups, bool exchanged) {
  Dims spatial;
  for (int64_t d = 2; d < rank_of(x); ++d) spatial.push_back(d);
  // Exchanged: the input's features count as its batch, the kernel's (the gradient's) batch as its input features.
  auto dims = exchanged ? hlo::ConvDimensionNumbersAttr::get(b.ops.getContext(), 1, 0, spatial, 0, 1, spatial, 1, 0, spatial)
                        : hlo::ConvDimensionNumbersAttr::get(b.ops.getContext(), 0, 1, spatial, 1, 0, spatial, 0, 1, spatial);
  auto padding = mlir::DenseIntElementsAttr::get(mlir::RankedTensorType::get({int64_t(spatial.size()), 2}, b.ops.getI64Type()), llvm::ArrayRef<int64_t>(pads));
  return b.create<hlo::ConvolutionOp>(mlir::RankedTensorType::get(shape, element_of(x)), x, kernel, b.ops.getDenseI64ArrayAttr(stride), padding,
                                      b.ops.getDenseI64ArrayAttr(lhs_dilation), b.ops.getDenseI64ArrayAttr(rhs_dilation), mlir::DenseBoolArrayAttr(), dims,
                                      b.ops.getI64IntegerAttr(groups), b.ops.getI64IntegerAttr(batch_groups), mlir::ArrayAttr());
}

Value forward(Builder& b, Value x, Value w, llvm::ArrayRef<int64_t> shape, const Geometry& g) {
  Dims ones(g.stride.size(), 1), pads;
  for (size_t d = 0; d < g.padding.size(); ++d) {
    // The gradient of a transposed convolution whose output was padded has room for more windows than are wanted.
    int64_t p = g.padding[d], in = shape_of(x)[d + 2], reach = g.dilation[d] * (shape_of(w)[d + 2] - 1) + 1;
    int64_t windows = (in + 2 * p - reach) / g.stride[d] + 1;
    pads.append({p, windows == shape[d + 2] ? p : (shape[d + 2] - 1) * g.stride[d] + reach - in - p});
  }
  return convolve(b, x, w, shape, g.stride, pads, ones, g.dilation, g.groups, 1, false);
}

// What `forward` with the same kernel makes of the input, turned back: [N, O, out] and [O, C/g, k] to [N, C, in].
Value input_gradient(Builder& b, Value grad, Value w, llvm::ArrayRef<int64_t> shape, const Geometry& g) {
  int64_t o = shape_of(w)[0], c = shape_of(w)[1];
  Dims kernel(shape_of(w).drop_front(2)), exchanged{1, 0}, split{g.groups, o / g.groups, c}, order{0, 2, 1}, joined{g.groups * c, o / g.groups}, flipped, pads, ones(kernel.size(), 1);
  for (size_t d = 0; d < kernel.size(); ++d) {
    exchanged.push_back(int64_t(d) + 2);
    split.push_back(kernel[d]);
    order.push_back(int64_t(d) + 3);
    joined.push_back(kernel[d]);
    flipped.push_back(int64_t(d) + 2);
    int64_t reach = g.dilation[d] * (kernel[d] - 1), low = reach - g.padding[d];
    pads.append({low, shape[d + 2] - ((shape_of(grad)[d + 2] - 1) * g.stride[d] + 1) - low + reach});
  }
  Value turned = g.groups == 1 ? b.transpose(w, exchanged) : b.reshape(b.transpose(b.reshape(w, split), order), joined);
  turned = b.create<hlo::ReverseOp>(turned.getType(), turned, b.ops.getDenseI64ArrayAttr(flipped));
  return convolve(b, grad, turned, shape, ones, pads, g.stride, g.dilation, g.groups, 1, false);
}

Value weight_gradient(Builder& b, Value grad, Value x, llvm::ArrayRef<int64_t> shape, const Geometry& g) {
  Dims pads, ones(g.stride.size(), 1);
  for (size_t d = 0; d < g.stride.size(); ++d) {
    int64_t needed = g.dilation[d] * (shape[d + 2] - 1) + g.stride[d] * (shape_of(grad)[d + 2] - 1) + 1;
    pads.append({g.padding[d], needed - shape_of(x)[d + 2] - g.padding[d]});
  }
  return convolve(b, x, grad, shape, g.dilation, pads, ones, g.stride, 1, g.groups, true);
}

}  // namespace

Value convolution_overrideable(Builder& b, Value input, Value weight, Value bias, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
                               llvm::ArrayRef<int64_t> dilation, bool transposed, llvm::ArrayRef<int64_t> output_padding, int64_t groups) {
  Geometry g = geometry(input, stride, padding, dilation, groups);
  Value y = transposed ? input_gradient(b, input, weight, b.result_shape(), g) : forward(b, input, weight, b.result_shape(), g);
  return bias ? elementwise(b, [&](Value p, Value v) { return b.add(p, v); }, y, b.broadcast(bias, shape_of(y), {1})) : y;
}

Values convolution_backward_overrideable(Builder& b, Value grad_output, Value input, Value weight, llvm::ArrayRef<int64_t> stride,
                                         llvm::ArrayRef<int64_t> padding, llvm::ArrayRef<int64_t> dilation, bool transposed,
                                         llvm::ArrayRef<int64_t> output_padding, int64_t groups, const std::vector<bool>& output_mask) {
  Geometry g = geometry(input, stride, padding, dilation, groups);
  Values results(3);
  if (output_mask[0])
    results[0] = transposed ? forward(b, grad_output, weight, shape_of(input), g) : input_gradient(b, grad_output, weight, shape_of(input), g);
  if (output_mask[1])
    results[1] = transposed ? weight_gradient(b, input, grad_output, shape_of(weight), g) : weight_gradient(b, grad_output, input, shape_of(weight), g);
  if (output_mask[2]) {
    Dims dims{0};
    for (int64_t d = 2; d < rank_of(grad_output); ++d) dims.push_back(d);
    results[2] = b.sum(grad_output, dims);
  }
  return results;
}

}  // namespace cresset::lowering::aten
