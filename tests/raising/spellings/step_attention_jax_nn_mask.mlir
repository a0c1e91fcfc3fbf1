// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25; aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module @jit_both attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xf32>, %arg1: tensor<2x8x3x16xf32>, %arg2: tensor<2x8x3x16xf32>, %arg3: tensor<2x8x3x16xf32>, %arg4: tensor<2x3x8x8xi1>) -> (tensor<2x8x3x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][0]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][1]"}, tensor<2x8x3x16xf32> {jax.result_info = "result[1][2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %1 = stablehlo.reshape %arg4 : (tensor<2x3x8x8xi1>) -> tensor<2x3x1x8x8xi1>
    %2 = stablehlo.dot_general %0, %arg2, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x1x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x8xf32>
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
    %21 = stablehlo.multiply %18, %18 : tensor<1x2x3x8x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x2x3x8x1xf32>
    %23 = stablehlo.divide %22, %21 : tensor<1x2x3x8x1xf32>
    %24 = stablehlo.dot_general %arg3, %20, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x1x8xf32>
    %25 = stablehlo.transpose %24, dims = [3, 0, 4, 1, 2] : (tensor<2x3x16x1x8xf32>) -> tensor<1x2x8x3x16xf32>
    %26 = stablehlo.transpose %25, dims = [1, 2, 3, 0, 4] : (tensor<1x2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %27 = stablehlo.reshape %26 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    %28 = stablehlo.reshape %arg0 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x1x16xf32>
    %29 = stablehlo.transpose %28, dims = [3, 0, 1, 2, 4] : (tensor<2x8x3x1x16xf32>) -> tensor<1x2x8x3x16xf32>
    %30 = stablehlo.transpose %29, dims = [1, 3, 4, 0, 2] : (tensor<1x2x8x3x16xf32>) -> tensor<2x3x16x1x8xf32>
    %31 = stablehlo.dot_general %30, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x1x8x8xf32>
    %32 = stablehlo.transpose %31, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %33 = stablehlo.dot_general %30, %20, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xf32>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %34 = stablehlo.transpose %33, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %35 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %36 = stablehlo.multiply %32, %35 : tensor<1x2x3x8x8xf32>
    %37 = stablehlo.multiply %36, %16 : tensor<1x2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_5) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %39 = stablehlo.reshape %38 : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %40 = stablehlo.negate %39 : tensor<1x2x3x8x1xf32>
    %41 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %42 = stablehlo.divide %32, %41 : tensor<1x2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%40 init: %cst_6) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [1, 2, 3] : (tensor<2x3x8xf32>) -> tensor<1x2x3x8xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x8xf32>
    %46 = stablehlo.add %42, %45 : tensor<1x2x3x8x8xf32>
    %47 = stablehlo.multiply %46, %16 : tensor<1x2x3x8x8xf32>
    %48 = call @_where_0(%8, %47) : (tensor<1x2x3x8x8xi1>, tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32>
    %cst_7 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %50 = stablehlo.multiply %48, %49 : tensor<2x3x8x1x8xf32>
    %51 = stablehlo.dot_general %50, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x1x16xf32>) -> tensor<2x3x8x16xf32>
    %52 = stablehlo.transpose %51, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %53 = stablehlo.dot_general %50, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x1x16xf32>
    %54 = stablehlo.transpose %53, dims = [0, 2, 1, 3, 4] : (tensor<2x3x8x1x16xf32>) -> tensor<2x8x3x1x16xf32>
    %55 = stablehlo.reshape %54 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x16xf32>
    return %27, %55, %52, %34 : tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>
  }
  func.func private @_where(%arg0: tensor<1x2x3x8x8xi1>, %arg1: tensor<2x3x8x1x8xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x8x8xf32>) -> tensor<1x2x3x8x8xf32>
    %2 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x8x1x8xf32>) -> tensor<1x2x3x8x8xf32>
    %3 = stablehlo.select %arg0, %2, %1 : tensor<1x2x3x8x8xi1>, tensor<1x2x3x8x8xf32>
    return %3 : tensor<1x2x3x8x8xf32>
  }
  func.func private @_where_0(%arg0: tensor<1x2x3x8x8xi1>, %arg1: tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x2x3x8x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x2x3x8x8xi1>, tensor<1x2x3x8x8xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32>
    return %2 : tensor<2x3x8x1x8xf32>
  }
}
