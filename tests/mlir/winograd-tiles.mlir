// Transformed 3 x 3 windows as AMX's tiles multiply them, each number the sum of three bf16s, against the interpreter; sums of up to 1080 products round by about 2e-5 in f32, however they are made.
// RUN: split-file %s %t
// RUN: env CRESSET_SCRATCH=nan cresset-run --compare --tolerance=4e-5 %t/shapes.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=4e-5 --cpu=wide %t/shapes.mlir
// RUN: env CRESSET_GUARD=end CRESSET_THREADS=2 CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=4e-5 --cpu=wide %t/shapes.mlir
// RUN: env CRESSET_GUARD=begin CRESSET_BF16_DOT=tiles CRESSET_ANY_SIZE=1 cresset-run --compare --tolerance=4e-5 --cpu=wide %t/shapes.mlir
// RUN: env CRESSET_THREADS=1 cresset-run --assembly --cpu=amx %t/models.mlir | FileCheck %t/models.mlir
// RUN: cresset-run --compare --tolerance=4e-5 %t/numbers.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=4e-5 --cpu=wide %t/numbers.mlir

//--- shapes.mlir
func.func @main(
    %x0: tensor<2x64x12x14xf32>, %w0: tensor<64x64x3x3xf32>,
    %x1: tensor<1x72x13x15xf32>, %w1: tensor<72x72x3x3xf32>,
    %x2: tensor<1x96x20x20xf32>, %w2: tensor<160x96x3x3xf32>,
    %x3: tensor<3x64x10x9xf32>, %w3: tensor<64x40x3x3xf32>,
    %x4: tensor<2x64x8x9xf32>, %w4: tensor<80x32x3x3xf32>,
    %x5: tensor<1x40x4x8x10xf32>, %w5: tensor<32x40x3x3x3xf32>) -> (
    tensor<2x64x12x14xf32>, tensor<1x72x13x15xf32>, tensor<1x160x20x20xf32>, tensor<3x40x10x9xf32>, tensor<2x80x8x10xf32>, tensor<1x32x4x8x10xf32>) {
  // Some rows of tiles of all images, the last ones half a panel.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x12x14xf32>, tensor<64x64x3x3xf32>) -> tensor<2x64x12x14xf32>
  // Channels that are no whole steps, tiles of fewer rows than features' blocks have, an odd number of rows and of columns.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x72x13x15xf32>, tensor<72x72x3x3xf32>) -> tensor<1x72x13x15xf32>
  // More than stay in L2, with which several panels of kernels are multiplied at once, and at last one.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x96x20x20xf32>, tensor<160x96x3x3xf32>) -> tensor<1x160x20x20xf32>
  // The gradient of an input, whose rows of tiles are shorter than a vector.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x64x10x9xf32>, tensor<64x40x3x3xf32>) -> tensor<3x40x10x9xf32>
  // Groups; padding that crops, and padding of whole windows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, -1], [-1, 4]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x64x8x9xf32>, tensor<80x32x3x3xf32>) -> tensor<2x80x8x10xf32>
  // Planes that share planes of the input.
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x40x4x8x10xf32>, tensor<32x40x3x3x3xf32>) -> tensor<1x32x4x8x10xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5 : tensor<2x64x12x14xf32>, tensor<1x72x13x15xf32>, tensor<1x160x20x20xf32>, tensor<3x40x10x9xf32>, tensor<2x80x8x10xf32>, tensor<1x32x4x8x10xf32>
}

//--- numbers.mlir
// Numbers so small that AMX takes parts of them for 0, on either side.
func.func @main(%x: tensor<1x64x10x12xf32>, %w: tensor<48x64x3x3xf32>) -> (tensor<1x48x10x12xf32>, tensor<1x48x10x12xf32>) {
  %small = stablehlo.constant dense<2.4074124304840448e-35> : tensor<f32>
  %large = stablehlo.constant dense<4.1538374868278621e+34> : tensor<f32>
  %small_x = stablehlo.broadcast_in_dim %small, dims = [] : (tensor<f32>) -> tensor<1x64x10x12xf32>
  %small_w = stablehlo.broadcast_in_dim %small, dims = [] : (tensor<f32>) -> tensor<48x64x3x3xf32>
  %large_o = stablehlo.broadcast_in_dim %large, dims = [] : (tensor<f32>) -> tensor<1x48x10x12xf32>
  %x0 = stablehlo.multiply %x, %small_x : tensor<1x64x10x12xf32>
  %w1 = stablehlo.multiply %w, %small_w : tensor<48x64x3x3xf32>
  %y0 = stablehlo.convolution(%x0, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x10x12xf32>, tensor<48x64x3x3xf32>) -> tensor<1x48x10x12xf32>
  %y1 = stablehlo.convolution(%x, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x10x12xf32>, tensor<48x64x3x3xf32>) -> tensor<1x48x10x12xf32>
  %z0 = stablehlo.multiply %y0, %large_o : tensor<1x48x10x12xf32>
  %z1 = stablehlo.multiply %y1, %large_o : tensor<1x48x10x12xf32>
  return %z0, %z1 : tensor<1x48x10x12xf32>, tensor<1x48x10x12xf32>
}

//--- models.mlir
// What stays in L2, and what doesn't: the kernels' window is halved and its halves added, before anything is multiplied by tiles. Of many channels and few pixels the windows themselves are: transforming
// kernels takes longer.
// CHECK: # convolution
// CHECK: vmulps
// CHECK: tdpbf16ps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: tdpbf16ps
// CHECK: # convolution
// CHECK-NOT: vmulps
// CHECK: tdpbf16ps
func.func @main(%x0: tensor<1x64x56x56xf32>, %w0: tensor<64x64x3x3xf32>, %x1: tensor<1x256x32x32xf32>, %w1: tensor<256x256x3x3xf32>, %x2: tensor<4x512x7x7xf32>, %w2: tensor<512x512x3x3xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x256x32x32xf32>, tensor<4x512x7x7xf32>) {
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x256x32x32xf32>, tensor<256x256x3x3xf32>) -> tensor<1x256x32x32xf32>
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x512x7x7xf32>, tensor<512x512x3x3xf32>) -> tensor<4x512x7x7xf32>
  return %y0, %y1, %y2 : tensor<1x64x56x56xf32>, tensor<1x256x32x32xf32>, tensor<4x512x7x7xf32>
}
