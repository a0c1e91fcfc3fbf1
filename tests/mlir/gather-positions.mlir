// Positions that another kernel writes to memory (they are results, too): kernels that gather at them are alike but for what they read there, and share their code.
// RUN: cresset-run --compare --tolerance=0 %s
// RUN: cresset-run --compare --tolerance=0 --cpu=baseline %s

func.func @main(%x: tensor<272xf32>) -> (tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4x4xi64>, tensor<8x4x4xi64>) {
  %c16 = stablehlo.constant dense<16> : tensor<8x4x4xi64>
  %c24 = stablehlo.constant dense<24> : tensor<8x4x4xi64>
  %c64 = stablehlo.constant dense<64> : tensor<8x4x4xi64>
  %channel = stablehlo.iota dim = 0 : tensor<8x4x4xi64>
  %row = stablehlo.iota dim = 1 : tensor<8x4x4xi64>
  %column = stablehlo.iota dim = 2 : tensor<8x4x4xi64>
  %rows = stablehlo.multiply %row, %c64 : tensor<8x4x4xi64>
  %columns = stablehlo.multiply %column, %c16 : tensor<8x4x4xi64>
  %pixels = stablehlo.add %rows, %columns : tensor<8x4x4xi64>
  %places = stablehlo.add %pixels, %channel : tensor<8x4x4xi64>
  %first = stablehlo.add %places, %c16 : tensor<8x4x4xi64>
  %second = stablehlo.add %places, %c24 : tensor<8x4x4xi64>
  %a = "stablehlo.gather"(%x, %first) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<272xf32>, tensor<8x4x4xi64>) -> tensor<8x4x4xf32>
  %b = "stablehlo.gather"(%x, %second) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<272xf32>, tensor<8x4x4xi64>) -> tensor<8x4x4xf32>
  return %a, %b, %first, %second : tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4x4xi64>, tensor<8x4x4xi64>
}
