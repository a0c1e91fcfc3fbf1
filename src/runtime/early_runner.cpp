#include "runtime/early_runner.h"

#include <pthread.h>

#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/openmp.h"

namespace cresset {
namespace {

constexpr int kSpins = 2000;  // some 50 us: as long as a few operators take to be recorded

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// A thread of OpenMP's team spins for some 10 ms after each parallel region, on the core that this thread would work on. libgomp spins for 1000 rounds only, some 40 us, in a
// process that has more of OpenMP's threads than there are processors: the one that this region leaves behind, asleep, makes it so.
void shorten_spinning() {
  on_each_of_team(2, [](void*) {}, nullptr);
}

}  // namespace

EarlyRunner& EarlyRunner::get() {
  static auto* runner = new EarlyRunner;  // its thread may outlive static objects
  return *runner;
}

EarlyRunner::EarlyRunner() {
  // A forked child has no such thread; nor must the parent's hold a lock meanwhile, of memory say.
  pthread_atfork(
      [] { get().stop_ = true, get().advancing_.lock(); },
      [] { get().stop_ = false, get().advancing_.unlock(), get().notify(); },
      [] { get().lost_ = true, get().run_ = nullptr, get().advancing_.unlock(); });
}

bool EarlyRunner::start(EarlyRun& run) {
  if (lost_) return false;
  if (!started_) {
    try {
      std::thread([this] { work(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    started_ = true;
  }
  {
    std::lock_guard lock(advancing_);
    run_ = &run;
    stop_ = false;
  }
  notify();
  return true;
}

void EarlyRunner::notify() {
  events_.fetch_add(1, std::memory_order_release);
  events_.notify_one();
}

void EarlyRunner::stop() {
  stop_ = true;
  // What is waited for are microseconds, less than a sleep.
  for (int i = 0; !advancing_.try_lock(); ++i) i < kSpins ? pause() : std::this_thread::yield();
  run_ = nullptr;
  advancing_.unlock();
}

void EarlyRunner::work() {
  shorten_spinning();
  for (;;) {
    uint32_t seen = events_.load(std::memory_order_acquire);
    {
      std::lock_guard lock(advancing_);
      try {
        if (run_ && !stop_) run_->advance(stop_);
      } catch (const std::bad_alloc&) {
        run_ = nullptr;  // whoever finishes the run asks for the memory again, and reports it
      }
    }
    for (int i = 0; i < kSpins && events_.load(std::memory_order_relaxed) == seen; ++i) pause();
    events_.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace cresset
