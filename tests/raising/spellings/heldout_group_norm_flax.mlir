// EXPECT: aten.group_norm group=3 eps=1e-06
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>) -> (tensor<2x5x4x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x5x4x6xf32>) -> tensor<2x5x4x3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x4x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x3xf32>
    %4 = chlo.square %0 : tensor<2x5x4x3x2xf32> -> tensor<2x5x4x3x2xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_1) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x4x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_2 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %7 = stablehlo.divide %5, %6 : tensor<2x3xf32>
    %8 = chlo.square %3 : tensor<2x3xf32> -> tensor<2x3xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<2x3xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %11 = stablehlo.maximum %10, %9 : tensor<2x3xf32>
    %12 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x3x2xf32>) -> tensor<2x6xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %15 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x2xf32>
    %16 = stablehlo.reshape %15 : (tensor<2x3x2xf32>) -> tensor<2x6xf32>
    %17 = stablehlo.reshape %16 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %18 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %19 = stablehlo.subtract %arg0, %18 : tensor<2x5x4x6xf32>
    %cst_4 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x1x1x6xf32>
    %21 = stablehlo.add %17, %20 : tensor<2x1x1x6xf32>
    %22 = stablehlo.rsqrt %21 : tensor<2x1x1x6xf32>
    %23 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x1x1x6xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<2x1x1x6xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %27 = stablehlo.multiply %19, %26 : tensor<2x5x4x6xf32>
    %28 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %30 = stablehlo.add %27, %29 : tensor<2x5x4x6xf32>
    return %30 : tensor<2x5x4x6xf32>
  }
}
