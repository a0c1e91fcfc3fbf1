// EXPECT: aten.softmax dim=1
module {
  func.func @main(%arg0: tensor<64xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.exponential %0 : tensor<4x16xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.reshape %3 : (tensor<4xf32>) -> tensor<4x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %6 = stablehlo.divide %1, %5 : tensor<4x16xf32>
    return %6 : tensor<4x16xf32>
  }
}
