// Kernels that differ in numbers only share one code, which finds the numbers behind its buffers: a size that changes from run to run costs no compilation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/jit/kernel_cache.h"

namespace cresset::cpu {

/// Kernels of one digest (cpu/jit/numbers.h), and what is known of their numbers. Later processes find it where kernels are kept.
class Family {
 public:
  Family(std::string digest, const Target& target);
  /// Takes a kernel's numbers into account. Of the first one, those that are likely to be `sizes` count as if others had had them otherwise.
  void add(const std::vector<int64_t>& numbers, bool sizes);
  /// Of each number: 0 where all kernels have it alike; from 1 on the same class where each kernel has the same at all of them.
  llvm::ArrayRef<int> classes() const { return classes_; }
  /// The shared code's, one for each class.
  std::vector<int64_t> arguments(const std::vector<int64_t>& numbers) const;
  /// Of the shared code.
  const std::string& key();
  std::shared_ptr<NativeKernel> code;  ///< after key(); null if it is to be compiled

 private:
  std::string digest_, key_;
  Target target_;
  std::vector<int64_t> first_;  // the first kernel's numbers
  std::vector<int> classes_;
};

/// For the life of the process, or until forget_families().
Family& family_of(const std::string& digest, const Target& target);
/// If there are too many.
void forget_families();

}  // namespace cresset::cpu
