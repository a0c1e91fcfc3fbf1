// EXPECT: aten.scaled_dot_product_attention is_causal scale=0.25
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
    %22 = stablehlo.constant dense<0.000000e+00> : tensor<64xf32>
    %23 = stablehlo.reshape %22 : (tensor<64xf32>) -> tensor<8x8xf32>
    %24 = stablehlo.constant dense<0.000000e+00> : tensor<8x8xf32>
    %25 = stablehlo.constant dense<false> : tensor<64xi1>
    %26 = stablehlo.reshape %25 : (tensor<64xi1>) -> tensor<8x8xi1>
    %27 = stablehlo.constant dense<true> : tensor<8x8xi1>
    %28 = stablehlo.iota dim = 0 : tensor<8x8xi64>
    %29 = stablehlo.iota dim = 1 : tensor<8x8xi64>
    %30 = stablehlo.constant dense<0> : tensor<8x8xi64>
    %31 = stablehlo.add %28, %30 : tensor<8x8xi64>
    %32 = stablehlo.compare  LE, %29, %31,  SIGNED : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
    %33 = stablehlo.constant dense<false> : tensor<8x8xi1>
    %34 = stablehlo.select %32, %27, %33 : tensor<8x8xi1>, tensor<8x8xi1>
    %35 = stablehlo.not %34 : tensor<8x8xi1>
    %36 = stablehlo.constant dense<0xFF800000> : tensor<8x8xf32>
    %37 = stablehlo.select %35, %36, %24 : tensor<8x8xi1>, tensor<8x8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x6x8x8xf32>
    %39 = stablehlo.add %21, %38 : tensor<2x6x8x8xf32>
    %40 = stablehlo.constant dense<0xFF800000> : tensor<2x6x8x8xf32>
    %41 = stablehlo.compare  EQ, %39, %40,  FLOAT : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xi1>
    %42 = stablehlo.constant dense<true> : tensor<i1>
    %43 = stablehlo.reduce(%41 init: %42) applies stablehlo.and across dimensions = [3] : (tensor<2x6x8x8xi1>, tensor<i1>) -> tensor<2x6x8xi1>
    %44 = stablehlo.reshape %43 : (tensor<2x6x8xi1>) -> tensor<2x6x8x1xi1>
    %45 = stablehlo.constant dense<0.000000e+00> : tensor<768xf32>
    %46 = stablehlo.reshape %45 : (tensor<768xf32>) -> tensor<2x6x8x8xf32>
    %47 = stablehlo.constant dense<0.000000e+00> : tensor<2x6x8x8xf32>
    %48 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %49 = stablehlo.reduce(%39 init: %48) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %51 = stablehlo.subtract %39, %50 : tensor<2x6x8x8xf32>
    %52 = stablehlo.exponential %51 : tensor<2x6x8x8xf32>
    %53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%52 init: %53) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %56 = stablehlo.divide %52, %55 : tensor<2x6x8x8xf32>
    %57 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %58 = stablehlo.select %57, %47, %56 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %59 = stablehlo.reshape %58 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %60 = stablehlo.reshape %arg2 : (tensor<1536xf32>) -> tensor<12x8x16xf32>
    %61 = stablehlo.dot_general %59, %60, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %62 = stablehlo.reshape %61 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %62 : tensor<2x6x8x16xf32>
  }
}
