// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25; aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xf32>, %arg1: tensor<2x8x3x16xf32>, %arg2: tensor<2x8x3x16xf32>, %arg3: tensor<2x8x3x16xf32>, %arg4: tensor<2x1x8x8xi1>) -> (tensor<2x8x3x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][2]"}) {
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %0 = stablehlo.sqrt %cst : tensor<f32>
    %1 = stablehlo.convert %0 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x8x3x16xf32>
    %3 = stablehlo.divide %arg1, %2 : tensor<2x8x3x16xf32>
    %4 = stablehlo.dot_general %3, %arg2, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
    %cst_0 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
    %5:2 = call @_where(%arg4, %4, %cst_0) : (tensor<2x1x8x8xi1>, tensor<2x3x8x8xf32>, tensor<f32>) -> (tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<2x3x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %11 = stablehlo.subtract %5#0, %10 : tensor<2x3x8x8xf32>
    %12 = stablehlo.exponential %11 : tensor<2x3x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %16 = stablehlo.divide %12, %15 : tensor<2x3x8x8xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<2x3x8x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<2x3x8x1xf32>
    %20 = stablehlo.dot_general %arg3, %16, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %22 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<2x8x3x16xf32>) -> tensor<2x3x16x8xf32>
    %23 = stablehlo.dot_general %22, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
    %24 = stablehlo.dot_general %22, %16, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %25 = stablehlo.transpose %24, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %26 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %27 = stablehlo.multiply %23, %26 : tensor<2x3x8x8xf32>
    %28 = stablehlo.multiply %27, %12 : tensor<2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.reduce(%28 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %31 = stablehlo.negate %30 : tensor<2x3x8x1xf32>
    %32 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %33 = stablehlo.divide %23, %32 : tensor<2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%31 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
    %36 = stablehlo.add %33, %35 : tensor<2x3x8x8xf32>
    %37 = stablehlo.multiply %36, %12 : tensor<2x3x8x8xf32>
    %38 = call @_where_0(%5#1, %37) : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
    %39 = stablehlo.dot_general %38, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32>
    %40 = stablehlo.transpose %39, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %41 = stablehlo.dot_general %38, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32>
    %42 = stablehlo.transpose %41, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %43 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x8x3x16xf32>
    %44 = stablehlo.divide %42, %43 : tensor<2x8x3x16xf32>
    return %21, %44, %40, %25 : tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>
  }
  func.func private @_where(%arg0: tensor<2x1x8x8xi1>, %arg1: tensor<2x3x8x8xf32>, %arg2: tensor<f32>) -> (tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x8x8xi1>) -> tensor<2x3x8x8xi1>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %2 = stablehlo.select %0, %arg1, %1 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %2, %0 : tensor<2x3x8x8xf32>, tensor<2x3x8x8xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x3x8x8xi1>, %arg1: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %1 : tensor<2x3x8x8xf32>
  }
}
