// Takes a node's operands and attributes apart again, in the order of the schema.
#pragma once

#include "lowering/builder.h"

namespace cresset::lowering {

class Decoder {
 public:
  Decoder(Builder& b, const trace::Node& n) : b_(b), n_(n) {}

  Value tensor() { return b_.operands[operand_++]; }
  llvm::ArrayRef<Value> tensors() {
    size_t count = size_t(integer());
    auto all = llvm::ArrayRef<Value>(b_.operands).slice(operand_, count);
    operand_ += count;
    return all;
  }
  Scalar scalar() { return *optional_scalar(); }
  std::optional<Scalar> optional_scalar() {
    const trace::Attribute& a = next();
    if (auto* o = std::get_if<trace::ScalarOperand>(&a)) return Scalar{0, b_.operands[o->operand]};
    if (auto* v = std::get_if<double>(&a)) return Scalar{*v, {}};
    if (auto* v = std::get_if<int64_t>(&a)) return Scalar{*v, {}};
    if (auto* v = std::get_if<bool>(&a)) return Scalar{*v, {}};
    if (auto* v = std::get_if<c10::complex<double>>(&a)) return Scalar{*v, {}};
    return std::nullopt;
  }
  int64_t integer() { return std::get<int64_t>(next()); }
  double number() { return std::get<double>(next()); }
  bool boolean() { return std::get<bool>(next()); }
  at::ScalarType dtype() { return std::get<at::ScalarType>(next()); }
  llvm::StringRef string() { return std::get<std::string>(next()); }
  llvm::ArrayRef<int64_t> integers() { return std::get<std::vector<int64_t>>(next()); }
  llvm::ArrayRef<double> numbers() { return std::get<std::vector<double>>(next()); }
  const std::vector<bool>& booleans() { return std::get<std::vector<bool>>(next()); }
  std::optional<int64_t> optional_integer() { return optional<int64_t, int64_t>(); }
  std::optional<double> optional_number() { return optional<double, double>(); }
  std::optional<bool> optional_boolean() { return optional<bool, bool>(); }
  std::optional<at::ScalarType> optional_dtype() { return optional<at::ScalarType, at::ScalarType>(); }
  std::optional<llvm::StringRef> optional_string() { return optional<std::string, llvm::StringRef>(); }
  std::optional<llvm::ArrayRef<int64_t>> optional_integers() { return optional<std::vector<int64_t>, llvm::ArrayRef<int64_t>>(); }
  std::optional<llvm::ArrayRef<double>> optional_numbers() { return optional<std::vector<double>, llvm::ArrayRef<double>>(); }

 private:
  const trace::Attribute& next() { return n_.attributes()[attribute_++]; }
  template <class Stored, class T>
  std::optional<T> optional() {
    auto* v = std::get_if<Stored>(&next());
    return v ? std::optional<T>(*v) : std::nullopt;
  }
  Builder& b_;
  const trace::Node& n_;
  size_t operand_ = 0, attribute_ = 0;
};

}  // namespace cresset::lowering
