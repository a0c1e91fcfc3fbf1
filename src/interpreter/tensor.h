// A dense tensor of the interpreter, of any element type: each element is a number wide enough for all of them.
#pragma once

#include <vector>

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cresset::interpreter {

using Indices = llvm::SmallVector<int64_t, 6>;

/// An element's value. Integers live in `i`, cut to their width and then extended by their sign or by zeros (bools and
/// unsigned ones); floats in `re`, rounded to their type; complex ones in both parts.
struct Number {
  double re = 0, im = 0;
  int64_t i = 0;
};

/// The value as the type holds it: rounded or wrapped around.
Number canonical(Number value, mlir::Type type);
/// The bits of an element, and back. Complex numbers have their real part in the lower half.
llvm::APInt bits_of(Number value, mlir::Type type);
Number from_bits(const llvm::APInt& bits, mlir::Type type);
unsigned width_of(mlir::Type type);

inline bool is_float(mlir::Type t) { return mlir::isa<mlir::FloatType>(t); }
inline bool is_complex(mlir::Type t) { return mlir::isa<mlir::ComplexType>(t); }
inline bool is_unsigned(mlir::Type t) { return t.isUnsignedInteger() || t.isInteger(1); }

struct Tensor {
  mlir::RankedTensorType type;
  std::vector<Number> values;

  Tensor() = default;
  explicit Tensor(mlir::RankedTensorType type) : type(type), values(type.getNumElements()) {}
  /// A tensor of rank 0.
  Tensor(Number value, mlir::Type element) : type(mlir::RankedTensorType::get({}, element)), values{value} {}

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  mlir::Type element() const { return type.getElementType(); }
  Number& at(llvm::ArrayRef<int64_t> indices) { return values[offset(indices)]; }
  const Number& at(llvm::ArrayRef<int64_t> indices) const { return values[offset(indices)]; }
  bool contains(llvm::ArrayRef<int64_t> indices) const;
  size_t offset(llvm::ArrayRef<int64_t> indices) const;
};

Tensor from_attribute(mlir::DenseElementsAttr attribute);
/// Row-major memory, elements of less than a byte in one byte each.
Tensor from_memory(mlir::RankedTensorType type, const char* data);
std::vector<char> to_memory(const Tensor& tensor);

/// Calls `f` with all indices of the shape in row-major order.
void for_each_index(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const Indices&)> f);

}  // namespace cresset::interpreter
