// Windows of more places than code are reduced along one dimension after the other: the largest of padded ones, sums with steps, the least with an initial value that counts; a product of all places stays.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-4: largest error
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=OPT
// OPT-COUNT-1: stablehlo.reduce_window
// OPT-NOT: stablehlo.reduce_window
func.func @main(%x: tensor<2x20x21x24xf32>, %i: tensor<2x20x21x24xi32>, %y: tensor<2x9x9xf32>) -> (tensor<2x20x21x24xf32>, tensor<2x20x3x4xf32>, tensor<2x18x9x9xi32>, tensor<2x1x1xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 13, 13>, padding = dense<[[0,0],[0,0],[6,6],[6,6]]> : tensor<4x2xi64>} : (tensor<2x20x21x24xf32>, tensor<f32>) -> tensor<2x20x21x24xf32>
  %1 = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 9, 8>, window_strides = array<i64: 1, 1, 7, 6>, padding = dense<[[0,0],[0,0],[1,1],[2,0]]> : tensor<4x2xi64>} : (tensor<2x20x21x24xf32>, tensor<f32>) -> tensor<2x20x3x4xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %2 = "stablehlo.reduce_window"(%i, %c) ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %m = stablehlo.minimum %p, %q : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) {window_dimensions = array<i64: 1, 5, 5, 4>, window_strides = array<i64: 1, 1, 2, 3>, window_dilations = array<i64: 1, 1, 1, 2>, base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0,0],[1,1],[0,0],[6,1]]> : tensor<4x2xi64>} : (tensor<2x20x21x24xi32>, tensor<i32>) -> tensor<2x18x9x9xi32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %3 = "stablehlo.reduce_window"(%y, %one) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.multiply %p, %q : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 8, 9>, window_strides = array<i64: 1, 2, 1>} : (tensor<2x9x9xf32>, tensor<f32>) -> tensor<2x1x1xf32>
  return %0, %1, %2, %3 : tensor<2x20x21x24xf32>, tensor<2x20x3x4xf32>, tensor<2x18x9x9xi32>, tensor<2x1x1xf32>
}
