// EXPECT: aten.batch_norm inference eps=1e-05
module @jit_batch_norm_folded attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> (tensor<2x6x5x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.add %arg4, %0 : tensor<6xf32>
    %2 = stablehlo.rsqrt %1 : tensor<6xf32>
    %3 = stablehlo.multiply %arg1, %2 : tensor<6xf32>
    %4 = stablehlo.reshape %3 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<2x6x5x4xf32>
    %7 = stablehlo.multiply %arg3, %3 : tensor<6xf32>
    %8 = stablehlo.subtract %arg2, %7 : tensor<6xf32>
    %9 = stablehlo.reshape %8 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %11 = stablehlo.add %6, %10 : tensor<2x6x5x4xf32>
    return %11 : tensor<2x6x5x4xf32>
  }
}
