// What is added to a product that others read in parts, as the gates of a recurrent step, is its epilogue, whichever operand comes first.
// RUN: cresset-run --assembly %s | FileCheck %s
// RUN: cresset-run --compare %s

// CHECK: # dot f32[16x24] f32[64x24] -> f32[16x64]: dynamic_slice, add
// CHECK: # rows -> f32[16x32]: slice, logistic, tanh, multiply
// CHECK-NOT: {{^}}#
func.func @main(%inputs: tensor<5x16x64xf32>, %step: tensor<i64>, %state: tensor<16x24xf32>, %weight: tensor<64x24xf32>) -> tensor<16x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_slice %inputs, %step, %zero, %zero, sizes = [1, 16, 64] : (tensor<5x16x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x16x64xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x16x64xf32>) -> tensor<16x64xf32>
  %2 = stablehlo.dot_general %state, %weight, contracting_dims = [1] x [1] : (tensor<16x24xf32>, tensor<64x24xf32>) -> tensor<16x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<16x64xf32>
  %4 = stablehlo.slice %3 [0:16, 0:32] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %5 = stablehlo.slice %3 [0:16, 32:64] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %6 = stablehlo.logistic %4 : tensor<16x32xf32>
  %7 = stablehlo.tanh %5 : tensor<16x32xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<16x32xf32>
  return %8 : tensor<16x32xf32>
}
