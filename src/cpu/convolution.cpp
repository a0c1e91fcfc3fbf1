// Convolution as an implicit matrix product: for each image and group, C[features, positions] = W[features, window] ·
// X[window, positions], where the panel of X is gathered from the (padded, dilated) input while it is packed.
#include <numeric>

#include "cpu/matmul.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

llvm::Error emit_convolution(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<ConvolutionOp>(c.fusion.product);
  auto dims = op.getDimensionNumbers();
  auto input = cast<RankedTensorType>(op.getLhs().getType()), kernel = cast<RankedTensorType>(op.getRhs().getType());
  auto output = cast<RankedTensorType>(op.getType());
  auto strides_of = [](RankedTensorType t) {
    SmallVector<int64_t> s(t.getRank(), 1);
    for (int64_t d = t.getRank() - 2; d >= 0; --d) s[d] = s[d + 1] * t.getDimSize(d + 1);
    return s;
  };
  auto is = strides_of(input), ks = strides_of(kernel), os = strides_of(output);
  size_t spatial = dims.getInputSpatialDimensions().size();
  auto or_ones = [&](std::optional<ArrayRef<int64_t>> a) { return a ? SmallVector<int64_t>(*a) : SmallVector<int64_t>(spatial, 1); };
  auto window_stride = or_ones(op.getWindowStrides()), base_dilation = or_ones(op.getLhsDilation()), window_dilation = or_ones(op.getRhsDilation());
  SmallVector<int64_t> low(spatial, 0);
  if (auto padding = op.getPadding())
    for (auto [i, p] : llvm::enumerate(padding->getValues<int64_t>()))
      if (i % 2 == 0) low[i / 2] = p;
  SmallVector<bool> reversed(spatial, false);
  if (auto r = op.getWindowReversal()) reversed.assign(r->begin(), r->end());

  int64_t groups = op.getFeatureGroupCount(), batch_groups = op.getBatchGroupCount();
  int64_t images = input.getDimSize(dims.getInputBatchDimension()) / batch_groups;
  int64_t in_features = kernel.getDimSize(dims.getKernelInputFeatureDimension());
  int64_t all_features = kernel.getDimSize(dims.getKernelOutputFeatureDimension());
  int64_t parts = groups * batch_groups, features = all_features / parts;
  SmallVector<int64_t> window{in_features}, positions;
  for (int64_t d : dims.getKernelSpatialDimensions()) window.push_back(kernel.getDimSize(d));
  for (int64_t d : dims.getOutputSpatialDimensions()) positions.push_back(output.getDimSize(d));
  auto product = [](ArrayRef<int64_t> n) { return std::accumulate(n.begin(), n.end(), int64_t(1), std::multiplies<>()); };

  MatmulSpec spec;
  spec.batch = images * parts;
  spec.m = features, spec.n = product(positions), spec.k = product(window);
  spec.a_type = kernel.getElementType(), spec.b_type = input.getElementType(), spec.type = output.getElementType();
  spec.a = c.buffer(op.getRhs()), spec.b = c.buffer(op.getLhs());

  auto split = [&](IR batch) { return std::pair(b.CreateUDiv(batch, k.i64(parts)), b.CreateURem(batch, k.i64(parts))); };  // image, part
  auto last_of = [&](ArrayRef<int64_t> strides, ArrayRef<int64_t> order) {  // whether the order of dims is dense in memory
    return strides[order.back()] == 1;
  };
  // W: output features by (input feature, window).
  spec.a_offset = [&](IR batch, IR m, IR kk) {
    auto [image, part] = split(batch);
    IR feature = k.add(k.mul(part, features), m);
    auto at = delinearise(k, window, kk);
    IR offset = k.add(k.mul(feature, ks[dims.getKernelOutputFeatureDimension()]), k.mul(at[0].base, ks[dims.getKernelInputFeatureDimension()]));
    for (size_t d = 0; d < spatial; ++d) {
      IR i = at[d + 1].base;
      if (reversed[d]) i = b.CreateSub(k.i64(window[d + 1] - 1), i);
      offset = k.add(offset, k.mul(i, ks[dims.getKernelSpatialDimensions()[d]]));
    }
    return offset;
  };
  SmallVector<int64_t> kernel_order{dims.getKernelOutputFeatureDimension(), dims.getKernelInputFeatureDimension()};
  kernel_order.append(dims.getKernelSpatialDimensions().begin(), dims.getKernelSpatialDimensions().end());
  bool kernel_dense = llvm::is_sorted(kernel_order) && llvm::none_of(reversed, [](bool r) { return r; });
  spec.a_unit_k = kernel_dense && last_of(ks, kernel_order);

  spec.b_element = [&](IR batch, IR kk, IR n) -> IR {
    auto [image, part] = split(batch);
    auto in_window = delinearise(k, window, kk), position = delinearise(k, positions, n);
    IR feature = in_window[0].base;
    if (groups > 1) feature = k.add(k.mul(part, in_features), feature);
    if (batch_groups > 1) image = k.add(k.mul(part, images), image);
    IR offset = k.add(k.mul(image, is[dims.getInputBatchDimension()]), k.mul(feature, is[dims.getInputFeatureDimension()]));
    IR inside = b.getTrue();
    for (size_t d = 0; d < spatial; ++d) {
      int64_t size = input.getDimSize(dims.getInputSpatialDimensions()[d]);
      IR i = k.add(k.mul(position[d].base, window_stride[d]), k.mul(in_window[d + 1].base, window_dilation[d]));
      i = k.add(i, k.i64(-low[d]));
      inside = b.CreateAnd(inside, b.CreateICmpSGE(i, k.i64(0)));
      if (base_dilation[d] > 1) {
        inside = b.CreateAnd(inside, b.CreateICmpEQ(b.CreateSRem(i, k.i64(base_dilation[d])), k.i64(0)));
        i = b.CreateSDiv(i, k.i64(base_dilation[d]));
      }
      inside = b.CreateAnd(inside, b.CreateICmpSLT(i, k.i64(size)));
      offset = k.add(offset, k.mul(b.CreateSelect(inside, i, k.i64(0)), is[dims.getInputSpatialDimensions()[d]]));
    }
    // Outside the image the element at a valid place is read and thrown away.
    IR v = k.load(input.getElementType(), spec.b, b.CreateSelect(inside, offset, k.i64(0)), 1);
    return b.CreateSelect(inside, v, llvm::Constant::getNullValue(v->getType()));
  };
  spec.store_vectors = product_shape(op).has_value();
  spec.store = [&](IR batch, IR m, IR n, IR sum, int lanes) {
    if (spec.store_vectors) return emit_epilogue(c, k.add(k.mul(batch, features), m), n, sum, lanes);
    auto [image, part] = split(batch);
    IR offset = k.add(k.mul(image, os[dims.getOutputBatchDimension()]), k.mul(k.add(k.mul(part, features), m), os[dims.getOutputFeatureDimension()]));
    for (auto [i, d] : llvm::zip(delinearise(k, positions, n), dims.getOutputSpatialDimensions())) offset = k.add(offset, k.mul(i.base, os[d]));
    k.store(spec.type, sum, c.buffer(op.getResult()), offset, lanes);
  };
  spec.streams = epilogue_streams(c.fusion);
  emit_matmul(c, spec);
  return llvm::Error::success();
}

}  // namespace cresset::cpu
