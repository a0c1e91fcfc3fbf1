#include "runtime/openmp.h"

void on_each_of_team(int count, void (*work)(void* data), void* data) {
#pragma omp parallel num_threads(count)
  work(data);
}
