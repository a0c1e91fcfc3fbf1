// Convolutions whose channels are their arrays' last dimension, as vectors and tiles along a window want them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// The array with its channels last: an image of `op` as [images, …, channels], its kernel as [features, …, channels], or as […, channels, features], places first.
mlir::Value image_with_channels_last(mlir::stablehlo::ConvolutionOp op, mlir::Value image, mlir::OpBuilder& b);
mlir::Value kernel_with_channels_last(mlir::stablehlo::ConvolutionOp op, mlir::Value kernel, mlir::OpBuilder& b);
mlir::Value kernel_with_places_first(mlir::stablehlo::ConvolutionOp op, mlir::Value kernel, mlir::OpBuilder& b);
/// `op` of such arrays, [images, …, features] of the element type `type`.
mlir::stablehlo::ConvolutionOp convolution_with_channels_last(mlir::stablehlo::ConvolutionOp op, mlir::Value image, mlir::Value kernel, mlir::Type type, mlir::OpBuilder& b);
/// The same of a depthwise one, whose kernel has its places first.
mlir::stablehlo::ConvolutionOp depthwise_with_channels_last(mlir::stablehlo::ConvolutionOp op, mlir::Value image, mlir::Value kernel, mlir::Type type, mlir::OpBuilder& b);
/// [images, …, features] of its result, for so many.
mlir::RankedTensorType type_with_channels_last(mlir::stablehlo::ConvolutionOp op, int64_t features, mlir::Type type);
/// What is [images, …, features] in the order of dimensions that the result of `op` has, by a transpose that sinks.
mlir::Value as_result_of(mlir::stablehlo::ConvolutionOp op, mlir::Value result, mlir::OpBuilder& b);

/// Gives convolutions of bf16 channels last, for AMX's tiles, and marks them (kChannelsLast): connected ones together, where what they gain pays for the transposes around them. Whether it changed any.
bool use_channels_last(mlir::func::FuncOp function);

}  // namespace cresset::cpu
