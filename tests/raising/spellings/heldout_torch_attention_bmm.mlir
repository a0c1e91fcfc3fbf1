// EXPECT: aten.scaled_dot_product_attention scale=0.25
module {
  func.func @main(%arg0: tensor<768xf32>, %arg1: tensor<768xf32>, %arg2: tensor<768xf32>) -> tensor<6x8x16xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<768xf32>) -> tensor<6x8x16xf32>
    %3 = stablehlo.reshape %arg1 : (tensor<768xf32>) -> tensor<6x128xf32>
    %4 = stablehlo.slice %3 [0:6, 0:128] : (tensor<6x128xf32>) -> tensor<6x128xf32>
    %5 = stablehlo.reshape %4 : (tensor<6x128xf32>) -> tensor<6x8x16xf32>
    %6 = stablehlo.slice %5 [0:6, 0:8, 0:16] : (tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
    %7 = stablehlo.reshape %6 : (tensor<6x8x16xf32>) -> tensor<6x8x16x1xf32>
    %8 = stablehlo.slice %7 [0:6, 0:8, 0:16, 0:1] : (tensor<6x8x16x1xf32>) -> tensor<6x8x16x1xf32>
    %9 = stablehlo.slice %8 [0:6, 0:8, 0:16, 0:1] : (tensor<6x8x16x1xf32>) -> tensor<6x8x16x1xf32>
    %10 = stablehlo.reshape %9 : (tensor<6x8x16x1xf32>) -> tensor<6x8x16xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 2, 1] : (tensor<6x8x16xf32>) -> tensor<6x16x8xf32>
    %12 = stablehlo.dot_general %2, %11, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x16xf32>, tensor<6x16x8xf32>) -> tensor<6x8x8xf32>
    %13 = stablehlo.constant dense<2.500000e-01> : tensor<6x8x8xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<6x8x8xf32>
    %15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = stablehlo.reduce(%14 init: %15) applies stablehlo.maximum across dimensions = [2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<6x8xf32>) -> tensor<6x8x8xf32>
    %18 = stablehlo.subtract %14, %17 : tensor<6x8x8xf32>
    %19 = stablehlo.exponential %18 : tensor<6x8x8xf32>
    %20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%19 init: %20) applies stablehlo.add across dimensions = [2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<6x8xf32>) -> tensor<6x8x8xf32>
    %23 = stablehlo.divide %19, %22 : tensor<6x8x8xf32>
    %24 = stablehlo.reshape %arg2 : (tensor<768xf32>) -> tensor<6x8x16xf32>
    %25 = stablehlo.dot_general %23, %24, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
    return %25 : tensor<6x8x16xf32>
  }
}
