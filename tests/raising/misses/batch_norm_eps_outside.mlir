// EXPECT: 
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> (tensor<2x6x5x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg3 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<2x6x5x4xf32>
    %3 = stablehlo.reshape %arg4 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %4 = stablehlo.sqrt %3 : tensor<1x6x1x1xf32>
    %cst = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %6 = stablehlo.add %4, %5 : tensor<1x6x1x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %8 = stablehlo.divide %2, %7 : tensor<2x6x5x4xf32>
    %9 = stablehlo.reshape %arg1 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %11 = stablehlo.multiply %8, %10 : tensor<2x6x5x4xf32>
    %12 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %14 = stablehlo.add %11, %13 : tensor<2x6x5x4xf32>
    return %14 : tensor<2x6x5x4xf32>
  }
}
