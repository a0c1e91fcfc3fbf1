// Reference-counted device memory. Freed blocks are kept by size and used again: a fresh 48 MB block costs more in page
// faults than in arithmetic.
#pragma once

#include <cstddef>
#include <memory>

namespace cresset {

/// 64-byte aligned bytes (or foreign bytes that `owner` keeps alive). With CRESSET_GUARD=end (begin) each array ends (begins) with a page, without
/// alignment, and the next (last) one must not be touched: a kernel that reads or writes beyond it crashes there, as does one that uses what was freed.
class Buffer {
 public:
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  size_t size() const { return size_; }

  /// Throws std::bad_alloc with nothing lost if the machine has not that much.
  static std::shared_ptr<Buffer> allocate(size_t size);
  /// Memory owned by someone else (a CPU tensor): `owner` is held as long as the buffer lives.
  static std::shared_ptr<Buffer> wrap(void* data, size_t size, std::shared_ptr<void> owner);
  /// Ends what wrap() began: nobody reads or writes these bytes any more.
  void release() { owner_.reset(), data_ = nullptr; }
  /// New memory with the same bytes.
  std::shared_ptr<Buffer> copy() const;

 private:
  Buffer() = default;
  void* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<void> owner_;
};
using BufferPtr = std::shared_ptr<Buffer>;

struct MemoryStats {
  size_t in_use = 0, peak = 0, cached = 0;  // bytes
};
MemoryStats memory_stats();
void reset_peak_memory();
/// Gives cached blocks back to the system.
void empty_cache();

}  // namespace cresset
