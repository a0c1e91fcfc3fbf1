// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xf32>, %arg1: tensor<2x8x3x16xf32>, %arg2: tensor<2x8x3x16xf32>, %arg3: tensor<2x3x8x8xi1>) -> (tensor<2x8x3x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %1 = stablehlo.reshape %arg3 : (tensor<2x3x8x8xi1>) -> tensor<2x3x1x8x8xi1>
    %2 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x1x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x8x1x8xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x8x8xi1>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2, 3, 4] : (tensor<2x3x8x8xi1>) -> tensor<1x2x3x8x8xi1>
    %7 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xi1>) -> tensor<1x2x3x8x8xi1>
    %8 = stablehlo.and %6, %7 : tensor<1x2x3x8x8xi1>
    %cst_0 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %9 = call @_where(%8, %4, %cst_0) : (tensor<1x2x3x8x8xi1>, tensor<2x3x8x1x8xf32>, tensor<f32>) -> tensor<1x2x3x8x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x2x3x8xf32>
    %12 = stablehlo.maximum %11, %10 : tensor<1x2x3x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %15 = stablehlo.subtract %9, %14 : tensor<1x2x3x8x8xf32>
    %16 = stablehlo.exponential %15 : tensor<1x2x3x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_3) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %20 = stablehlo.divide %16, %19 : tensor<1x2x3x8x8xf32>
    %21 = stablehlo.dot_general %arg2, %20, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x1x8xf32>
    %22 = stablehlo.transpose %21, dims = [3, 0, 4, 1, 2] : (tensor<2x3x16x1x8xf32>) -> tensor<1x2x8x3x16xf32>
    %23 = stablehlo.transpose %22, dims = [1, 2, 3, 0, 4] : (tensor<1x2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %24 = stablehlo.reshape %23 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    return %24 : tensor<2x8x3x16xf32>
  }
  func.func private @_where(%arg0: tensor<1x2x3x8x8xi1>, %arg1: tensor<2x3x8x1x8xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %2 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x8x1x8xf32>) -> tensor<1x2x3x8x8xf32>
    %3 = stablehlo.select %arg0, %2, %1 : tensor<1x2x3x8x8xi1>, tensor<1x2x3x8x8xf32>
    return %3 : tensor<1x2x3x8x8xf32>
  }
}
