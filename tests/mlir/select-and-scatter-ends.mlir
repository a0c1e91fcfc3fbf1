// What is cut off in a dimension without windows is not read.
// RUN: cresset-run --compare %s | FileCheck %s
// CHECK: largest error 0
func.func @main(%x: tensor<6x8xi32>, %u: tensor<5x8xi32>) -> tensor<6x8xi32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %u, %i) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 1>, padding = dense<[[0, -1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.compare GE, %l, %r : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6x8xi32>, tensor<5x8xi32>, tensor<i32>) -> tensor<6x8xi32>
  return %y : tensor<6x8xi32>
}
