// Convolutions of small groups: of one batch and several, features that fill no tile, windows that move by two and more, are turned around, dilated, of dilated inputs; blocks of rows, an epilogue,
// other types.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_THREADS=2 cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=wide %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-13: largest error
func.func @main(%x0: tensor<2x24x28x30xf32>, %w0: tensor<24x8x3x3xf32>, %b0: tensor<24xf32>, %x1: tensor<1x24x14x14xf32>, %w1: tensor<40x12x3x3xf32>, %x2: tensor<1x26x15x16xf32>, %w2: tensor<26x13x3x3xf32>, %x3: tensor<2x16x33x57xf32>, %w3: tensor<16x4x3x3xf32>, %b3: tensor<16xf32>, %x4: tensor<1x12x20x16xf32>, %w4: tensor<18x4x5x5xf32>, %x5: tensor<1x8x19x29xf32>, %w5: tensor<8x4x3x3xf32>, %x6: tensor<1x8x8x8xf32>, %w6: tensor<12x4x3x3xf32>, %x7: tensor<1x16x120x112xf32>, %w7: tensor<16x8x3x3xf32>, %x8: tensor<2x8x7x7xf32>, %w8: tensor<8x4x3x3xf32>, %x9: tensor<1x8x12x16xf64>, %w9: tensor<8x4x3x3xf64>, %x10: tensor<1x8x12x16xbf16>, %w10: tensor<8x4x3x3xbf16>, %x11: tensor<1x6x9x48xf32>, %w11: tensor<6x2x3x3xf32>, %x12: tensor<1x8x16x40xf32>, %w12: tensor<8x4x3x3xf32>)
    -> (tensor<2x24x28x30xf32>, tensor<1x40x14x14xf32>, tensor<1x26x15x16xf32>, tensor<2x16x17x29xf32>, tensor<1x18x20x16xf32>, tensor<1x8x19x29xf32>, tensor<1x12x17x17xf32>, tensor<1x16x120x112xf32>, tensor<2x8x7x7xf32>, tensor<1x8x12x16xf64>, tensor<1x8x12x16xbf16>, tensor<1x6x3x16xf32>, tensor<1x8x4x8xf32>) {
  %c0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x24x28x30xf32>, tensor<24x8x3x3xf32>) -> tensor<2x24x28x30xf32>
  %v0 = stablehlo.broadcast_in_dim %b0, dims = [1] : (tensor<24xf32>) -> tensor<2x24x28x30xf32>
  %a0 = stablehlo.add %c0, %v0 : tensor<2x24x28x30xf32>
  %0 = stablehlo.logistic %a0 : tensor<2x24x28x30xf32>
  %1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x24x14x14xf32>, tensor<40x12x3x3xf32>) -> tensor<1x40x14x14xf32>
  %2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], reverse = [true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x26x15x16xf32>, tensor<26x13x3x3xf32>) -> tensor<1x26x15x16xf32>
  %c3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x16x33x57xf32>, tensor<16x4x3x3xf32>) -> tensor<2x16x17x29xf32>
  %v3 = stablehlo.broadcast_in_dim %b3, dims = [1] : (tensor<16xf32>) -> tensor<2x16x17x29xf32>
  %a3 = stablehlo.add %c3, %v3 : tensor<2x16x17x29xf32>
  %3 = stablehlo.logistic %a3 : tensor<2x16x17x29xf32>
  %4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x12x20x16xf32>, tensor<18x4x5x5xf32>) -> tensor<1x18x20x16xf32>
  %5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x19x29xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x19x29xf32>
  %6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2], reverse = [true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x8xf32>, tensor<12x4x3x3xf32>) -> tensor<1x12x17x17xf32>
  %7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x16x120x112xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x120x112xf32>
  %8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x7x7xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x7x7xf32>
  %9 = stablehlo.convolution(%x9, %w9) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x12x16xf64>, tensor<8x4x3x3xf64>) -> tensor<1x8x12x16xf64>
  %10 = stablehlo.convolution(%x10, %w10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x12x16xbf16>, tensor<8x4x3x3xbf16>) -> tensor<1x8x12x16xbf16>
  %11 = stablehlo.convolution(%x11, %w11) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [3, 3], pad = [[0, 0], [0, 0]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x6x9x48xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x3x16xf32>
  %12 = stablehlo.convolution(%x12, %w12) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [5, 5], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x16x40xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 : tensor<2x24x28x30xf32>, tensor<1x40x14x14xf32>, tensor<1x26x15x16xf32>, tensor<2x16x17x29xf32>, tensor<1x18x20x16xf32>, tensor<1x8x19x29xf32>, tensor<1x12x17x17xf32>, tensor<1x16x120x112xf32>, tensor<2x8x7x7xf32>, tensor<1x8x12x16xf64>, tensor<1x8x12x16xbf16>, tensor<1x6x3x16xf32>, tensor<1x8x4x8xf32>
}
