// Reductions, of whole dimensions and of windows.
#include "interpreter/evaluator.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

Tensors elements(ArrayRef<Tensor> tensors, ArrayRef<int64_t> at) {
  Tensors result;
  for (const Tensor& t : tensors) result.emplace_back(t.at(at), t.element());
  return result;
}
// In the results' element types, which the body's are: promotion leaves an element's number as it is.
Tensors values_of(Evaluator& e, ValueRange values, Operation* op) {
  Tensors result;
  for (auto [v, to] : llvm::zip_equal(values, op->getResults())) {
    result.push_back(e[v]);
    result.back().type = result.back().type.clone(type_of(to).getElementType());
  }
  return result;
}
Tensors results_of(Operation* op, ArrayRef<Tensor> init) {
  Tensors results;
  for (auto [v, from] : llvm::zip_equal(op->getResults(), init)) {
    results.emplace_back(type_of(v));
    std::fill(results.back().values.begin(), results.back().values.end(), from.values[0]);
  }
  return results;
}
void store(MutableArrayRef<Tensor> tensors, ArrayRef<int64_t> at, ArrayRef<Tensor> values) {
  for (auto [t, v] : llvm::zip_equal(tensors, values)) t.at(at) = v.values[0];
}

Tensors reduce(Evaluator& e, ReduceOp op) {
  Tensors inputs = values_of(e, op.getInputs(), op), results = results_of(op, values_of(e, op.getInitValues(), op));
  for_each_index(inputs[0].shape(), [&](const Indices& at) {
    Indices to;
    for (size_t d = 0; d < at.size(); ++d)
      if (!llvm::is_contained(op.getDimensions(), int64_t(d))) to.push_back(at[d]);
    Tensors accumulators = elements(results, to);
    e.combine(op.getBody(), accumulators, elements(inputs, at));
    store(results, to, accumulators);
  });
  return results;
}

Tensors reduce_window(Evaluator& e, ReduceWindowOp op) {
  Tensors inputs = values_of(e, op.getInputs(), op), results = results_of(op, values_of(e, op.getInitValues(), op));
  size_t rank = inputs[0].rank();
  auto strides = values_or(op.getWindowStrides(), rank, 1), base = values_or(op.getBaseDilations(), rank, 1);
  auto dilations = values_or(op.getWindowDilations(), rank, 1), low = low_padding(op.getPadding(), rank);
  for_each_index(results[0].shape(), [&](const Indices& to) {
    Tensors accumulators = elements(results, to);
    for_each_index(op.getWindowDimensions(), [&](const Indices& inside) {
      Indices at;
      for (size_t d = 0; d < rank; ++d) {
        int64_t dilated = to[d] * strides[d] + inside[d] * dilations[d] - low[d];
        at.push_back(dilated % base[d] ? -1 : dilated / base[d]);
      }
      // Padding and holes are init values of the body too, by the specification.
      if (inputs[0].contains(at)) e.combine(op.getBody(), accumulators, elements(inputs, at));
      else e.combine(op.getBody(), accumulators, values_of(e, op.getInitValues(), op));
    });
    store(results, to, accumulators);
  });
  return results;
}

Tensors select_and_scatter(Evaluator& e, SelectAndScatterOp op) {
  const Tensor &operand = e[op.getOperand()], &source = e[op.getSource()];
  Tensors results = results_of(op, {e[op.getInitValue()]});
  size_t rank = operand.rank();
  auto dimensions = values_or(op.getWindowDimensions(), rank, 1), strides = values_or(op.getWindowStrides(), rank, 1), low = low_padding(op.getPadding(), rank);
  for_each_index(source.shape(), [&](const Indices& from) {
    std::optional<Indices> selected;
    for_each_index(dimensions, [&](const Indices& inside) {
      Indices at;
      for (size_t d = 0; d < rank; ++d) at.push_back(from[d] * strides[d] + inside[d] - low[d]);
      if (!operand.contains(at)) return;
      if (!selected || !e.holds(op.getSelect(), {Tensor(operand.at(*selected), operand.element()), Tensor(operand.at(at), operand.element())})) selected = at;
    });
    if (!selected) return;
    Tensors sum = elements(results, *selected);
    e.combine(op.getScatter(), sum, {Tensor(source.at(from), source.element())});
    store(results, *selected, sum);
  });
  return results;
}

}  // namespace

std::optional<Tensors> evaluate_reduction(Evaluator& e, Operation* op) {
  if (auto r = dyn_cast<ReduceOp>(op)) return reduce(e, r);
  if (auto r = dyn_cast<ReduceWindowOp>(op)) return reduce_window(e, r);
  if (auto s = dyn_cast<SelectAndScatterOp>(op)) return select_and_scatter(e, s);
  return std::nullopt;
}

}  // namespace cresset::interpreter
