// Every second element is read as whole vectors.
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s
// CHECK-LABEL: # rows
// CHECK-NOT: vinsert
// CHECK: {{vperm[it]2ps}}
// CHECK-NOT: vinsert
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.slice %x [0:64, 1:64:2] : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.add %0, %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}
