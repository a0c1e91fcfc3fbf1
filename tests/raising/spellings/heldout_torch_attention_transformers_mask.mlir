// EXPECT: aten.scaled_dot_product_attention attn_mask scale=0.25
module {
  func.func @main(%arg0: tensor<1536xf32>, %arg1: tensor<512xf32>, %arg2: tensor<512xf32>, %arg3: tensor<128xf32>) -> tensor<2x8x6x16xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<1536xf32>) -> tensor<12x8x16xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<512xf32>) -> tensor<2x256xf32>
    %2 = stablehlo.slice %1 [0:2, 0:256] : (tensor<2x256xf32>) -> tensor<2x256xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x256xf32>) -> tensor<2x2x128xf32>
    %4 = stablehlo.slice %3 [0:2, 0:2, 0:128] : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
    %5 = stablehlo.reshape %4 : (tensor<2x2x128xf32>) -> tensor<2x2x8x16xf32>
    %6 = stablehlo.slice %5 [0:2, 0:2, 0:8, 0:16] : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
    %7 = stablehlo.reshape %6 : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16x1xf32>
    %8 = stablehlo.slice %7 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %9 = stablehlo.slice %8 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %10 = stablehlo.reshape %9 : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 3, 4] : (tensor<2x2x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %12 = stablehlo.reshape %11 : (tensor<2x2x3x8x16xf32>) -> tensor<1536xf32>
    %13 = stablehlo.reshape %12 : (tensor<1536xf32>) -> tensor<12x128xf32>
    %14 = stablehlo.slice %13 [0:12, 0:128] : (tensor<12x128xf32>) -> tensor<12x128xf32>
    %15 = stablehlo.reshape %14 : (tensor<12x128xf32>) -> tensor<12x8x16xf32>
    %16 = stablehlo.slice %15 [0:12, 0:8, 0:16] : (tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %17 = stablehlo.reshape %16 : (tensor<12x8x16xf32>) -> tensor<12x8x16x1xf32>
    %18 = stablehlo.slice %17 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %19 = stablehlo.slice %18 [0:12, 0:8, 0:16, 0:1] : (tensor<12x8x16x1xf32>) -> tensor<12x8x16x1xf32>
    %20 = stablehlo.reshape %19 : (tensor<12x8x16x1xf32>) -> tensor<12x8x16xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %22 = stablehlo.dot_general %0, %21, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %23 = stablehlo.reshape %22 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %24 = stablehlo.constant dense<2.500000e-01> : tensor<f64>
    %25 = stablehlo.convert %24 : (tensor<f64>) -> tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %27 = stablehlo.multiply %23, %26 : tensor<2x6x8x8xf32>
    %28 = stablehlo.reshape %arg3 : (tensor<128xf32>) -> tensor<2x1x8x8xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x1x8x8xf32>) -> tensor<2x6x8x8xf32>
    %30 = stablehlo.add %27, %29 : tensor<2x6x8x8xf32>
    %31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %32 = stablehlo.reduce(%30 init: %31) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %34 = stablehlo.subtract %30, %33 : tensor<2x6x8x8xf32>
    %35 = stablehlo.exponential %34 : tensor<2x6x8x8xf32>
    %36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%35 init: %36) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %39 = stablehlo.divide %35, %38 : tensor<2x6x8x8xf32>
    %40 = stablehlo.reshape %39 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %41 = stablehlo.reshape %arg2 : (tensor<512xf32>) -> tensor<2x256xf32>
    %42 = stablehlo.slice %41 [0:2, 0:256] : (tensor<2x256xf32>) -> tensor<2x256xf32>
    %43 = stablehlo.reshape %42 : (tensor<2x256xf32>) -> tensor<2x2x128xf32>
    %44 = stablehlo.slice %43 [0:2, 0:2, 0:128] : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
    %45 = stablehlo.reshape %44 : (tensor<2x2x128xf32>) -> tensor<2x2x8x16xf32>
    %46 = stablehlo.slice %45 [0:2, 0:2, 0:8, 0:16] : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
    %47 = stablehlo.reshape %46 : (tensor<2x2x8x16xf32>) -> tensor<2x2x8x16x1xf32>
    %48 = stablehlo.slice %47 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %49 = stablehlo.slice %48 [0:2, 0:2, 0:8, 0:16, 0:1] : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16x1xf32>
    %50 = stablehlo.reshape %49 : (tensor<2x2x8x16x1xf32>) -> tensor<2x2x8x16xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 3, 4] : (tensor<2x2x8x16xf32>) -> tensor<2x2x3x8x16xf32>
    %52 = stablehlo.reshape %51 : (tensor<2x2x3x8x16xf32>) -> tensor<12x8x16xf32>
    %53 = stablehlo.dot_general %40, %52, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %54 = stablehlo.reshape %53 : (tensor<12x8x16xf32>) -> tensor<1536xf32>
    %55 = stablehlo.reshape %54 : (tensor<1536xf32>) -> tensor<2x768xf32>
    %56 = stablehlo.slice %55 [0:2, 0:768] : (tensor<2x768xf32>) -> tensor<2x768xf32>
    %57 = stablehlo.reshape %56 : (tensor<2x768xf32>) -> tensor<2x6x128xf32>
    %58 = stablehlo.slice %57 [0:2, 0:6, 0:128] : (tensor<2x6x128xf32>) -> tensor<2x6x128xf32>
    %59 = stablehlo.reshape %58 : (tensor<2x6x128xf32>) -> tensor<2x6x8x16xf32>
    %60 = stablehlo.slice %59 [0:2, 0:6, 0:8, 0:16] : (tensor<2x6x8x16xf32>) -> tensor<2x6x8x16xf32>
    %61 = stablehlo.reshape %60 : (tensor<2x6x8x16xf32>) -> tensor<2x6x8x16x1xf32>
    %62 = stablehlo.slice %61 [0:2, 0:6, 0:8, 0:16, 0:1] : (tensor<2x6x8x16x1xf32>) -> tensor<2x6x8x16x1xf32>
    %63 = stablehlo.slice %62 [0:2, 0:6, 0:8, 0:16, 0:1] : (tensor<2x6x8x16x1xf32>) -> tensor<2x6x8x16x1xf32>
    %64 = stablehlo.reshape %63 : (tensor<2x6x8x16x1xf32>) -> tensor<2x6x8x16xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 2, 1, 3] : (tensor<2x6x8x16xf32>) -> tensor<2x8x6x16xf32>
    return %65 : tensor<2x8x6x16xf32>
  }
}
