// What convolutions are more simply.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// Padding in front of a convolution becomes its own; places of windows and outputs that meet nothing but padding are not computed; products of matrices are made of windows as large as the image, and of images of one element.
void add_simplified_convolutions(mlir::RewritePatternSet& rules);
/// The rule for inputs that are dilated (phases_as_features.cpp), when others are through.
mlir::Value phases_as_features(mlir::stablehlo::ConvolutionOp op, mlir::PatternRewriter& r);
/// Kernels that are transposed or reversed for a convolution alone, in every call, are read by it in that order. For machines without tiles, last of all: convolutions that get other kernels want these in their own.
void read_kernels_as_they_lie(mlir::func::FuncOp function);

/// The kernel as [first, second, window…] of these of its dimensions; its places in the order in which the input is met, or the other way round.
mlir::Value ordered_kernel(mlir::stablehlo::ConvolutionOp op, int64_t first, int64_t second, bool backwards, mlir::OpBuilder& b);

/// In front of each spatial dimension and behind it; zeros where none is given.
llvm::SmallVector<int64_t> padding_of(mlir::stablehlo::ConvolutionOp op);
void set_padding(mlir::stablehlo::ConvolutionOp op, llvm::ArrayRef<int64_t> padding);
inline int64_t ceil_of(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }  ///< of a / b, of either sign

}  // namespace cresset::cpu
