#include "machine.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace cresset::bench {
namespace {

// Many short rounds: some of them are undisturbed even where other processes run.
constexpr int kRounds = 20;
constexpr size_t kHugePage = 2 << 20, kChunk = 32 << 10;
constexpr size_t kBytesOfRound = 32 << 20;  // about a millisecond, however little is copied at once

volatile float sink;

// The fastest of several rounds in which every thread does work(thread); seconds.
template <class Work>
double fastest(int threads, Work work) {
  std::barrier turn(threads);
  double best = 1e30;
  auto body = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      turn.arrive_and_wait();
      auto start = std::chrono::steady_clock::now();
      work(thread);
      turn.arrive_and_wait();
      if (thread == 0) best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(body, i);
  body(0);
  for (auto& thread : others) thread.join();
  return best;
}

// More chains of dependent multiply-adds than two units of four cycles can hold, few enough for 16 registers.
constexpr int kChains = 12;
constexpr long kSteps = 200'000;

using Floats4 [[gnu::vector_size(16)]] = float;
using Floats8 [[gnu::vector_size(32)]] = float;
using Floats16 [[gnu::vector_size(64)]] = float;
using Integers4 [[gnu::vector_size(16)]] = int;
using Integers8 [[gnu::vector_size(32)]] = int;

template <class Vector>
[[gnu::always_inline]] inline void multiply_add() {
  Vector x = Vector{} + 0.9999999f, y = Vector{} + 1e-7f, a[kChains];
  for (auto& v : a) v = y;
  for (long i = 0; i < kSteps; ++i)
#pragma GCC unroll 12
    for (auto& v : a) v = v * x + y;
  for (auto& v : a) sink = v[0];
}
__attribute__((target("avx512f"))) void multiply_add_avx512() { multiply_add<Floats16>(); }
__attribute__((target("avx2,fma"))) void multiply_add_avx2() { multiply_add<Floats8>(); }
void multiply_add_baseline() { multiply_add<Floats4>(); }

// Memory on huge pages, every page written.
class Memory {
 public:
  explicit Memory(size_t bytes) : size_((bytes + 2 * kHugePage - 1) / kHugePage * kHugePage) {
    map_ = mmap(nullptr, size_ + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    data_ = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(map_) + kHugePage - 1) / kHugePage * kHugePage);
    madvise(data_, size_, MADV_HUGEPAGE);
    std::memset(data_, 1, size_);
  }
  ~Memory() { munmap(map_, size_ + kHugePage); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return data_; }

 private:
  size_t size_;
  void* map_;
  char* data_;
};

void copy_cached(char* to, const char* from) { std::memcpy(to, from, kChunk); }
void copy_streaming(char* to, const char* from) {
  for (size_t i = 0; i < kChunk; i += 64)
    for (size_t j = i; j < i + 64; j += 16)
      _mm_stream_ps(reinterpret_cast<float*>(to + j), _mm_load_ps(reinterpret_cast<const float*>(from + j)));
}
template <class Vector>
[[gnu::always_inline]] inline void read(const char* from) {
  Vector sums[4] = {};
  for (size_t i = 0; i < kChunk; i += sizeof sums)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] ^= reinterpret_cast<const Vector*>(from + i)[j];
  sink = float((sums[0] ^ sums[1] ^ sums[2] ^ sums[3])[0]);
}
__attribute__((target("avx2"))) void read_avx2(const char* from) { read<Integers8>(from); }
void read_baseline(const char* from) { read<Integers4>(from); }

// Seconds for one pass over `chunks`, shared out among the threads, when visit(offset) does one chunk.
template <class Visit>
double seconds_of_pass(int threads, size_t chunks, Visit visit) {
  size_t passes = std::max<size_t>(1, kBytesOfRound / (chunks * kChunk));
  double seconds = fastest(threads, [&](int thread) {
    for (size_t pass = 0; pass < passes; ++pass)
      for (size_t i = chunks * thread / threads; i < chunks * (thread + 1) / threads; ++i) visit(i * kChunk);
  });
  return seconds / passes;
}

}  // namespace

double fma_peak(int threads) {
  bool avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  auto kernel = avx512 ? multiply_add_avx512 : avx2 ? multiply_add_avx2 : multiply_add_baseline;
  int lanes = avx512 ? 16 : avx2 ? 8 : 4;
  return 2e-9 * lanes * kChains * kSteps * threads / fastest(threads, [&](int) { kernel(); });
}

double copy_bandwidth(int threads, size_t bytes) {
  size_t chunks = std::max<size_t>(threads, bytes / 2 / kChunk);
  Memory from(chunks * kChunk), to(chunks * kChunk);
  double best = 1e30;
  for (auto copy : {copy_cached, copy_streaming})
    best = std::min(best, seconds_of_pass(threads, chunks, [&](size_t at) { copy(to.data() + at, from.data() + at); }));
  return 2e-9 * chunks * kChunk / best;
}

double read_bandwidth(int threads, size_t bytes) {
  size_t chunks = std::max<size_t>(threads, bytes / kChunk);
  Memory from(chunks * kChunk);
  auto visit = __builtin_cpu_supports("avx2") ? read_avx2 : read_baseline;
  return 1e-9 * chunks * kChunk / seconds_of_pass(threads, chunks, [&](size_t at) { visit(from.data() + at); });
}

double core_to_core(int threads) {
  constexpr int kTrips = 500;  // one pair of threads takes its turn after the other
  double farthest = 0;
  for (int other = 1; other < threads; ++other) {
    alignas(128) std::atomic<int> ball{0};
    double seconds = fastest(threads, [&](int thread) {
      if (thread != 0 && thread != other) return;
      for (int trip = 0; trip < kTrips; ++trip) {
        int mine = 2 * trip + (thread != 0);  // an even number is the first thread's turn
        while (ball.load(std::memory_order_acquire) != mine) _mm_pause();
        ball.store((mine + 1) % (2 * kTrips), std::memory_order_release);
      }
    });
    farthest = std::max(farthest, 1e9 * seconds / (2 * kTrips));
  }
  return farthest;
}

}  // namespace cresset::bench
