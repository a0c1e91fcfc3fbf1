#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace cresset::device {

/// PyTorch asks for results that it allocates itself by the variant that writes to its last arguments. What takes the others and gives these as its results: the operator itself if there are none.
/// Nothing if there is no such.
std::optional<c10::OperatorHandle> functional(const c10::OperatorHandle& op);

/// Records an operator that is not lowered as one of the graph that this thread captures: PyTorch's kernel for the CPU runs it between the programs of the others. Results are put on the stack.
/// False, and nothing has happened, if that can't be: nobody captures or the capture is to be written down, the operator writes to its arguments, draws random numbers or has results of sizes that
/// depend on values, or its kernel may be Python's. Raises PyTorch's errors on arguments.
bool record_kernel_call(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace cresset::device
