// What a kernel asks of its arguments: what PyTorch's CPU kernels check and its meta functions don't, and whether there is code for them.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <initializer_list>

#include "trace/node.h"

namespace cresset::device {

/// Raises eager's error unless all tensors have one dtype.
inline void check_same_dtype(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors)
    TORCH_CHECK(t.scalar_type() == tensors.begin()->scalar_type(), op.name, ": expected tensors of the same dtype, but got ", tensors.begin()->scalar_type(), " and ",
                t.scalar_type(), "; convert one with .to(dtype)");
}

/// Raises eager's error where the operator has no integer kernel: what the tensors' types promote to is an integer or boolean.
inline void check_floating(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  at::native::ResultTypeState state;
  for (const at::Tensor& t : tensors) state = at::native::update_result_type_state(t, state);
  auto common = at::native::result_type(state);
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isIntegralType(common, true), op.name, ": expected a floating-point tensor, but got ", common, "; convert it with .to(torch.float32)");
}
/// Raises eager's error for a number that the dtype of `self` can't hold.
inline void check_holds(const at::Tensor& self, const at::Scalar& value) {
  AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, self.scalar_type(), "fill", [&] { value.to<scalar_t>(); });
}
/// Raises eager's error for 1 / n as an integer.
inline void check_power(const trace::Operator& op, const at::Tensor& self, const at::Scalar& exponent) {
  TORCH_CHECK(!at::isIntegralType(self.scalar_type(), true) || !exponent.isIntegral(true) || exponent.toLong() >= 0, op.name,
              ": Integers to negative integer powers are not allowed.");
}
/// Raises eager's error for a form of gelu that there is not.
inline void check_approximation(const trace::Operator& op, c10::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh", op.name, ": approximate argument must be either none or tanh, but got ", approximate);
}
/// Raises eager's error for a range in which there is no integer.
inline void check_range(const trace::Operator& op, int64_t from, std::optional<int64_t> to) {
  TORCH_CHECK(!to || from < *to, op.name, ": expects 'from' to be less than 'to', but got from=", from, " >= to=", *to);
}
/// Raises eager's error for an interval that ends before it begins.
inline void check_interval(const trace::Operator& op, double from, double to) {
  TORCH_CHECK(from <= to, op.name, ": expects to return a [from, to) range, but found from=", from, " > to=", to);
}
/// Raises eager's error for bounds below zero of what has no sign.
inline void check_limits(const trace::Operator& op, const at::Tensor& self, const at::Scalar& low, const at::Scalar& high) {
  TORCH_CHECK(self.scalar_type() != at::kBool, op.name, ": not supported for Bool tensors; convert it with .to(torch.uint8)");
  TORCH_CHECK(self.scalar_type() != at::kByte || (low.toDouble() >= 0 && high.toDouble() >= 0), op.name, ": cannot do hardtanh on an unsigned type with negative limits");
}
/// Raises eager's error for what is no probability.
inline void check_probability(const trace::Operator& op, double p) { TORCH_CHECK(0 <= p && p <= 1, op.name, ": expects p to be in [0, 1], but got p=", p); }
/// Raises unless the tensors are integers or booleans.
inline void check_integral(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors)
    TORCH_CHECK_NOT_IMPLEMENTED(at::isIntegralType(t.scalar_type(), true), op.name, ": expected an integer or boolean tensor, but got ", t.scalar_type(),
                                "; convert it with .to(torch.int64)");
}

/// Raises eager's errors for an index that is no vector of positions.
inline void check_vector_of_indices(const trace::Operator& op, const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.dim() <= 1, op.name, ": Index is supposed to be a vector, but its sizes are ", index.sizes());
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt, op.name, ": Expected dtype int32 or int64 for index, but got ", index.scalar_type());
}

/// Raises eager's error where there is no element that could be the result.
inline void check_not_empty(const trace::Operator& op, const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, op.name, ": expected at least one element, but got a tensor of sizes ", self.sizes(), "; name the dimensions to reduce with dim=");
}

/// Whether an argument is of a dtype that programs have no code for (complex numbers, 8-bit floats, wide unsigned integers), or a view that is only marked
/// as negative. Such a call runs on the CPU.
inline bool without_code(at::ScalarType t) {
  switch (t) {
    case at::kFloat: case at::kDouble: case at::kHalf: case at::kBFloat16: case at::kBool: case at::kByte: case at::kChar: case at::kShort: case at::kInt: case at::kLong:
      return false;
    default: return true;
  }
}
inline bool without_code(const at::Tensor& t) { return t.defined() && (without_code(t.scalar_type()) || t.is_neg()); }
inline bool without_code(const at::Scalar& s) { return s.isComplex(); }
template <class List>
bool any_of_list(const List& list) {
  for (const at::Tensor& t : list)
    if (without_code(t)) return true;
  return false;
}
inline bool without_code(const at::TensorList& list) { return any_of_list(list); }
inline bool without_code(const at::ITensorListRef& list) { return any_of_list(list); }
template <class T>
bool without_code(const std::optional<T>& v) {
  if constexpr (std::is_same_v<T, at::Tensor> || std::is_same_v<T, at::Scalar> || std::is_same_v<T, at::ScalarType>) return v && without_code(*v);
  else return false;
}

}  // namespace cresset::device
