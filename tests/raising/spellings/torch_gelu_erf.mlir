// EXPECT: aten.gelu approximate=none; aten.gelu_backward approximate=none
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %2 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<4x16xf32>
    %5 = stablehlo.constant dense<1.4142135623730951> : tensor<f64>
    %6 = stablehlo.convert %5 : (tensor<f64>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %8 = stablehlo.divide %0, %7 : tensor<4x16xf32>
    %9 = stablehlo.composite "aten.erf" %8 {decomposition = @aten.erf.impl_0, version = 1 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %10 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %11 = stablehlo.convert %10 : (tensor<f64>) -> tensor<f32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %13 = stablehlo.add %9, %12 : tensor<4x16xf32>
    %14 = stablehlo.multiply %4, %13 : tensor<4x16xf32>
    %15 = stablehlo.multiply %8, %8 : tensor<4x16xf32>
    %16 = stablehlo.negate %15 : tensor<4x16xf32>
    %17 = stablehlo.exponential %16 : tensor<4x16xf32>
    %18 = stablehlo.constant dense<1.12837923> : tensor<4x16xf32>
    %19 = stablehlo.multiply %17, %18 : tensor<4x16xf32>
    %20 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %21 = stablehlo.multiply %20, %4 : tensor<4x16xf32>
    %22 = stablehlo.multiply %19, %21 : tensor<4x16xf32>
    %23 = stablehlo.convert %5 : (tensor<f64>) -> tensor<f32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %25 = stablehlo.divide %22, %24 : tensor<4x16xf32>
    %26 = stablehlo.multiply %20, %13 : tensor<4x16xf32>
    %27 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %29 = stablehlo.multiply %26, %28 : tensor<4x16xf32>
    %30 = stablehlo.add %25, %29 : tensor<4x16xf32>
    return %14, %30 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  func.func private @aten.erf.impl_0(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.custom_call @mhlo.erf(%arg0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
}
