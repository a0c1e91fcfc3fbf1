// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<2x6x5x4xf32>, %arg2: tensor<6xf32>) -> (tensor<2x6x5x4xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @_var(%arg0, %c) : (tensor<2x6x5x4xf32>, tensor<i32>) -> tensor<1x6x1x1xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %2 = stablehlo.add %0, %1 : tensor<1x6x1x1xf32>
    %3 = stablehlo.sqrt %2 : tensor<1x6x1x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x6x1x1xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_2 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<1x6x1x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %11 = stablehlo.subtract %arg0, %10 : tensor<2x6x5x4xf32>
    %12 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %13 = stablehlo.multiply %11, %12 : tensor<2x6x5x4xf32>
    %14 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %16 = stablehlo.multiply %arg1, %15 : tensor<2x6x5x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_3) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %20 = stablehlo.divide %18, %19 : tensor<1x6x1x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<2x6x5x4xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x6x5x4xf32>
    %24 = stablehlo.multiply %23, %13 : tensor<2x6x5x4xf32>
    %25 = stablehlo.multiply %16, %13 : tensor<2x6x5x4xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_6) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_7 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %29 = stablehlo.divide %27, %28 : tensor<1x6x1x1xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %31 = stablehlo.multiply %24, %30 : tensor<2x6x5x4xf32>
    %32 = stablehlo.subtract %22, %31 : tensor<2x6x5x4xf32>
    %33 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %34 = stablehlo.multiply %33, %32 : tensor<2x6x5x4xf32>
    return %34 : tensor<2x6x5x4xf32>
  }
  func.func private @_var(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<i32>) -> tensor<1x6x1x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x6x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x6x5x4xf32>
    %6 = chlo.square %5 : tensor<2x6x5x4xf32> -> tensor<2x6x5x4xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<1x6x1x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<1x6x1x1xf32>, tensor<f32>) -> tensor<1x6x1x1xf32>
    return %14 : tensor<1x6x1x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<1x6x1x1xf32>, %arg2: tensor<f32>) -> tensor<1x6x1x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<1x6x1x1xf32>
    return %2 : tensor<1x6x1x1xf32>
  }
}
