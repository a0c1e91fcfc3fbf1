// EXPECT: aten.scaled_dot_product_attention scale=0.25
module {
  func.func @main(%arg0: tensor<1536xf32>, %arg1: tensor<1536xf32>, %arg2: tensor<1536xf32>) -> tensor<2x6x8x16xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<1536xf32>) -> tensor<2x6x8x16xf32>
    %1 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %2 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<2x6x8x16xf32>
    %5 = stablehlo.reshape %4 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %6 = stablehlo.reshape %arg1 : (tensor<1536xf32>) -> tensor<2x6x8x16xf32>
    %7 = stablehlo.convert %1 : (tensor<f64>) -> tensor<f32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %9 = stablehlo.multiply %6, %8 : tensor<2x6x8x16xf32>
    %10 = stablehlo.reshape %9 : (tensor<2x6x8x16xf32>) -> tensor<1536xf32>
    %11 = stablehlo.reshape %10 : (tensor<1536xf32>) -> tensor<12x128xf32>
    %12 = stablehlo.slice %11 [0:12, 0:128] : (tensor<12x128xf32>) -> tensor<12x128xf32>
    %13 = stablehlo.reshape %12 : (tensor<12x128xf32>) -> tensor<12x8x16xf32>
    %14 = stablehlo.slice %13 [0:12, 0:8, 0:16] : (tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %15 = stablehlo.reshape %14 : (tensor<12x8x16xf32>) -> tensor<12x8x16x1xf32>
    %16 = stablehlo.slice %15 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %17 = stablehlo.slice %16 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %18 = stablehlo.reshape %17 : (tensor<12x8x16x1xf32>) -> tensor<12x8x16xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %20 = stablehlo.dot_general %5, %19, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %21 = stablehlo.reshape %20 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %22 = stablehlo.constant dense<0xFF800000> : tensor<2x6x8x8xf32>
    %23 = stablehlo.compare  EQ, %21, %22,  FLOAT : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xi1>
    %24 = stablehlo.constant dense<true> : tensor<i1>
    %25 = stablehlo.reduce(%23 init: %24) applies stablehlo.and across dimensions = [3] : (tensor<2x6x8x8xi1>, tensor<i1>) -> tensor<2x6x8xi1>
    %26 = stablehlo.reshape %25 : (tensor<2x6x8xi1>) -> tensor<2x6x8x1xi1>
    %27 = stablehlo.constant dense<0.000000e+00> : tensor<768xf32>
    %28 = stablehlo.reshape %27 : (tensor<768xf32>) -> tensor<2x6x8x8xf32>
    %29 = stablehlo.constant dense<0.000000e+00> : tensor<2x6x8x8xf32>
    %30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %31 = stablehlo.reduce(%21 init: %30) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %33 = stablehlo.subtract %21, %32 : tensor<2x6x8x8xf32>
    %34 = stablehlo.exponential %33 : tensor<2x6x8x8xf32>
    %35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%34 init: %35) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %38 = stablehlo.divide %34, %37 : tensor<2x6x8x8xf32>
    %39 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %40 = stablehlo.select %39, %29, %38 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %41 = stablehlo.reshape %40 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %42 = stablehlo.reshape %arg2 : (tensor<1536xf32>) -> tensor<12x8x16xf32>
    %43 = stablehlo.dot_general %41, %42, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %44 = stablehlo.reshape %43 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %44 : tensor<2x6x8x16xf32>
  }
}
