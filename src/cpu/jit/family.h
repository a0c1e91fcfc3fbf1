// Kernels that differ in integers only (sizes, strides, bounds) share one code, which finds the integers behind its buffers: a size that changes
// from run to run costs no compilation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/jit/kernel_cache.h"
#include "llvm/IR/Module.h"

namespace cresset::cpu {

/// The integers of a kernel as emitted, not yet optimised, that could as well be loaded.
class Integers {
 public:
  explicit Integers(llvm::Function& kernel);
  const std::vector<int64_t>& values() const { return values_; }
  /// Of all but the integers.
  const std::string& digest() const { return digest_; }
  /// Makes loads of those that `change`, from an array that stands behind the kernel's buffers.
  void make_arguments(const std::vector<bool>& change, int buffers);

 private:
  llvm::Function& kernel_;
  std::vector<llvm::Use*> uses_;
  std::vector<int64_t> values_;
  std::string digest_;
};

/// What is known of kernels of one digest.
struct Family {
  std::vector<int64_t> first;         ///< the integers of the first kernel
  std::vector<bool> change;           ///< those that others have had otherwise
  std::string key;                    ///< of the shared code, or ""
  std::shared_ptr<NativeKernel> code;

  /// Takes these integers into account; true if they are those of the first kernel, which has code of its own.
  bool add(const std::vector<int64_t>& values);
  /// The arguments of the shared code.
  std::vector<int64_t> arguments(const std::vector<int64_t>& values) const;
};
/// Of this digest, for the life of the process.
Family& family_of(const std::string& digest);

}  // namespace cresset::cpu
