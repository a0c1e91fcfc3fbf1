// Convolutions of bytes, whose sums are i32: not those of pairs of bf16, of which units are as large.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// CHECK-COUNT-2: largest error 0{{$}}
func.func @main(%x: tensor<2x6x9x10xi8>, %w: tensor<8x6x3x3xi8>, %p: tensor<8x6x1x1xi8>) -> (tensor<2x8x9x10xi32>, tensor<2x8x9x10xi32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x9x10xi8>, tensor<8x6x3x3xi8>) -> tensor<2x8x9x10xi32>
  %1 = stablehlo.convolution(%x, %p) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x9x10xi8>, tensor<8x6x1x1xi8>) -> tensor<2x8x9x10xi32>
  return %0, %1 : tensor<2x8x9x10xi32>, tensor<2x8x9x10xi32>
}
