// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25; aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xf32>, %arg1: tensor<2x3x8x16xf32>, %arg2: tensor<2x3x8x16xf32>, %arg3: tensor<2x3x8x16xf32>) -> (tensor<2x3x8x16xf32> {jax.result_info = "result[0]"}, tensor<2x3x8x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x3x8x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x3x8x16xf32> {jax.result_info = "result[1][2]"}) {
    %c = stablehlo.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, false, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
    %0 = stablehlo.dot_general %arg1, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %3:2 = call @_where(%c, %2, %cst_0) : (tensor<8x8xi1>, tensor<2x3x8x8xf32>, tensor<f32>) -> (tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %9 = stablehlo.subtract %3#0, %8 : tensor<2x3x8x8xf32>
    %10 = stablehlo.exponential %9 : tensor<2x3x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %14 = stablehlo.divide %10, %13 : tensor<2x3x8x8xf32>
    %15 = stablehlo.multiply %12, %12 : tensor<2x3x8x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %17 = stablehlo.divide %16, %15 : tensor<2x3x8x1xf32>
    %18 = stablehlo.dot_general %14, %arg3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %19 = stablehlo.dot_general %arg0, %14, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %20 = stablehlo.transpose %19, dims = [0, 1, 3, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x3x8x16xf32>
    %21 = stablehlo.dot_general %arg0, %arg3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %22 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %23 = stablehlo.multiply %21, %22 : tensor<2x3x8x8xf32>
    %24 = stablehlo.multiply %23, %10 : tensor<2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %26 = stablehlo.reshape %25 : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %27 = stablehlo.negate %26 : tensor<2x3x8x1xf32>
    %28 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %29 = stablehlo.divide %21, %28 : tensor<2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%27 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
    %32 = stablehlo.add %29, %31 : tensor<2x3x8x8xf32>
    %33 = stablehlo.multiply %32, %10 : tensor<2x3x8x8xf32>
    %34 = call @_where_0(%3#1, %33) : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
    %cst_7 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %36 = stablehlo.multiply %34, %35 : tensor<2x3x8x8xf32>
    %37 = stablehlo.dot_general %36, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    %38 = stablehlo.dot_general %36, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    return %18, %38, %37, %20 : tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<2x3x8x8xf32>, %arg2: tensor<f32>) -> (tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<2x3x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %3, %1 : tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x3x8x8xi1>, %arg1: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %1 : tensor<2x3x8x8xf32>
  }
}
