// What of a kernel's code is numbers: sizes, strides, bounds, and whatever else might as well be read from memory.
#pragma once

#include <string>
#include <vector>

#include "llvm/IR/Module.h"

namespace cresset::cpu {

/// The numbers of a kernel as emitted, not yet optimised.
class Numbers {
 public:
  /// What a constant consists of: an integer, or the same in all lanes; the bits of a float, likewise; the first lane's integer, and what is added from each to the next; the first lane
  /// that is set, and the first behind it that isn't.
  enum class Kind { Integer, Float, Line, Mask };

  explicit Numbers(llvm::Function& kernel);
  const std::vector<int64_t>& values() const { return values_; }
  /// Of all but the numbers.
  const std::string& digest() const { return digest_; }
  /// Loads those whose class isn't 0, once for each class, from an array that stands behind the kernel's buffers.
  void load(llvm::ArrayRef<int> classes, int buffers);

 private:
  struct Place {
    llvm::Use* use;
    Kind kind;
    size_t first;  // its numbers are those from there on
  };
  llvm::Function& kernel_;
  std::vector<Place> places_;
  std::vector<int64_t> values_;
  std::string digest_;
};

}  // namespace cresset::cpu
