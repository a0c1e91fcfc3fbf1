// EXPECT: aten.batch_norm inference eps=1e-05
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> (tensor<2x5x4x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<2x5x4x6xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %4 = stablehlo.add %arg4, %3 : tensor<6xf32>
    %5 = stablehlo.rsqrt %4 : tensor<6xf32>
    %6 = stablehlo.multiply %5, %arg1 : tensor<6xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %9 = stablehlo.multiply %2, %8 : tensor<2x5x4x6xf32>
    %10 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x1x1x6xf32>) -> tensor<2x5x4x6xf32>
    %12 = stablehlo.add %9, %11 : tensor<2x5x4x6xf32>
    return %12 : tensor<2x5x4x6xf32>
  }
}
