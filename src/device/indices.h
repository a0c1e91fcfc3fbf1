// Indices out of range are errors on the user's line, as far as their values are known without running anything.
#pragma once

#include <ATen/core/Tensor.h>

namespace cresset::device {

/// True, or raises IndexError if `indices` already has its values and one lies outside [0, n). Compiled code clamps.
bool indices_in_range(const at::Tensor& indices, int64_t n);

}  // namespace cresset::device
