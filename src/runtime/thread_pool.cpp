#include "runtime/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/arena.h"
#include "runtime/openmp.h"

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

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

std::atomic<int> gathered{0};  // threads of all teams at work

// How often to look before falling asleep: some 2 ms, or 40 us where others wait for a processor.
int spins() {
  return gathered.load(std::memory_order_relaxed) <= num_processors() ? 50000 : 1000;
}

// Until it is no longer `old`.
template <class T>
T changed(const std::atomic<T>& value, T old) {
  for (int i = 0; i < spins(); ++i, pause())
    if (T now = value.load(std::memory_order_acquire); now != old) return now;
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// The threads of one parallel region, which the first one gives rounds of tasks. It waits for those who take part in a round, and they join it themselves: one whose processor
// another process has just now may come too late, and the others do its part.
class Team {
 public:
  /// Before the region: what state the others start from.
  uint32_t gather() { return state_ = state_.load(std::memory_order_relaxed) & ~kOver; }
  /// On the first thread; what `work` throws.
  std::exception_ptr lead(const std::function<void()>& work);
  void run(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, int64_t grain, size_t scratch_bytes) {
    kernel_ = kernel, buffers_ = buffers, grain_ = grain, scratch_bytes_ = scratch_bytes;
    for (int i = 0; i < parts(); ++i) {
      parts_[i].next.store(begin + (end - begin) * i / parts(), std::memory_order_relaxed);
      parts_[i].end = begin + (end - begin) * (i + 1) / parts();
    }
    announce(kRound | kOpen);
    work(0);
    close();
  }
  /// On the others.
  void serve(int thread, uint32_t state) {
    for (uint32_t joined = state / kRound; !(state & kOver);) {
      if (!(state & kOpen) || state / kRound == joined) {
        state = changed(state_, state);
        continue;
      }
      state = state_.fetch_add(1, std::memory_order_acq_rel);
      joined = state / kRound;
      if (state & kOpen) work(thread);
      state = state_.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if (!(state & kBusy)) state_.notify_all();
    }
  }

 private:
  // The state: how many threads are busy with the round, whether it may be joined, whether the region is over, the round's number.
  static constexpr uint32_t kOpen = 1 << 12, kOver = kOpen << 1, kRound = kOver << 1, kBusy = kOpen - 1;

  int parts() const { return std::min(size_, kMostParts); }
  void announce(uint32_t change) {
    state_.fetch_add(change, std::memory_order_release);
    state_.notify_all();
  }
  // Nobody can join any more, and nobody is busy.
  void close() {
    for (uint32_t state = state_.load(std::memory_order_acquire);;)
      if (state & kBusy) state = changed(state_, state);
      else if (state_.compare_exchange_weak(state, state & ~kOpen, std::memory_order_acq_rel)) return;
  }
  void work(int thread) {
    void* scratch = thread_scratch(scratch_bytes_);
    scribble(scratch, scratch_bytes_);
    for (int i = 0; i < parts(); ++i) {
      Part& part = parts_[(thread + i) % parts()];
      for (;;) {
        int64_t first = part.next.fetch_add(grain_, std::memory_order_relaxed);
        if (first >= part.end) break;
        kernel_(buffers_, first, std::min(first + grain_, part.end), scratch);
      }
    }
  }

  int size_ = 1;
  KernelFunction kernel_ = nullptr;
  void* const* buffers_ = nullptr;
  int64_t grain_ = 1;
  size_t scratch_bytes_ = 0;
  Part parts_[kMostParts];
  alignas(64) std::atomic<uint32_t> state_{0};
};
thread_local Team own;
thread_local Team* team = nullptr;  // that this thread leads

std::exception_ptr Team::lead(const std::function<void()>& work) {
  size_ = omp_get_num_threads();
  gathered += size_;
  team = this;
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  team = nullptr;
  gathered -= size_;
  announce(kRound | kOver);
  return error;
}

// A forked child has none of the team's threads, and OpenMP would wait for them.
std::atomic<bool> forked{false};

}  // namespace

void together(const std::function<void()>& work) {
  int count = num_threads();
  if (count == 1 || team || omp_in_parallel() || forked) return work();
  static const int at_fork [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  Team& all = own;
  uint32_t state = all.gather();
  std::exception_ptr error;
  auto each = [&] {
    if (int thread = omp_get_thread_num()) all.serve(thread, state);
    else error = all.lead(work);
  };
  // Always as many: a team that shrinks ends threads, and starts new ones when it grows again.
  on_each_of_team(count, [](void* body) { (*static_cast<decltype(each)*>(body))(); }, &each);
  if (error) std::rethrow_exception(error);
}

bool are_together() { return team; }

void parallel_for(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, int64_t grain, size_t scratch_bytes) {
  if (team && end - begin > grain) team->run(kernel, buffers, begin, end, grain, scratch_bytes);
  else run_alone(kernel, buffers, begin, end, scratch_bytes);
}

void run_alone(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, size_t scratch_bytes) {
  void* scratch = thread_scratch(scratch_bytes);
  scribble(scratch, scratch_bytes);
  kernel(buffers, begin, end, scratch);
}

void set_num_threads(int count) { threads() = std::max(1, count); }
int num_threads() { return threads(); }
int num_processors() {
  static const int count = omp_get_num_procs();
  return count;
}

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
