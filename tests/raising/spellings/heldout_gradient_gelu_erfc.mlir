// EXPECT: aten.gelu_backward approximate=none
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4x16xf32>
    %2 = stablehlo.negate %arg1 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.41421354> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4x16xf32>
    %5 = chlo.erfc %4 : tensor<4x16xf32> -> tensor<4x16xf32>
    %6 = chlo.square %4 : tensor<4x16xf32> -> tensor<4x16xf32>
    %7 = stablehlo.negate %6 : tensor<4x16xf32>
    %8 = stablehlo.exponential %7 : tensor<4x16xf32>
    %9 = stablehlo.multiply %1, %arg0 : tensor<4x16xf32>
    %10 = stablehlo.multiply %arg0, %5 : tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %12 = stablehlo.multiply %11, %9 : tensor<4x16xf32>
    %13 = stablehlo.multiply %12, %8 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<1.41421354> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %15 = stablehlo.divide %13, %14 : tensor<4x16xf32>
    %16 = stablehlo.negate %15 : tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %18 = stablehlo.multiply %17, %10 : tensor<4x16xf32>
    %19 = stablehlo.add %16, %18 : tensor<4x16xf32>
    return %19 : tensor<4x16xf32>
  }
}
