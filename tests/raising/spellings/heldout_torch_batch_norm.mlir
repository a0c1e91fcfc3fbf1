// EXPECT: aten.batch_norm inference eps=1e-05
module {
  func.func @main(%arg0: tensor<240xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> tensor<2x6x5x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<240xf32>) -> tensor<2x6x5x4xf32>
    %1 = stablehlo.reshape %arg3 : (tensor<6xf32>) -> tensor<6x1x1xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1, 2, 3] : (tensor<6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %3 = stablehlo.subtract %0, %2 : tensor<2x6x5x4xf32>
    %4 = stablehlo.reshape %arg4 : (tensor<6xf32>) -> tensor<6x1x1xf32>
    %5 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %6 = stablehlo.convert %5 : (tensor<f64>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<6x1x1xf32>
    %8 = stablehlo.add %4, %7 : tensor<6x1x1xf32>
    %9 = stablehlo.sqrt %8 : tensor<6x1x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2, 3] : (tensor<6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %11 = stablehlo.divide %3, %10 : tensor<2x6x5x4xf32>
    %12 = stablehlo.reshape %arg1 : (tensor<6xf32>) -> tensor<6x1x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [1, 2, 3] : (tensor<6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %14 = stablehlo.multiply %11, %13 : tensor<2x6x5x4xf32>
    %15 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<6x1x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2, 3] : (tensor<6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %17 = stablehlo.add %14, %16 : tensor<2x6x5x4xf32>
    return %17 : tensor<2x6x5x4xf32>
  }
}
