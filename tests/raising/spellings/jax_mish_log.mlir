// EXPECT: aten.mish
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<4x16xf32>
    %1 = stablehlo.negate %0 : tensor<4x16xf32>
    %2 = stablehlo.exponential %1 : tensor<4x16xf32>
    %3 = stablehlo.log_plus_one %2 : tensor<4x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %5 = stablehlo.maximum %arg0, %4 : tensor<4x16xf32>
    %6 = stablehlo.add %3, %5 : tensor<4x16xf32>
    %7 = stablehlo.tanh %6 : tensor<4x16xf32>
    %8 = stablehlo.multiply %arg0, %7 : tensor<4x16xf32>
    return %8 : tensor<4x16xf32>
  }
}
