// EXPECT: aten.scaled_dot_product_attention is_causal scale=0.25
module @jit_projected attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x16xf32>, %arg1: tensor<16x3x16xf32>, %arg2: tensor<16x3x16xf32>, %arg3: tensor<16x3x16xf32>, %arg4: tensor<3x16x16xf32>) -> (tensor<2x8x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %1 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %2 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x3x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<2x8x3x16xf32>
    %5 = stablehlo.dot_general %4, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
    %6 = stablehlo.iota dim = 0 : tensor<8xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %8 = stablehlo.iota dim = 0 : tensor<8xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<8xi32>) -> tensor<1x8xi32>
    %10 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x8xi32>) -> tensor<8x8xi32>
    %12 = stablehlo.compare GE, %10, %11, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %13 = call @_where(%12, %cst_0, %cst_1) : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
    %14 = stablehlo.convert %13 : tensor<8x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<1x1x8x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xf32>) -> tensor<2x3x8x8xf32>
    %17 = stablehlo.add %5, %16 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %20 = stablehlo.maximum %19, %18 : tensor<2x3x8xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<2x3x8x8xf32>
    %24 = stablehlo.exponential %23 : tensor<2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %28 = stablehlo.divide %24, %27 : tensor<2x3x8x8xf32>
    %29 = stablehlo.dot_general %2, %28, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %30 = stablehlo.transpose %29, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %31 = stablehlo.dot_general %30, %arg4, contracting_dims = [3, 2] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<3x16x16xf32>) -> tensor<2x8x16xf32>
    return %31 : tensor<2x8x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<8x8xi1>, tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
