// Windows of three dimensions whose last two are 3 x 3 and move by one, after Winograd, against the interpreter; sums of up to 1296 products round by about 3e-5 in f32, however they are made.
// RUN: cresset-run --compare --tolerance=6e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=6e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=6e-5 %s
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
// CHECK: # convolution
// CHECK: vmulps

func.func @main(
    %x0: tensor<2x24x3x13x15xf32>, %w0: tensor<40x24x3x3x3xf32>, %x0b: tensor<2x40x3x13x15xf32>,
    %x1: tensor<1x48x7x14x14xf32>, %w1: tensor<32x48x3x3x3xf32>,
    %x2: tensor<1x48x6x7x9xf32>, %w2: tensor<48x40x3x3x3xf32>,
    %x3: tensor<2x64x2x8x10xf32>, %w3: tensor<64x32x2x3x3xf32>,
    %x4: tensor<2x48x5x10x12xf32>, %w4: tensor<48x48x1x3x3xf32>,
    %x5: tensor<1x32x4x26x22xf32>, %w5: tensor<40x32x3x3x3xf32>) -> (
    tensor<2x40x3x13x15xf32>, tensor<1x32x4x14x14xf32>, tensor<1x40x6x7x9xf32>, tensor<2x64x6x8x10xf32>, tensor<2x48x4x10x12xf32>, tensor<1x40x3x26x22xf32>) {
  // An odd number of rows and of columns, images, features beyond the blocks; what follows.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x24x3x13x15xf32>, tensor<40x24x3x3x3xf32>) -> tensor<2x40x3x13x15xf32>
  %z0 = stablehlo.maximum %y0, %x0b : tensor<2x40x3x13x15xf32>
  // Planes of the window that are apart, and padding that crops them.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[2, -1], [1, 1], [1, 1]], rhs_dilate = [2, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x48x7x14x14xf32>, tensor<32x48x3x3x3xf32>) -> tensor<1x32x4x14x14xf32>
  // The gradient of an input.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1, 2]x[i, o, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1], reverse = [true, true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x48x6x7x9xf32>, tensor<48x40x3x3x3xf32>) -> tensor<1x40x6x7x9xf32>
  // Groups; a window of two planes, and padding of whole planes.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[3, 2], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x64x2x8x10xf32>, tensor<64x32x2x3x3xf32>) -> tensor<2x64x6x8x10xf32>
  // Windows of one plane that move by two, and planes of padding.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [2, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x48x5x10x12xf32>, tensor<48x48x1x3x3xf32>) -> tensor<2x48x4x10x12xf32>
  // Several tasks of neighbouring planes and of rows.
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[0, 1], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x32x4x26x22xf32>, tensor<40x32x3x3x3xf32>) -> tensor<1x40x3x26x22xf32>
  return %z0, %y1, %y2, %y3, %y4, %y5 : tensor<2x40x3x13x15xf32>, tensor<1x32x4x14x14xf32>, tensor<1x40x6x7x9xf32>, tensor<2x64x6x8x10xf32>, tensor<2x48x4x10x12xf32>, tensor<1x40x3x26x22xf32>
}
