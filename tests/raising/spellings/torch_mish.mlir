// EXPECT: aten.mish; aten.mish_backward
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.composite "aten.softplus" %0 {composite_attributes = {beta = 1 : i64, threshold = 20 : i64}, decomposition = @aten.softplus.impl_0, version = 1 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.composite "aten.tanh" %1 {decomposition = @aten.tanh.impl_0, version = 1 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<4x16xf32>
    %4 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %5 = stablehlo.multiply %4, %2 : tensor<4x16xf32>
    %6 = stablehlo.multiply %4, %0 : tensor<4x16xf32>
    %7 = stablehlo.composite "aten.tanh_backward" %6, %2 {decomposition = @aten.tanh_backward.impl_0, version = 1 : i32} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %8 = stablehlo.composite "aten.softplus_backward" %7, %0 {composite_attributes = {beta = 1 : i64, threshold = 20 : i64}, decomposition = @aten.softplus_backward.impl_0, version = 1 : i32} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %9 = stablehlo.add %5, %8 : tensor<4x16xf32>
    return %3, %9 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  func.func private @aten.softplus.impl_0(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x16xf32>
    %2 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %3 = stablehlo.exponential %1 : tensor<4x16xf32>
    %4 = stablehlo.log_plus_one %3 : tensor<4x16xf32>
    %5 = stablehlo.divide %4, %2 : tensor<4x16xf32>
    %6 = stablehlo.constant dense<2.000000e+01> : tensor<4x16xf32>
    %7 = stablehlo.compare  GT, %1, %6,  FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %8 = stablehlo.select %7, %arg0, %5 : tensor<4x16xi1>, tensor<4x16xf32>
    return %8 : tensor<4x16xf32>
  }
  func.func private @aten.tanh.impl_0(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @aten.tanh_backward.impl_0(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.multiply %arg1, %arg1 : tensor<4x16xf32>
    %1 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %2 = stablehlo.subtract %1, %0 : tensor<4x16xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
  func.func private @aten.softplus_backward.impl_0(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<4x16xf32>
    %2 = stablehlo.logistic %1 : tensor<4x16xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<4x16xf32>
    %4 = stablehlo.constant dense<2.000000e+01> : tensor<4x16xf32>
    %5 = stablehlo.compare  GT, %1, %4,  FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %6 = stablehlo.select %5, %arg0, %3 : tensor<4x16xi1>, tensor<4x16xf32>
    return %6 : tensor<4x16xf32>
  }
}
