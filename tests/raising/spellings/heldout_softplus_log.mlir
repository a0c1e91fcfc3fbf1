// EXPECT: aten.softplus threshold=20 beta=1
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16xf32>
    %2 = stablehlo.abs %arg0 : tensor<4x16xf32>
    %3 = stablehlo.negate %2 : tensor<4x16xf32>
    %4 = stablehlo.exponential %3 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %6 = stablehlo.add %5, %4 : tensor<4x16xf32>
    %7 = stablehlo.log %6 : tensor<4x16xf32>
    %8 = stablehlo.add %1, %7 : tensor<4x16xf32>
    return %8 : tensor<4x16xf32>
  }
}
