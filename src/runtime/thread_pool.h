// A persistent pool of threads. Workers spin briefly and then park, because a program's kernels follow each other within
// microseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cresset {

/// A compiled kernel: runs its independent tasks [begin, end); `scratch` belongs to the calling thread.
using KernelFunction = void (*)(void* const* buffers, int64_t begin, int64_t end, void* scratch);

/// Runs tasks [0, tasks) on all threads in chunks of `grain`, and returns when they are done. Not reentrant: nested or
/// concurrent calls run on the calling thread alone.
void parallel_for(KernelFunction kernel, void* const* buffers, int64_t tasks, int64_t grain, size_t scratch_bytes);

/// 1 runs everything on the calling thread. The default is CRESSET_THREADS, or else the number of cores.
void set_num_threads(int threads);
int num_threads();

/// At least `bytes` of scratch memory of this thread, 64-byte aligned, kept for its lifetime.
void* thread_scratch(size_t bytes);

}  // namespace cresset
