// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4x8xf32>) -> (tensor<4x4x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.exponential %arg0 : tensor<4x4x8xf32>
    %1 = stablehlo.exponential %arg0 : tensor<4x4x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %6 = stablehlo.divide %0, %5 : tensor<4x4x8xf32>
    return %6 : tensor<4x4x8xf32>
  }
}
