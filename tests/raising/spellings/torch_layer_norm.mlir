// EXPECT: aten.layer_norm eps=1e-05
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = stablehlo.constant dense<1.600000e+01> : tensor<4xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4xf32>
    %5 = stablehlo.reshape %4 : (tensor<4xf32>) -> tensor<4x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<4x16xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%0 init: %8) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %10 = stablehlo.constant dense<6.250000e-02> : tensor<4xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<4xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<4x16xf32>
    %14 = stablehlo.multiply %13, %13 : tensor<4x16xf32>
    %15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%14 init: %15) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %17 = stablehlo.constant dense<1.600000e+01> : tensor<4xf32>
    %18 = stablehlo.divide %16, %17 : tensor<4xf32>
    %19 = stablehlo.reshape %18 : (tensor<4xf32>) -> tensor<4x1xf32>
    %20 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %21 = stablehlo.convert %20 : (tensor<f64>) -> tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %23 = stablehlo.add %19, %22 : tensor<4x1xf32>
    %24 = stablehlo.sqrt %23 : tensor<4x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %26 = stablehlo.divide %7, %25 : tensor<4x16xf32>
    %27 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %28 = stablehlo.multiply %26, %27 : tensor<4x16xf32>
    %29 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %30 = stablehlo.add %28, %29 : tensor<4x16xf32>
    return %30 : tensor<4x16xf32>
  }
}
