// EXPECT: aten.rms_norm eps=1e-06; aten.rms_norm_backward
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<4x16xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.constant dense<1.600000e+01> : tensor<4xf32>
    %5 = stablehlo.divide %3, %4 : tensor<4xf32>
    %6 = stablehlo.reshape %5 : (tensor<4xf32>) -> tensor<4x1xf32>
    %7 = stablehlo.constant dense<9.9999999999999995E-7> : tensor<f64>
    %8 = stablehlo.convert %7 : (tensor<f64>) -> tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %10 = stablehlo.add %6, %9 : tensor<4x1xf32>
    %11 = stablehlo.rsqrt %10 : tensor<4x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %13 = stablehlo.multiply %0, %12 : tensor<4x16xf32>
    %14 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<4x16xf32>
    %16 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %17 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %18 = stablehlo.multiply %16, %17 : tensor<4x16xf32>
    %19 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %20 = stablehlo.multiply %18, %19 : tensor<4x16xf32>
    %21 = stablehlo.multiply %18, %0 : tensor<4x16xf32>
    %22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%21 init: %22) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %24 = stablehlo.reshape %23 : (tensor<4xf32>) -> tensor<4x1xf32>
    %25 = stablehlo.constant dense<-5.000000e-01> : tensor<4x1xf32>
    %26 = stablehlo.multiply %24, %25 : tensor<4x1xf32>
    %27 = stablehlo.multiply %11, %11 : tensor<4x1xf32>
    %28 = stablehlo.multiply %27, %11 : tensor<4x1xf32>
    %29 = stablehlo.multiply %26, %28 : tensor<4x1xf32>
    %30 = stablehlo.reshape %29 : (tensor<4x1xf32>) -> tensor<4xf32>
    %31 = stablehlo.reshape %30 : (tensor<4xf32>) -> tensor<4x1xf32>
    %32 = stablehlo.slice %31 [0:4, 0:1] : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %33 = stablehlo.slice %32 [0:4, 0:1] : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %34 = stablehlo.reshape %33 : (tensor<4x1xf32>) -> tensor<4xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
    %36 = stablehlo.constant dense<1.600000e+01> : tensor<4x16xf32>
    %37 = stablehlo.divide %35, %36 : tensor<4x16xf32>
    %38 = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %39 = stablehlo.power %0, %38 : tensor<4x16xf32>
    %40 = stablehlo.constant dense<2.000000e+00> : tensor<4x16xf32>
    %41 = stablehlo.multiply %39, %40 : tensor<4x16xf32>
    %42 = stablehlo.multiply %37, %41 : tensor<4x16xf32>
    %43 = stablehlo.add %20, %42 : tensor<4x16xf32>
    %44 = stablehlo.multiply %16, %13 : tensor<4x16xf32>
    %45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%44 init: %45) applies stablehlo.add across dimensions = [0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %47 = stablehlo.reshape %46 : (tensor<16xf32>) -> tensor<1x16xf32>
    %48 = stablehlo.reshape %47 : (tensor<1x16xf32>) -> tensor<16xf32>
    return %15, %43, %48 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>
  }
}
