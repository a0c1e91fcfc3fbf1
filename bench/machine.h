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

}  // namespace cresset::bench
