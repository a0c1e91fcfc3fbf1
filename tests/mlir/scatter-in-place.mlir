// A scatter into an argument that is given away, as a cache of keys is, writes its updates and nothing else; so do several, one after the other. Where the argument is read
// later, or the updates are made of it, the result has memory of its own first.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly %s | FileCheck %s

// CHECK-COUNT-4: # scatter f32[4x8]
func.func @main(%cache: tensor<4x8xf32> {tf.aliasing_output = 0 : i32}, %twice: tensor<4x8xf32> {tf.aliasing_output = 1 : i32}, %read: tensor<4x8xf32> {tf.aliasing_output = 2 : i32}, %at: tensor<2x1xi64>, %rows: tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "stablehlo.scatter"(%cache, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %1 = "stablehlo.scatter"(%twice, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %s = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %doubled = stablehlo.multiply %rows, %rows : tensor<2x8xf32>
  %2 = "stablehlo.scatter"(%1, %at, %doubled) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %s = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %last = stablehlo.slice %read [2:4, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %sum = stablehlo.add %last, %rows : tensor<2x8xf32>
  %3 = "stablehlo.scatter"(%read, %at, %sum) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.subtract %3, %read : tensor<4x8xf32>
  return %0, %2, %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
