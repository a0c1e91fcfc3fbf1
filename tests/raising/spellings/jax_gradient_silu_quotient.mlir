// EXPECT: aten.silu_backward
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.negate %arg1 : tensor<4x16xf32>
    %1 = stablehlo.exponential %0 : tensor<4x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.add %2, %1 : tensor<4x16xf32>
    %4 = stablehlo.multiply %3, %3 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %6 = stablehlo.divide %5, %4 : tensor<4x16xf32>
    %7 = stablehlo.multiply %arg0, %6 : tensor<4x16xf32>
    %8 = stablehlo.multiply %7, %arg1 : tensor<4x16xf32>
    %9 = stablehlo.negate %8 : tensor<4x16xf32>
    %10 = stablehlo.divide %arg0, %3 : tensor<4x16xf32>
    %11 = stablehlo.multiply %9, %1 : tensor<4x16xf32>
    %12 = stablehlo.negate %11 : tensor<4x16xf32>
    %13 = stablehlo.add %10, %12 : tensor<4x16xf32>
    return %13 : tensor<4x16xf32>
  }
}
