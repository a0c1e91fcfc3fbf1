#include "runtime/thread_pool.h"

#include <immintrin.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cresset {
namespace {

constexpr int kSpins = 4000;  // about 20 us

struct Job {
  KernelFunction kernel;
  void* const* buffers;
  int64_t tasks, grain;
  size_t scratch_bytes;
  std::atomic<int64_t> next{0};

  void work() {
    void* scratch = thread_scratch(scratch_bytes);
    for (;;) {
      int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= tasks) return;
      kernel(buffers, begin, std::min(begin + grain, tasks), scratch);
    }
  }
};

class ThreadPool {
 public:
  ThreadPool() {
    const char* text = std::getenv("CRESSET_THREADS");
    int n = text ? std::atoi(text) : 0;
    resize(n > 0 ? n : int(std::thread::hardware_concurrency()));
  }

  void resize(int threads) {
    std::lock_guard run(run_mutex_);
    stop();
    threads_ = std::max(1, threads);
    stopping_ = false;
    for (int i = 1; i < threads_; ++i) workers_.emplace_back([this, seen = generation_.load()] { loop(seen); });
  }

  int size() const { return threads_; }

  void run(Job& job) {
    std::unique_lock run(run_mutex_, std::try_to_lock);
    if (!run.owns_lock() || workers_.empty()) return job.work();
    job_ = &job;
    busy_.store(int(workers_.size()), std::memory_order_relaxed);
    {
      std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
    }
    if (parked_.load() > 0) wake_.notify_all();
    job.work();
    // Where cores are short, the worker that is waited for may need this one.
    for (int spins = 0; busy_.load(std::memory_order_acquire) != 0; ++spins) {
      if (spins < kSpins) _mm_pause();
      else std::this_thread::yield();
    }
  }

 private:
  void loop(uint64_t seen) {
    for (;;) {
      int spins = 0;
      while (generation_.load(std::memory_order_acquire) == seen) {
        if (++spins < kSpins) {
          _mm_pause();
          continue;
        }
        std::unique_lock lock(mutex_);
        parked_.fetch_add(1);
        wake_.wait(lock, [&] { return generation_.load() != seen; });
        parked_.fetch_sub(1);
      }
      ++seen;
      if (stopping_.load()) return;
      job_->work();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  void stop() {
    stopping_ = true;
    {
      std::lock_guard lock(mutex_);
      generation_.fetch_add(1);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
    workers_.clear();
  }

  int threads_ = 1;
  std::vector<std::thread> workers_;
  std::mutex run_mutex_, mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> busy_{0}, parked_{0};
  std::atomic<bool> stopping_{false};
  Job* job_ = nullptr;
};

// Leaked on purpose: its threads end with the process.
ThreadPool& pool() {
  static auto* p = new ThreadPool;
  return *p;
}

}  // namespace

void parallel_for(KernelFunction kernel, void* const* buffers, int64_t tasks, int64_t grain, size_t scratch_bytes) {
  Job job{kernel, buffers, tasks, grain, scratch_bytes};
  pool().run(job);
}

void set_num_threads(int threads) {
  if (threads != pool().size()) pool().resize(threads);
}
int num_threads() { return pool().size(); }

void* thread_scratch(size_t bytes) {
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
