// What this machine can do at most: the measure that kernels and models are held against.
#pragma once

#include <cstddef>

namespace cresset::bench {

/// GFLOP/s of f32 multiply-adds in registers, with the widest vectors the machine has.
double fma_peak(int threads);

/// GB/s of copying into memory that was written before, bytes read and written counted once each: `bytes` of both
/// together, so that a small copy is one within the caches.
double copy_bandwidth(int threads, size_t bytes);

/// GB/s of reading `bytes` again and again.
double read_bandwidth(int threads, size_t bytes);

/// Nanoseconds until a thread sees what another one wrote, by the two that are farthest apart; 0 with one thread. What share no cache, as on different chiplets or sockets, are several times
/// as far apart, and what one wrote reaches the other at the speed of memory. A virtual machine's processors may move while it runs.
double core_to_core(int threads);

}  // namespace cresset::bench
