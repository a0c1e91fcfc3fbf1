// EXPECT: aten.gelu_backward approximate=none
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.divide %arg1, %0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.41421354> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.divide %arg1, %2 : tensor<4x16xf32>
    %4 = chlo.erf %3 : tensor<4x16xf32> -> tensor<4x16xf32>
    %5 = chlo.square %3 : tensor<4x16xf32> -> tensor<4x16xf32>
    %6 = stablehlo.negate %5 : tensor<4x16xf32>
    %7 = stablehlo.exponential %6 : tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %9 = stablehlo.add %8, %4 : tensor<4x16xf32>
    %10 = stablehlo.multiply %1, %arg0 : tensor<4x16xf32>
    %11 = stablehlo.multiply %arg0, %9 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<1.12837923> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %13 = stablehlo.multiply %12, %10 : tensor<4x16xf32>
    %14 = stablehlo.multiply %13, %7 : tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<1.41421354> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %16 = stablehlo.divide %14, %15 : tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %18 = stablehlo.divide %11, %17 : tensor<4x16xf32>
    %19 = stablehlo.add %16, %18 : tensor<4x16xf32>
    return %19 : tensor<4x16xf32>
  }
}
