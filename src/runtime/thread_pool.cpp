#include "runtime/thread_pool.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "runtime/arena.h"

namespace cresset {
namespace {

std::atomic<int>& threads() {
  static std::atomic<int> count = [] {
    const char* text = std::getenv("CRESSET_THREADS");
    int given = text ? std::atoi(text) : 0;
    return given > 0 ? given : omp_get_max_threads();
  }();
  return count;
}

// What a thread does first: the same part in every call, so that it finds in its caches what it wrote there. Then it helps with the others' parts.
struct alignas(64) Part {
  std::atomic<int64_t> next;
  int64_t end;
};
constexpr int kMostParts = 64;

// A forked child has none of the team's threads, and OpenMP would wait for them.
std::atomic<bool> forked{false};

}  // namespace

void parallel_for(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, int64_t grain, size_t scratch_bytes) {
  int count = num_threads();
  if (count == 1 || end - begin <= grain || omp_in_parallel() || forked) return run_alone(kernel, buffers, begin, end, scratch_bytes);
  Part parts[kMostParts];
  int all = std::min(count, kMostParts);
  for (int i = 0; i < all; ++i) {
    parts[i].next.store(begin + (end - begin) * i / all, std::memory_order_relaxed);
    parts[i].end = begin + (end - begin) * (i + 1) / all;
  }
  static const int at_fork [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  // Always as many: a team that shrinks ends threads, and starts new ones when it grows again.
#pragma omp parallel num_threads(count)
  {
    void* scratch = thread_scratch(scratch_bytes);
    scribble(scratch, scratch_bytes);
    for (int i = 0; i < all; ++i) {
      Part& part = parts[(omp_get_thread_num() + i) % all];
      for (;;) {
        int64_t first = part.next.fetch_add(grain, std::memory_order_relaxed);
        if (first >= part.end) break;
        kernel(buffers, first, std::min(first + grain, part.end), scratch);
      }
    }
  }
}

void run_alone(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, size_t scratch_bytes) {
  void* scratch = thread_scratch(scratch_bytes);
  scribble(scratch, scratch_bytes);
  kernel(buffers, begin, end, scratch);
}

void set_num_threads(int count) { threads() = std::max(1, count); }
int num_threads() { return threads(); }

void* thread_scratch(size_t bytes) {
  if (is_guarded()) {
    thread_local std::shared_ptr<Buffer> exact;
    size_t lines = (bytes + 63) / 64 * 64;
    if (!exact || exact->size() != lines) exact = Buffer::allocate(lines);
    return exact->data();
  }
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<void, Free> memory;
  thread_local size_t capacity = 0;
  if (bytes > capacity) {
    void* p = nullptr;
    if (posix_memalign(&p, 4096, bytes) != 0) throw std::bad_alloc();
    memory.reset(p);
    capacity = bytes;
  }
  return memory.get();
}

}  // namespace cresset
