// Convolutions whose channels are neighbours, as JAX has them, are those of planes, and what lies between them is of planes too.
// RUN: cresset-run --compare --tolerance=3e-5 %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s | FileCheck %s
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=3e-5 --cpu=wide %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=CODE
// CHECK-NOT: too large
// CHECK-COUNT-10: largest error
// RULE: stablehlo.transpose %arg0
// RULE-NOT: stablehlo.transpose
// RULE: stablehlo.reduce(
// RULE-NOT: stablehlo.transpose
// RULE-COUNT-2: stablehlo.dot_general
// RULE: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// RULE-NOT: [b, 0, 1, f]
// What Winograd's kernels halve; nothing else multiplies without adding.
// CODE: # convolution f32[2x64x26x22] f32[3x3x64x70]
// CODE: vmulps
func.func @main(%x: tensor<2x26x22x3xf32>, %w0: tensor<3x3x3x64xf32>, %w1: tensor<3x3x64x70xf32>, %w2: tensor<1x1x70x32xf32>, %w3: tensor<3x3x1x32xf32>, %w4: tensor<1x1x32x32xf32>, %w5: tensor<2x2x16x10xf32>, %b: tensor<64xf32>, %y: tensor<2x9x7x24xf32>, %v0: tensor<1x1x24x40xf32>, %v1: tensor<1x1x40x24xf32>, %v2: tensor<3x3x1x24xf32>, %line: tensor<3x50x12xf32>, %vl: tensor<5x12x18xf32>, %vol: tensor<2x4x8x9x16xf32>, %vv: tensor<3x3x3x16x20xf32>, %h: tensor<2x12x12x16xbf16>, %vh: tensor<3x3x16x24xbf16>, %g: tensor<2x8x8x24xf32>, %vg: tensor<3x3x16x24xf32>, %i: tensor<2x16x16x16xf32>, %q: tensor<2x10x10x24xf32>, %o: tensor<2x10x10x24xf32>) -> (tensor<2x10xf32>, tensor<2x9x7x40xf32>, tensor<2x9x7x40xf32>, tensor<2x9x7x24xf32>, tensor<3x25x18xf32>, tensor<2x4x8x9x20xf32>, tensor<2x12x12x24xbf16>, tensor<2x16x16x16xf32>, tensor<3x3x16x24xf32>, tensor<3x3x1x24xf32>) {
  // A chain: transposed in front of the first one only. A bias, what is added, a pool, one place of the window and one channel follow.
  %c0 = stablehlo.convolution(%x, %w0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x26x22x3xf32>, tensor<3x3x3x64xf32>) -> tensor<2x26x22x64xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<64xf32>) -> tensor<2x26x22x64xf32>
  %a0 = stablehlo.add %c0, %bb : tensor<2x26x22x64xf32>
  %r0z = stablehlo.constant dense<0.0> : tensor<2x26x22x64xf32>
  %r0 = stablehlo.maximum %a0, %r0z : tensor<2x26x22x64xf32>
  %c1 = stablehlo.convolution(%r0, %w1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x26x22x64xf32>, tensor<3x3x64x70xf32>) -> tensor<2x26x22x70xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %p = "stablehlo.reduce_window"(%c1, %low) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<2x26x22x70xf32>, tensor<f32>) -> tensor<2x13x11x70xf32>
  %c2 = stablehlo.convolution(%p, %w2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x13x11x70xf32>, tensor<1x1x70x32xf32>) -> tensor<2x13x11x32xf32>
  %r2z = stablehlo.constant dense<0.0> : tensor<2x13x11x32xf32>
  %r2 = stablehlo.maximum %c2, %r2z : tensor<2x13x11x32xf32>
  %c3 = stablehlo.convolution(%r2, %w3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64}
      : (tensor<2x13x11x32xf32>, tensor<3x3x1x32xf32>) -> tensor<2x13x11x32xf32>
  %c4 = stablehlo.convolution(%c3, %w4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x13x11x32xf32>, tensor<1x1x32x32xf32>) -> tensor<2x13x11x32xf32>
  %a4 = stablehlo.add %c4, %c2 : tensor<2x13x11x32xf32>
  %c5 = stablehlo.convolution(%a4, %w5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x13x11x32xf32>, tensor<2x2x16x10xf32>) -> tensor<2x6x5x10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %mean = stablehlo.reduce(%c5 init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x6x5x10xf32>, tensor<f32>) -> tensor<2x10xf32>
  // Alone: a product of matrices, by weights in either order; a window within channels as it lies.
  %d0 = stablehlo.convolution(%y, %v0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x7x24xf32>, tensor<1x1x24x40xf32>) -> tensor<2x9x7x40xf32>
  %d1 = stablehlo.convolution(%y, %v1) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x7x24xf32>, tensor<1x1x40x24xf32>) -> tensor<2x9x7x40xf32>
  %d2 = stablehlo.convolution(%y, %v2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64}
      : (tensor<2x9x7x24xf32>, tensor<3x3x1x24xf32>) -> tensor<2x9x7x24xf32>
  // Lines and volumes; numbers of 16 bits; windows far apart.
  %e0 = stablehlo.convolution(%line, %vl) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 3]], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x50x12xf32>, tensor<5x12x18xf32>) -> tensor<3x25x18xf32>
  %e1 = stablehlo.convolution(%vol, %vv) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x8x9x16xf32>, tensor<3x3x3x16x20xf32>) -> tensor<2x4x8x9x20xf32>
  %e2 = stablehlo.convolution(%h, %vh) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x12x12x16xbf16>, tensor<3x3x16x24xbf16>) -> tensor<2x12x12x24xbf16>
  // The gradients of an input, by windows that are reversed, and of kernels, also of windows within channels.
  %f0 = stablehlo.convolution(%g, %vg) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x8x8x24xf32>, tensor<3x3x16x24xf32>) -> tensor<2x16x16x16xf32>
  %f1 = stablehlo.convolution(%i, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x16x16x16xf32>, tensor<2x8x8x24xf32>) -> tensor<3x3x16x24xf32>
  %f2 = stablehlo.convolution(%q, %o) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 24 : i64, feature_group_count = 1 : i64}
      : (tensor<2x10x10x24xf32>, tensor<2x10x10x24xf32>) -> tensor<3x3x1x24xf32>
  return %mean, %d0, %d1, %d2, %e0, %e1, %e2, %f0, %f1, %f2 : tensor<2x10xf32>, tensor<2x9x7x40xf32>, tensor<2x9x7x40xf32>, tensor<2x9x7x24xf32>, tensor<3x25x18xf32>, tensor<2x4x8x9x20xf32>, tensor<2x12x12x24xbf16>, tensor<2x16x16x16xf32>, tensor<3x3x16x24xf32>, tensor<3x3x1x24xf32>
}
