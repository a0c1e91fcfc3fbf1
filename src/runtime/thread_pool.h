// Kernels run on OpenMP's threads, which are PyTorch's too: in a step its kernels and ours take turns (an eager optimizer after a compiled model), and a pool
// of our own would wait for the cores on which PyTorch's threads still spin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace cresset {

/// A compiled kernel: runs its independent tasks [begin, end); `scratch` belongs to the calling thread.
using KernelFunction = void (*)(void* const* buffers, int64_t begin, int64_t end, void* scratch);

/// Runs tasks [begin, end) on all threads in chunks of `grain`, and returns when they are done. Nested calls, and those of a process forked after
/// the first one, run on the calling thread alone.
void parallel_for(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, int64_t grain, size_t scratch_bytes);

/// Calls `work`, and until it returns keeps the other threads at hand: those that wait for a part of OpenMP's go to sleep within microseconds where a process has more of its
/// threads than processors, and beginning one takes longer. Elsewhere, as in a process that uses OpenMP itself meanwhile, its parts would run on one thread.
void together(const std::function<void()>& work);

/// Runs them on the calling thread alone, with its own scratch memory.
void run_alone(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, size_t scratch_bytes);

/// 1 runs everything on the calling thread. The default is CRESSET_THREADS, or else OpenMP's: OMP_NUM_THREADS, or the processors this process may use.
void set_num_threads(int threads);
int num_threads();

/// At least `bytes` of scratch memory of this thread, 64-byte aligned, kept for its lifetime.
void* thread_scratch(size_t bytes);

}  // namespace cresset
