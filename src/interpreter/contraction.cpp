// dot_general, convolution and triangular_solve: products are summed up in double precision and rounded once.
#include <complex>

#include "interpreter/evaluator.h"
#include "interpreter/scalar.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The operand with elements of the type that the sum has.
Tensor widened(const Tensor& operand, Type to) {
  Tensor result = operand;
  if (!is_float(operand.element()) && !is_complex(operand.element()) && (is_float(to) || is_complex(to)))
    for (Number& v : result.values) v.re = double(v.i);
  return result;
}

// Elements that are multiplied by each other: how far they lie behind the first of their operands.
struct Term {
  int64_t lhs, rhs;
};

Number sum_of_products(const Number* lhs, const Number* rhs, ArrayRef<Term> terms, Type type) {
  Number sum;
  if (is_float(type))
    for (Term t : terms) sum.re += lhs[t.lhs].re * rhs[t.rhs].re;
  else
    for (Term t : terms) sum = add(sum, multiply(lhs[t.lhs], rhs[t.rhs], type), type);
  return canonical(sum, type);
}

Tensors dot_general(Evaluator& e, DotGeneralOp op) {
  Tensor result(type_of(op.getResult()));
  Tensor lhs = widened(e[op.getLhs()], result.element()), rhs = widened(e[op.getRhs()], result.element());
  auto n = op.getDotDimensionNumbers();
  auto l = computeStrides(lhs.shape()), r = computeStrides(rhs.shape());

  SmallVector<int64_t> sizes, l_contracting, r_contracting;
  for (auto [i, j] : llvm::zip_equal(n.getLhsContractingDimensions(), n.getRhsContractingDimensions()))
    sizes.push_back(lhs.shape()[i]), l_contracting.push_back(l[i]), r_contracting.push_back(r[j]);
  SmallVector<Term> terms;
  for_each_index(sizes, [&](const Indices& k) { terms.push_back({linearize(k, l_contracting), linearize(k, r_contracting)}); });

  // What a step along each dimension of the result is in the operands.
  SmallVector<int64_t> l_steps, r_steps;
  for (auto [i, j] : llvm::zip_equal(n.getLhsBatchingDimensions(), n.getRhsBatchingDimensions())) l_steps.push_back(l[i]), r_steps.push_back(r[j]);
  auto is_among = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b, int64_t d) { return llvm::is_contained(a, d) || llvm::is_contained(b, d); };
  for (int64_t d = 0; d < lhs.rank(); ++d)
    if (!is_among(n.getLhsBatchingDimensions(), n.getLhsContractingDimensions(), d)) l_steps.push_back(l[d]), r_steps.push_back(0);
  for (int64_t d = 0; d < rhs.rank(); ++d)
    if (!is_among(n.getRhsBatchingDimensions(), n.getRhsContractingDimensions(), d)) l_steps.push_back(0), r_steps.push_back(r[d]);

  auto next = result.values.begin();
  for_each_index(result.shape(), [&](const Indices& at) {
    *next++ = sum_of_products(lhs.values.data() + linearize(at, l_steps), rhs.values.data() + linearize(at, r_steps), terms, result.element());
  });
  return {std::move(result)};
}

// The terms of one place of the result, the same for all its batches and features. What lies in the padding or between dilated elements is none.
SmallVector<Term> terms_of_window(ConvolutionOp op, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs, const Indices& place) {
  auto n = op.getDimensionNumbers();
  size_t spatial = place.size();
  auto strides = values_or(op.getWindowStrides(), spatial, 1), base = values_or(op.getLhsDilation(), spatial, 1);
  auto dilations = values_or(op.getRhsDilation(), spatial, 1), low = low_padding(op.getPadding(), spatial);
  auto reversed = op.getWindowReversal();
  auto l = computeStrides(lhs), r = computeStrides(rhs);
  SmallVector<int64_t> window;
  for (int64_t d : n.getKernelSpatialDimensions()) window.push_back(rhs[d]);
  int64_t inputs = rhs[n.getKernelInputFeatureDimension()];

  SmallVector<Term> terms;
  for_each_index(window, [&](const Indices& k) {
    Term first{0, 0};
    for (size_t d = 0; d < spatial; ++d) {
      int64_t l_dim = n.getInputSpatialDimensions()[d], r_dim = n.getKernelSpatialDimensions()[d];
      int64_t dilated = place[d] * strides[d] + k[d] * dilations[d] - low[d];
      if (dilated < 0 || dilated % base[d] || dilated / base[d] >= lhs[l_dim]) return;
      first.lhs += dilated / base[d] * l[l_dim];
      first.rhs += (reversed && (*reversed)[d] ? window[d] - 1 - k[d] : k[d]) * r[r_dim];
    }
    for (int64_t i = 0; i < inputs; ++i)
      terms.push_back({first.lhs + i * l[n.getInputFeatureDimension()], first.rhs + i * r[n.getKernelInputFeatureDimension()]});
  });
  return terms;
}

Tensors convolution(Evaluator& e, ConvolutionOp op) {
  Tensor result(type_of(op.getResult()));
  Tensor lhs = widened(e[op.getLhs()], result.element()), rhs = widened(e[op.getRhs()], result.element());
  auto n = op.getDimensionNumbers();
  int64_t features = rhs.shape()[n.getKernelOutputFeatureDimension()], inputs = rhs.shape()[n.getKernelInputFeatureDimension()];
  int64_t feature_group = features / int64_t(op.getFeatureGroupCount()), batch_group = features / int64_t(op.getBatchGroupCount());
  int64_t batches = lhs.shape()[n.getInputBatchDimension()] / int64_t(op.getBatchGroupCount());
  auto l = computeStrides(lhs.shape()), r = computeStrides(rhs.shape());

  SmallVector<int64_t> places;
  for (int64_t d : n.getOutputSpatialDimensions()) places.push_back(result.shape()[d]);
  for_each_index(places, [&](const Indices& place) {
    auto terms = terms_of_window(op, lhs.shape(), rhs.shape(), place);
    Indices at(result.rank());
    for (auto [d, i] : llvm::zip_equal(n.getOutputSpatialDimensions(), place)) at[d] = i;
    for_each_index({result.shape()[n.getOutputBatchDimension()], features}, [&](const Indices& of) {
      int64_t batch = of[0] + of[1] / batch_group * batches, input = of[1] / feature_group * inputs;
      const Number* image = lhs.values.data() + batch * l[n.getInputBatchDimension()] + input * l[n.getInputFeatureDimension()];
      const Number* kernel = rhs.values.data() + of[1] * r[n.getKernelOutputFeatureDimension()];
      at[n.getOutputBatchDimension()] = of[0], at[n.getOutputFeatureDimension()] = of[1];
      result.at(at) = sum_of_products(image, kernel, terms, result.element());
    });
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
