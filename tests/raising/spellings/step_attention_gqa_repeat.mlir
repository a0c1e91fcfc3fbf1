// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xf32>, %arg1: tensor<2x3x8x16xf32>, %arg2: tensor<2x1x8x16xf32>, %arg3: tensor<2x1x8x16xf32>) -> (tensor<2x3x8x16xf32> {jax.result_info = "result[0]"}, tensor<2x3x8x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x1x8x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x1x8x16xf32> {jax.result_info = "result[1][2]"}) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 3, 4] : (tensor<2x1x8x16xf32>) -> tensor<2x1x3x8x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x1x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %2 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 3, 4] : (tensor<2x1x8x16xf32>) -> tensor<2x1x3x8x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x1x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %4 = stablehlo.dot_general %arg1, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %9 = stablehlo.maximum %8, %7 : tensor<2x3x8xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<2x3x8x8xf32>
    %13 = stablehlo.exponential %12 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %17 = stablehlo.divide %13, %16 : tensor<2x3x8x8xf32>
    %18 = stablehlo.multiply %15, %15 : tensor<2x3x8x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %20 = stablehlo.divide %19, %18 : tensor<2x3x8x1xf32>
    %21 = stablehlo.dot_general %17, %3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %22 = stablehlo.dot_general %arg0, %17, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %23 = stablehlo.transpose %22, dims = [0, 1, 3, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x3x8x16xf32>
    %24 = stablehlo.dot_general %arg0, %3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %25 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %26 = stablehlo.multiply %24, %25 : tensor<2x3x8x8xf32>
    %27 = stablehlo.multiply %26, %13 : tensor<2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %29 = stablehlo.reshape %28 : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %30 = stablehlo.negate %29 : tensor<2x3x8x1xf32>
    %31 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %32 = stablehlo.divide %24, %31 : tensor<2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%30 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
    %35 = stablehlo.add %32, %34 : tensor<2x3x8x8xf32>
    %36 = stablehlo.multiply %35, %13 : tensor<2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %38 = stablehlo.multiply %36, %37 : tensor<2x3x8x8xf32>
    %39 = stablehlo.dot_general %38, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %40 = stablehlo.dot_general %38, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %41 = stablehlo.reshape %23 : (tensor<2x3x8x16xf32>) -> tensor<2x1x3x8x16xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.reduce(%41 init: %cst_7) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x3x8x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 2, 3] : (tensor<2x8x16xf32>) -> tensor<2x1x8x16xf32>
    %44 = stablehlo.reshape %39 : (tensor<2x3x8x16xf32>) -> tensor<2x1x3x8x16xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_8) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x3x8x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 2, 3] : (tensor<2x8x16xf32>) -> tensor<2x1x8x16xf32>
    return %21, %40, %46, %43 : tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>
  }
}
