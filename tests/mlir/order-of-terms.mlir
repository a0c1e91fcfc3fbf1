// Terms are added as they lie in memory where an einsum has reordered both operands alike. Else they stay in the order that there is: the first operand of the second
// product has its own, and of the third one's second operand the terms are no whole dimensions.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare %s

// CHECK: stablehlo.transpose %arg1, dims = [2, 1, 0] : (tensor<10x3x4xf32>) -> tensor<4x3x10xf32>
// CHECK: %[[UNORDERED:.*]] = stablehlo.reshape
// CHECK: stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<3x5x4xf32>) -> tensor<5x3x4xf32>
// CHECK: %[[X:.*]] = stablehlo.reshape
// CHECK: stablehlo.transpose %arg1, dims = [1, 2, 0] : (tensor<10x3x4xf32>) -> tensor<3x4x10xf32>
// CHECK: %[[W:.*]] = stablehlo.reshape
// CHECK: stablehlo.dot_general %[[X]], %[[W]]
// CHECK: stablehlo.transpose %arg2, dims = [1, 0, 2] : (tensor<4x5x3xf32>) -> tensor<5x4x3xf32>
// CHECK: %[[Y:.*]] = stablehlo.reshape
// CHECK: stablehlo.dot_general %[[Y]], %[[UNORDERED]]
// CHECK: stablehlo.transpose %arg3, dims = [1, 3, 2, 0]
// CHECK: stablehlo.transpose %arg4, dims = [2, 1, 0]
// CHECK: stablehlo.dot_general
func.func @main(%x: tensor<3x5x4xf32>, %w: tensor<10x3x4xf32>, %y: tensor<4x5x3xf32>, %z: tensor<3x5x2x4xf32>, %v: tensor<10x2x12xf32>)
    -> (tensor<5x10xf32>, tensor<5x10xf32>, tensor<20x10xf32>) {
  %wt = stablehlo.transpose %w, dims = [2, 1, 0] : (tensor<10x3x4xf32>) -> tensor<4x3x10xf32>
  %wr = stablehlo.reshape %wt : (tensor<4x3x10xf32>) -> tensor<12x10xf32>
  %0 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<3x5x4xf32>) -> tensor<5x4x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<5x4x3xf32>) -> tensor<5x12xf32>
  %2 = stablehlo.dot_general %1, %wr, contracting_dims = [1] x [0] : (tensor<5x12xf32>, tensor<12x10xf32>) -> tensor<5x10xf32>
  %3 = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<4x5x3xf32>) -> tensor<5x4x3xf32>
  %4 = stablehlo.reshape %3 : (tensor<5x4x3xf32>) -> tensor<5x12xf32>
  %5 = stablehlo.dot_general %4, %wr, contracting_dims = [1] x [0] : (tensor<5x12xf32>, tensor<12x10xf32>) -> tensor<5x10xf32>
  %6 = stablehlo.transpose %z, dims = [1, 3, 2, 0] : (tensor<3x5x2x4xf32>) -> tensor<5x4x2x3xf32>
  %7 = stablehlo.reshape %6 : (tensor<5x4x2x3xf32>) -> tensor<20x6xf32>
  %8 = stablehlo.transpose %v, dims = [2, 1, 0] : (tensor<10x2x12xf32>) -> tensor<12x2x10xf32>
  %9 = stablehlo.reshape %8 : (tensor<12x2x10xf32>) -> tensor<6x40xf32>
  %11 = stablehlo.dot_general %7, %9, contracting_dims = [1] x [0] : (tensor<20x6xf32>, tensor<6x40xf32>) -> tensor<20x40xf32>
  %12 = stablehlo.slice %11 [0:20, 0:10] : (tensor<20x40xf32>) -> tensor<20x10xf32>
  return %2, %5, %12 : tensor<5x10xf32>, tensor<5x10xf32>, tensor<20x10xf32>
}
