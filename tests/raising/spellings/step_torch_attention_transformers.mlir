// EXPECT: aten.scaled_dot_product_attention scale=0.25; aten.scaled_dot_product_attention_backward scale=0.25
module {
  func.func @main(%arg0: tensor<2x8x6x16xf32>, %arg1: tensor<2x6x8x16xf32>, %arg2: tensor<2x2x8x16xf32>, %arg3: tensor<2x2x8x16xf32>) -> (tensor<2x8x6x16xf32>, tensor<2x6x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) {
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
    %21 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %22 = stablehlo.reduce(%20 init: %21) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %24 = stablehlo.subtract %20, %23 : tensor<2x6x8x8xf32>
    %25 = stablehlo.exponential %24 : tensor<2x6x8x8xf32>
    %26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%25 init: %26) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %29 = stablehlo.divide %25, %28 : tensor<2x6x8x8xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %31 = stablehlo.reshape %arg3 : (tensor<2x2x8x16xf32>) -> tensor<512xf32>
    %32 = stablehlo.reshape %31 : (tensor<512xf32>) -> tensor<2x256xf32>
    %33 = stablehlo.slice %32 [0:2, 0:256] : (tensor<2x256xf32>) -> tensor<2x256xf32>
    %34 = stablehlo.reshape %33 : (tensor<2x256xf32>) -> tensor<2x2x128xf32>
    %35 = stablehlo.slice %34 [0:2, 0:2, 0:128] : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
    %36 = stablehlo.reshape %35 : (tensor<2x2x128xf32>) -> tensor<2x2x8x16xf32>
    %37 = stablehlo.slice %36 [0:2, 0:2, 0:8, 0:16] : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
    %38 = stablehlo.reshape %37 : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16x1xf32>
    %39 = stablehlo.slice %38 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %40 = stablehlo.slice %39 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %41 = stablehlo.reshape %40 : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 3, 4] : (tensor<2x2x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %43 = stablehlo.reshape %42 : (tensor<2x2x3x8x16xf32>) -> tensor<12x8x16xf32>
    %44 = stablehlo.dot_general %30, %43, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %45 = stablehlo.reshape %44 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %46 = stablehlo.transpose %45, dims = [0, 2, 1, 3] : (tensor<2x6x8x16xf32>) -> tensor<2x8x6x16xf32>
    %47 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x8x6x16xf32>) -> tensor<2x6x8x16xf32>
    %48 = stablehlo.reshape %47 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %49 = stablehlo.transpose %43, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %50 = stablehlo.dot_general %48, %49, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %51 = stablehlo.reshape %50 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %52 = stablehlo.multiply %51, %29 : tensor<2x6x8x8xf32>
    %53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%52 init: %53) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %56 = stablehlo.multiply %29, %55 : tensor<2x6x8x8xf32>
    %57 = stablehlo.subtract %52, %56 : tensor<2x6x8x8xf32>
    %58 = stablehlo.convert %17 : (tensor<f64>) -> tensor<f32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %60 = stablehlo.multiply %57, %59 : tensor<2x6x8x8xf32>
    %61 = stablehlo.reshape %60 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %62 = stablehlo.dot_general %61, %13, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %63 = stablehlo.reshape %62 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %64 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %65 = stablehlo.dot_general %64, %61, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x16x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %66 = stablehlo.reshape %65 : (tensor<12x16x8xf32>) -> tensor<2x2x3x16x8xf32>
    %67 = stablehlo.transpose %66, dims = [0, 1, 2, 4, 3] : (tensor<2x2x3x16x8xf32>) -> tensor<2x2x3x8x16xf32>
    %68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%67 init: %68) applies stablehlo.add across dimensions = [2] : (tensor<2x2x3x8x16xf32>, tensor<f32>) -> tensor<2x2x8x16xf32>
    %70 = stablehlo.reshape %69 : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
    %71 = stablehlo.reshape %70 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x8x16xf32>
    %72 = stablehlo.transpose %30, dims = [0, 2, 1] : (tensor<12x8x8xf32>) -> tensor<12x8x8xf32>
    %73 = stablehlo.dot_general %72, %48, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %74 = stablehlo.reshape %73 : (tensor<12x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %75 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %76 = stablehlo.reduce(%74 init: %75) applies stablehlo.add across dimensions = [2] : (tensor<2x2x3x8x16xf32>, tensor<f32>) -> tensor<2x2x8x16xf32>
    %77 = stablehlo.reshape %76 : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
    %78 = stablehlo.reshape %77 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x8x16xf32>
    return %46, %63, %71, %78 : tensor<2x8x6x16xf32>, tensor<2x6x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>
  }
}
