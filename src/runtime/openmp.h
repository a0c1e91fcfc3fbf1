// The threads of OpenMP that are PyTorch's: libgomp's. Clang knows another library's, so openmp.c is C, for gcc.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// As in gcc's omp.h (OpenMP 5, 3.2).
int omp_get_max_threads(void);
int omp_get_num_procs(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_in_parallel(void);

/// Calls `work` on each thread of a team of `count`, of which this thread is the first, and returns when all are done.
void on_each_of_team(int count, void (*work)(void* data), void* data);

#ifdef __cplusplus
}
#endif
