#include "device/indices.h"

#include <ATen/ATen.h>

#include "device/convert.h"
#include "trace/cell.h"

namespace cresset::device {

bool indices_in_range(const at::Tensor& indices, int64_t n) {
  if (indices.numel() == 0 || indices.device().type() != c10::DeviceType::PrivateUse1) return true;
  const auto& cell = trace::Cell::of(indices);
  if (!cell.content() || cell.pending() || !cell.content().node->buffer()) return true;
  // Straight from the buffer: reading through the trace is refused while a graph is captured.
  auto values = at::empty({0}, indices.options().device(at::kCPU))
                    .set_(cpu_storage(cell.content().node->buffer()), indices.storage_offset(), indices.sizes(), indices.strides());
  auto [least, greatest] = at::aminmax(values.to(at::kLong));
  TORCH_CHECK_INDEX(least.item<int64_t>() >= 0 && greatest.item<int64_t>() < n, "index out of range in self: indices from ", least.item<int64_t>(), " to ",
                    greatest.item<int64_t>(), " into a dimension of size ", n);
  return true;
}

}  // namespace cresset::device
