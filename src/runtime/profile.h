// Where the time of programs goes, kernel by kernel. Off, it costs a load and a branch for each program.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace cresset {

struct ProfileRow {
  std::string kernel;  ///< what it computes: kind, shapes, operations
  int64_t calls = 0;
  double seconds = 0;
};

/// Whether programs are to report their kernels' times.
extern std::atomic<bool> profiling;

void begin_profile();
/// The kernels run since then, the dearest first.
std::vector<ProfileRow> end_profile();
/// Adds one call; thread-safe.
void profile(const std::string& kernel, double seconds);

}  // namespace cresset
