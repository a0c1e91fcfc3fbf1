// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xf32>, %arg1: tensor<2x3x8x16xf32>, %arg2: tensor<2x3x8x16xf32>) -> (tensor<2x3x8x16xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<[[[false]], [[true]], [[false]]]> : tensor<3x1x1xi1>
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %5 = stablehlo.maximum %4, %3 : tensor<2x3x8xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %8 = stablehlo.subtract %2, %7 : tensor<2x3x8x8xf32>
    %9 = stablehlo.exponential %8 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %13 = stablehlo.divide %9, %12 : tensor<2x3x8x8xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %14 = call @_where(%c, %c_3, %13) : (tensor<3x1x1xi1>, tensor<i32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
    %15 = stablehlo.dot_general %14, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    return %15 : tensor<2x3x8x16xf32>
  }
  func.func private @_where(%arg0: tensor<3x1x1xi1>, %arg1: tensor<i32>, %arg2: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3] : (tensor<3x1x1xi1>) -> tensor<2x3x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %3 : tensor<2x3x8x8xf32>
  }
}
