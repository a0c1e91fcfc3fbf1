// The thread on which programs begin before all of their inputs are known: while Python still records the operators that read the last weights, the kernels
// that read the first ones run.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/program.h"

namespace cresset {

/// The thread that advances early runs, one at a time.
class EarlyRunner {
 public:
  /// Lives as long as the process. Its thread starts with the first run.
  static EarlyRunner& get();

  /// False if there is no thread: in a forked child.
  bool start(EarlyRun& run);
  /// Another input is known.
  void notify();
  /// Returns when the thread has left the run, which may be anywhere between two of its tasks.
  void stop();

 private:
  EarlyRunner();
  void work();

  std::mutex advancing_;            // held while the run is advanced
  EarlyRun* run_ = nullptr;         // guarded by advancing_
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> events_{0};
  bool started_ = false, lost_ = false;
};

}  // namespace cresset
