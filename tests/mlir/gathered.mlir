// Windows that overlap are read with positions of their own, which are known to follow each other: whole vectors, also through a reshape.
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s
// CHECK-LABEL: # rows
// CHECK-NOT: vinsert
// CHECK: vmovups {{.*}}, %zmm
// CHECK-NOT: vinsert
func.func @main(%x: tensor<64x1000xf32>) -> tensor<64x123x16xf32> {
  %flat = stablehlo.reshape %x : (tensor<64x1000xf32>) -> tensor<64000xf32>
  %row = stablehlo.iota dim = 0 : tensor<64x123x16xi64>
  %window = stablehlo.iota dim = 1 : tensor<64x123x16xi64>
  %place = stablehlo.iota dim = 2 : tensor<64x123x16xi64>
  %columns = stablehlo.constant dense<1000> : tensor<64x123x16xi64>
  %step = stablehlo.constant dense<8> : tensor<64x123x16xi64>
  %0 = stablehlo.multiply %row, %columns : tensor<64x123x16xi64>
  %1 = stablehlo.multiply %window, %step : tensor<64x123x16xi64>
  %2 = stablehlo.add %0, %1 : tensor<64x123x16xi64>
  %3 = stablehlo.add %2, %place : tensor<64x123x16xi64>
  %4 = "stablehlo.gather"(%flat, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1>}> : (tensor<64000xf32>, tensor<64x123x16xi64>) -> tensor<64x123x16xf32>
  return %4 : tensor<64x123x16xf32>
}
