// RUN: cresset-opt --raise-composites %s | FileCheck %s
// What quantises clamps at 255, which is a relu to whom only looks near 0. Bounds beyond hardtanh's: a relu, and what cuts it off.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.composite "aten.hardtanh_backward" %arg1, %arg0 {composite_attributes = {max_val = 2.550000e+02 : f64, min_val = 0.000000e+00 : f64}
// CHECK: stablehlo.composite "aten.hardtanh" %arg0 {composite_attributes = {max_val = 2.550000e+02 : f64, min_val = 0.000000e+00 : f64}
// CHECK: %[[RELU:.*]] = stablehlo.composite "aten.relu" %arg0
// CHECK: stablehlo.minimum %[[RELU]]
func.func @main(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %most = stablehlo.constant dense<255.0> : tensor<4x8xf32>
  %half = stablehlo.constant dense<65504.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %zero : tensor<4x8xf32>
  %1 = stablehlo.minimum %0, %most : tensor<4x8xf32>
  %2 = stablehlo.compare GT, %x, %zero : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = stablehlo.compare LT, %x, %most : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %4 = stablehlo.and %2, %3 : tensor<4x8xi1>
  %5 = stablehlo.select %4, %g, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %6 = stablehlo.maximum %x, %zero : tensor<4x8xf32>
  %7 = stablehlo.minimum %6, %half : tensor<4x8xf32>
  return %1, %5, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
