// EXPECT: aten.group_norm_backward group=3 eps=1e-05
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<2x6x5x4xf32>, %arg2: tensor<6xf32>) -> (tensor<2x6x5x4xf32> {jax.result_info = "result[0]"}, tensor<6xf32> {jax.result_info = "result[1]"}, tensor<6xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x6x5x4xf32>) -> tensor<2x3x40xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x3x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x3x40xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %7:4 = call @_var(%0, %c) : (tensor<2x3x40xf32>, tensor<i32>) -> (tensor<2x3x1xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<i1>)
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %9 = stablehlo.add %7#0, %8 : tensor<2x3x1xf32>
    %10 = stablehlo.sqrt %9 : tensor<2x3x1xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %12 = stablehlo.divide %11, %10 : tensor<2x3x1xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %14 = stablehlo.divide %6, %13 : tensor<2x3x40xf32>
    %15 = stablehlo.multiply %10, %10 : tensor<2x3x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %17 = stablehlo.divide %16, %15 : tensor<2x3x1xf32>
    %18 = stablehlo.reshape %14 : (tensor<2x3x40xf32>) -> tensor<2x6x5x4xf32>
    %19 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%arg0 init: %cst_4) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %21 = stablehlo.reshape %20 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %22 = stablehlo.reshape %21 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    %23 = stablehlo.multiply %18, %arg0 : tensor<2x6x5x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_5) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %25 = stablehlo.reshape %24 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %26 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %27 = stablehlo.multiply %arg0, %26 : tensor<2x6x5x4xf32>
    %28 = stablehlo.reshape %25 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    %29 = stablehlo.reshape %27 : (tensor<2x6x5x4xf32>) -> tensor<2x3x40xf32>
    %30 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<2x3x40xf32>
    %32 = stablehlo.multiply %31, %6 : tensor<2x3x40xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_6) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %34 = stablehlo.reshape %33 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %35 = stablehlo.negate %34 : tensor<2x3x1xf32>
    %36 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %37 = stablehlo.divide %29, %36 : tensor<2x3x40xf32>
    %38 = stablehlo.multiply %35, %12 : tensor<2x3x1xf32>
    %39 = call @_var_0(%7#1, %7#2, %7#3, %38) : (tensor<2x3x40xf32>, tensor<f32>, tensor<i1>, tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %40 = stablehlo.negate %37 : tensor<2x3x40xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %42 = stablehlo.reshape %41 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %43 = stablehlo.add %39, %37 : tensor<2x3x40xf32>
    %cst_8 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %45 = stablehlo.divide %42, %44 : tensor<2x3x1xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%45 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x40xf32>
    %48 = stablehlo.add %43, %47 : tensor<2x3x40xf32>
    %49 = stablehlo.reshape %48 : (tensor<2x3x40xf32>) -> tensor<2x6x5x4xf32>
    return %49, %28, %22 : tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>
  }
  func.func private @_var(%arg0: tensor<2x3x40xf32>, %arg1: tensor<i32>) -> (tensor<2x3x1xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x3x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x40xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x3x40xf32>
    %6 = chlo.square %5 : tensor<2x3x40xf32> -> tensor<2x3x40xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x40xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<2x3x40xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %14 = stablehlo.divide %12, %13 : tensor<2x3x1xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %16 = call @_where(%15, %14, %cst_5) : (tensor<i1>, tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
    return %16, %8, %10, %15 : tensor<2x3x1xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x3x1xf32>, %arg2: tensor<f32>) -> tensor<2x3x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x3x1xf32>
    return %2 : tensor<2x3x1xf32>
  }
  func.func private @_var_0(%arg0: tensor<2x3x40xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<2x3x1xf32>) -> tensor<2x3x40xf32> {
    %0 = call @_where_1(%arg2, %arg3) : (tensor<i1>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2x3x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x40xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<2x3x40xf32>
    %6 = stablehlo.negate %5 : tensor<2x3x40xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<2x3x40xf32>, tensor<f32>) -> tensor<2x3xf32>
    %8 = stablehlo.reshape %7 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %cst_1 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<2x3x1xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x40xf32>
    %13 = stablehlo.add %5, %12 : tensor<2x3x40xf32>
    return %13 : tensor<2x3x40xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<2x3x1xf32>) -> tensor<2x3x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<2x3x1xf32>
    return %1 : tensor<2x3x1xf32>
  }
}
