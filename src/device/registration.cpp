// PrivateUse1 becomes "cresset": one device without streams of its own, storages that are cells.
#include <ATen/ATen.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <mutex>
#include <unordered_map>

#include "device/convert.h"
#include "device/generator.h"
#include "runtime/arena.h"
#include "runtime/buffer.h"
#include "trace/cell.h"
#include "trace/step.h"

namespace cresset {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
constexpr DeviceType kType = DeviceType::PrivateUse1;

void check(DeviceIndex index) {
  TORCH_CHECK(index == 0 || index == -1, "cresset: invalid device ordinal ", int(index), "; this backend has one device, cresset:0");
}

// Work is done when the call that asks for it returns, so every stream is the default one and every event has happened.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  DeviceType type() const override { return kType; }
  Device exchangeDevice(Device d) const override { return check(d.index()), Device(kType, 0); }
  Device getDevice() const override { return Device(kType, 0); }
  void setDevice(Device d) const override { check(d.index()); }
  void uncheckedSetDevice(Device) const noexcept override {}
  c10::Stream getStream(Device) const override { return c10::Stream(c10::Stream::DEFAULT, Device(kType, 0)); }
  c10::Stream getNewStream(Device d, int) const override { return getStream(d); }
  c10::Stream getStreamFromGlobalPool(Device d, bool) const override { return getStream(d); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
  void record(void** event, const c10::Stream&, const DeviceIndex, const c10::EventFlag) const override {
    trace::sync();
    *event = const_cast<Guard*>(this);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  DeviceIndex deviceCount() const noexcept override { return 1; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { trace::sync(); }
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const DeviceIndex) const override { trace::sync(); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override { return check(index), device::default_generator(); }
  at::Generator getNewGenerator(DeviceIndex) const override { return at::make_generator<device::Generator>(); }
  Device getDeviceFromPtr(void*) const override { return Device(kType, 0); }
  bool isPinnedPtr(const void*) const override { return false; }
  at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(DeviceType::CPU); }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  void init() const override {}
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* cell = trace::Cell::of(storage.unsafeGetStorageImpl());
    TORCH_CHECK(cell, "cresset: this storage cannot be resized");
    cell->resize(bytes);
  }
};

// Cells have no bytes: the allocator only says so. Its statistics are the buffers'.
struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t) override { return {nullptr, Device(kType, 0)}; }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, size_t) const override { TORCH_CHECK(false, "cresset: device memory has no address"); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { empty_cache(); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex index) override {
    check(index);
    c10::CachingDeviceAllocator::DeviceStats stats;
    MemoryStats m = memory_stats();
    auto& bytes = stats.allocated_bytes[size_t(c10::CachingAllocator::StatType::AGGREGATE)];
    bytes.current = int64_t(m.in_use);
    bytes.peak = int64_t(m.peak);
    auto& reserved = stats.reserved_bytes[size_t(c10::CachingAllocator::StatType::AGGREGATE)];
    reserved.current = int64_t(m.in_use + m.cached);
    return stats;
  }
  void resetAccumulatedStats(DeviceIndex) override {}
  void resetPeakStats(DeviceIndex) override { reset_peak_memory(); }
};

// With CRESSET_GUARD the CPU's tensors are guarded, too: programs of torch.compile read them where they are.
class GuardedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto buffer = Buffer::allocate(bytes);
    void* data = buffer->data();
    std::lock_guard lock(mutex());
    live()[data] = std::move(buffer);
    return {data, data, &release, Device(DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void release(void* data) {
    std::lock_guard lock(mutex());
    live().erase(data);
  }
  static std::mutex& mutex() {
    static auto* m = new std::mutex;
    return *m;
  }
  static std::unordered_map<void*, BufferPtr>& live() {
    static auto* all = new std::unordered_map<void*, BufferPtr>;
    return *all;
  }
};

c10::intrusive_ptr<c10::StorageImpl> make_cell(c10::StorageImpl::use_byte_size_t, c10::SymInt bytes, c10::DataPtr data, c10::Allocator*, bool resizable) {
  TORCH_CHECK(!data, "cresset: a storage can't be part of another one; take a view of a tensor");
  return c10::make_intrusive<trace::Cell>(std::move(bytes), trace::device_allocator(), resizable);
}

const bool registered = [] {
  c10::register_privateuse1_backend("cresset");
  c10::SetAllocator(kType, trace::device_allocator());
  if (is_guarded()) c10::SetCPUAllocator(new GuardedAllocator, 1);
  c10::SetStorageImplCreate(kType, &make_cell);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

c10::Allocator* trace::device_allocator() {
  static auto* a = new Allocator;
  return a;
}

at::Storage device::cpu_storage(BufferPtr buffer) {
  auto* owner = new BufferPtr(std::move(buffer));
  c10::DataPtr data((*owner)->data(), owner, [](void* p) { delete static_cast<BufferPtr*>(p); }, Device(DeviceType::CPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), (*owner)->size(), std::move(data), c10::GetAllocator(DeviceType::CPU), true);
}

at::Tensor device::cpu_view(const at::Tensor& t) {
  auto result = at::empty({0}, t.options().device(at::kCPU));
  if (t.numel() == 0) return result.resize_(t.sizes());
  result.set_(cpu_storage(trace::bytes(t)), t.storage_offset(), t.sizes(), t.strides());
  result._set_conj(t.is_conj());
  result._set_neg(t.is_neg());
  return result;
}

}  // namespace cresset
