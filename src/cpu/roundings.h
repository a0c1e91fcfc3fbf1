// Which numbers need not be rounded to bf16 between two operations of one kernel.
#pragma once

#include "cpu/fusion.h"

namespace cresset::cpu {

/// On a conversion to a narrower type: a program asks for it by itself, so it rounds whatever follows.
inline constexpr llvm::StringLiteral kRounds = "cresset.rounds";
/// On a conversion to bf16, a product or a convolution: its result, which no memory holds, is what it was before it was rounded.
inline constexpr llvm::StringLiteral kUnrounded = "cresset.unrounded";

/// Marks with kUnrounded what one operator rounds to bf16 and the next one, in the same kernel and as its only reader, widens to f32 to calculate with. Eager rounds in between, because it writes to memory;
/// XLA (xla_allow_excess_precision) and Inductor don't either. What comparisons and sums over elements read stays rounded: a maximum must be found again among the numbers that it is of.
void skip_roundings(mlir::func::FuncOp main, llvm::ArrayRef<Fusion> fusions);

}  // namespace cresset::cpu
