// Sums of products of booleans are whether any pair is true; powers of integers are products in their own width, also beyond it.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --cpu=baseline --compare %s | FileCheck %s
// CHECK-COUNT-5: largest error 0
func.func @main(%a: tensor<3x4xi1>, %b: tensor<4x5xi1>, %x: tensor<1x1x9x9xi1>, %w: tensor<4x1x2x1xi1>)
    -> (tensor<3x5xi1>, tensor<1x4x8x9xi1>, tensor<9x70xi64>, tensor<9x70xui8>, tensor<3x4xi1>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi1>, tensor<4x5xi1>) -> tensor<3x5xi1>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x9x9xi1>, tensor<4x1x2x1xi1>) -> tensor<1x4x8x9xi1>
  %four = stablehlo.constant dense<4> : tensor<9x70xi64>
  %i = stablehlo.iota dim = 0 : tensor<9x70xi64>
  %base = stablehlo.subtract %i, %four : tensor<9x70xi64>
  %j = stablehlo.iota dim = 1 : tensor<9x70xi64>
  %exponent = stablehlo.subtract %j, %four : tensor<9x70xi64>
  %2 = stablehlo.power %base, %exponent : tensor<9x70xi64>
  %u = stablehlo.iota dim = 0 : tensor<9x70xui8>
  %v = stablehlo.iota dim = 1 : tensor<9x70xui8>
  %3 = stablehlo.power %u, %v : tensor<9x70xui8>
  %4 = stablehlo.power %a, %a : tensor<3x4xi1>
  return %0, %1, %2, %3, %4 : tensor<3x5xi1>, tensor<1x4x8x9xi1>, tensor<9x70xi64>, tensor<9x70xui8>, tensor<3x4xi1>
}
