// Kernels whose results depend on a model's weights alone: they are run once, and again when the bytes of a weight have changed.
#pragma once

#include <vector>

#include "cpu/fusion.h"
#include "cpu/target.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/write_watch.h"

namespace cresset::cpu {

/// The attribute of an argument of @main that is a weight: the same bytes in most runs.
inline constexpr const char* kWeightAttribute = "cresset.weight";

/// The attribute of an argument of a loop's body that is the same in all rounds.
inline constexpr const char* kConstantOfLoop = "cresset.constant_of_loop";

/// What a program keeps between its runs.
struct Kept {
  std::vector<bool> fusions;     ///< of a program, which are computed once
  std::vector<int64_t> weights;  ///< the arguments that these read
};

/// Chooses the fusions that are worth keeping: `seconds[i]` is what fusion i takes. Reading their weights, to see whether they have changed, has to take a fraction of that.
Kept choose_kept(mlir::func::FuncOp main, const std::vector<Fusion>& fusions, llvm::ArrayRef<double> seconds);

/// On a product or convolution: its right operand depends on weights alone, or on what a loop does not change, and may be kept as it is packed.
inline constexpr llvm::StringLiteral kPacked = "cresset.packed";
inline bool keeps_packed(const Fusion& fusion) { return fusion.product && fusion.product->hasAttr(kPacked); }

/// Marks with kPacked the products that pack a weight for so few rows that this takes long: by tiles those of bf16, in a loop all; which weights each reads for it. The constants of a loop are none:
/// Program::begin_loop() says when they change.
llvm::DenseMap<mlir::Operation*, std::vector<int64_t>> mark_packed(mlir::func::FuncOp main, llvm::ArrayRef<Fusion> fusions, const Target& target);

/// Tells bytes from others as well as 64 bits can (XXH3, as LLVM has it), on all threads that are together. From the second time on it reads what has been written to since, where that can be watched.
class Fingerprint {
 public:
  Fingerprint() = default;
  /// `bytes[i]`: of the i-th array.
  explicit Fingerprint(llvm::ArrayRef<size_t> bytes);
  uint64_t of(llvm::ArrayRef<const void*> arrays);
  /// Whether writes to these arrays are watched, or it has not been tried, as they were seen once.
  bool may_be_watched() const { return is_watched_ != false; }

 private:
  // The first and the last part of an array share pages with what lies around it, and are always read.
  struct Part {
    size_t array, offset, bytes;
    bool is_edge;
  };
  uintptr_t begin_of(const Part& part) const { return reinterpret_cast<uintptr_t>(arrays_[part.array]) + part.offset; }
  bool begin_to_watch();
  static void hash_parts(void* const* buffers, int64_t begin, int64_t end, void* scratch);

  std::vector<Part> parts_;
  std::vector<uint64_t> hashes_;
  std::vector<size_t> unread_;  // parts that are to be read
  std::vector<const void*> arrays_;
  WriteWatch watch_;
  std::optional<bool> is_watched_;  // none: not tried, as these arrays were seen once
};

}  // namespace cresset::cpu
