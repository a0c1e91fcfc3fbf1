// EXPECT: aten.group_norm_backward group=3 eps=1e-06
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x4x6xf32>, %arg1: tensor<2x5x4x6xf32>, %arg2: tensor<6xf32>) -> (tensor<2x5x4x6xf32> {jax.result_info = "result[0]"}, tensor<6xf32> {jax.result_info = "result[1]"}, tensor<6xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x5x4x6xf32>) -> tensor<2x5x4x3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x4x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x3xf32>
    %4 = chlo.square %0 : tensor<2x5x4x3x2xf32> -> tensor<2x5x4x3x2xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x5x4x3x2xf32>
    %6 = stablehlo.multiply %5, %0 : tensor<2x5x4x3x2xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%4 init: %cst_2) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x4x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_3 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %9 = stablehlo.divide %7, %8 : tensor<2x3xf32>
    %10 = chlo.square %3 : tensor<2x3xf32> -> tensor<2x3xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %12 = stablehlo.multiply %11, %3 : tensor<2x3xf32>
    %13 = stablehlo.subtract %9, %10 : tensor<2x3xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<2x3xf32>
    %16 = stablehlo.compare EQ, %13, %15, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %19 = stablehlo.select %16, %17, %18 : tensor<2x3xi1>, tensor<2x3xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %21 = stablehlo.compare EQ, %20, %15, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %cst_9 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %24 = stablehlo.select %21, %22, %23 : tensor<2x3xi1>, tensor<2x3xf32>
    %25 = stablehlo.divide %19, %24 : tensor<2x3xf32>
    %26 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x2xf32>
    %27 = stablehlo.reshape %26 : (tensor<2x3x2xf32>) -> tensor<2x6xf32>
    %28 = stablehlo.reshape %27 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %29 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x2xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x3x2xf32>) -> tensor<2x6xf32>
    %31 = stablehlo.reshape %30 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %32 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %33 = stablehlo.subtract %arg1, %32 : tensor<2x5x4x6xf32>
    %cst_11 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x1x1x6xf32>
    %35 = stablehlo.add %31, %34 : tensor<2x1x1x6xf32>
    %36 = stablehlo.rsqrt %35 : tensor<2x1x1x6xf32>
    %37 = stablehlo.divide %36, %35 : tensor<2x1x1x6xf32>
    %cst_12 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x1x1x6xf32>
    %39 = stablehlo.multiply %38, %37 : tensor<2x1x1x6xf32>
    %40 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x1x1x6xf32>
    %42 = stablehlo.multiply %36, %41 : tensor<2x1x1x6xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%arg0 init: %cst_13) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x5x4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %44 = stablehlo.reshape %43 : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_14) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x6xf32>, tensor<f32>) -> tensor<6xf32>
    %46 = stablehlo.multiply %33, %arg0 : tensor<2x5x4x6xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%46 init: %cst_15) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x4x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %48 = stablehlo.reshape %47 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %49 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<2x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %50 = stablehlo.multiply %arg0, %49 : tensor<2x5x4x6xf32>
    %51 = stablehlo.multiply %36, %48 : tensor<2x1x1x6xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%51 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<2x1x1x6xf32>, tensor<f32>) -> tensor<1x1x6xf32>
    %53 = stablehlo.reshape %52 : (tensor<1x1x6xf32>) -> tensor<1x1x1x6xf32>
    %54 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x1x1x6xf32>
    %55 = stablehlo.multiply %48, %54 : tensor<2x1x1x6xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%53 init: %cst_17) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x6xf32>, tensor<f32>) -> tensor<6xf32>
    %57 = stablehlo.multiply %55, %39 : tensor<2x1x1x6xf32>
    %58 = stablehlo.negate %50 : tensor<2x5x4x6xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.reduce(%58 init: %cst_18) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x4x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %60 = stablehlo.reshape %59 : (tensor<2x6xf32>) -> tensor<2x1x1x6xf32>
    %61 = stablehlo.reshape %57 : (tensor<2x1x1x6xf32>) -> tensor<2x6xf32>
    %62 = stablehlo.reshape %61 : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %63 = stablehlo.reduce(%62 init: %cst_19) applies stablehlo.add across dimensions = [2] : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %64 = stablehlo.reshape %60 : (tensor<2x1x1x6xf32>) -> tensor<2x6xf32>
    %65 = stablehlo.reshape %64 : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %66 = stablehlo.reduce(%65 init: %cst_20) applies stablehlo.add across dimensions = [2] : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %67 = stablehlo.multiply %63, %25 : tensor<2x3xf32>
    %68 = stablehlo.negate %67 : tensor<2x3xf32>
    %69 = stablehlo.multiply %68, %12 : tensor<2x3xf32>
    %70 = stablehlo.add %66, %69 : tensor<2x3xf32>
    %cst_21 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %72 = stablehlo.divide %67, %71 : tensor<2x3xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 3] : (tensor<2x3xf32>) -> tensor<2x5x4x3x2xf32>
    %74 = stablehlo.multiply %73, %6 : tensor<2x5x4x3x2xf32>
    %cst_22 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %76 = stablehlo.divide %70, %75 : tensor<2x3xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 3] : (tensor<2x3xf32>) -> tensor<2x5x4x3x2xf32>
    %78 = stablehlo.add %74, %77 : tensor<2x5x4x3x2xf32>
    %79 = stablehlo.reshape %78 : (tensor<2x5x4x3x2xf32>) -> tensor<2x5x4x6xf32>
    %80 = stablehlo.add %50, %79 : tensor<2x5x4x6xf32>
    return %80, %56, %45 : tensor<2x5x4x6xf32>, tensor<6xf32>, tensor<6xf32>
  }
}
