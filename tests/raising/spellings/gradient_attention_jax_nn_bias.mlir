// EXPECT: aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xf32>, %arg1: tensor<2x8x3x16xf32>, %arg2: tensor<2x8x3x16xf32>, %arg3: tensor<2x8x3x16xf32>, %arg4: tensor<2x3x8x8xf32>) -> (tensor<2x8x3x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[2]"}, tensor<2x3x8x8xf32> {jax.result_info = "result[3]"}) {
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
    %22 = stablehlo.reshape %arg0 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %23 = stablehlo.transpose %22, dims = [3, 0, 1, 2, 4] : (tensor<2x8x3x1x16xf32>) -> tensor<1x2x8x3x16xf32>
    %24 = stablehlo.transpose %23, dims = [1, 3, 4, 0, 2] : (tensor<1x2x8x3x16xf32>) -> tensor<2x3x16x1x8xf32>
    %25 = stablehlo.dot_general %24, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x1x8x8xf32>
    %26 = stablehlo.transpose %25, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %27 = stablehlo.dot_general %24, %18, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %28 = stablehlo.transpose %27, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %29 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %30 = stablehlo.multiply %26, %29 : tensor<1x2x3x8x8xf32>
    %31 = stablehlo.multiply %30, %14 : tensor<1x2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %33 = stablehlo.reshape %32 : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %34 = stablehlo.negate %33 : tensor<1x2x3x8x1xf32>
    %35 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %36 = stablehlo.divide %26, %35 : tensor<1x2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%34 init: %cst_5) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [1, 2, 3] : (tensor<2x3x8xf32>) -> tensor<1x2x3x8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x8xf32>
    %40 = stablehlo.add %36, %39 : tensor<1x2x3x8x8xf32>
    %41 = stablehlo.multiply %40, %14 : tensor<1x2x3x8x8xf32>
    %42 = stablehlo.transpose %41, dims = [1, 2, 0, 3, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x1x8x8xf32>
    %43 = stablehlo.transpose %41, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<2x3x8x1x8xf32>
    %46 = stablehlo.dot_general %45, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x1x16xf32>) -> tensor<2x3x8x16xf32>
    %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %48 = stablehlo.dot_general %45, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x16xf32>
    %49 = stablehlo.transpose %48, dims = [0, 2, 1, 3, 4] : (tensor<2x3x8x1x16xf32>) -> tensor<2x8x3x1x16xf32>
    %50 = stablehlo.reshape %42 : (tensor<2x3x1x8x8xf32>) -> tensor<2x3x8x8xf32>
    %51 = stablehlo.reshape %49 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    return %51, %47, %28, %50 : tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x3x8x8xf32>
  }
}
