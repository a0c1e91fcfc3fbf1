// What PyTorch's CPU kernels check and its meta functions don't.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "trace/node.h"

namespace cresset::device {

/// Raises eager's error unless all tensors have one dtype.
inline void check_same_dtype(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors)
    TORCH_CHECK(t.scalar_type() == tensors.begin()->scalar_type(), op.name, ": expected tensors of the same dtype, but got ", tensors.begin()->scalar_type(), " and ",
                t.scalar_type(), "; convert one with .to(dtype)");
}

/// Raises eager's error where the operator has no integer kernel.
inline void check_floating(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors)
    TORCH_CHECK_NOT_IMPLEMENTED(!at::isIntegralType(t.scalar_type(), true) || (t.dim() == 0 && tensors.size() > 1), op.name, ": expected a floating-point tensor, but got ",
                                t.scalar_type(), "; convert it with .to(torch.float32)");
}
/// Raises unless the tensors are integers or booleans.
inline void check_integral(const trace::Operator& op, std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors)
    TORCH_CHECK_NOT_IMPLEMENTED(at::isIntegralType(t.scalar_type(), true), op.name, ": expected an integer or boolean tensor, but got ", t.scalar_type(),
                                "; convert it with .to(torch.int64)");
}

}  // namespace cresset::device
