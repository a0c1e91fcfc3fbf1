// Convolutions of dilated inputs, whose phases are features of one that isn't.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=wide %s | FileCheck %s
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// CHECK-NOT: too large
// CHECK-COUNT-7: largest error
// RULE-NOT: lhs_dilate = {{.*[2-9]}}
// RULE: return
func.func @main(%x: tensor<2x6x5xf32>, %w: tensor<4x6x50xf32>, %y: tensor<2x6x4x3xf32>, %v: tensor<4x6x7x10xf32>, %z: tensor<2x6x4x3xf32>, %u: tensor<3x3x3x9x4xf32>, %z3: tensor<2x9x4x3x3xf32>, %t: tensor<2x24x9x10xf32>, %k2: tensor<24x16x2x2xf32>, %b: tensor<16xf32>, %k1: tensor<16x24x1x1xf32>, %h: tensor<2x24x9x10xbf16>, %k4: tensor<16x24x4x4xbf16>) -> (tensor<2x4x120xf32>, tensor<2x4x18x14xf32>, tensor<2x4x22x16xf32>, tensor<2x3x13x3x14xf32>, tensor<2x16x18x20xf32>, tensor<2x16x17x19xf32>, tensor<2x16x18x20xbf16>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[45, 43]], lhs_dilate = [20]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x5xf32>, tensor<4x6x50xf32>) -> tensor<2x4x120xf32>
  // Steps that no window's length is a multiple of, a window that is reversed; windows shorter than the step, padding that crops; groups, one dimension of three that is not dilated.
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 2], [8, 4]], lhs_dilate = [6, 5], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x4x3xf32>, tensor<4x6x7x10xf32>) -> tensor<2x4x18x14xf32>
  %2 = stablehlo.convolution(%z, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[-1, 10], [0, 2]], lhs_dilate = [6, 11]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x4x3xf32>, tensor<4x6x7x10xf32>) -> tensor<2x4x22x16xf32>
  %3 = stablehlo.convolution(%z3, %u) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {pad = [[1, 1], [3, 5], [2, 4]], lhs_dilate = [4, 1, 5], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x9x4x3x3xf32>, tensor<3x3x3x9x4xf32>) -> tensor<2x3x13x3x14xf32>
  // Four phases: of a transposed convolution of windows side by side, with a bias; of the gradient of a window of one place that moves by two, zero but for one; of two places each.
  %kt = stablehlo.transpose %k2, dims = [1, 0, 2, 3] : (tensor<24x16x2x2xf32>) -> tensor<16x24x2x2xf32>
  %kr = stablehlo.reverse %kt, dims = [2, 3] : tensor<16x24x2x2xf32>
  %c4 = stablehlo.convolution(%t, %kr) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x24x9x10xf32>, tensor<16x24x2x2xf32>) -> tensor<2x16x18x20xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<2x16x18x20xf32>
  %4 = stablehlo.add %c4, %bb : tensor<2x16x18x20xf32>
  %5 = stablehlo.convolution(%t, %k1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[0, 0], [0, 0]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x24x9x10xf32>, tensor<16x24x1x1xf32>) -> tensor<2x16x17x19xf32>
  %6 = stablehlo.convolution(%h, %k4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x24x9x10xbf16>, tensor<16x24x4x4xbf16>) -> tensor<2x16x18x20xbf16>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x4x120xf32>, tensor<2x4x18x14xf32>, tensor<2x4x22x16xf32>, tensor<2x3x13x3x14xf32>, tensor<2x16x18x20xf32>, tensor<2x16x17x19xf32>, tensor<2x16x18x20xbf16>
}
