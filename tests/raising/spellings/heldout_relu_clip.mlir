// EXPECT: aten.relu
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @clip(%arg0, %c) : (tensor<4x16xf32>, tensor<i32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @clip(%arg0: tensor<4x16xf32>, %arg1: tensor<i32>) -> tensor<4x16xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<4x16xf32>
    return %2 : tensor<4x16xf32>
  }
}
