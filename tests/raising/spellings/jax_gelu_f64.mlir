// EXPECT: aten.gelu approximate=none
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf64>) -> (tensor<4x16xf64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.4142135623730951> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x16xf64>
    %1 = stablehlo.divide %arg0, %0 : tensor<4x16xf64>
    %2 = chlo.erf %1 : tensor<4x16xf64> -> tensor<4x16xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x16xf64>
    %4 = stablehlo.add %3, %2 : tensor<4x16xf64>
    %5 = stablehlo.multiply %arg0, %4 : tensor<4x16xf64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x16xf64>
    %7 = stablehlo.divide %5, %6 : tensor<4x16xf64>
    return %7 : tensor<4x16xf64>
  }
}
