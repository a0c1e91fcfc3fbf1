// What is known of the numbers of a program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// The least and the most that a float can be, as far as clamps tell, and what quantises what a relu has given.
inline constexpr int kMostSteps = 8;
double least(mlir::Value v, int steps = kMostSteps);
double most(mlir::Value v, int steps = kMostSteps);
inline bool is_within_i32(mlir::Value v) { return least(v) >= -0x1p31 && most(v) < 0x1p31; }

/// x - max(x), the maximum over some dimensions of x and broadcast along them: never above 0.
bool is_less_its_maximum(mlir::Value v);

/// Notes on operations what they may rely on: kAtMostZero, kWithinI32, kSevenBits.
void mark_ranges(mlir::func::FuncOp function);

}  // namespace cresset::cpu
