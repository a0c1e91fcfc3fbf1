// The type of a value, in short.
#pragma once

#include <functional>
#include <numeric>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace cresset::cpu {

inline mlir::RankedTensorType shaped(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }
inline mlir::Type element(mlir::Value v) { return shaped(v).getElementType(); }
inline int64_t product(llvm::ArrayRef<int64_t> n) { return std::accumulate(n.begin(), n.end(), int64_t(1), std::multiplies<>()); }

}  // namespace cresset::cpu
