#include "interpreter/tensor.h"

#include <cstring>

#include "llvm/ADT/APFloat.h"

namespace cresset::interpreter {

using namespace mlir;
using llvm::APFloat;
using llvm::APInt;
namespace {

APFloat rounded(double v, FloatType type) {
  APFloat value(v);
  bool lost;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return value;
}
double widened(APFloat value) {
  bool lost;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}
size_t bytes_of(Type type) { return (width_of(type) + 7) / 8; }

}  // namespace

unsigned width_of(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) return 2 * width_of(complex.getElementType());
  return type.getIntOrFloatBitWidth();
}

Number canonical(Number v, Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    auto part = cast<FloatType>(complex.getElementType());
    return {widened(rounded(v.re, part)), widened(rounded(v.im, part))};
  }
  // By the processor where it has the type, which takes a tenth of the time.
  if (type.isF64()) return {v.re};
  if (type.isF32()) return {double(float(v.re))};
  if (auto f = dyn_cast<FloatType>(type)) return {widened(rounded(v.re, f))};
  return from_bits(APInt(64, uint64_t(v.i)).trunc(width_of(type)), type);
}

APInt bits_of(Number v, Type type) {
  unsigned width = width_of(type);
  if (auto complex = dyn_cast<ComplexType>(type)) {
    Type part = complex.getElementType();
    return (bits_of({v.im}, part).zext(width) << (width / 2)) | bits_of({v.re}, part).zext(width);
  }
  if (auto f = dyn_cast<FloatType>(type)) return rounded(v.re, f).bitcastToAPInt();
  return APInt(64, uint64_t(v.i)).trunc(width);
}

Number from_bits(const APInt& bits, Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    Type part = complex.getElementType();
    unsigned half = width_of(part);
    return {from_bits(bits.trunc(half), part).re, from_bits(bits.lshr(half).trunc(half), part).re};
  }
  if (auto f = dyn_cast<FloatType>(type)) return {widened(APFloat(f.getFloatSemantics(), bits))};
  return {0, 0, is_unsigned(type) ? int64_t(bits.getZExtValue()) : bits.getSExtValue()};
}

bool Tensor::contains(ArrayRef<int64_t> indices) const {
  for (auto [i, d] : llvm::zip_equal(indices, shape()))
    if (i < 0 || i >= d) return false;
  return true;
}
size_t Tensor::offset(ArrayRef<int64_t> indices) const {
  size_t at = 0;
  for (auto [i, d] : llvm::zip_equal(indices, shape())) at = at * d + i;
  return at;
}

Tensor from_attribute(DenseElementsAttr attribute) {
  Tensor result(cast<RankedTensorType>(attribute.getType()));
  Type element = result.element();
  size_t at = 0;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    for (std::complex<APFloat> v : attribute.getValues<std::complex<APFloat>>()) result.values[at++] = {widened(v.real()), widened(v.imag())};
  } else if (is_float(element)) {
    for (const APFloat& v : attribute.getValues<APFloat>()) result.values[at++] = {widened(v)};
  } else {
    for (const APInt& v : attribute.getValues<APInt>()) result.values[at++] = from_bits(v, element);
  }
  return result;
}

Tensor from_memory(RankedTensorType type, const char* data) {
  Tensor result(type);
  unsigned width = width_of(type.getElementType());
  size_t bytes = bytes_of(type.getElementType());
  for (Number& v : result.values) {
    uint64_t words[2] = {};
    std::memcpy(words, data, bytes);
    data += bytes;
    v = from_bits(APInt(128, words).trunc(width), type.getElementType());
  }
  return result;
}
std::vector<char> to_memory(const Tensor& tensor) {
  size_t bytes = bytes_of(tensor.element());
  std::vector<char> result(bytes * tensor.values.size());
  char* data = result.data();
  for (const Number& v : tensor.values) {
    APInt bits = bits_of(v, tensor.element()).zextOrTrunc(128);
    std::memcpy(data, bits.getRawData(), bytes);
    data += bytes;
  }
  return result;
}

void for_each_index(ArrayRef<int64_t> shape, llvm::function_ref<void(const Indices&)> f) {
  for (int64_t d : shape)
    if (d == 0) return;
  Indices at(shape.size(), 0);
  while (true) {
    f(at);
    int64_t d = int64_t(shape.size()) - 1;
    while (d >= 0 && ++at[d] == shape[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

}  // namespace cresset::interpreter
