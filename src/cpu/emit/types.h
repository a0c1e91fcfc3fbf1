// The type of a value, in short.
#pragma once

#include <functional>
#include <numeric>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace cresset::cpu {

inline mlir::RankedTensorType shaped(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }
inline mlir::Type element(mlir::Value v) { return shaped(v).getElementType(); }
/// bool as well.
inline bool is_unsigned(mlir::Type t) { return t.isUnsignedInteger() || t.isInteger(1); }
inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline int64_t round_up(int64_t x, int64_t to) { return ceil_div(x, to) * to; }
/// Of n, as many equal parts as are at most `most` each, and multiples of `unit`.
inline int64_t equal_part(int64_t n, int64_t most, int64_t unit) { return std::max(unit, round_up(ceil_div(n, ceil_div(n, std::max(most, unit))), unit)); }
inline int64_t product(llvm::ArrayRef<int64_t> n) { return std::accumulate(n.begin(), n.end(), int64_t(1), std::multiplies<>()); }

}  // namespace cresset::cpu
