// 3 x 3 windows of bf16 and of f16 that move by one, after Winograd by tiles of 4 x 4 outputs, whose sums are f32s: against the interpreter, results differ by an ulp, and by two where something is added.
// RUN: split-file %s %t
// RUN: cresset-run --compare --tolerance=1.2e-2 --cpu=avx2 %t/bf16.mlir
// RUN: cresset-run --compare --tolerance=1.2e-2 --cpu=wide %t/bf16.mlir
// RUN: cresset-run --compare --tolerance=1.2e-2 %t/bf16.mlir
// RUN: cresset-run --compare --tolerance=1.6e-3 --cpu=avx2 %t/f16.mlir
// RUN: cresset-run --compare --tolerance=1.6e-3 --cpu=wide %t/f16.mlir
// RUN: cresset-run --compare --tolerance=1.6e-3 %t/f16.mlir
// RUN: cresset-run --assembly --cpu=avx2 %t/f16.mlir | FileCheck %s

// A part of 1/24 of the kernels' window, 0x3D2AAAAB: nobody else multiplies by it.
// CHECK: # convolution
// CHECK: .long 0x3d2aaaab
// CHECK: # convolution
// CHECK: .long 0x3d2aaaab
// CHECK: # convolution
// CHECK: .long 0x3d2aaaab
// CHECK: # convolution
// CHECK: .long 0x3d2aaaab
// CHECK: # convolution
// CHECK: .long 0x3d2aaaab

//--- bf16.mlir
func.func @main(
    %x0: tensor<2x64x13x15xbf16>, %w0: tensor<70x64x3x3xbf16>,
    %b0: tensor<2x70x13x15xbf16>,
    %x1: tensor<4x64x7x15xbf16>, %w1: tensor<96x64x3x3xbf16>,
    %x2: tensor<2x64x10x12xbf16>, %w2: tensor<64x72x3x3xbf16>,
    %x3: tensor<2x128x10x9xbf16>, %w3: tensor<144x64x3x3xbf16>,
    %x4: tensor<1x64x26x66xbf16>, %w4: tensor<64x64x3x3xbf16>) -> (
    tensor<2x70x13x15xbf16>, tensor<4x96x7x15xbf16>, tensor<2x72x10x12xbf16>, tensor<2x144x10x10xbf16>, tensor<1x64x24x66xbf16>) {
  // An odd number of rows, rows and columns beyond the tiles, features beyond the blocks; what follows.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x13x15xbf16>, tensor<70x64x3x3xbf16>) -> tensor<2x70x13x15xbf16>
  %s0 = stablehlo.add %y0, %b0 : tensor<2x70x13x15xbf16>
  %z0 = stablehlo.maximum %s0, %y0 : tensor<2x70x13x15xbf16>
  // Images that share rows of tiles with the next.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x64x7x15xbf16>, tensor<96x64x3x3xbf16>) -> tensor<4x96x7x15xbf16>
  // The gradient of an input.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x10x12xbf16>, tensor<64x72x3x3xbf16>) -> tensor<2x72x10x12xbf16>
  // Groups; padding that crops, and padding of whole windows.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [-1, 4]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x128x10x9xbf16>, tensor<144x64x3x3xbf16>) -> tensor<2x144x10x10xbf16>
  // Several tasks of rows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x26x66xbf16>, tensor<64x64x3x3xbf16>) -> tensor<1x64x24x66xbf16>
  return %z0, %y1, %y2, %y3, %y4 : tensor<2x70x13x15xbf16>, tensor<4x96x7x15xbf16>, tensor<2x72x10x12xbf16>, tensor<2x144x10x10xbf16>, tensor<1x64x24x66xbf16>
}
//--- f16.mlir
func.func @main(
    %x0: tensor<2x64x13x15xf16>, %w0: tensor<70x64x3x3xf16>,
    %b0: tensor<2x70x13x15xf16>,
    %x1: tensor<4x64x7x15xf16>, %w1: tensor<96x64x3x3xf16>,
    %x2: tensor<2x64x10x12xf16>, %w2: tensor<64x72x3x3xf16>,
    %x3: tensor<2x128x10x9xf16>, %w3: tensor<144x64x3x3xf16>,
    %x4: tensor<1x64x26x66xf16>, %w4: tensor<64x64x3x3xf16>) -> (
    tensor<2x70x13x15xf16>, tensor<4x96x7x15xf16>, tensor<2x72x10x12xf16>, tensor<2x144x10x10xf16>, tensor<1x64x24x66xf16>) {
  // An odd number of rows, rows and columns beyond the tiles, features beyond the blocks; what follows.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x13x15xf16>, tensor<70x64x3x3xf16>) -> tensor<2x70x13x15xf16>
  %s0 = stablehlo.add %y0, %b0 : tensor<2x70x13x15xf16>
  %z0 = stablehlo.maximum %s0, %y0 : tensor<2x70x13x15xf16>
  // Images that share rows of tiles with the next.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x64x7x15xf16>, tensor<96x64x3x3xf16>) -> tensor<4x96x7x15xf16>
  // The gradient of an input.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x10x12xf16>, tensor<64x72x3x3xf16>) -> tensor<2x72x10x12xf16>
  // Groups; padding that crops, and padding of whole windows.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [-1, 4]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x128x10x9xf16>, tensor<144x64x3x3xf16>) -> tensor<2x144x10x10xf16>
  // Several tasks of rows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x26x66xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x24x66xf16>
  return %z0, %y1, %y2, %y3, %y4 : tensor<2x70x13x15xf16>, tensor<4x96x7x15xf16>, tensor<2x72x10x12xf16>, tensor<2x144x10x10xf16>, tensor<1x64x24x66xf16>
}
