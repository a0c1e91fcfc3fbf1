// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25; aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xf32>, %arg1: tensor<2x8x3x16xf32>, %arg2: tensor<2x8x3x16xf32>, %arg3: tensor<2x8x3x16xf32>, %arg4: tensor<2x3x8x8xf32>) -> (tensor<2x8x3x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][2]"}, tensor<2x3x8x8xf32> {jax.result_info = "result[1][3]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %1 = stablehlo.reshape %arg4 : (tensor<2x3x8x8xf32>) -> tensor<2x3x1x8x8xf32>
    %2 = stablehlo.dot_general %0, %arg2, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x1x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x8x1x8xf32>
    %5 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<2x3x8x1x8xf32>) -> tensor<1x2x3x8x8xf32>
    %6 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %7 = stablehlo.add %5, %6 : tensor<1x2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x2x3x8xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<1x2x3x8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<1x2x3x8x8xf32>
    %14 = stablehlo.exponential %13 : tensor<1x2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %18 = stablehlo.divide %14, %17 : tensor<1x2x3x8x8xf32>
    %19 = stablehlo.multiply %16, %16 : tensor<1x2x3x8x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x8x1xf32>
    %21 = stablehlo.divide %20, %19 : tensor<1x2x3x8x1xf32>
    %22 = stablehlo.dot_general %arg3, %18, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x1x8xf32>
    %23 = stablehlo.transpose %22, dims = [3, 0, 4, 1, 2] : (tensor<2x3x16x1x8xf32>) -> tensor<1x2x8x3x16xf32>
    %24 = stablehlo.transpose %23, dims = [1, 2, 3, 0, 4] : (tensor<1x2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %25 = stablehlo.reshape %24 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    %26 = stablehlo.reshape %arg0 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %27 = stablehlo.transpose %26, dims = [3, 0, 1, 2, 4] : (tensor<2x8x3x1x16xf32>) -> tensor<1x2x8x3x16xf32>
    %28 = stablehlo.transpose %27, dims = [1, 3, 4, 0, 2] : (tensor<1x2x8x3x16xf32>) -> tensor<2x3x16x1x8xf32>
    %29 = stablehlo.dot_general %28, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x1x8x8xf32>
    %30 = stablehlo.transpose %29, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %31 = stablehlo.dot_general %28, %18, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %32 = stablehlo.transpose %31, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %33 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %34 = stablehlo.multiply %30, %33 : tensor<1x2x3x8x8xf32>
    %35 = stablehlo.multiply %34, %14 : tensor<1x2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%35 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %37 = stablehlo.reshape %36 : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %38 = stablehlo.negate %37 : tensor<1x2x3x8x1xf32>
    %39 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %40 = stablehlo.divide %30, %39 : tensor<1x2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%38 init: %cst_5) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [1, 2, 3] : (tensor<2x3x8xf32>) -> tensor<1x2x3x8xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x8xf32>
    %44 = stablehlo.add %40, %43 : tensor<1x2x3x8x8xf32>
    %45 = stablehlo.multiply %44, %14 : tensor<1x2x3x8x8xf32>
    %46 = stablehlo.transpose %45, dims = [1, 2, 0, 3, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x1x8x8xf32>
    %47 = stablehlo.transpose %45, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %49 = stablehlo.multiply %47, %48 : tensor<2x3x8x1x8xf32>
    %50 = stablehlo.dot_general %49, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x1x16xf32>) -> tensor<2x3x8x16xf32>
    %51 = stablehlo.transpose %50, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %52 = stablehlo.dot_general %49, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x16xf32>
    %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3, 4] : (tensor<2x3x8x1x16xf32>) -> tensor<2x8x3x1x16xf32>
    %54 = stablehlo.reshape %46 : (tensor<2x3x1x8x8xf32>) -> tensor<2x3x8x8xf32>
    %55 = stablehlo.reshape %53 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    return %25, %55, %51, %32, %54 : tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x3x8x8xf32>
  }
}
