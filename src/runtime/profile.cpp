#include "runtime/profile.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace cresset {
namespace {

std::mutex mutex;
std::unordered_map<std::string, ProfileRow> rows;

}  // namespace

std::atomic<bool> profiling{false};

void begin_profile() {
  std::lock_guard lock(mutex);
  rows.clear();
  profiling = true;
}

std::vector<ProfileRow> end_profile() {
  profiling = false;
  std::lock_guard lock(mutex);
  std::vector<ProfileRow> result;
  for (auto& [name, row] : rows) result.push_back(row);
  rows.clear();
  std::sort(result.begin(), result.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return result;
}

void profile(const std::string& kernel, double seconds) {
  std::lock_guard lock(mutex);
  ProfileRow& row = rows[kernel];
  row.kernel = kernel;
  ++row.calls;
  row.seconds += seconds;
}

}  // namespace cresset
