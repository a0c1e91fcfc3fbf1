// EXPECT: aten.gelu approximate=tanh; aten.gelu_backward approximate=tanh
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %2 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<4x16xf32>
    %5 = stablehlo.multiply %0, %0 : tensor<4x16xf32>
    %6 = stablehlo.multiply %5, %0 : tensor<4x16xf32>
    %7 = stablehlo.constant dense<4.471500e-02> : tensor<f64>
    %8 = stablehlo.convert %7 : (tensor<f64>) -> tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %10 = stablehlo.multiply %6, %9 : tensor<4x16xf32>
    %11 = stablehlo.add %0, %10 : tensor<4x16xf32>
    %12 = stablehlo.constant dense<0.79788456080286541> : tensor<f64>
    %13 = stablehlo.convert %12 : (tensor<f64>) -> tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %15 = stablehlo.multiply %11, %14 : tensor<4x16xf32>
    %16 = stablehlo.composite "aten.tanh" %15 {decomposition = @aten.tanh.impl_0, version = 1 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %17 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %18 = stablehlo.convert %17 : (tensor<f64>) -> tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %20 = stablehlo.add %16, %19 : tensor<4x16xf32>
    %21 = stablehlo.multiply %4, %20 : tensor<4x16xf32>
    %22 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %23 = stablehlo.multiply %22, %4 : tensor<4x16xf32>
    %24 = stablehlo.composite "aten.tanh_backward" %23, %16 {decomposition = @aten.tanh_backward.impl_0, version = 1 : i32} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %25 = stablehlo.convert %12 : (tensor<f64>) -> tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %27 = stablehlo.multiply %24, %26 : tensor<4x16xf32>
    %28 = stablehlo.convert %7 : (tensor<f64>) -> tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %30 = stablehlo.multiply %27, %29 : tensor<4x16xf32>
    %31 = stablehlo.multiply %0, %0 : tensor<4x16xf32>
    %32 = stablehlo.constant dense<3.000000e+00> : tensor<4x16xf32>
    %33 = stablehlo.multiply %31, %32 : tensor<4x16xf32>
    %34 = stablehlo.multiply %30, %33 : tensor<4x16xf32>
    %35 = stablehlo.add %27, %34 : tensor<4x16xf32>
    %36 = stablehlo.multiply %22, %20 : tensor<4x16xf32>
    %37 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %39 = stablehlo.multiply %36, %38 : tensor<4x16xf32>
    %40 = stablehlo.add %35, %39 : tensor<4x16xf32>
    return %21, %40 : tensor<4x16xf32>, tensor<4x16xf32>
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
}
