// A forward and its gradient that were recorded together, as two programs.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace cresset::trace {

struct Partition {
  std::vector<at::Tensor> saved;      ///< more results of the forward's program
  std::vector<at::Tensor> stand_ins;  ///< for them, inputs of the backward's program
  std::vector<size_t> used;           ///< which of the forward's inputs the backward reads as well
};

/// Within a capture, of `inputs` → `outputs` and of `gradients`, which depend on `tangents`: chooses what is saved, and rewrites the gradients in terms of it.
/// What is saved is the least number of bytes from which the rest can be computed again by element-wise operators, reductions and changes of shape. Results of whole
/// operators are never computed twice; pieces of what is written by hand are, so that raising sees all of them beside its gradient.
Partition partition(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& tangents,
                    const std::vector<at::Tensor>& gradients);

}  // namespace cresset::trace
