// What is not lowered runs on the CPU: counted as "aten::<op>", warned about once for each operator.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace cresset::device {

/// CRESSET_FALLBACK=warn (default), allow (silent), or error (raises, naming the operator).
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace cresset::device
