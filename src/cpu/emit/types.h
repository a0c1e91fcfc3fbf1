// The type of a value, in short.
#pragma once

#include <functional>
#include <numeric>
#include <optional>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace cresset::cpu {

inline mlir::RankedTensorType shaped(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }
inline mlir::Type element(mlir::Value v) { return shaped(v).getElementType(); }
/// bool as well.
inline bool is_unsigned(mlir::Type t) { return t.isUnsignedInteger() || t.isInteger(1); }
inline bool is_byte(mlir::Type t) { return mlir::isa<mlir::IntegerType>(t) && t.getIntOrFloatBitWidth() == 8; }
inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline int64_t round_up(int64_t x, int64_t to) { return ceil_div(x, to) * to; }
/// Of n, as many equal parts as are at most `most` each, and multiples of `unit`.
inline int64_t equal_part(int64_t n, int64_t most, int64_t unit) { return std::max(unit, round_up(ceil_div(n, ceil_div(n, std::max(most, unit))), unit)); }
inline int64_t product(llvm::ArrayRef<int64_t> n) { return std::accumulate(n.begin(), n.end(), int64_t(1), std::multiplies<>()); }

/// Dimensions [from, from_end) that a reshape makes into [to, to_end), the fewest of equal product, which is `size`.
struct ReshapeGroup {
  size_t from, from_end, to, to_end;
  int64_t size;
};
/// Nothing where there are no such groups: of empty arrays, at most.
inline std::optional<llvm::SmallVector<ReshapeGroup>> reshape_groups(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  llvm::SmallVector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group{i, i, j, j, 1};
    int64_t size = 1;  // of what it becomes
    if (i < from.size()) group.size *= from[i++];
    if (j < to.size()) size *= to[j++];
    while (group.size != size) {
      if (group.size < size && i < from.size()) group.size *= from[i++];
      else if (j < to.size()) size *= to[j++];
      else return std::nullopt;
    }
    group.from_end = i, group.to_end = j;
    // Ones at the end belong to the group before: their position may be that of several dimensions that are taken as one.
    if (!groups.empty() && group.from == group.from_end) groups.back().to_end = j;
    else groups.push_back(group);
  }
  return groups;
}

}  // namespace cresset::cpu
