// Positions that are compared have 32 bits, as many lanes as the numbers that come of it; those are chosen by the mask.
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s
// CHECK-LABEL: # rows
// CHECK-NOT: {{vpcmpeqq|vcvt}}
// CHECK: vpcmpeqd
// CHECK-NOT: {{vpcmpeqq|vcvt}}
func.func @main() -> tensor<64x64xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<64x64xi64>
  %1 = stablehlo.iota dim = 1 : tensor<64x64xi64>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<64x64xi64>, tensor<64x64xi64>) -> tensor<64x64xi1>
  %3 = stablehlo.convert %2 : (tensor<64x64xi1>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
