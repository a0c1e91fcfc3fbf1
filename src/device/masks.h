// Masks as indices. Where the size of a result depends on values the mask is read, which ends the traced program there, and the rest
// is recorded as indexing. What is written under a mask has a known size, and nothing is read.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace cresset::device {

using Indices = c10::List<std::optional<at::Tensor>>;

/// x[indices] and x[indices] = values with masks among the indices.
at::Tensor index_by_masks(const at::Tensor& self, const Indices& indices);
at::Tensor& index_put_by_masks_(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate, bool unsafe);
at::Tensor index_put_by_masks_(const at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate, bool unsafe);  // functional

}  // namespace cresset::device
