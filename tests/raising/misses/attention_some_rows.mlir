// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xf32>, %arg1: tensor<2x3x8x16xf32>, %arg2: tensor<2x3x8x16xf32>, %arg3: tensor<2x8xi1>) -> (tensor<2x3x8x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<2x8xi1>) -> tensor<2x1x8x1xi1>
    %1 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %9 = stablehlo.subtract %3, %8 : tensor<2x3x8x8xf32>
    %10 = stablehlo.exponential %9 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %14 = stablehlo.divide %10, %13 : tensor<2x3x8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %15 = call @_where(%0, %c, %14) : (tensor<2x1x8x1xi1>, tensor<i32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
    %16 = stablehlo.dot_general %15, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    return %16 : tensor<2x3x8x16xf32>
  }
  func.func private @_where(%arg0: tensor<2x1x8x1xi1>, %arg1: tensor<i32>, %arg2: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x8x1xi1>) -> tensor<2x3x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %3 : tensor<2x3x8x8xf32>
  }
}
