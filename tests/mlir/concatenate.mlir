// What is left of a piece behind whole vectors is a half of one, a quarter and so on.
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s
// CHECK-LABEL: # concatenate
// CHECK: vmovups {{.*}}, %zmm
// CHECK: vmovups {{.*}}, %ymm
// CHECK: vmovups {{.*}}, %xmm
// CHECK: vmovsd
// CHECK: vmovss
func.func @main(%x: tensor<64x31xf32>, %y: tensor<64x64xf32>) -> tensor<64x95xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<64x31xf32>, tensor<64x64xf32>) -> tensor<64x95xf32>
  return %0 : tensor<64x95xf32>
}
