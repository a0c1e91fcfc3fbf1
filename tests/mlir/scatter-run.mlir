// Rows of a table in place of a scatter into many zeros: updates of one row are summed up, indices out of range left out.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=baseline %s

func.func @main() -> (tensor<1000x20xf32>, tensor<1000x20xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<1000x20xf32>
  %index = stablehlo.constant dense<[[-1], [999], [1000], [999], [0], [7]]> : tensor<6x1xi64>
  %updates = stablehlo.iota dim = 0 : tensor<6x20xf32>
  %sum = "stablehlo.scatter"(%zero, %index, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1000x20xf32>, tensor<6x1xi64>, tensor<6x20xf32>) -> tensor<1000x20xf32>
  %other = stablehlo.iota dim = 1 : tensor<1000x20xf32>
  %r = stablehlo.add %other, %sum : tensor<1000x20xf32>
  return %sum, %r : tensor<1000x20xf32>, tensor<1000x20xf32>
}
