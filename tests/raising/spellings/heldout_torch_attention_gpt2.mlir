// EXPECT: aten.scaled_dot_product_attention is_causal scale=0.25
module {
  func.func @main(%arg0: tensor<1536xf32>, %arg1: tensor<1536xf32>, %arg2: tensor<1536xf32>) -> tensor<2x6x8x16xf32> {
    %0 = stablehlo.constant dense<false> : tensor<64xi1>
    %1 = stablehlo.reshape %0 : (tensor<64xi1>) -> tensor<8x8xi1>
    %2 = stablehlo.constant dense<true> : tensor<8x8xi1>
    %3 = stablehlo.iota dim = 0 : tensor<8x8xi64>
    %4 = stablehlo.iota dim = 1 : tensor<8x8xi64>
    %5 = stablehlo.constant dense<0> : tensor<8x8xi64>
    %6 = stablehlo.add %3, %5 : tensor<8x8xi64>
    %7 = stablehlo.compare  LE, %4, %6,  SIGNED : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
    %8 = stablehlo.constant dense<false> : tensor<8x8xi1>
    %9 = stablehlo.select %7, %2, %8 : tensor<8x8xi1>, tensor<8x8xi1>
    %10 = stablehlo.reshape %9 : (tensor<8x8xi1>) -> tensor<1x1x8x8xi1>
    %11 = stablehlo.reshape %arg0 : (tensor<1536xf32>) -> tensor<12x8x16xf32>
    %12 = stablehlo.reshape %arg1 : (tensor<1536xf32>) -> tensor<12x128xf32>
    %13 = stablehlo.slice %12 [0:12, 0:128] : (tensor<12x128xf32>) -> tensor<12x128xf32>
    %14 = stablehlo.reshape %13 : (tensor<12x128xf32>) -> tensor<12x8x16xf32>
    %15 = stablehlo.slice %14 [0:12, 0:8, 0:16] : (tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %16 = stablehlo.reshape %15 : (tensor<12x8x16xf32>) -> tensor<12x8x16x1xf32>
    %17 = stablehlo.slice %16 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %18 = stablehlo.slice %17 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %19 = stablehlo.reshape %18 : (tensor<12x8x16x1xf32>) -> tensor<12x8x16xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %21 = stablehlo.dot_general %11, %20, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %22 = stablehlo.reshape %21 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %23 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %24 = stablehlo.reshape %23 : (tensor<1xf32>) -> tensor<f32>
    %25 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %27 = stablehlo.divide %22, %26 : tensor<2x6x8x8xf32>
    %28 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %30 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xi1>) -> tensor<2x6x8x8xi1>
    %31 = stablehlo.select %30, %27, %29 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %32 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %33 = stablehlo.reduce(%31 init: %32) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %35 = stablehlo.subtract %31, %34 : tensor<2x6x8x8xf32>
    %36 = stablehlo.exponential %35 : tensor<2x6x8x8xf32>
    %37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%36 init: %37) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %40 = stablehlo.divide %36, %39 : tensor<2x6x8x8xf32>
    %41 = stablehlo.reshape %40 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %42 = stablehlo.reshape %arg2 : (tensor<1536xf32>) -> tensor<12x8x16xf32>
    %43 = stablehlo.dot_general %41, %42, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %44 = stablehlo.reshape %43 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %44 : tensor<2x6x8x16xf32>
  }
}
