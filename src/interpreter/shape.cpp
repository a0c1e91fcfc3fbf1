// Constants and what moves elements about.
#include "interpreter/evaluator.h"
#include "llvm/ADT/TypeSwitch.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

Tensors iota(IotaOp op) {
  Tensor result(type_of(op.getResult()));
  Type element = result.element();
  for_each_index(result.shape(), [&](const Indices& at) {
    int64_t i = at[op.getIotaDimension()];
    result.at(at) = canonical({double(i), 0, i}, element);
  });
  return {std::move(result)};
}

// Result element `at` is the operand's element `source(at)`.
Tensors moved(Evaluator& e, Operation* op, llvm::function_ref<Indices(const Indices&)> source) {
  Tensor result(type_of(op->getResult(0)));
  const Tensor& operand = e[op->getOperand(0)];
  for_each_index(result.shape(), [&](const Indices& at) { result.at(at) = operand.at(source(at)); });
  return {std::move(result)};
}

Tensors pad(Evaluator& e, PadOp op) {
  const Tensor& operand = e[op.getOperand()];
  Tensor result(type_of(op.getResult()));
  std::fill(result.values.begin(), result.values.end(), e[op.getPaddingValue()].values[0]);
  for_each_index(operand.shape(), [&](const Indices& at) {
    Indices to;
    for (size_t d = 0; d < at.size(); ++d) to.push_back(op.getEdgePaddingLow()[d] + at[d] * (op.getInteriorPadding()[d] + 1));
    if (result.contains(to)) result.at(to) = operand.at(at);
  });
  return {std::move(result)};
}

Tensors concatenate(Evaluator& e, ConcatenateOp op) {
  Tensor result(type_of(op.getResult()));
  int64_t d = op.getDimension(), start = 0;
  for (Value input : op.getInputs()) {
    for_each_index(e[input].shape(), [&](const Indices& at) {
      Indices to = at;
      to[d] += start;
      result.at(to) = e[input].at(at);
    });
    start += e[input].shape()[d];
  }
  return {std::move(result)};
}

// The bits of all elements in a row, cut anew.
Tensors bitcast(Evaluator& e, BitcastConvertOp op) {
  const Tensor& operand = e[op.getOperand()];
  Tensor result(type_of(op.getResult()));
  unsigned from = width_of(operand.element()), to = width_of(result.element());
  for (size_t i = 0; i < result.values.size(); ++i) {
    llvm::APInt bits(to, 0);
    if (to <= from) {
      unsigned parts = from / to;
      bits = bits_of(operand.values[i / parts], operand.element()).extractBits(to, (i % parts) * to);
    } else {
      unsigned parts = to / from;
      for (unsigned p = 0; p < parts; ++p) bits.insertBits(bits_of(operand.values[i * parts + p], operand.element()), p * from);
    }
    result.values[i] = from_bits(bits, result.element());
  }
  return {std::move(result)};
}

}  // namespace

std::optional<Tensors> evaluate_shape(Evaluator& e, Operation* op) {
  using Result = std::optional<Tensors>;
  return llvm::TypeSwitch<Operation*, Result>(op)
      .Case([&](ConstantOp constant) -> Result {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (!dense) fail(op, "only dense values can be evaluated");
        return Tensors{from_attribute(dense)};
      })
      .Case([&](IotaOp iota_) -> Result { return iota(iota_); })
      .Case([&](ReshapeOp) -> Result {
        Tensor result = e[op->getOperand(0)];
        result.type = type_of(op->getResult(0));
        return Tensors{std::move(result)};
      })
      .Case([&](BitcastConvertOp cast) -> Result { return bitcast(e, cast); })
      .Case([&](BroadcastInDimOp broadcast) -> Result {
        ArrayRef<int64_t> from = type_of(broadcast.getOperand()).getShape();
        return moved(e, op, [&](const Indices& at) {
          Indices source;
          for (auto [d, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) source.push_back(from[d] == 1 ? 0 : at[to]);
          return source;
        });
      })
      .Case([&](TransposeOp transpose) -> Result {
        return moved(e, op, [&](const Indices& at) {
          Indices source(at.size());
          for (auto [to, from] : llvm::enumerate(transpose.getPermutation())) source[from] = at[to];
          return source;
        });
      })
      .Case([&](ReverseOp reverse) -> Result {
        ArrayRef<int64_t> shape = type_of(reverse.getOperand()).getShape();
        return moved(e, op, [&](Indices at) {
          for (int64_t d : reverse.getDimensions()) at[d] = shape[d] - 1 - at[d];
          return at;
        });
      })
      .Case([&](SliceOp slice) -> Result {
        return moved(e, op, [&](Indices at) {
          for (size_t d = 0; d < at.size(); ++d) at[d] = slice.getStartIndices()[d] + at[d] * slice.getStrides()[d];
          return at;
        });
      })
      .Case([&](PadOp pad_) -> Result { return pad(e, pad_); })
      .Case([&](ConcatenateOp concatenate_) -> Result { return concatenate(e, concatenate_); })
      .Default([](Operation*) -> Result { return std::nullopt; });
}

}  // namespace cresset::interpreter
