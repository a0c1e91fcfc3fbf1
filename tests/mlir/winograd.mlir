// 3 x 3 windows that move by one, after Winograd, against the interpreter; sums of 576 products round by about 1e-5 in f32, however they are made.
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s

// The kernels' window is halved and its halves added: nothing else multiplies without adding.
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps

func.func @main(
    %x0: tensor<2x64x13x15xf32>, %w0: tensor<70x64x3x3xf32>,
    %b0: tensor<2x70x13x15xf32>,
    %x1: tensor<4x64x7x15xf32>, %w1: tensor<96x64x3x3xf32>,
    %x2: tensor<2x64x10x12xf32>, %w2: tensor<64x72x3x3xf32>,
    %x3: tensor<2x128x10x9xf32>, %w3: tensor<144x64x3x3xf32>,
    %x4: tensor<1x64x26x66xf32>, %w4: tensor<64x64x3x3xf32>) -> (
    tensor<2x70x13x15xf32>, tensor<4x96x7x15xf32>, tensor<2x72x10x12xf32>, tensor<2x144x10x10xf32>, tensor<1x64x24x66xf32>) {
  // An odd number of rows, rows and columns beyond the tiles, features beyond the blocks; what follows.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x13x15xf32>, tensor<70x64x3x3xf32>) -> tensor<2x70x13x15xf32>
  %s0 = stablehlo.add %y0, %b0 : tensor<2x70x13x15xf32>
  %z0 = stablehlo.maximum %s0, %y0 : tensor<2x70x13x15xf32>
  // Images that share rows of tiles with the next.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x64x7x15xf32>, tensor<96x64x3x3xf32>) -> tensor<4x96x7x15xf32>
  // The gradient of an input.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x10x12xf32>, tensor<64x72x3x3xf32>) -> tensor<2x72x10x12xf32>
  // Groups; padding that crops, and padding of whole windows.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [-1, 4]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x128x10x9xf32>, tensor<144x64x3x3xf32>) -> tensor<2x144x10x10xf32>
  // Several tasks of rows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x26x66xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x24x66xf32>
  return %z0, %y1, %y2, %y3, %y4 : tensor<2x70x13x15xf32>, tensor<4x96x7x15xf32>, tensor<2x72x10x12xf32>, tensor<2x144x10x10xf32>, tensor<1x64x24x66xf32>
}
