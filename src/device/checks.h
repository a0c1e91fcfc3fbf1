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

}  // namespace cresset::device
