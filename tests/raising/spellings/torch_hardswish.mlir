// EXPECT: aten.hardswish
module {
  func.func @main(%arg0: tensor<64xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.constant dense<3> : tensor<i64>
    %2 = stablehlo.convert %1 : (tensor<i64>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.add %0, %3 : tensor<4x16xf32>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<4x16xf32>
    %6 = stablehlo.maximum %4, %5 : tensor<4x16xf32>
    %7 = stablehlo.constant dense<6.000000e+00> : tensor<4x16xf32>
    %8 = stablehlo.minimum %6, %7 : tensor<4x16xf32>
    %9 = stablehlo.multiply %0, %8 : tensor<4x16xf32>
    %10 = stablehlo.constant dense<6> : tensor<i64>
    %11 = stablehlo.convert %10 : (tensor<i64>) -> tensor<f32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %13 = stablehlo.divide %9, %12 : tensor<4x16xf32>
    return %13 : tensor<4x16xf32>
  }
}
