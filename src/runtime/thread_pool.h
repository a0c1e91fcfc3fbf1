// Kernels run on OpenMP's threads, which are PyTorch's too: in a step its kernels and ours take turns (an eager optimizer after a compiled model), and a pool
// of our own would wait for the cores on which PyTorch's threads still spin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace cresset {

/// A compiled kernel: runs its independent tasks [begin, end); `scratch` belongs to the calling thread.
using KernelFunction = void (*)(void* const* buffers, int64_t begin, int64_t end, void* scratch);

/// Calls `work`, and until it returns keeps all threads at hand: a kernel begins on them within half a microsecond. Waiting for a part of OpenMP's, they would go to sleep after
/// 40 us in a process that has more of its threads than processors. Nested calls, and those of a process forked after the first one, just call `work`. What uses OpenMP itself
/// within it has one thread.
void together(const std::function<void()>& work);
/// Whether this is called within it, and there are several threads.
bool are_together();

/// Runs tasks [begin, end) on all threads that are together in chunks of `grain`, and returns when they are done.
void parallel_for(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, int64_t grain, size_t scratch_bytes);

/// Runs them on the calling thread alone, with its own scratch memory.
void run_alone(KernelFunction kernel, void* const* buffers, int64_t begin, int64_t end, size_t scratch_bytes);

/// 1 runs everything on the calling thread. The default is CRESSET_THREADS, or else OpenMP's: OMP_NUM_THREADS, or the processors this process may use.
void set_num_threads(int threads);
int num_threads();
/// The processors that this process may use.
int num_processors();

/// At least `bytes` of scratch memory of this thread, 64-byte aligned, kept for its lifetime.
void* thread_scratch(size_t bytes);

}  // namespace cresset
