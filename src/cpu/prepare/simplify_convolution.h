// What convolutions are more simply.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// Padding in front of a convolution becomes its own; places of windows and outputs that meet nothing but padding are not computed; products of matrices are made of windows as large as the image, and of images of one element.
void add_simplified_convolutions(mlir::RewritePatternSet& rules);
/// Kernels that are transposed or reversed for a convolution alone, in every call, are read by it in that order. For machines without tiles, last of all: convolutions that get other kernels want these in their own.
void read_kernels_as_they_lie(mlir::func::FuncOp function);

}  // namespace cresset::cpu
