// EXPECT: aten.scaled_dot_product_attention is_causal scale=0.25; aten.scaled_dot_product_attention_backward is_causal scale=0.25
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
    %12 = stablehlo.constant dense<0.000000e+00> : tensor<64xf32>
    %13 = stablehlo.reshape %12 : (tensor<64xf32>) -> tensor<8x8xf32>
    %14 = stablehlo.constant dense<0.000000e+00> : tensor<8x8xf32>
    %15 = stablehlo.constant dense<false> : tensor<64xi1>
    %16 = stablehlo.reshape %15 : (tensor<64xi1>) -> tensor<8x8xi1>
    %17 = stablehlo.constant dense<true> : tensor<8x8xi1>
    %18 = stablehlo.iota dim = 0 : tensor<8x8xi64>
    %19 = stablehlo.iota dim = 1 : tensor<8x8xi64>
    %20 = stablehlo.constant dense<0> : tensor<8x8xi64>
    %21 = stablehlo.add %18, %20 : tensor<8x8xi64>
    %22 = stablehlo.compare  LE, %19, %21,  SIGNED : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
    %23 = stablehlo.constant dense<false> : tensor<8x8xi1>
    %24 = stablehlo.select %22, %17, %23 : tensor<8x8xi1>, tensor<8x8xi1>
    %25 = stablehlo.not %24 : tensor<8x8xi1>
    %26 = stablehlo.constant dense<0xFF800000> : tensor<8x8xf32>
    %27 = stablehlo.select %25, %26, %14 : tensor<8x8xi1>, tensor<8x8xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x6x8x8xf32>
    %29 = stablehlo.add %11, %28 : tensor<2x6x8x8xf32>
    %30 = stablehlo.constant dense<0xFF800000> : tensor<2x6x8x8xf32>
    %31 = stablehlo.compare  EQ, %29, %30,  FLOAT : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xi1>
    %32 = stablehlo.constant dense<true> : tensor<i1>
    %33 = stablehlo.reduce(%31 init: %32) applies stablehlo.and across dimensions = [3] : (tensor<2x6x8x8xi1>, tensor<i1>) -> tensor<2x6x8xi1>
    %34 = stablehlo.reshape %33 : (tensor<2x6x8xi1>) -> tensor<2x6x8x1xi1>
    %35 = stablehlo.constant dense<0.000000e+00> : tensor<768xf32>
    %36 = stablehlo.reshape %35 : (tensor<768xf32>) -> tensor<2x6x8x8xf32>
    %37 = stablehlo.constant dense<0.000000e+00> : tensor<2x6x8x8xf32>
    %38 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.reduce(%29 init: %38) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %41 = stablehlo.subtract %29, %40 : tensor<2x6x8x8xf32>
    %42 = stablehlo.exponential %41 : tensor<2x6x8x8xf32>
    %43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%42 init: %43) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %46 = stablehlo.divide %42, %45 : tensor<2x6x8x8xf32>
    %47 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %48 = stablehlo.select %47, %37, %46 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %49 = stablehlo.reshape %48 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %50 = stablehlo.reshape %arg3 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %51 = stablehlo.dot_general %49, %50, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %52 = stablehlo.reshape %51 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %53 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %54 = stablehlo.reshape %53 : (tensor<1xf32>) -> tensor<f32>
    %55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reshape %arg0 : (tensor<2x6x8x16xf32>) -> tensor<12x8x16xf32>
    %57 = stablehlo.transpose %50, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %58 = stablehlo.dot_general %56, %57, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x16xf32>, tensor<12x16x8xf32>) -> tensor<12x8x8xf32>
    %59 = stablehlo.reshape %58 : (tensor<12x8x8xf32>) -> tensor<2x6x8x8xf32>
    %60 = stablehlo.broadcast_in_dim %55, dims = [] : (tensor<f32>) -> tensor<2x6x8x8xf32>
    %61 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<2x6x8x1xi1>) -> tensor<2x6x8x8xi1>
    %62 = stablehlo.select %61, %60, %59 : tensor<2x6x8x8xi1>, tensor<2x6x8x8xf32>
    %63 = stablehlo.multiply %62, %46 : tensor<2x6x8x8xf32>
    %64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.reduce(%63 init: %64) applies stablehlo.add across dimensions = [3] : (tensor<2x6x8x8xf32>, tensor<f32>) -> tensor<2x6x8xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2] : (tensor<2x6x8xf32>) -> tensor<2x6x8x8xf32>
    %67 = stablehlo.multiply %46, %66 : tensor<2x6x8x8xf32>
    %68 = stablehlo.subtract %63, %67 : tensor<2x6x8x8xf32>
    %69 = stablehlo.reshape %68 : (tensor<2x6x8x8xf32>) -> tensor<12x8x8xf32>
    %70 = stablehlo.dot_general %69, %8, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %71 = stablehlo.reshape %70 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    %72 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %74 = stablehlo.multiply %71, %73 : tensor<2x6x8x16xf32>
    %75 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
    %76 = stablehlo.dot_general %75, %69, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x16x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %77 = stablehlo.reshape %76 : (tensor<12x16x8xf32>) -> tensor<2x6x16x8xf32>
    %78 = stablehlo.transpose %77, dims = [0, 1, 3, 2] : (tensor<2x6x16x8xf32>) -> tensor<2x6x8x16xf32>
    %79 = stablehlo.convert %0 : (tensor<f64>) -> tensor<f32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<f32>) -> tensor<2x6x8x16xf32>
    %81 = stablehlo.multiply %78, %80 : tensor<2x6x8x16xf32>
    %82 = stablehlo.transpose %49, dims = [0, 2, 1] : (tensor<12x8x8xf32>) -> tensor<12x8x8xf32>
    %83 = stablehlo.dot_general %82, %56, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<12x8x8xf32>, tensor<12x8x16xf32>) -> tensor<12x8x16xf32>
    %84 = stablehlo.reshape %83 : (tensor<12x8x16xf32>) -> tensor<2x6x8x16xf32>
    return %52, %74, %81, %84 : tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>
  }
}
