// What operations that only move elements amount to: where each element of their result lies in memory.
#pragma once

#include <optional>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

namespace cresset::cpu {

/// Whether the operation only moves elements, in a way that strides may express.
bool is_view(mlir::Operation* op);

/// A strided window into a materialised value: what slices, transposes, reshapes and broadcasts amount to.
struct View {
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;  // in elements
};

/// The view of `v` in terms of a value that `is_buffer`; no value if some step can't be expressed by strides. With `converts`, elements may be converted on the way, once.
std::optional<View> view_of(mlir::Value v, llvm::function_ref<bool(mlir::Value)> is_buffer, bool converts = false);

}  // namespace cresset::cpu
