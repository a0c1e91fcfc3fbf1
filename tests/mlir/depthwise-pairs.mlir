// Depthwise images of bf16, where the machine multiplies pairs of these: neighbours in a row of the window are pairs, of every second column where windows move by one. Of windows of odd
// width the last pair is half, and what it would multiply by 0 is not read. Short rows are multiplied one by one.
// RUN: split-file %s %t
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/three.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/four.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/five.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/apart.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/apart_even.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %t/whole.mlir
// RUN: cresset-run --compare %t/planes.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --assembly --cpu=avx512 %t/three.mlir | FileCheck %s --check-prefix=EMULATED
// RUN: cresset-run --compare --cpu=avx2 %t/three.mlir
// EMULATED: vmovdqu16{{.*}}zmm

//--- three.mlir
func.func @main(%x: tensor<1x3x9x40xbf16>, %w: tensor<3x1x3x3xbf16>) -> tensor<1x3x9x40xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [1,1], pad = [[1,1],[1,1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x9x40xbf16>, tensor<3x1x3x3xbf16>) -> tensor<1x3x9x40xbf16>
  return %0 : tensor<1x3x9x40xbf16>
}

//--- four.mlir
func.func @main(%x: tensor<2x2x5x37xbf16>, %w: tensor<2x1x4x4xbf16>) -> tensor<2x2x6x38xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [1,1], pad = [[2,2],[2,2]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x2x5x37xbf16>, tensor<2x1x4x4xbf16>) -> tensor<2x2x6x38xbf16>
  return %0 : tensor<2x2x6x38xbf16>
}

//--- five.mlir
func.func @main(%x: tensor<1x2x7x50xbf16>, %w: tensor<2x1x5x5xbf16>) -> tensor<1x2x7x50xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [1,1], pad = [[2,2],[2,2]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x7x50xbf16>, tensor<2x1x5x5xbf16>) -> tensor<1x2x7x50xbf16>
  return %0 : tensor<1x2x7x50xbf16>
}

//--- apart.mlir
func.func @main(%x: tensor<2x3x11x45xbf16>, %w: tensor<3x1x3x3xbf16>) -> tensor<2x3x6x23xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [2,2], pad = [[1,1],[1,1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x11x45xbf16>, tensor<3x1x3x3xbf16>) -> tensor<2x3x6x23xbf16>
  return %0 : tensor<2x3x6x23xbf16>
}

//--- apart_even.mlir
func.func @main(%x: tensor<1x3x9x20xbf16>, %w: tensor<3x1x2x2xbf16>) -> tensor<1x3x4x10xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [2,2], pad = [[0,0],[0,0]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x9x20xbf16>, tensor<3x1x2x2xbf16>) -> tensor<1x3x4x10xbf16>
  return %0 : tensor<1x3x4x10xbf16>
}

//--- whole.mlir
func.func @main(%x: tensor<1x2x6x66xbf16>, %w: tensor<2x1x3x3xbf16>) -> tensor<1x2x4x64xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1]x[o,i,0,1]->[b,f,0,1], window = {stride = [1,1], pad = [[0,0],[0,0]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x6x66xbf16>, tensor<2x1x3x3xbf16>) -> tensor<1x2x4x64xbf16>
  return %0 : tensor<1x2x4x64xbf16>
}

//--- planes.mlir
func.func @main(%x: tensor<1x2x4x5x35xbf16>, %w: tensor<2x1x3x3x3xbf16>) -> tensor<1x2x4x5x35xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b,f,0,1,2]x[o,i,0,1,2]->[b,f,0,1,2], window = {stride = [1,1,1], pad = [[1,1],[1,1],[1,1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x4x5x35xbf16>, tensor<2x1x3x3x3xbf16>) -> tensor<1x2x4x5x35xbf16>
  return %0 : tensor<1x2x4x5x35xbf16>
}
