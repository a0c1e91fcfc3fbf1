// A difference from its own maximum is never above 0: its exponential is marked for shorter code. Any other difference is not.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=ROWS
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefix=OVERLAP

// CHECK: stablehlo.exponential %{{.*}} {cresset.at_most_zero}
// CHECK: stablehlo.exponential
// CHECK-NOT: cresset.at_most_zero
// CHECK: return

// The maximum is one instruction for each vector: nan is noted aside.
// ROWS-LABEL: # rows
// ROWS: vmaxps
// ROWS: vcmpunordps
// ROWS-NOT: vblendvps
// What is never above 0 is clamped on one side.
// ROWS-NOT: vminps
// ROWS-LABEL: # rows
// ROWS: vmaxps
// ROWS: vminps
// With 32 registers one loop takes the exponentials of a row and the maximum of the next one.
// OVERLAP-LABEL: # rows
// OVERLAP: vpermps
// OVERLAP-NOT: {{^}}.L
// OVERLAP: vmaxps
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<64x64xf32>
  %3 = stablehlo.exponential %2 : tensor<64x64xf32>
  %4 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %5 = stablehlo.subtract %x, %4 : tensor<64x64xf32>
  %6 = stablehlo.exponential %5 : tensor<64x64xf32>
  return %3, %6 : tensor<64x64xf32>, tensor<64x64xf32>
}
