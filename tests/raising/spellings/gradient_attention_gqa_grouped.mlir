// EXPECT: aten.scaled_dot_product_attention_backward is_causal scale=0.25
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x6x16xf32>, %arg1: tensor<2x8x6x16xf32>, %arg2: tensor<2x8x2x16xf32>, %arg3: tensor<2x8x2x16xf32>) -> (tensor<2x8x6x16xf32> {jax.result_info = "result[0]"}, tensor<2x8x2x16xf32> {jax.result_info = "result[1]"}, tensor<2x8x2x16xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x8x6x16xf32>) -> tensor<2x8x2x3x16xf32>
    %1 = stablehlo.dot_general %arg2, %0, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x8x2x16xf32>, tensor<2x8x2x3x16xf32>) -> tensor<2x2x8x8x3xf32>
    %2 = stablehlo.transpose %1, dims = [0, 1, 4, 3, 2] : (tensor<2x2x8x8x3xf32>) -> tensor<2x2x3x8x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x3x8x8xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x2x3x8x8xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = call @tril(%5) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [3, 4] : (tensor<8x8xi1>) -> tensor<1x1x1x8x8xi1>
    %cst_0 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %8:2 = call @_where(%7, %4, %cst_0) : (tensor<1x1x1x8x8xi1>, tensor<2x2x3x8x8xf32>, tensor<f32>) -> (tensor<2x2x3x8x8xf32>, tensor<2x2x3x8x8xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.reduce(%8#0 init: %cst_1) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x2x3x8xf32>
    %11 = stablehlo.maximum %10, %9 : tensor<2x2x3x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x8x1xf32>) -> tensor<2x2x3x8x8xf32>
    %14 = stablehlo.subtract %8#0, %13 : tensor<2x2x3x8x8xf32>
    %15 = stablehlo.exponential %14 : tensor<2x2x3x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_3) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x8x1xf32>) -> tensor<2x2x3x8x8xf32>
    %19 = stablehlo.divide %15, %18 : tensor<2x2x3x8x8xf32>
    %20 = stablehlo.multiply %17, %17 : tensor<2x2x3x8x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x2x3x8x1xf32>
    %22 = stablehlo.divide %21, %20 : tensor<2x2x3x8x1xf32>
    %23 = stablehlo.reshape %arg0 : (tensor<2x8x6x16xf32>) -> tensor<2x8x2x3x16xf32>
    %24 = stablehlo.transpose %23, dims = [0, 2, 4, 3, 1] : (tensor<2x8x2x3x16xf32>) -> tensor<2x2x16x3x8xf32>
    %25 = stablehlo.dot_general %24, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x3x8xf32>, tensor<2x8x2x16xf32>) -> tensor<2x2x3x8x8xf32>
    %26 = stablehlo.dot_general %24, %19, batching_dims = [0, 1] x [0, 1], contracting_dims = [3, 4] x [2, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x16x3x8xf32>, tensor<2x2x3x8x8xf32>) -> tensor<2x2x16x8xf32>
    %27 = stablehlo.transpose %26, dims = [0, 3, 1, 2] : (tensor<2x2x16x8xf32>) -> tensor<2x8x2x16xf32>
    %28 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x8x1xf32>) -> tensor<2x2x3x8x8xf32>
    %29 = stablehlo.multiply %25, %28 : tensor<2x2x3x8x8xf32>
    %30 = stablehlo.multiply %29, %15 : tensor<2x2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%30 init: %cst_5) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
    %32 = stablehlo.reshape %31 : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x1xf32>
    %33 = stablehlo.negate %32 : tensor<2x2x3x8x1xf32>
    %34 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x8x1xf32>) -> tensor<2x2x3x8x8xf32>
    %35 = stablehlo.divide %25, %34 : tensor<2x2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%33 init: %cst_6) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x1xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
    %38 = stablehlo.add %35, %37 : tensor<2x2x3x8x8xf32>
    %39 = stablehlo.multiply %38, %15 : tensor<2x2x3x8x8xf32>
    %40 = call @_where_0(%8#1, %39) : (tensor<2x2x3x8x8xi1>, tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xf32>
    %cst_7 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x2x3x8x8xf32>
    %42 = stablehlo.multiply %40, %41 : tensor<2x2x3x8x8xf32>
    %43 = stablehlo.transpose %42, dims = [0, 1, 4, 3, 2] : (tensor<2x2x3x8x8xf32>) -> tensor<2x2x8x8x3xf32>
    %44 = stablehlo.dot_general %43, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x8x3xf32>, tensor<2x8x2x16xf32>) -> tensor<2x2x8x3x16xf32>
    %45 = stablehlo.transpose %44, dims = [0, 2, 1, 3, 4] : (tensor<2x2x8x3x16xf32>) -> tensor<2x8x2x3x16xf32>
    %46 = stablehlo.dot_general %43, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [3, 4] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x8x3xf32>, tensor<2x8x2x3x16xf32>) -> tensor<2x2x8x16xf32>
    %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<2x2x8x16xf32>) -> tensor<2x8x2x16xf32>
    %48 = stablehlo.reshape %45 : (tensor<2x8x2x3x16xf32>) -> tensor<2x8x6x16xf32>
    return %48, %47, %27 : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>
  }
  func.func private @tril(%arg0: tensor<8x8xi1>) -> tensor<8x8xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xi1>
    return %6 : tensor<8x8xi1>
  }
  func.func private @_where(%arg0: tensor<1x1x1x8x8xi1>, %arg1: tensor<2x2x3x8x8xf32>, %arg2: tensor<f32>) -> (tensor<2x2x3x8x8xf32>, tensor<2x2x3x8x8xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3, 4] : (tensor<1x1x1x8x8xi1>) -> tensor<2x2x3x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x3x8x8xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x3x8x8xi1>, tensor<2x2x3x8x8xf32>
    return %3, %1 : tensor<2x2x3x8x8xf32>, tensor<2x2x3x8x8xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x2x3x8x8xi1>, %arg1: tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x3x8x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x3x8x8xi1>, tensor<2x2x3x8x8xf32>
    return %1 : tensor<2x2x3x8x8xf32>
  }
}
