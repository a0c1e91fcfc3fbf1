#include "cresset/metrics.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace cresset {
namespace {

// Leaked on purpose: counters may be touched while the process exits.
std::mutex& mutex() {
  static auto* m = new std::mutex;
  return *m;
}
Counter*& head() {
  static Counter* first = nullptr;
  return first;
}

}  // namespace

Counter::Counter(std::string name) : name_(std::move(name)) {
  std::lock_guard lock(mutex());
  next_ = head();
  head() = this;
}

std::map<std::string, int64_t> counters() {
  std::lock_guard lock(mutex());
  std::map<std::string, int64_t> result;
  for (Counter* c = head(); c; c = c->next_)
    if (int64_t value = c->value()) result[c->name_] += value;
  return result;
}

void reset_counters() {
  std::lock_guard lock(mutex());
  for (Counter* c = head(); c; c = c->next_) c->value_.store(0, std::memory_order_relaxed);
}

void count(const std::string& name, int64_t n) {
  static auto* named = new std::unordered_map<std::string, std::unique_ptr<Counter>>;
  static auto* named_mutex = new std::mutex;
  std::lock_guard lock(*named_mutex);
  auto& counter = (*named)[name];
  if (!counter) counter = std::make_unique<Counter>(name);
  counter->add(n);
}

}  // namespace cresset
