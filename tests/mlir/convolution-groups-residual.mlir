// A residual over which the result of small groups lies: features of tiles that overlap are written once.
// RUN: cresset-run --compare --tolerance=1e-4 %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=1e-4 --cpu=avx2 %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-2: largest error
func.func @main(%x0: tensor<1x4x16x16xf32>, %w0: tensor<26x2x3x3xf32>, %v0: tensor<26x4x1x1xf32>, %u0: tensor<4x26x1x1xf32>, %x1: tensor<1x32x28x28xf32>, %w1: tensor<32x16x3x3xf32>, %v1: tensor<32x32x1x1xf32>, %u1: tensor<4x32x1x1xf32>) -> (tensor<1x4x16x16xf32>, tensor<1x4x28x28xf32>) {
  %r0 = stablehlo.convolution(%x0, %v0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x16x16xf32>, tensor<26x4x1x1xf32>) -> tensor<1x26x16x16xf32>
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x4x16x16xf32>, tensor<26x2x3x3xf32>) -> tensor<1x26x16x16xf32>
  %z0 = stablehlo.add %y0, %r0 : tensor<1x26x16x16xf32>
  %t0 = stablehlo.convolution(%z0, %u0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x26x16x16xf32>, tensor<4x26x1x1xf32>) -> tensor<1x4x16x16xf32>
  %r1 = stablehlo.convolution(%x1, %v1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x28x28xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x28x28xf32>
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x32x28x28xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x28x28xf32>
  %z1 = stablehlo.add %y1, %r1 : tensor<1x32x28x28xf32>
  %t1 = stablehlo.convolution(%z1, %u1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x28x28xf32>, tensor<4x32x1x1xf32>) -> tensor<1x4x28x28xf32>
  return %t0, %t1 : tensor<1x4x16x16xf32>, tensor<1x4x28x28xf32>
}
