// EXPECT: aten.batch_norm training eps=1e-05; aten.batch_norm_backward training eps=1e-05
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<2x6x5x4xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>) -> (tensor<2x6x5x4xf32> {jax.result_info = "result[0]"}, tensor<2x6x5x4xf32> {jax.result_info = "result[1][0]"}, tensor<6xf32> {jax.result_info = "result[1][1]"}, tensor<6xf32> {jax.result_info = "result[1][2]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x6x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %5 = stablehlo.subtract %arg1, %4 : tensor<2x6x5x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6:4 = call @_var(%arg1, %c) : (tensor<2x6x5x4xf32>, tensor<i32>) -> (tensor<1x6x1x1xf32>, tensor<2x6x5x4xf32>, tensor<f32>, tensor<i1>)
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %8 = stablehlo.add %6#0, %7 : tensor<1x6x1x1xf32>
    %9 = stablehlo.sqrt %8 : tensor<1x6x1x1xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %11 = stablehlo.divide %10, %9 : tensor<1x6x1x1xf32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %13 = stablehlo.divide %5, %12 : tensor<2x6x5x4xf32>
    %14 = stablehlo.multiply %9, %9 : tensor<1x6x1x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %16 = stablehlo.divide %15, %14 : tensor<1x6x1x1xf32>
    %17 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %19 = stablehlo.multiply %13, %18 : tensor<2x6x5x4xf32>
    %20 = stablehlo.reshape %arg3 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %22 = stablehlo.add %19, %21 : tensor<2x6x5x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%arg0 init: %cst_4) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %24 = stablehlo.reshape %23 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %25 = stablehlo.reshape %24 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    %26 = stablehlo.multiply %13, %arg0 : tensor<2x6x5x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_5) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %28 = stablehlo.reshape %27 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %29 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %30 = stablehlo.multiply %arg0, %29 : tensor<2x6x5x4xf32>
    %31 = stablehlo.reshape %28 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    %32 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %33 = stablehlo.multiply %30, %32 : tensor<2x6x5x4xf32>
    %34 = stablehlo.multiply %33, %5 : tensor<2x6x5x4xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_6) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %36 = stablehlo.reshape %35 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %37 = stablehlo.negate %36 : tensor<1x6x1x1xf32>
    %38 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %39 = stablehlo.divide %30, %38 : tensor<2x6x5x4xf32>
    %40 = stablehlo.multiply %37, %11 : tensor<1x6x1x1xf32>
    %41 = call @_var_0(%6#1, %6#2, %6#3, %40) : (tensor<2x6x5x4xf32>, tensor<f32>, tensor<i1>, tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %42 = stablehlo.negate %39 : tensor<2x6x5x4xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_7) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %44 = stablehlo.reshape %43 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %45 = stablehlo.add %41, %39 : tensor<2x6x5x4xf32>
    %cst_8 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %47 = stablehlo.divide %44, %46 : tensor<1x6x1x1xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_9) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x6x1x1xf32>, tensor<f32>) -> tensor<6xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [1] : (tensor<6xf32>) -> tensor<2x6x5x4xf32>
    %50 = stablehlo.add %45, %49 : tensor<2x6x5x4xf32>
    return %22, %50, %31, %25 : tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>
  }
  func.func private @_var(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<i32>) -> (tensor<1x6x1x1xf32>, tensor<2x6x5x4xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x6x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x6x5x4xf32>
    %6 = chlo.square %5 : tensor<2x6x5x4xf32> -> tensor<2x6x5x4xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x5x4xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<2x6x5x4xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %14 = stablehlo.divide %12, %13 : tensor<1x6x1x1xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %16 = call @_where(%15, %14, %cst_5) : (tensor<i1>, tensor<1x6x1x1xf32>, tensor<f32>) -> tensor<1x6x1x1xf32>
    return %16, %8, %10, %15 : tensor<1x6x1x1xf32>, tensor<2x6x5x4xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<1x6x1x1xf32>, %arg2: tensor<f32>) -> tensor<1x6x1x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<1x6x1x1xf32>
    return %2 : tensor<1x6x1x1xf32>
  }
  func.func private @_var_0(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32> {
    %0 = call @_where_1(%arg2, %arg3) : (tensor<i1>, tensor<1x6x1x1xf32>) -> tensor<1x6x1x1xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %2 = stablehlo.divide %0, %1 : tensor<1x6x1x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x6x1x1xf32>, tensor<f32>) -> tensor<6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<6xf32>) -> tensor<2x6x5x4xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<2x6x5x4xf32>
    %6 = stablehlo.negate %5 : tensor<2x6x5x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %8 = stablehlo.reshape %7 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_1 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<1x6x1x1xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x6x1x1xf32>, tensor<f32>) -> tensor<6xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<6xf32>) -> tensor<2x6x5x4xf32>
    %13 = stablehlo.add %5, %12 : tensor<2x6x5x4xf32>
    return %13 : tensor<2x6x5x4xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<1x6x1x1xf32>) -> tensor<1x6x1x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<1x6x1x1xf32>
    return %1 : tensor<1x6x1x1xf32>
  }
}
