// Dimensions of one element at the end, where those before are taken as one: what is read through a reshape, and through a slice that says it takes every second of one.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-COUNT-3: largest error 0
func.func @main(%a: tensor<64xf32>, %b: tensor<8x6x1xf32>, %c: tensor<33xf32>, %d: tensor<2x1xf32>) -> (tensor<16x8x1xf32>, tensor<4x10x1xf32>, tensor<35x1xf32>) {
  %0 = stablehlo.reshape %a : (tensor<64xf32>) -> tensor<16x4x1xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<16x4x1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<16x4x1xf32>, tensor<16x4x1xf32>) -> tensor<16x8x1xf32>
  %3 = stablehlo.slice %b [0:8:2, 0:5:1, 0:1:2] : (tensor<8x6x1xf32>) -> tensor<4x5x1xf32>
  %4 = stablehlo.concatenate %3, %3, dim = 1 : (tensor<4x5x1xf32>, tensor<4x5x1xf32>) -> tensor<4x10x1xf32>
  %5 = stablehlo.reshape %c : (tensor<33xf32>) -> tensor<33x1xf32>
  %6 = stablehlo.concatenate %5, %d, dim = 0 : (tensor<33x1xf32>, tensor<2x1xf32>) -> tensor<35x1xf32>
  return %2, %4, %6 : tensor<16x8x1xf32>, tensor<4x10x1xf32>, tensor<35x1xf32>
}
