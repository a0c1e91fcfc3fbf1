// EXPECT: aten.silu
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.negate %arg0 : tensor<4x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4x16xf32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.subtract %3, %0 : tensor<4x16xf32>
    %5 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %7 = stablehlo.add %6, %0 : tensor<4x16xf32>
    %8 = stablehlo.abs %4 : tensor<4x16xf32>
    %9 = stablehlo.negate %8 : tensor<4x16xf32>
    %10 = stablehlo.exponential %9 : tensor<4x16xf32>
    %11 = stablehlo.log_plus_one %10 : tensor<4x16xf32>
    %12 = stablehlo.add %2, %11 : tensor<4x16xf32>
    %13 = stablehlo.select %5, %7, %12 : tensor<4x16xi1>, tensor<4x16xf32>
    %14 = stablehlo.negate %13 : tensor<4x16xf32>
    %15 = stablehlo.exponential %14 : tensor<4x16xf32>
    %16 = stablehlo.multiply %arg0, %15 : tensor<4x16xf32>
    return %16 : tensor<4x16xf32>
  }
}
