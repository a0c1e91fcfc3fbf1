// What is repeated along dimensions that are one in the result is written by the rows that are repeated: no vector meets two of them.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=CODE
// CHECK-NOT: too large
// CHECK-COUNT-2: largest error 0
// CODE: # rows -> f32[3x5x2x70]
// CODE-NOT: vgather
func.func @main(%x: tensor<5x70xf32>, %y: tensor<4x9xf32>) -> (tensor<15x140xf32>, tensor<36x3xf32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 3] : (tensor<5x70xf32>) -> tensor<3x5x2x70xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x5x2x70xf32>) -> tensor<15x140xf32>
  %2 = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<4x9xf32>) -> tensor<4x9x3xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x9x3xf32>) -> tensor<36x3xf32>
  return %1, %3 : tensor<15x140xf32>, tensor<36x3xf32>
}
