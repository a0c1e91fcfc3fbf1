// A norm of one group and one image, whose reductions are by rows and whose kernels are several: what is less its mean is computed by each of them, and never written.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s

// CHECK: # rows -> f32[1x64]: reduce
// CHECK: # rows -> f32[1x64]: subtract, multiply, reduce
// CHECK: # rows -> f32[1x64x257]: subtract, multiply
// CHECK-NOT: {{^}}# {{.*}}x257]
func.func @main(%x: tensor<1x64x257xf32>) -> tensor<1x64x257xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %share = stablehlo.constant dense<6.0797665e-05> : tensor<1xf32>
  %eps = stablehlo.constant dense<1.0e-05> : tensor<1xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x64x257xf32>, tensor<f32>) -> tensor<1xf32>
  %1 = stablehlo.multiply %0, %share : tensor<1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<1xf32>) -> tensor<1x64x257xf32>
  %3 = stablehlo.subtract %x, %2 : tensor<1x64x257xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<1x64x257xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x64x257xf32>, tensor<f32>) -> tensor<1xf32>
  %6 = stablehlo.multiply %5, %share : tensor<1xf32>
  %7 = stablehlo.add %6, %eps : tensor<1xf32>
  %8 = stablehlo.rsqrt %7 : tensor<1xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<1xf32>) -> tensor<1x64x257xf32>
  %10 = stablehlo.multiply %3, %9 : tensor<1x64x257xf32>
  return %10 : tensor<1x64x257xf32>
}
