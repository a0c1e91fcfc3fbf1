// Layouts that no framework writes: spatial dimensions that change places in a 1 x 1 window, and a single row, padded, whose stride is not that of dense rows.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_GUARD=end cresset-run --compare --cpu=avx2 %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-4: largest error
func.func @main(%x0: tensor<2x5x6x7xf32>, %w0: tensor<7x9x1x1xf32>, %x1: tensor<1x1x4x9xf32>, %w1: tensor<5x4x3x3xf32>, %x2: tensor<1x4x9x1xf32>, %w2: tensor<5x4x3x3xf32>, %x3: tensor<3x4x17x1xf32>, %w3: tensor<4x2x17x4xf32>) -> (tensor<2x6x5x9xf32>, tensor<1x5x3x9xf32>, tensor<1x5x3x9xf32>, tensor<4x3x3x3xf32>) {
  %r0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, 1, 0, f]x[i, o, 0, 1]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x7xf32>, tensor<7x9x1x1xf32>) -> tensor<2x6x5x9xf32>
  %r1 = stablehlo.convolution(%x1, %w1) dim_numbers = [0, b, f, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4x9xf32>, tensor<5x4x3x3xf32>) -> tensor<1x5x3x9xf32>
  %r2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 1, 0]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x9x1xf32>, tensor<5x4x3x3xf32>) -> tensor<1x5x3x9xf32>
  %r3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 1, 0]x[o, 0, 1, i]->[f, 0, 1, b], window = {pad = [[2, 1], [0, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x4x17x1xf32>, tensor<4x2x17x4xf32>) -> tensor<4x3x3x3xf32>
  return %r0, %r1, %r2, %r3 : tensor<2x6x5x9xf32>, tensor<1x5x3x9xf32>, tensor<1x5x3x9xf32>, tensor<4x3x3x3xf32>
}
