// Counters of what the device did: operators lowered ("cresset::gelu"), operators that fell back to the CPU
// ("aten::gelu"), and events ("cresset.compile", "cresset.execute", "cresset.cache_hit").
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace cresset {

/// Every counter that is not zero, by name.
std::map<std::string, int64_t> counters();

/// Sets all counters to zero.
void reset_counters();

/// A named counter with static lifetime: `static Counter c("cresset.compile"); c.add();`
/// Two objects of one name are summed by counters().
class Counter {
 public:
  explicit Counter(std::string name);
  void add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  friend std::map<std::string, int64_t> counters();
  friend void reset_counters();
  std::string name_;
  std::atomic<int64_t> value_{0};
  Counter* next_;  // the list of all counters
};

/// Adds to the counter of this name, made on first use (slower than a static Counter: one map lookup).
void count(const std::string& name, int64_t n = 1);

}  // namespace cresset
