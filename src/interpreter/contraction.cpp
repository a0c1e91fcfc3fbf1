// dot_general, convolution and triangular_solve: products are summed up in double precision and rounded once.
#include <complex>

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

Number quotient(Number a, Number b, Type type) {
  if (!is_complex(type)) return {a.re / b.re};
  auto q = std::complex(a.re, a.im) / std::complex(b.re, b.im);
  return {q.real(), q.imag()};
}

// Substitution in the order in which each row of the solution needs those before it alone.
Tensors triangular_solve(Evaluator& e, TriangularSolveOp op) {
  const Tensor &a = e[op.getA()], &b = e[op.getB()];
  Tensor result(type_of(op.getResult()));
  Type element = result.element();
  bool left = op.getLeftSide(), transposed = op.getTransposeA() != Transpose::NO_TRANSPOSE;
  // With the unknown on the left, its rows are solved for with the transposed matrix.
  bool first_to_last = (op.getLower() != transposed) == left;
  int64_t size = a.shape().back(), row_dim = a.rank() - (left ? 2 : 1);
  SmallVector<int64_t> systems(b.shape());
  systems[row_dim] = 1;
  for_each_index(systems, [&](Indices at) {
    auto coefficient = [&](int64_t i, int64_t j) {
      Indices place(at);
      place[a.rank() - 2] = transposed == left ? j : i, place[a.rank() - 1] = transposed == left ? i : j;
      Number v = a.at(place);
      if (op.getTransposeA() == Transpose::ADJOINT) v.im = -v.im;
      return v;
    };
    auto place = [&](int64_t i) { return at[row_dim] = i, ArrayRef<int64_t>(at); };
    for (int64_t step = 0; step < size; ++step) {
      auto row = [&](int64_t k) { return first_to_last ? k : size - 1 - k; };
      Number sum = b.at(place(row(step)));
      for (int64_t k = 0; k < step; ++k) {
        Number term = multiply(coefficient(row(step), row(k)), result.at(place(row(k))), element);
        sum.re -= term.re, sum.im -= term.im;
      }
      if (!op.getUnitDiagonal()) sum = quotient(sum, coefficient(row(step), row(step)), element);
      result.at(place(row(step))) = canonical(sum, element);
    }
  });
  return {std::move(result)};
}

}  // namespace

std::optional<Tensors> evaluate_contraction(Evaluator& e, Operation* op) {
  if (auto dot = dyn_cast<DotGeneralOp>(op)) return dot_general(e, dot);
  if (auto conv = dyn_cast<ConvolutionOp>(op)) return convolution(e, conv);
  if (auto solve = dyn_cast<TriangularSolveOp>(op)) return triangular_solve(e, solve);
  return std::nullopt;
}

}  // namespace cresset::interpreter
