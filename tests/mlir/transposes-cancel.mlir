// Between a transpose and its inverse element-wise operations are computed in the order of memory.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[X:.*]] = stablehlo.convert %arg0
// CHECK: %[[BIAS:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<3xf32>) -> tensor<2x8x5x3xf32>
// CHECK: stablehlo.add %[[X]], %[[BIAS]]
// CHECK: stablehlo.logistic
// CHECK: stablehlo.iota dim = 2
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func @main(%x: tensor<2x8x5x3xui8>, %bias: tensor<3xf32>) -> tensor<2x8x5x3xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x8x5x3xui8>) -> tensor<2x3x8x5xui8>
  %1 = stablehlo.convert %0 : (tensor<2x3x8x5xui8>) -> tensor<2x3x8x5xf32>
  %2 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<3xf32>) -> tensor<2x3x8x5xf32>
  %3 = stablehlo.add %1, %2 : tensor<2x3x8x5xf32>
  %4 = stablehlo.logistic %3 : tensor<2x3x8x5xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<2x3x8x5xf32>
  %6 = stablehlo.iota dim = 3 : tensor<2x3x8x5xf32>
  %7 = stablehlo.add %5, %6 : tensor<2x3x8x5xf32>
  %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x3x8x5xf32>) -> tensor<2x8x5x3xf32>
  return %8 : tensor<2x8x5x3xf32>
}

// One is left where there were two: another operand is transposed instead of the result.
// CHECK-LABEL: func.func @one_other
// CHECK: %[[OTHER:.*]] = stablehlo.transpose %arg1
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %arg0, %[[OTHER]]
// CHECK-NEXT: return %[[SUM]]
func.func @one_other(%x: tensor<4x5xf32>, %y: tensor<5x4xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.add %0, %y : tensor<5x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}

// What somebody reads in the other order, too, is computed once.
// CHECK-LABEL: func.func @read_in_both
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.transpose
// CHECK-NEXT: return
func.func @read_in_both(%x: tensor<4x5xf32>) -> (tensor<5x4xf32>, tensor<4x5xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.tanh %0 : tensor<5x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  return %1, %2 : tensor<5x4xf32>, tensor<4x5xf32>
}
