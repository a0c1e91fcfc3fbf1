// EXPECT: aten.rms_norm eps=1e-06
module {
  func.func @main(%arg0: tensor<64xbf16>, %arg1: tensor<16xbf16>) -> tensor<4x16xbf16> {
    %0 = stablehlo.reshape %arg0 : (tensor<64xbf16>) -> tensor<4x16xbf16>
    %1 = stablehlo.convert %0 : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    %2 = stablehlo.multiply %1, %1 : tensor<4x16xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.constant dense<1.600000e+01> : tensor<4xf32>
    %6 = stablehlo.divide %4, %5 : tensor<4xf32>
    %7 = stablehlo.reshape %6 : (tensor<4xf32>) -> tensor<4x1xf32>
    %8 = stablehlo.constant dense<9.9999999999999995E-7> : tensor<f64>
    %9 = stablehlo.convert %8 : (tensor<f64>) -> tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %11 = stablehlo.add %7, %10 : tensor<4x1xf32>
    %12 = stablehlo.rsqrt %11 : tensor<4x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %14 = stablehlo.multiply %1, %13 : tensor<4x16xf32>
    %15 = stablehlo.convert %14 : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    %16 = stablehlo.convert %15 : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    %17 = stablehlo.convert %arg1 : (tensor<16xbf16>) -> tensor<16xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %19 = stablehlo.multiply %18, %16 : tensor<4x16xf32>
    %20 = stablehlo.convert %19 : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    return %20 : tensor<4x16xbf16>
  }
}
