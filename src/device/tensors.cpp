// The kernels that make, view, resize and copy tensors. All others are recorded (generated kernels) or fall back.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/util/strides.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "cresset/metrics.h"
#include "device/checks.h"
#include "device/complex.h"
#include "device/convert.h"
#include "device/generator.h"
#include "trace/cell.h"
#include "trace/step.h"

namespace cresset::device {
namespace {

bool is_ours(const at::Tensor& t) { return t.device().type() == c10::DeviceType::PrivateUse1; }

at::Tensor make(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype, std::optional<at::Device> where) {
  TORCH_CHECK(!where || !where->has_index() || where->index() == 0, "cresset: invalid device ", *where, "; this backend has one device, cresset:0");
  at::ScalarType type = dtype.value_or(c10::get_default_dtype_as_scalartype());
  size_t bytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  TORCH_CHECK(bytes < (size_t(1) << 46), "cresset: out of memory: a tensor of ", sizes, " needs ", bytes, " bytes");
  return trace::new_tensor(bytes, type, sizes, strides);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> where, std::optional<bool>) {
  return make(sizes, strides, dtype, where);
}
at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device> where, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  for (int64_t n : sizes) TORCH_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": ", sizes);
  auto t = make(sizes, c10::contiguous_strides(sizes), dtype, where);
  if (format && *format != at::MemoryFormat::Contiguous) t.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return t;
}

at::Tensor zero_tensor(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout, std::optional<at::Device> where, std::optional<bool> pinned) {
  return empty(sizes, dtype, layout, where, pinned, std::nullopt).zero_();
}

void grow_storage(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  size_t bytes = at::detail::computeStorageNbytes(sizes, strides, t.itemsize(), offset);
  if (bytes > t.storage().nbytes()) trace::Cell::of(t).resize(bytes);
}
const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef sizes, std::optional<at::MemoryFormat> format) {
  if (self.sizes() != sizes) {
    auto strides = c10::contiguous_strides(sizes);
    grow_storage(self, sizes, strides, self.storage_offset());
    self.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  }
  if (format && *format != at::MemoryFormat::Contiguous) self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return self;
}

at::Tensor& set_source_storage_offset(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef sizes, at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, sizes, strides, /*check_offset_in_bounds=*/false);
  TORCH_CHECK(std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; }), "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  if (strides.data() || sizes.empty()) self.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  else self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  if (self.numel() > 0) grow_storage(self, self.sizes(), self.strides(), offset);
  return self;
}
at::Tensor& set_source_storage(at::Tensor& self, at::Storage source) {
  int64_t n = int64_t(source.nbytes() / self.itemsize());
  return set_source_storage_offset(self, std::move(source), 0, {n}, {1});
}
at::Tensor& set_source_tensor(at::Tensor& self, const at::Tensor& source) {
  return set_source_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}
at::Tensor& set_empty(at::Tensor& self) {
  return set_source_storage_offset(self, c10::Storage(c10::make_intrusive<trace::Cell>(c10::SymInt(0), trace::device_allocator(), true)), 0, {0}, {1});
}

// In the order of memory of `target`, so that it becomes its content without being transposed on the device.
at::Tensor from_cpu(const at::Tensor& cpu, const at::Tensor& target) {
  auto order = cpu.sizes() == target.sizes() ? trace::storage_order(target.sizes(), target.strides()) : std::nullopt;
  if (order && !std::is_sorted(order->begin(), order->end())) {
    std::vector<int64_t> back(order->size());
    for (size_t i = 0; i < order->size(); ++i) back[(*order)[i]] = int64_t(i);
    auto ordered = cpu.permute(*order).contiguous();
    return from_cpu(ordered, ordered).permute(back);
  }
  auto dense = cpu.contiguous();
  auto t = make(dense.sizes(), dense.strides(), dense.scalar_type(), std::nullopt);
  if (dense.numel() == 0) return t;
  auto buffer = Buffer::allocate(dense.nbytes());
  std::memcpy(buffer->data(), dense.const_data_ptr(), dense.nbytes());
  // A leaf of the tensor's own shape: reading it is no work that would be pending, and its bytes can be overwritten.
  trace::Cell::of(t).materialise(trace::NodeFactory::input(std::move(buffer), {dense.scalar_type(), at::DimVector(dense.sizes())}));
  return t;
}

