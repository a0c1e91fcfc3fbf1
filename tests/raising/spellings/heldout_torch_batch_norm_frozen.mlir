// EXPECT: aten.batch_norm inference eps=1e-05
module {
  func.func @main(%arg0: tensor<240xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> tensor<2x6x5x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<240xf32>) -> tensor<2x6x5x4xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %2 = stablehlo.reshape %arg4 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %3 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %4 = stablehlo.convert %3 : (tensor<f64>) -> tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<1x6x1x1xf32>
    %6 = stablehlo.add %2, %5 : tensor<1x6x1x1xf32>
    %7 = stablehlo.rsqrt %6 : tensor<1x6x1x1xf32>
    %8 = stablehlo.multiply %1, %7 : tensor<1x6x1x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %10 = stablehlo.multiply %0, %9 : tensor<2x6x5x4xf32>
    %11 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %12 = stablehlo.reshape %arg3 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %13 = stablehlo.multiply %12, %8 : tensor<1x6x1x1xf32>
    %14 = stablehlo.subtract %11, %13 : tensor<1x6x1x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %16 = stablehlo.add %10, %15 : tensor<2x6x5x4xf32>
    return %16 : tensor<2x6x5x4xf32>
  }
}
