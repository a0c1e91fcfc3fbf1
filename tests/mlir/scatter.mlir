// An embedding's gradient: the rows that are touched are summed up in a table of 8 + 1, and the sum with something else looks them up, so that nothing of 1000 rows
// is filled with zeros. Without what it replaces, the text would hold one scatter into 1000 x 32.
// RUN: cresset-opt --simplify %s | FileCheck %s

// CHECK-DAG: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<9x32xf32>
// CHECK-DAG: %[[NONE:.*]] = stablehlo.constant dense<8> : tensor<1000xi32>
// CHECK: %[[PLACES:.*]] = "stablehlo.scatter"(%[[NONE]]
// CHECK: stablehlo.minimum
// CHECK: %[[TABLE:.*]] = "stablehlo.scatter"(%[[ZEROS]]
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%[[TABLE]]
// CHECK: stablehlo.add %arg2, %[[ROWS]] : tensor<1000x32xf32>
func.func @main(%index: tensor<8x1xi64>, %updates: tensor<8x32xf32>, %other: tensor<1000x32xf32>) -> tensor<1000x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1000x32xf32>
  %sum = "stablehlo.scatter"(%zero, %index, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<8x1xi64>, tensor<8x32xf32>) -> tensor<1000x32xf32>
  %r = stablehlo.add %other, %sum : tensor<1000x32xf32>
  return %r : tensor<1000x32xf32>
}
