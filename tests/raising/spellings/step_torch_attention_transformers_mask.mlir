// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25; aten.scaled_dot_product_attention_backward attn_mask scale=0.25
module {
  func.func @main(%arg0: tensor<2x8x6x16xf32>, %arg1: tensor<2x6x8x16xf32>, %arg2: tensor<2x2x8x16xf32>, %arg3: tensor<2x2x8x16xf32>, %arg4: tensor<2x1x8x8xf32>) -> (tensor<2x8x6x16xf32>, tensor<2x6x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x1x8x8xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %1 = stablehlo.reshape %arg2 : (tensor<2x2x8x16xf32>) -> tensor<512xf32>
    %2 = stablehlo.reshape %1 : (tensor<512xf32>) -> tensor<2x256xf32>
    %3 = stablehlo.slice %2 [0:2, 0:256] : (tensor<2x256xf32>) -> tensor<2x256xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x256xf32>) -> tensor<2x2x128xf32>
    %5 = stablehlo.slice %4 [0:2, 0:2, 0:128] : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x2x128xf32>) -> tensor<2x2x8x16xf32>
    %7 = stablehlo.slice %6 [0:2, 0:2, 0:8, 0:16] : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
    %8 = stablehlo.reshape %7 : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16x1xf32>
    %9 = stablehlo.slice %8 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %10 = stablehlo.slice %9 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %11 = stablehlo.reshape %10 : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 3, 4] : (tensor<2x2x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x2x3x8x16xf32>) -> tensor<12x8x16xf32>
    %14 = stablehlo.transpose %13, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %15 = stablehlo.dot_general %0, %14, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %16 = stablehlo.reshape %15 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %17 = stablehlo.constant dense<2.500000e-01> : tensor<f64>
    %18 = stablehlo.convert %17 : (tensor<f64>) -> tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %20 = stablehlo.multiply %16, %19 : tensor<2x6x8x8xf32>
    %21 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 2, 3] : (tensor<2x1x8x8xf32>) -> tensor<2x6x8x8xf32>
    %22 = stablehlo.add %20, %21 : tensor<2x6x8x8xf32>
    %23 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %26 = stablehlo.subtract %22, %25 : tensor<2x6x8x8xf32>
    %27 = stablehlo.exponential %26 : tensor<2x6x8x8xf32>
    %28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.reduce(%27 init: %28) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %31 = stablehlo.divide %27, %30 : tensor<2x6x8x8xf32>
    %32 = stablehlo.reshape %31 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %33 = stablehlo.reshape %arg3 : (tensor<2x2x8x16xf32>) -> tensor<512xf32>
    %34 = stablehlo.reshape %33 : (tensor<512xf32>) -> tensor<2x256xf32>
    %35 = stablehlo.slice %34 [0:2, 0:256] : (tensor<2x256xf32>) -> tensor<2x256xf32>
    %36 = stablehlo.reshape %35 : (tensor<2x256xf32>) -> tensor<2x2x128xf32>
    %37 = stablehlo.slice %36 [0:2, 0:2, 0:128] : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
    %38 = stablehlo.reshape %37 : (tensor<2x2x128xf32>) -> tensor<2x2x8x16xf32>
    %39 = stablehlo.slice %38 [0:2, 0:2, 0:8, 0:16] : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
    %40 = stablehlo.reshape %39 : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16x1xf32>
    %41 = stablehlo.slice %40 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %42 = stablehlo.slice %41 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %43 = stablehlo.reshape %42 : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 3, 4] : (tensor<2x2x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %45 = stablehlo.reshape %44 : (tensor<2x2x3x8x16xf32>) -> tensor<12x8x16xf32>
    %46 = stablehlo.dot_general %32, %45, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %47 = stablehlo.reshape %46 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %48 = stablehlo.transpose %47, dims = [0, 2, 1, 3] : (tensor<2x6x8x16xf32>) -> tensor<2x8x6x16xf32>
    %49 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x8x6x16xf32>) -> tensor<2x6x8x16xf32>
    %50 = stablehlo.reshape %49 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %51 = stablehlo.transpose %45, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %52 = stablehlo.dot_general %50, %51, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %53 = stablehlo.reshape %52 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %54 = stablehlo.multiply %53, %31 : tensor<2x6x8x8xf32>
    %55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%54 init: %55) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %58 = stablehlo.multiply %31, %57 : tensor<2x6x8x8xf32>
    %59 = stablehlo.subtract %54, %58 : tensor<2x6x8x8xf32>
    %60 = stablehlo.convert %17 : (tensor<f64>) -> tensor<f32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %62 = stablehlo.multiply %59, %61 : tensor<2x6x8x8xf32>
    %63 = stablehlo.reshape %62 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %64 = stablehlo.dot_general %63, %13, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %65 = stablehlo.reshape %64 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %66 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %67 = stablehlo.dot_general %66, %63, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x16x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %68 = stablehlo.reshape %67 : (tensor<12x16x8xf32>) -> tensor<2x2x3x16x8xf32>
    %69 = stablehlo.transpose %68, dims = [0, 1, 2, 4, 3] : (tensor<2x2x3x16x8xf32>) -> tensor<2x2x3x8x16xf32>
    %70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%69 init: %70) applies stablehlo.add across dimensions = [2] : (tensor<2x2x3x8x16xf32>, tensor<f32>) -> tensor<2x2x8x16xf32>
    %72 = stablehlo.reshape %71 : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
    %73 = stablehlo.reshape %72 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x8x16xf32>
    %74 = stablehlo.transpose %32, dims = [0, 2, 1] : (tensor<12x8x8xf32>) -> tensor<12x8x8xf32>
    %75 = stablehlo.dot_general %74, %50, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %76 = stablehlo.reshape %75 : (tensor<12x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.reduce(%76 init: %77) applies stablehlo.add across dimensions = [2] : (tensor<2x2x3x8x16xf32>, tensor<f32>) -> tensor<2x2x8x16xf32>
    %79 = stablehlo.reshape %78 : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
    %80 = stablehlo.reshape %79 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x8x16xf32>
    %81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %82 = stablehlo.reduce(%59 init: %81) applies stablehlo.add across dimensions = [1] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x8x8xf32>
    %83 = stablehlo.reshape %82 : (tensor<2x8x8xf32>) -> tensor<2x1x8x8xf32>
    return %48, %65, %73, %80, %83 : tensor<2x8x6x16xf32>, tensor<2x6x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x1x8x8xf32>
  }
}
