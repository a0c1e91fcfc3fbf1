// EXPECT: aten.scaled_dot_product_attention is_causal scale=0.25; aten.scaled_dot_product_attention_backward is_causal scale=0.25
module {
  func.func @main(%arg0: tensor<2x6x8x16xf32>, %arg1: tensor<2x6x8x16xf32>, %arg2: tensor<2x6x8x16xf32>, %arg3: tensor<2x6x8x16xf32>) -> (tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>) {
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
    %11 = stablehlo.reshape %arg1 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %12 = stablehlo.reshape %arg2 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %14 = stablehlo.dot_general %11, %13, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %15 = stablehlo.reshape %14 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %16 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %17 = stablehlo.reshape %16 : (tensor<1xf32>) -> tensor<f32>
    %18 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %20 = stablehlo.divide %15, %19 : tensor<2x6x8x8xf32>
    %21 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %23 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xi1>) -> tensor<2x6x8x8xi1>
    %24 = stablehlo.select %23, %20, %22 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %28 = stablehlo.subtract %24, %27 : tensor<2x6x8x8xf32>
    %29 = stablehlo.exponential %28 : tensor<2x6x8x8xf32>
    %30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%29 init: %30) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %33 = stablehlo.divide %29, %32 : tensor<2x6x8x8xf32>
    %34 = stablehlo.reshape %33 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %35 = stablehlo.reshape %arg3 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %36 = stablehlo.dot_general %34, %35, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %37 = stablehlo.reshape %36 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %38 = stablehlo.reshape %arg0 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %39 = stablehlo.transpose %35, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %40 = stablehlo.dot_general %38, %39, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %41 = stablehlo.reshape %40 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %42 = stablehlo.multiply %41, %33 : tensor<2x6x8x8xf32>
    %43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%42 init: %43) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %46 = stablehlo.multiply %33, %45 : tensor<2x6x8x8xf32>
    %47 = stablehlo.subtract %42, %46 : tensor<2x6x8x8xf32>
    %48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %50 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xi1>) -> tensor<2x6x8x8xi1>
    %51 = stablehlo.select %50, %47, %49 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %52 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %53 = stablehlo.divide %51, %52 : tensor<2x6x8x8xf32>
    %54 = stablehlo.reshape %53 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %55 = stablehlo.dot_general %54, %12, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %56 = stablehlo.reshape %55 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %57 = stablehlo.transpose %11, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %58 = stablehlo.dot_general %57, %54, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x16x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %59 = stablehlo.reshape %58 : (tensor<12x16x8xf32>) -> tensor<2x6x16x8xf32>
    %60 = stablehlo.transpose %59, dims = [0, 1, 3, 2] : (tensor<2x6x16x8xf32>) -> tensor<2x6x8x16xf32>
    %61 = stablehlo.transpose %34, dims = [0, 2, 1] : (tensor<12x8x8xf32>) -> tensor<12x8x8xf32>
    %62 = stablehlo.dot_general %61, %38, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %63 = stablehlo.reshape %62 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %37, %56, %60, %63 : tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>
  }
}
