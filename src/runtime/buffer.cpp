#include "runtime/buffer.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/arena.h"

namespace cresset {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr int kUsesOfHugePages = 8;
constexpr size_t kCacheLimit = size_t(4) << 30;

// Which end of an array is followed (preceded) by a page that nobody may touch.
enum class Guard { None, Begin, End };
Guard guard() {
  static const Guard chosen = [] {
    const char* text = std::getenv("CRESSET_GUARD");
    std::string_view end = text ? text : "";
    return end == "begin" ? Guard::Begin : end == "end" ? Guard::End : Guard::None;
  }();
  return chosen;
}
constexpr size_t kPage = 4096;
size_t whole_pages(size_t size) { return (size + kPage - 1) / kPage * kPage; }
void* map_guarded(size_t size) {
  size_t inside = whole_pages(size);
  void* outer = mmap(nullptr, inside + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (outer == MAP_FAILED) throw std::bad_alloc();
  char* first = static_cast<char*>(outer) + kPage;
  mprotect(first, inside, PROT_READ | PROT_WRITE);
  return guard() == Guard::End ? first + (inside - size) : first;
}
void unmap_guarded(void* block, size_t size) {
  char* first = static_cast<char*>(block) - (guard() == Guard::End ? whole_pages(size) - size : 0);
  munmap(first - kPage, whole_pages(size) + 2 * kPage);
}

// Blocks are rounded up to one of eight sizes in each octave, so that a freed block fits the next request of about its size.
size_t rounded(size_t size) {
  if (is_guarded()) return size;
  if (size <= 512) return (size + kAlignment - 1) / kAlignment * kAlignment + (size == 0) * kAlignment;
  size_t octave = size_t(1) << (63 - __builtin_clzll(size));
  size_t step = octave / 8;
  return (size + step - 1) / step * step;
}

// Says how much of what; caught as any bad_alloc.
struct OutOfMemory final : std::bad_alloc {
  OutOfMemory(size_t bytes, size_t used) : text("cresset: out of memory: " + std::to_string(bytes) + " bytes are asked for, beside " + std::to_string(used) + " in use") {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

class Pool {
 public:
  void* take(size_t size) {
    if (is_guarded()) {
      void* block = map_guarded(size);
      std::lock_guard lock(mutex_);
      note(size);
      return block;
    }
    {
      std::lock_guard lock(mutex_);
      auto it = free_.find(size);
      if (it != free_.end() && !it->second.empty()) {
        void* block = it->second.back();
        it->second.pop_back();
        stats_.cached -= size;
        note(size);
        return used_again(block, size);
      }
    }
    void* block = nullptr;
    size_t alignment = is_large(size) ? kHugePage : kAlignment;
    if (posix_memalign(&block, alignment, size) != 0) {
      clear();
      if (posix_memalign(&block, alignment, size) != 0) throw OutOfMemory(size, stats().in_use);
    }
    std::lock_guard lock(mutex_);
    note(size);
    return block;
  }

  void give(void* block, size_t size) {
    std::lock_guard lock(mutex_);
    stats_.in_use -= size;
    if (is_guarded()) return unmap_guarded(block, size);
    if (stats_.cached + size > kCacheLimit) return release(block);
    stats_.cached += size;
    free_[size].push_back(block);
  }

  // The largest arena that nobody uses; one that is too small is given up, because a larger one serves its programs as well.
  std::pair<void*, size_t> lend(size_t size) {
    {
      std::lock_guard lock(mutex_);
      if (!arenas_.empty()) {
        auto [held, block] = arenas_.back();
        arenas_.pop_back();
        stats_.cached -= held;
        if (held >= size) {
          note(held);
          return {used_again(block, held), held};
        }
        release(block);
      }
    }
    return {take(size), size};
  }
  void take_back(void* arena, size_t size) {
    std::lock_guard lock(mutex_);
    stats_.in_use -= size;
    stats_.cached += size;
    arenas_.insert(std::upper_bound(arenas_.begin(), arenas_.end(), std::pair(size, arena)), {size, arena});
  }

  void clear() {
    std::lock_guard lock(mutex_);
    for (auto& [size, blocks] : free_)
      for (void* block : blocks) release(block);
    for (auto& [size, arena] : arenas_) release(arena);
    free_.clear();
    arenas_.clear();
    stats_.cached = 0;
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  // Of a process that is forked meanwhile, whose child has none of the threads that might hold it.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak = stats_.in_use;
  }

 private:
  static bool is_large(size_t size) { return size >= 2 * kHugePage; }
  void note(size_t size) {
    stats_.in_use += size;
    stats_.peak = std::max(stats_.peak, stats_.in_use);
  }
  // A large block that is used again and again gets huge pages; what it held is lost. Not at once: a first touch of one may take milliseconds, where a host gives memory
  // by small pages, and what is held for good, as the state of an optimizer, gains nothing by them.
  void* used_again(void* block, size_t size) {
    if (is_large(size) && ++uses_[block] == kUsesOfHugePages && madvise(block, size, MADV_HUGEPAGE) == 0) madvise(block, size, MADV_DONTNEED);
    return block;
  }
  void release(void* block) {
    uses_.erase(block);
    std::free(block);
  }
  std::mutex mutex_;
  std::unordered_map<void*, int> uses_;  // of large blocks
  std::map<size_t, std::vector<void*>> free_;
  std::vector<std::pair<size_t, void*>> arenas_;  // idle, the largest last
  MemoryStats stats_;
};

// Leaked on purpose: tensors may be freed while the process exits.
Pool& pool() {
  static Pool* p = new Pool;
  static const int at_fork [[maybe_unused]] = pthread_atfork([] { p->lock(); }, [] { p->unlock(); }, [] { p->unlock(); });
  return *p;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t size) {
  auto buffer = std::shared_ptr<Buffer>(new Buffer);
  buffer->data_ = pool().take(rounded(size));
  buffer->size_ = size;
  scribble(buffer->data_, size);
  return buffer;
}

std::shared_ptr<Buffer> Buffer::copy() const {
  auto result = allocate(size_);
  std::memcpy(result->data_, data_, size_);
  return result;
}

std::shared_ptr<Buffer> Buffer::wrap(void* data, size_t size, std::shared_ptr<void> owner) {
  auto buffer = std::shared_ptr<Buffer>(new Buffer);
  buffer->data_ = data;
  buffer->size_ = size;
  buffer->owner_ = std::move(owner);
  return buffer;
}

Buffer::~Buffer() {
  if (data_ && !owner_) pool().give(data_, rounded(size_));
}

Arena::Arena(size_t bytes) {
  if (!bytes || is_guarded()) return;
  auto [block, size] = pool().lend((bytes + kHugePage - 1) / kHugePage * kHugePage);
  data_ = static_cast<char*>(block);
  size_ = size;
  scribble(data_, bytes);
}
Arena::~Arena() {
  if (data_) pool().take_back(data_, size_);
}

char* Arena::at(size_t offset, size_t bytes) {
  if (!is_guarded()) return data_ + offset;
  auto& piece = pieces_[offset];
  if (!piece) piece = Buffer::allocate(bytes);
  return static_cast<char*>(piece->data());
}

bool is_guarded() { return guard() != Guard::None; }

void scribble(void* memory, size_t bytes) {
  static const bool wanted = [] {
    const char* text = std::getenv("CRESSET_SCRATCH");
    return text && std::string_view(text) == "nan";
  }();
  if (wanted && bytes) std::memset(memory, 0xff, bytes);
}

MemoryStats memory_stats() { return pool().stats(); }
void reset_peak_memory() { pool().reset_peak(); }
void empty_cache() { pool().clear(); }

}  // namespace cresset
