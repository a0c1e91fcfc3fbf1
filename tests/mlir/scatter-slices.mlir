// Scatters whose window is a whole slice of the input: threads share the window, by its columns or its rows, or slices of an input that is large beside the
// updates. What makes the updates is computed where they are added, but for what is dear and the same for a row. Indices out of range are left out; rows of 100
// and 37 columns are no whole vectors.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly %s | FileCheck %s

// CHECK: # rows -> f32[9]: exponential
// CHECK: # scatter -> f32[50x100]: gather, multiply, scatter
// CHECK-NOT: # rows -> f32[9x100]
func.func @main(%x: tensor<20x100xf32>, %weight: tensor<9xf32>, %into: tensor<6x5x37xf32>, %by_rows: tensor<6x5x37xf32>, %line: tensor<70x5xf32>, %elements: tensor<70x5xf32>, %part: tensor<50x37xf32>, %less: tensor<9x20xf32>, %few: tensor<4x100xf32>, %many: tensor<9x100xf32>, %both: tensor<9x70x11xf32>, %pairs: tensor<5x70xf32>) -> (tensor<50x100xf32>, tensor<6x5x37xf32>, tensor<70x5xf32>, tensor<50x37xf32>, tensor<4x100xf32>, tensor<9x70x11xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<50x100xf32>
  %to = stablehlo.constant dense<[[3], [-1], [49], [3], [0], [50], [7], [3], [49]]> : tensor<9x1xi64>
  %at = stablehlo.constant dense<[[4], [-1], [0], [4], [5]]> : tensor<5x1xi64>
  %from = stablehlo.constant dense<[[1], [19], [0], [7], [7], [2], [3], [4], [5]]> : tensor<9x1xi64>
  %taken = "stablehlo.gather"(%x, %from) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 100>}> : (tensor<20x100xf32>, tensor<9x1xi64>) -> tensor<9x100xf32>
  %scale = stablehlo.exponential %weight : tensor<9xf32>
  %weights = stablehlo.broadcast_in_dim %scale, dims = [0] : (tensor<9xf32>) -> tensor<9x100xf32>
  %message = stablehlo.multiply %taken, %weights : tensor<9x100xf32>
  %0 = "stablehlo.scatter"(%zero, %to, %message) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<50x100xf32>, tensor<9x1xi64>, tensor<9x100xf32>) -> tensor<50x100xf32>
  %1 = "stablehlo.scatter"(%into, %at, %by_rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<6x5x37xf32>, tensor<5x1xi64>, tensor<6x5x37xf32>) -> tensor<6x5x37xf32>
  %2 = "stablehlo.scatter"(%line, %at, %elements) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<70x5xf32>, tensor<5x1xi64>, tensor<70x5xf32>) -> tensor<70x5xf32>
  %3 = "stablehlo.scatter"(%part, %to, %less) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<50x37xf32>, tensor<9x1xi64>, tensor<9x20xf32>) -> tensor<50x37xf32>
  %4 = "stablehlo.scatter"(%few, %to, %many) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x100xf32>, tensor<9x1xi64>, tensor<9x100xf32>) -> tensor<4x100xf32>
  // By indices before and behind the window, whose slices threads share.
  %places = stablehlo.constant dense<[[3, 10], [8, 0], [3, 10], [9, 1], [0, -1]]> : tensor<5x2xi64>
  %5 = "stablehlo.scatter"(%both, %places, %pairs) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<9x70x11xf32>, tensor<5x2xi64>, tensor<5x70xf32>) -> tensor<9x70x11xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<50x100xf32>, tensor<6x5x37xf32>, tensor<70x5xf32>, tensor<50x37xf32>, tensor<4x100xf32>, tensor<9x70x11xf32>
}
