// EXPECT: aten.gelu approximate=none
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.41421354> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.divide %arg0, %2 : tensor<4x16xf32>
    %4 = chlo.erfc %3 : tensor<4x16xf32> -> tensor<4x16xf32>
    %5 = stablehlo.multiply %1, %4 : tensor<4x16xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<4x16xf32>
    return %6 : tensor<4x16xf32>
  }
}
