// A value that is quantised: how it is found, and what rewrites of its products share.
#pragma once

#include <optional>

#include "mlir/IR/PatternMatch.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// A value that is the same along some dimensions of an operand: `value`, whose dimensions are these of it; or a number.
struct Spread {
  mlir::Value value;
  mlir::SplatElementsAttr number;
  llvm::SmallVector<int64_t> dims;
};
/// The number, if it is a whole one that a byte or the negative of one may be, so that sums of its products stay within i32.
std::optional<int64_t> whole_number(const Spread& s);

/// (bytes - zero) * scale.
struct Quantised {
  mlir::Value bytes;
  llvm::SmallVector<mlir::Operation*> moves;  ///< transposes and reshapes behind it, the last first
  std::optional<Spread> zero;
  Spread scale;
  mlir::BlockArgument assumed = {};  ///< to be 0: the zero that it had

  /// The bytes, moved as the value is.
  mlir::Value all_bytes(mlir::PatternRewriter& r) const;
  /// The most that a byte less its zero can be, either way.
  int64_t reach() const;
};
std::optional<Quantised> quantised(mlir::Value v);
/// Notes on @main what is assumed from now on (kAssumedZero).
void note_assumption(const Quantised& q);

mlir::Value converted(mlir::Value v, mlir::Type to, mlir::PatternRewriter& r);
mlir::Value constant(mlir::RankedTensorType type, int64_t number, mlir::PatternRewriter& r);
/// The bytes less a number, as i32.
mlir::Value less(mlir::Value bytes, int64_t number, mlir::PatternRewriter& r);

}  // namespace cresset::cpu
