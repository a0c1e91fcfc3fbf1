// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module {
  func.func @main(%arg0: tensor<6x8x16xf32>, %arg1: tensor<6x8x16xf32>, %arg2: tensor<6x8x16xf32>, %arg3: tensor<6x8x16xf32>) -> (tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %2 = stablehlo.transpose %arg2, dims = [0, 2, 1] : (tensor<6x8x16xf32>) -> tensor<6x16x8xf32>
    %3 = stablehlo.dot_general %arg1, %2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x16xf32>, tensor<6x16x8xf32>) -> tensor<6x8x8xf32>
    %4 = stablehlo.constant dense<2.500000e-01> : tensor<6x8x8xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<6x8x8xf32>
    %6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.maximum across dimensions = [2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<6x8xf32>) -> tensor<6x8x8xf32>
    %9 = stablehlo.subtract %5, %8 : tensor<6x8x8xf32>
    %10 = stablehlo.exponential %9 : tensor<6x8x8xf32>
    %11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<6x8xf32>) -> tensor<6x8x8xf32>
    %14 = stablehlo.divide %10, %13 : tensor<6x8x8xf32>
    %15 = stablehlo.dot_general %14, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
    %16 = stablehlo.transpose %arg3, dims = [0, 2, 1] : (tensor<6x8x16xf32>) -> tensor<6x16x8xf32>
    %17 = stablehlo.dot_general %arg0, %16, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x16xf32>, tensor<6x16x8xf32>) -> tensor<6x8x8xf32>
    %18 = stablehlo.multiply %17, %14 : tensor<6x8x8xf32>
    %19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%18 init: %19) applies stablehlo.add across dimensions = [2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<6x8xf32>) -> tensor<6x8x8xf32>
    %22 = stablehlo.multiply %14, %21 : tensor<6x8x8xf32>
    %23 = stablehlo.subtract %18, %22 : tensor<6x8x8xf32>
    %24 = stablehlo.dot_general %23, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
    %25 = stablehlo.constant dense<2.500000e-01> : tensor<6x8x16xf32>
    %26 = stablehlo.multiply %24, %25 : tensor<6x8x16xf32>
    %27 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<6x8x16xf32>) -> tensor<6x16x8xf32>
    %28 = stablehlo.dot_general %27, %23, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x16x8xf32>, tensor<6x8x8xf32>) -> tensor<6x16x8xf32>
    %29 = stablehlo.constant dense<2.500000e-01> : tensor<6x16x8xf32>
    %30 = stablehlo.multiply %28, %29 : tensor<6x16x8xf32>
    %31 = stablehlo.transpose %30, dims = [0, 2, 1] : (tensor<6x16x8xf32>) -> tensor<6x8x16xf32>
    %32 = stablehlo.transpose %14, dims = [0, 2, 1] : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
    %33 = stablehlo.dot_general %32, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
    return %15, %26, %31, %33 : tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>, tensor<6x8x16xf32>
  }
}
