// Complex numbers. Programs have no code for them: the memory of a complex tensor holds pairs of real numbers, as at::view_as_real shows them, and its operators
// are recorded as operators on these. What is exported has real numbers alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace cresset::device {

/// Records a call that takes or makes complex numbers (complex64, complex128) and puts its result on the stack. False, and nothing done, for any other.
bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// self.copy_(src) where one of them is complex. False, and nothing done, for what the CPU has to copy.
bool copy_complex(const at::Tensor& self, const at::Tensor& src);

}  // namespace cresset::device
