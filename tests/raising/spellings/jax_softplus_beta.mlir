// EXPECT: aten.softplus threshold=20 beta=2
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.maximum %1, %2 : tensor<4x16xf32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %5 = stablehlo.subtract %1, %4 : tensor<4x16xf32>
    %6 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %8 = stablehlo.add %1, %7 : tensor<4x16xf32>
    %9 = stablehlo.abs %5 : tensor<4x16xf32>
    %10 = stablehlo.negate %9 : tensor<4x16xf32>
    %11 = stablehlo.exponential %10 : tensor<4x16xf32>
    %12 = stablehlo.log_plus_one %11 : tensor<4x16xf32>
    %13 = stablehlo.add %3, %12 : tensor<4x16xf32>
    %14 = stablehlo.select %6, %8, %13 : tensor<4x16xi1>, tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %16 = stablehlo.divide %14, %15 : tensor<4x16xf32>
    return %16 : tensor<4x16xf32>
  }
}
