// EXPECT: aten.group_norm group=2 eps=1e-05
module {
  func.func @main(%arg0: tensor<240xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>) -> tensor<2x6x5x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<240xf32>) -> tensor<2x2x60xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %3 = stablehlo.constant dense<6.000000e+01> : tensor<2x2xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x2xf32>
    %5 = stablehlo.reshape %4 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<2x2x60xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%0 init: %8) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %10 = stablehlo.constant dense<0.0166666675> : tensor<2x2xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<2x2xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x60xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<2x2x60xf32>
    %14 = stablehlo.multiply %13, %13 : tensor<2x2x60xf32>
    %15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%14 init: %15) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %17 = stablehlo.constant dense<6.000000e+01> : tensor<2x2xf32>
    %18 = stablehlo.divide %16, %17 : tensor<2x2xf32>
    %19 = stablehlo.reshape %18 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %20 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %21 = stablehlo.convert %20 : (tensor<f64>) -> tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<2x2x1xf32>
    %23 = stablehlo.add %19, %22 : tensor<2x2x1xf32>
    %24 = stablehlo.sqrt %23 : tensor<2x2x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %26 = stablehlo.divide %7, %25 : tensor<2x2x60xf32>
    %27 = stablehlo.reshape %26 : (tensor<2x2x60xf32>) -> tensor<2x6x5x4xf32>
    %28 = stablehlo.reshape %arg1 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %30 = stablehlo.multiply %27, %29 : tensor<2x6x5x4xf32>
    %31 = stablehlo.reshape %arg2 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %33 = stablehlo.add %30, %32 : tensor<2x6x5x4xf32>
    return %33 : tensor<2x6x5x4xf32>
  }
}
