// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x8x16xf32>, %arg1: tensor<2x3x8x16xf32>, %arg2: tensor<2x3x8x16xf32>, %arg3: tensor<2x1x1x8xi1>) -> (tensor<2x3x8x16xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %0 = call @_where(%c, %c_0, %cst) : (tensor<8x8xi1>, tensor<i32>, tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.convert %arg3 : (tensor<2x1x1x8xi1>) -> tensor<2x1x1x8xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2x1x1x8xi32>
    %3 = stablehlo.multiply %2, %1 : tensor<2x1x1x8xi32>
    %4 = stablehlo.convert %3 : (tensor<2x1x1x8xi32>) -> tensor<2x1x1x8xf32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<1x1x8x8xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xf32>) -> tensor<2x1x8x8xf32>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x1x8x8xf32>
    %8 = stablehlo.add %6, %7 : tensor<2x1x8x8xf32>
    %9 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<2x3x8x8xf32>
    %12 = stablehlo.convert %8 : tensor<2x1x8x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x1x8x8xf32>) -> tensor<2x3x8x8xf32>
    %14 = stablehlo.add %11, %13 : tensor<2x3x8x8xf32>
    %cst_3 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %15 = call @_where_0(%arg3, %14, %cst_3) : (tensor<2x1x1x8xi1>, tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %18 = stablehlo.maximum %17, %16 : tensor<2x3x8xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %21 = stablehlo.subtract %15, %20 : tensor<2x3x8x8xf32>
    %22 = stablehlo.exponential %21 : tensor<2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %26 = stablehlo.divide %22, %25 : tensor<2x3x8x8xf32>
    %27 = stablehlo.dot_general %26, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x16xf32>
    return %27 : tensor<2x3x8x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> tensor<8x8xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %3 = stablehlo.select %arg0, %1, %2 : tensor<8x8xi1>, tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
  func.func private @_where_0(%arg0: tensor<2x1x1x8xi1>, %arg1: tensor<2x3x8x8xf32>, %arg2: tensor<f32>) -> tensor<2x3x8x8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xi1>) -> tensor<2x3x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x8x8xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
    return %3 : tensor<2x3x8x8xf32>
  }
}
