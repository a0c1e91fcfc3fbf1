// Strongly dilated windows see padding for the most part: outputs whose windows meet the input at the same places along the first dimension are products of those places alone.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s

// Three strips, of two, one and two places: as many loops.
// CHECK: # convolution f32[2x16x20x20] f32[12x16x3x3] -> f32[2x12x20x20]: add
// CHECK-COUNT-144: vfmadd
// CHECK: # convolution f32[2x16x20x20] f32[12x16x3x3] -> f32[2x12x20x20]{{$}}
func.func @main(%x: tensor<2x16x20x20xf32>, %w: tensor<12x16x3x3xf32>, %b: tensor<12xf32>, %res: tensor<2x12x20x20xf32>, %s: tensor<1x8x40x72xf32>, %k: tensor<9x8x4x3xf32>,
                %far: tensor<1x8x5x64xf32>, %kf: tensor<8x8x3x3xf32>, %v: tensor<1x8x12x8x9xf32>, %kv: tensor<8x8x3x1x3xf32>)
    -> (tensor<2x12x20x20xf32>, tensor<2x12x20x20xf32>, tensor<1x9x10x68xf32>, tensor<1x8x5x64xf32>, tensor<1x8x12x8x9xf32>, tensor<16x12x3x3xf32>) {
  // With what reads other arrays at the same positions.
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[12, 12], [12, 12]], rhs_dilate = [12, 12]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x20x20xf32>, tensor<12x16x3x3xf32>) -> tensor<2x12x20x20xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<12xf32>) -> tensor<2x12x20x20xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x12x20x20xf32>
  %3 = stablehlo.add %2, %res : tensor<2x12x20x20xf32>
  // Reversed, as in the gradient of the input.
  %rev = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[7, 17], [12, 12]], rhs_dilate = [12, 12], reverse = [true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x20x20xf32>, tensor<12x16x3x3xf32>) -> tensor<2x12x20x20xf32>
  // Steps of four, of windows of which several places are padding.
  %4 = stablehlo.convolution(%s, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 1], pad = [[16, 17], [4, 4]], rhs_dilate = [12, 6]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x40x72xf32>, tensor<9x8x4x3xf32>) -> tensor<1x9x10x68xf32>
  // So far that the middle place alone meets it, and rows that meet nothing.
  %5 = stablehlo.convolution(%far, %kf) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[9, 7], [1, 1]], rhs_dilate = [8, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x5x64xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x5x64xf32>
  // Three dimensions.
  %6 = stablehlo.convolution(%v, %kv) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[5, 5], [0, 0], [1, 1]], rhs_dilate = [5, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x12x8x9xf32>, tensor<8x8x3x1x3xf32>) -> tensor<1x8x12x8x9xf32>
  // The gradient of a kernel: features first, through all images.
  %tenth = stablehlo.constant dense<0.1> : tensor<2x12x20x20xf32>
  %small = stablehlo.multiply %res, %tenth : tensor<2x12x20x20xf32>  // sums of 800 products
  %7 = stablehlo.convolution(%x, %small) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [12, 12], pad = [[12, 12], [12, 12]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x20x20xf32>, tensor<2x12x20x20xf32>) -> tensor<12x16x3x3xf32>
  %8 = stablehlo.transpose %7, dims = [1, 0, 2, 3] : (tensor<12x16x3x3xf32>) -> tensor<16x12x3x3xf32>
  return %3, %rev, %4, %5, %6, %8 : tensor<2x12x20x20xf32>, tensor<2x12x20x20xf32>, tensor<1x9x10x68xf32>, tensor<1x8x5x64xf32>, tensor<1x8x12x8x9xf32>, tensor<16x12x3x3xf32>
}
