// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x6x16xf32>, %arg1: tensor<2x8x6x16xf32>, %arg2: tensor<2x8x2x16xf32>, %arg3: tensor<2x8x2x16xf32>) -> (tensor<2x8x6x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x6x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x8x2x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x8x2x16xf32> {jax.result_info = "result[1][2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x8x6x16xf32>) -> tensor<2x8x2x3x16xf32>
    %1 = stablehlo.dot_general %0, %arg2, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x2x3x16xf32>, tensor<2x8x2x16xf32>) -> tensor<2x2x8x3x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x8x3x8xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x2x8x3x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x8x3x8xf32>, tensor<f32>) -> tensor<2x2x8x3xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x2x8x3xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x2x8x3xf32>
    %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2] : (tensor<2x2x8x3xf32>) -> tensor<3x2x2x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<3x2x2x8xf32>) -> tensor<3x2x2x8x1xf32>
    %9 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x2x8x3x8xf32>) -> tensor<3x2x2x8x8xf32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<3x2x2x8x1xf32>) -> tensor<3x2x2x8x8xf32>
    %11 = stablehlo.subtract %9, %10 : tensor<3x2x2x8x8xf32>
    %12 = stablehlo.exponential %11 : tensor<3x2x2x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<3x2x2x8x8xf32>, tensor<f32>) -> tensor<3x2x2x8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<3x2x2x8xf32>) -> tensor<3x2x2x8x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<3x2x2x8x1xf32>) -> tensor<3x2x2x8x8xf32>
    %16 = stablehlo.divide %12, %15 : tensor<3x2x2x8x8xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<3x2x2x8x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x2x2x8x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<3x2x2x8x1xf32>
    %20 = stablehlo.dot_general %arg3, %16, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x8x2x16xf32>, tensor<3x2x2x8x8xf32>) -> tensor<2x2x16x3x8xf32>
    %21 = stablehlo.transpose %20, dims = [3, 0, 4, 1, 2] : (tensor<2x2x16x3x8xf32>) -> tensor<3x2x8x2x16xf32>
    %22 = stablehlo.transpose %21, dims = [1, 2, 3, 0, 4] : (tensor<3x2x8x2x16xf32>) -> tensor<2x8x2x3x16xf32>
    %23 = stablehlo.reshape %22 : (tensor<2x8x2x3x16xf32>) -> tensor<2x8x6x16xf32>
    %24 = stablehlo.reshape %arg0 : (tensor<2x8x6x16xf32>) -> tensor<2x8x2x3x16xf32>
    %25 = stablehlo.transpose %24, dims = [3, 0, 1, 2, 4] : (tensor<2x8x2x3x16xf32>) -> tensor<3x2x8x2x16xf32>
    %26 = stablehlo.transpose %25, dims = [1, 3, 4, 0, 2] : (tensor<3x2x8x2x16xf32>) -> tensor<2x2x16x3x8xf32>
    %27 = stablehlo.dot_general %26, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x3x8xf32>, tensor<2x8x2x16xf32>) -> tensor<2x2x3x8x8xf32>
    %28 = stablehlo.transpose %27, dims = [2, 0, 1, 3, 4] : (tensor<2x2x3x8x8xf32>) -> tensor<3x2x2x8x8xf32>
    %29 = stablehlo.dot_general %26, %16, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x3x8xf32>, tensor<3x2x2x8x8xf32>) -> tensor<2x2x16x8xf32>
    %30 = stablehlo.transpose %29, dims = [0, 3, 1, 2] : (tensor<2x2x16x8xf32>) -> tensor<2x8x2x16xf32>
    %31 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<3x2x2x8x1xf32>) -> tensor<3x2x2x8x8xf32>
    %32 = stablehlo.multiply %28, %31 : tensor<3x2x2x8x8xf32>
    %33 = stablehlo.multiply %32, %12 : tensor<3x2x2x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%33 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<3x2x2x8x8xf32>, tensor<f32>) -> tensor<3x2x2x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<3x2x2x8xf32>) -> tensor<3x2x2x8x1xf32>
    %36 = stablehlo.negate %35 : tensor<3x2x2x8x1xf32>
    %37 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<3x2x2x8x1xf32>) -> tensor<3x2x2x8x8xf32>
    %38 = stablehlo.divide %28, %37 : tensor<3x2x2x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%36 init: %cst_5) applies stablehlo.add across dimensions = [4] : (tensor<3x2x2x8x1xf32>, tensor<f32>) -> tensor<3x2x2x8xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2, 3] : (tensor<3x2x2x8xf32>) -> tensor<3x2x2x8x8xf32>
    %41 = stablehlo.add %38, %40 : tensor<3x2x2x8x8xf32>
    %42 = stablehlo.multiply %41, %12 : tensor<3x2x2x8x8xf32>
    %43 = stablehlo.transpose %42, dims = [1, 2, 3, 0, 4] : (tensor<3x2x2x8x8xf32>) -> tensor<2x2x8x3x8xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x2x8x3x8xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<2x2x8x3x8xf32>
    %46 = stablehlo.dot_general %45, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x3x8xf32>, tensor<2x8x2x3x16xf32>) -> tensor<2x2x8x16xf32>
    %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<2x2x8x16xf32>) -> tensor<2x8x2x16xf32>
    %48 = stablehlo.dot_general %45, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x3x8xf32>, tensor<2x8x2x16xf32>) -> tensor<2x2x8x3x16xf32>
    %49 = stablehlo.transpose %48, dims = [0, 2, 1, 3, 4] : (tensor<2x2x8x3x16xf32>) -> tensor<2x8x2x3x16xf32>
    %50 = stablehlo.reshape %49 : (tensor<2x8x2x3x16xf32>) -> tensor<2x8x6x16xf32>
    return %23, %50, %47, %30 : tensor<2x8x6x16xf32>, tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>
  }
}
