// EXPECT: aten.log_softmax dim=1; aten.nll_loss reduction=1
module {
  func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<4xi64>) -> tensor<f32> {
    %0 = stablehlo.reshape %arg0 : (tensor<64xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %4 = stablehlo.is_finite %2 : (tensor<4xf32>) -> tensor<4xi1>
    %5 = stablehlo.select %4, %2, %3 : tensor<4xi1>, tensor<4xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<4x16xf32>
    %8 = stablehlo.exponential %7 : tensor<4x16xf32>
    %9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%8 init: %9) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %11 = stablehlo.log %10 : tensor<4xf32>
    %12 = stablehlo.add %11, %5 : tensor<4xf32>
    %13 = stablehlo.reshape %12 : (tensor<4xf32>) -> tensor<4x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %15 = stablehlo.subtract %0, %14 : tensor<4x16xf32>
    %16 = stablehlo.reshape %arg1 : (tensor<4xi64>) -> tensor<4x1xi64>
    %17 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %18 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %19 = stablehlo.add %16, %18 : tensor<4x1xi64>
    %20 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %21 = stablehlo.compare  LT, %16, %20,  SIGNED : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x1xi1>
    %22 = stablehlo.select %21, %19, %16 : tensor<4x1xi1>, tensor<4x1xi64>
    %23 = stablehlo.constant dense<1> : tensor<4x1xi64>
    %24 = stablehlo.multiply %22, %23 : tensor<4x1xi64>
    %25 = stablehlo.add %17, %24 : tensor<4x1xi64>
    %26 = stablehlo.iota dim = 0 : tensor<4x1xi64>
    %27 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %28 = stablehlo.multiply %26, %27 : tensor<4x1xi64>
    %29 = stablehlo.add %25, %28 : tensor<4x1xi64>
    %30 = stablehlo.reshape %15 : (tensor<4x16xf32>) -> tensor<64xf32>
    %31 = "stablehlo.gather"(%30, %29) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<64xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
    %32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%31 init: %32) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<f32>
    %34 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %35 = stablehlo.divide %33, %34 : tensor<f32>
    %36 = stablehlo.negate %35 : tensor<f32>
    return %36 : tensor<f32>
  }
}
