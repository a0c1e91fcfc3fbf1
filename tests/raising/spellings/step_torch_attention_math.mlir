// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module {
  func.func @main(%arg0: tensor<2x6x8x16xf32>, %arg1: tensor<2x6x8x16xf32>, %arg2: tensor<2x6x8x16xf32>, %arg3: tensor<2x6x8x16xf32>) -> (tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>) {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %1 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %3 = stablehlo.multiply %arg1, %2 : tensor<2x6x8x16xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %5 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %7 = stablehlo.multiply %arg2, %6 : tensor<2x6x8x16xf32>
    %8 = stablehlo.reshape %7 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %9 = stablehlo.transpose %8, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %10 = stablehlo.dot_general %4, %9, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %11 = stablehlo.reshape %10 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %12 = stablehlo.constant dense<0xFF800000> : tensor<2x6x8x8xf32>
    %13 = stablehlo.compare  EQ, %11, %12,  FLOAT : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xi1>
    %14 = stablehlo.constant dense<true> : tensor<i1>
    %15 = stablehlo.reduce(%13 init: %14) applies stablehlo.and across dimensions = [3] : (tensor<2x6x8x8xi1>, tensor<i1>) -> tensor<2x6x8xi1>
    %16 = stablehlo.reshape %15 : (tensor<2x6x8xi1>) -> tensor<2x6x8x1xi1>
    %17 = stablehlo.constant dense<0.000000e+00> : tensor<768xf32>
    %18 = stablehlo.reshape %17 : (tensor<768xf32>) -> tensor<2x6x8x8xf32>
    %19 = stablehlo.constant dense<0.000000e+00> : tensor<2x6x8x8xf32>
    %20 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.reduce(%11 init: %20) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %23 = stablehlo.subtract %11, %22 : tensor<2x6x8x8xf32>
    %24 = stablehlo.exponential %23 : tensor<2x6x8x8xf32>
    %25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %28 = stablehlo.divide %24, %27 : tensor<2x6x8x8xf32>
    %29 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %30 = stablehlo.select %29, %19, %28 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %31 = stablehlo.reshape %30 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %32 = stablehlo.reshape %arg3 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %33 = stablehlo.dot_general %31, %32, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %34 = stablehlo.reshape %33 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %35 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %36 = stablehlo.reshape %35 : (tensor<1xf32>) -> tensor<f32>
    %37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reshape %arg0 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %39 = stablehlo.transpose %32, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %40 = stablehlo.dot_general %38, %39, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %41 = stablehlo.reshape %40 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %42 = stablehlo.broadcast_in_dim %37, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %43 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %44 = stablehlo.select %43, %42, %41 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %45 = stablehlo.multiply %44, %28 : tensor<2x6x8x8xf32>
    %46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%45 init: %46) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %49 = stablehlo.multiply %28, %48 : tensor<2x6x8x8xf32>
    %50 = stablehlo.subtract %45, %49 : tensor<2x6x8x8xf32>
    %51 = stablehlo.reshape %50 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %52 = stablehlo.dot_general %51, %8, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %53 = stablehlo.reshape %52 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %54 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %56 = stablehlo.multiply %53, %55 : tensor<2x6x8x16xf32>
    %57 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %58 = stablehlo.dot_general %57, %51, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x16x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %59 = stablehlo.reshape %58 : (tensor<12x16x8xf32>) -> tensor<2x6x16x8xf32>
    %60 = stablehlo.transpose %59, dims = [0, 1, 3, 2] : (tensor<2x6x16x8xf32>) -> tensor<2x6x8x16xf32>
    %61 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %63 = stablehlo.multiply %60, %62 : tensor<2x6x8x16xf32>
    %64 = stablehlo.transpose %31, dims = [0, 2, 1] : (tensor<12x8x8xf32>) -> tensor<12x8x8xf32>
    %65 = stablehlo.dot_general %64, %38, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %66 = stablehlo.reshape %65 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %34, %56, %63, %66 : tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>
  }
}
