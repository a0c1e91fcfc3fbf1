// dot_general and convolution: products are summed up in double precision and rounded once.
#include "interpreter/evaluator.h"
#include "interpreter/scalar.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// An operand's element in the type that the sum has.
Number widened(Number v, Type from, Type to) {
  if (!is_float(from) && !is_complex(from) && (is_float(to) || is_complex(to))) v.re = double(v.i);
  return v;
}

Tensors dot_general(Evaluator& e, DotGeneralOp op) {
  const Tensor &lhs = e[op.getLhs()], &rhs = e[op.getRhs()];
  Tensor result(type_of(op.getResult()));
  auto n = op.getDotDimensionNumbers();
  SmallVector<int64_t> sizes;
  for (int64_t d : n.getLhsContractingDimensions()) sizes.push_back(lhs.shape()[d]);
  for_each_index(result.shape(), [&](const Indices& at) {
    Indices l(lhs.rank()), r(rhs.rank());
    size_t next = 0;
    auto place = [&](Indices& indices, ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
      for (auto [k, d] : llvm::enumerate(batching)) indices[d] = at[k];
      if (next == 0) next = batching.size();
      for (size_t d = 0; d < indices.size(); ++d)
        if (!llvm::is_contained(batching, int64_t(d)) && !llvm::is_contained(contracting, int64_t(d))) indices[d] = at[next++];
    };
    place(l, n.getLhsBatchingDimensions(), n.getLhsContractingDimensions());
    place(r, n.getRhsBatchingDimensions(), n.getRhsContractingDimensions());
    Number sum;
    for_each_index(sizes, [&](const Indices& k) {
      for (auto [i, d] : llvm::enumerate(n.getLhsContractingDimensions())) l[d] = k[i];
      for (auto [i, d] : llvm::enumerate(n.getRhsContractingDimensions())) r[d] = k[i];
      sum = add(sum, multiply(widened(lhs.at(l), lhs.element(), result.element()), widened(rhs.at(r), rhs.element(), result.element()), result.element()), result.element());
    });
    result.at(at) = canonical(sum, result.element());
  });
  return {std::move(result)};
}

Tensors convolution(Evaluator& e, ConvolutionOp op) {
  const Tensor &lhs = e[op.getLhs()], &rhs = e[op.getRhs()];
  Tensor result(type_of(op.getResult()));
  Type element = result.element();
  auto n = op.getDimensionNumbers();
  size_t spatial = n.getInputSpatialDimensions().size();
  auto strides = values_or(op.getWindowStrides(), spatial, 1), base = values_or(op.getLhsDilation(), spatial, 1);
  auto dilations = values_or(op.getRhsDilation(), spatial, 1), low = low_padding(op.getPadding(), spatial);
  int64_t features = rhs.shape()[n.getKernelOutputFeatureDimension()], inputs = rhs.shape()[n.getKernelInputFeatureDimension()];
  int64_t feature_group = features / int64_t(op.getFeatureGroupCount()), batch_group = features / int64_t(op.getBatchGroupCount());
  int64_t batches = lhs.shape()[n.getInputBatchDimension()] / int64_t(op.getBatchGroupCount());
  SmallVector<int64_t> kernel;
  for (int64_t d : n.getKernelSpatialDimensions()) kernel.push_back(rhs.shape()[d]);
  kernel.push_back(inputs);
  for_each_index(result.shape(), [&](const Indices& at) {
    int64_t feature = at[n.getOutputFeatureDimension()];
    Number sum;
    for_each_index(kernel, [&](const Indices& k) {
      Indices l(lhs.rank()), r(rhs.rank());
      for (size_t d = 0; d < spatial; ++d) {
        int64_t dilated = at[n.getOutputSpatialDimensions()[d]] * strides[d] + k[d] * dilations[d] - low[d];
        l[n.getInputSpatialDimensions()[d]] = dilated % base[d] ? -1 : dilated / base[d];
        bool reversed = op.getWindowReversal() && (*op.getWindowReversal())[d];
        r[n.getKernelSpatialDimensions()[d]] = reversed ? kernel[d] - 1 - k[d] : k[d];
      }
      l[n.getInputBatchDimension()] = at[n.getOutputBatchDimension()] + (op.getBatchGroupCount() > 1 ? feature / batch_group * batches : 0);
      l[n.getInputFeatureDimension()] = feature / feature_group * inputs + k[spatial];
      r[n.getKernelInputFeatureDimension()] = k[spatial];
      r[n.getKernelOutputFeatureDimension()] = feature;
      if (lhs.contains(l)) sum = add(sum, multiply(widened(lhs.at(l), lhs.element(), element), widened(rhs.at(r), rhs.element(), element), element), element);
    });
    result.at(at) = canonical(sum, element);
  });
  return {std::move(result)};
}

}  // namespace

std::optional<Tensors> evaluate_contraction(Evaluator& e, Operation* op) {
  if (auto dot = dyn_cast<DotGeneralOp>(op)) return dot_general(e, dot);
  if (auto conv = dyn_cast<ConvolutionOp>(op)) return convolution(e, conv);
  return std::nullopt;
}

}  // namespace cresset::interpreter
