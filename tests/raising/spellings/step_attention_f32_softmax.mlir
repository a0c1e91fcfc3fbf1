// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xbf16>, %arg1: tensor<2x3x8x16xbf16>, %arg2: tensor<2x3x8x16xbf16>, %arg3: tensor<2x3x8x16xbf16>) -> (tensor<2x3x8x16xbf16> {jax.result_info = "result[0]"}, tensor<2x3x8x16xbf16> {jax.result_info = "result[1][0]"}, tensor<2x3x8x16xbf16> {jax.result_info = "result[1][1]"}, tensor<2x3x8x16xbf16> {jax.result_info = "result[1][2]"}) {
    %0 = stablehlo.dot_general %arg1, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) -> tensor<2x3x8x8xbf16>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<2x3x8x8xbf16>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x8x8xbf16>
    %3 = stablehlo.convert %2 : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %9 = stablehlo.subtract %3, %8 : tensor<2x3x8x8xf32>
    %10 = stablehlo.exponential %9 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %14 = stablehlo.divide %10, %13 : tensor<2x3x8x8xf32>
    %15 = stablehlo.multiply %12, %12 : tensor<2x3x8x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %17 = stablehlo.divide %16, %15 : tensor<2x3x8x1xf32>
    %18 = stablehlo.convert %14 : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
    %19 = stablehlo.dot_general %18, %arg3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xbf16>, tensor<2x3x8x16xbf16>) -> tensor<2x3x8x16xbf16>
    %20 = stablehlo.dot_general %arg0, %18, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xbf16>, tensor<2x3x8x8xbf16>) -> tensor<2x3x16x8xbf16>
    %21 = stablehlo.transpose %20, dims = [0, 1, 3, 2] : (tensor<2x3x16x8xbf16>) -> tensor<2x3x8x16xbf16>
    %22 = stablehlo.dot_general %arg0, %arg3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) -> tensor<2x3x8x8xbf16>
    %23 = stablehlo.convert %22 : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
    %24 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %25 = stablehlo.multiply %23, %24 : tensor<2x3x8x8xf32>
    %26 = stablehlo.multiply %25, %10 : tensor<2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %28 = stablehlo.reshape %27 : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %29 = stablehlo.negate %28 : tensor<2x3x8x1xf32>
    %30 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %31 = stablehlo.divide %23, %30 : tensor<2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%29 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
    %34 = stablehlo.add %31, %33 : tensor<2x3x8x8xf32>
    %35 = stablehlo.multiply %34, %10 : tensor<2x3x8x8xf32>
    %36 = stablehlo.convert %35 : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %37 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<2x3x8x8xbf16>
    %38 = stablehlo.multiply %36, %37 : tensor<2x3x8x8xbf16>
    %39 = stablehlo.dot_general %38, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xbf16>, tensor<2x3x8x16xbf16>) -> tensor<2x3x8x16xbf16>
    %40 = stablehlo.dot_general %38, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xbf16>, tensor<2x3x8x16xbf16>) -> tensor<2x3x8x16xbf16>
    return %19, %40, %39, %21 : tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>
  }
}
