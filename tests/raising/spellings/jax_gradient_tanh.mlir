// EXPECT: aten.tanh_backward
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.tanh %arg1 : tensor<4x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.subtract %1, %0 : tensor<4x16xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<4x16xf32>
    %4 = stablehlo.multiply %3, %0 : tensor<4x16xf32>
    %5 = stablehlo.add %3, %4 : tensor<4x16xf32>
    return %5 : tensor<4x16xf32>
  }
}
