// EXPECT: aten.silu; aten.silu_backward
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.composite "aten.sigmoid" %0 {decomposition = @aten.sigmoid.impl_0, version = 1 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<4x16xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<4x16xf32>
    %5 = stablehlo.multiply %3, %0 : tensor<4x16xf32>
    %6 = stablehlo.composite "aten.sigmoid_backward" %5, %1 {decomposition = @aten.sigmoid_backward.impl_0, version = 1 : i32} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %7 = stablehlo.add %4, %6 : tensor<4x16xf32>
    return %2, %7 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  func.func private @aten.sigmoid.impl_0(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @aten.sigmoid_backward.impl_0(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %1 = stablehlo.subtract %0, %arg1 : tensor<4x16xf32>
    %2 = stablehlo.multiply %1, %arg1 : tensor<4x16xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
}
