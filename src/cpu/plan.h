// Where every value of a program lives while it runs.
#pragma once

#include <vector>

#include "cpu/fusion.h"

namespace cresset::cpu {

struct Place {
  enum Kind { Input, Output, Constant, Arena, Kept } kind = Arena;
  int64_t index = 0;  ///< of the input, output or constant; byte offset in the arena or in what is kept
  bool operator==(const Place&) const = default;
};

/// An output that could not be written where it belongs: copied there at the end.
struct Copy {
  Place from;
  int output;
  int64_t bytes;
};

struct BufferPlan {
  llvm::DenseMap<mlir::Value, Place> places;
  std::vector<mlir::Value> constants;
  std::vector<Copy> copies;
  int64_t arena_bytes = 0, temporary_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t donated_bytes = 0;  ///< of outputs that are written over an input
};

/// `aliased[j]` is the input that output j may overwrite, or -1. Temporaries share memory when their lifetimes don't meet. What the first `kept` fusions make for later ones
/// outlives the run.
BufferPlan plan_buffers(mlir::func::FuncOp main, const std::vector<Fusion>& fusions, llvm::ArrayRef<int> aliased, size_t kept = 0);

int64_t value_bytes(mlir::Value v);

}  // namespace cresset::cpu
