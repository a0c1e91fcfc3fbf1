// What an operator's schema says of its arguments.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <vector>

namespace cresset::trace {

/// Of an optional argument, what it is if it is there.
inline const c10::Type& inner_type(const c10::Argument& a) {
  auto* optional = a.type()->castRaw<c10::OptionalType>();
  return optional ? *optional->getElementType() : *a.type();
}
inline bool is_tensor(const c10::Argument& a) { return inner_type(a).kind() == c10::TypeKind::TensorType; }
/// Tensor[] or Tensor?[].
inline bool is_list_of_tensors(const c10::Argument& a) {
  auto* list = a.type()->castRaw<c10::ListType>();
  if (!list) return false;
  auto element = list->getElementType();
  if (auto* optional = element->castRaw<c10::OptionalType>()) element = optional->getElementType();
  return element->kind() == c10::TypeKind::TensorType;
}

inline bool is_written(const c10::Argument& a) { return a.alias_info() && a.alias_info()->isWrite(); }
inline bool is_out(const c10::Argument& a) { return is_written(a) && a.kwarg_only(); }

/// Puts others in the place of the tensors that an argument or a result consists of.
template <class Replace>
void replace_tensors(c10::IValue& value, Replace replace) {
  if (value.isTensor()) {
    value = replace(value.toTensor());
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> list;
    for (const at::Tensor& t : value.toTensorVector()) list.push_back(replace(t));
    value = c10::List<at::Tensor>(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorList()) list.push_back(t ? std::optional(replace(*t)) : std::nullopt);
    value = list;
  }
}

}  // namespace cresset::trace