// Dtypes without code, and bits that say that a view is conjugate or negative: the CPU copies, into a new buffer for the whole storage.
void copy_on_the_cpu(const at::Tensor& self, const at::Tensor& src) {
  trace::Cell& cell = trace::Cell::of(self);
  BufferPtr fresh = trace::bytes(cell)->copy();
  auto target = at::empty({0}, self.options().device(at::kCPU)).set_(cpu_storage(fresh), self.storage_offset(), self.sizes(), self.strides());
  target._set_conj(self.is_conj());
  target._set_neg(self.is_neg());
  target.copy_(is_ours(src) ? cpu_view(src) : src);
  trace::replace_bytes(cell, std::move(fresh), self.scalar_type());
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  if (self.is_same(src)) return self;
  if (!is_ours(self)) return self.copy_(cpu_view(src));
  TORCH_CHECK(at::is_expandable_to(src.sizes(), self.sizes()), "The expanded size of the tensor (", self.sizes(), ") must match the existing size (", src.sizes(),
              ") at non-singleton dimensions");
  TORCH_CHECK(is_ours(src) || src.device().is_cpu(), "cresset: cannot copy from ", src.device());
  if (self.numel() == 0) return self;
  if (copy_complex(self, src)) return self;
  if (without_code(self) || without_code(src)) return copy_on_the_cpu(self, src), self;
  at::Tensor from = is_ours(src) ? src : from_cpu(src.to(self.scalar_type()), self);
  std::lock_guard lock(trace::trace_mutex());  // nobody runs what is read before it is written; released before tensors are, which may want Python's
  trace::write(self, trace::read(from));
  return self;
}
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  at::Tensor target = dst;
  return copy_(target, self, non_blocking);
}
at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  if (dst.sizes() != self.sizes()) dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}

// PyTorch's own calls its kernel of the CPU directly.
at::Tensor& conj_physical_(at::Tensor& self) { return self.is_complex() ? self.copy_(at::conj_physical(self)) : self; }

at::Scalar local_scalar_dense(const at::Tensor& self) { return cpu_view(self).item(); }

bool is_set_to(const at::Tensor& self, const at::Tensor& src) {
  return self.storage().unsafeGetStorageImpl() == src.storage().unsafeGetStorageImpl() && self.storage_offset() == src.storage_offset() &&
         self.sizes() == src.sizes() && self.strides() == src.strides();
}

// PyTorch calls the kernel of this window without a dispatcher.
void fill_kaiser_window(at::TensorIteratorBase& iterator, int64_t length, double beta) {
  at::Tensor window = iterator.tensor(0);
  window.copy_(at::kaiser_window(length, /*periodic=*/false, beta, window.options().device(at::kCPU)));
}

// A dense tensor on the CPU and one on this device differ in their keys and storages only: a Parameter changes its device in place, as between PyTorch's own devices.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  auto is_plain = [](const at::Tensor& t) { return t.layout() == at::kStrided && !t.is_quantized() && (t.is_cpu() || t.is_privateuseone()); };
  return is_plain(self) && is_plain(from);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("_efficientzerotensor", TORCH_FN(zero_tensor));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("set_.source_Tensor", TORCH_FN(set_source_tensor));
  m.impl("set_.source_Storage", TORCH_FN(set_source_storage));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_source_storage_offset));
  m.impl("is_set_to", TORCH_FN(is_set_to));
  m.impl("copy_", TORCH_FN(copy_));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("conj_physical_", TORCH_FN(conj_physical_));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
}

}  // namespace
}  // namespace cresset::device

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(kaiser_window_stub, &cresset::device::fill_kaiser_window)
}  // namespace at::native
