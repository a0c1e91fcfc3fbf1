// EXPECT: aten.mish
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf64>) -> (tensor<4x16xf64> {jax.result_info = "result"}) {
    %0 = stablehlo.exponential %arg0 : tensor<4x16xf64>
    %1 = stablehlo.exponential %arg0 : tensor<4x16xf64>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x16xf64>
    %3 = stablehlo.add %1, %2 : tensor<4x16xf64>
    %4 = stablehlo.multiply %0, %3 : tensor<4x16xf64>
    %5 = stablehlo.multiply %arg0, %4 : tensor<4x16xf64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x16xf64>
    %7 = stablehlo.add %4, %6 : tensor<4x16xf64>
    %8 = stablehlo.divide %5, %7 : tensor<4x16xf64>
    return %8 : tensor<4x16xf64>
  }
}
