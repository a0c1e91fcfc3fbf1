// Between the device's buffers and CPU tensors.
#pragma once

#include <ATen/ATen.h>

#include "runtime/buffer.h"

namespace cresset::device {

/// A CPU storage over the buffer's bytes, which it keeps alive.
at::Storage cpu_storage(BufferPtr buffer);

/// A CPU tensor that shows a device tensor's bytes (same sizes and strides). Reading only: the bytes may be shared.
at::Tensor cpu_view(const at::Tensor& t);

}  // namespace cresset::device
