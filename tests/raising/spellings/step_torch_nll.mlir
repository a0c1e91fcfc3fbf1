// EXPECT: aten.log_softmax dim=1; aten.nll_loss reduction=1; aten.log_softmax_backward; aten.nll_loss_backward reduction=1
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<4x16xf32>, %arg2: tensor<4x1xi64>) -> (tensor<f32>, tensor<4x16xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg1 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %3 = stablehlo.is_finite %1 : (tensor<4xf32>) -> tensor<4xi1>
    %4 = stablehlo.select %3, %1, %2 : tensor<4xi1>, tensor<4xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
    %6 = stablehlo.subtract %arg1, %5 : tensor<4x16xf32>
    %7 = stablehlo.exponential %6 : tensor<4x16xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %10 = stablehlo.log %9 : tensor<4xf32>
    %11 = stablehlo.add %10, %4 : tensor<4xf32>
    %12 = stablehlo.reshape %11 : (tensor<4xf32>) -> tensor<4x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %14 = stablehlo.subtract %arg1, %13 : tensor<4x16xf32>
    %15 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %16 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %17 = stablehlo.add %arg2, %16 : tensor<4x1xi64>
    %18 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %19 = stablehlo.compare  LT, %arg2, %18,  SIGNED : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x1xi1>
    %20 = stablehlo.select %19, %17, %arg2 : tensor<4x1xi1>, tensor<4x1xi64>
    %21 = stablehlo.constant dense<1> : tensor<4x1xi64>
    %22 = stablehlo.multiply %20, %21 : tensor<4x1xi64>
    %23 = stablehlo.add %15, %22 : tensor<4x1xi64>
    %24 = stablehlo.iota dim = 0 : tensor<4x1xi64>
    %25 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %26 = stablehlo.multiply %24, %25 : tensor<4x1xi64>
    %27 = stablehlo.add %23, %26 : tensor<4x1xi64>
    %28 = stablehlo.reshape %14 : (tensor<4x16xf32>) -> tensor<64xf32>
    %29 = "stablehlo.gather"(%28, %27) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<64xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
    %30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%29 init: %30) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<f32>
    %32 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %33 = stablehlo.divide %31, %32 : tensor<f32>
    %34 = stablehlo.negate %33 : tensor<f32>
    %35 = stablehlo.constant dense<0.000000e+00> : tensor<64xf32>
    %36 = stablehlo.reshape %35 : (tensor<64xf32>) -> tensor<4x16xf32>
    %37 = stablehlo.constant dense<0.000000e+00> : tensor<4x16xf32>
    %38 = stablehlo.negate %arg0 : tensor<f32>
    %39 = stablehlo.reshape %38 : (tensor<f32>) -> tensor<1xf32>
    %40 = stablehlo.slice %39 [0:1] : (tensor<1xf32>) -> tensor<1xf32>
    %41 = stablehlo.reshape %40 : (tensor<1xf32>) -> tensor<f32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %43 = stablehlo.constant dense<4.000000e+00> : tensor<4x1xf32>
    %44 = stablehlo.divide %42, %43 : tensor<4x1xf32>
    %45 = stablehlo.slice %44 [0:4, 0:1] : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %46 = stablehlo.reshape %45 : (tensor<4x1xf32>) -> tensor<4xf32>
    %47 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %48 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %49 = stablehlo.add %arg2, %48 : tensor<4x1xi64>
    %50 = stablehlo.constant dense<0> : tensor<4x1xi64>
    %51 = stablehlo.compare  LT, %arg2, %50,  SIGNED : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x1xi1>
    %52 = stablehlo.select %51, %49, %arg2 : tensor<4x1xi1>, tensor<4x1xi64>
    %53 = stablehlo.constant dense<1> : tensor<4x1xi64>
    %54 = stablehlo.multiply %52, %53 : tensor<4x1xi64>
    %55 = stablehlo.add %47, %54 : tensor<4x1xi64>
    %56 = stablehlo.iota dim = 0 : tensor<4x1xi64>
    %57 = stablehlo.constant dense<16> : tensor<4x1xi64>
    %58 = stablehlo.multiply %56, %57 : tensor<4x1xi64>
    %59 = stablehlo.add %55, %58 : tensor<4x1xi64>
    %60 = stablehlo.reshape %59 : (tensor<4x1xi64>) -> tensor<4xi64>
    %61 = stablehlo.reshape %37 : (tensor<4x16xf32>) -> tensor<64xf32>
    %62 = stablehlo.reshape %60 : (tensor<4xi64>) -> tensor<4x1xi64>
    %63 = "stablehlo.scatter"(%61, %62, %46) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %73 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %73 : tensor<f32>
    }) : (tensor<64xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<64xf32>
    %64 = stablehlo.reshape %63 : (tensor<64xf32>) -> tensor<4x16xf32>
    %65 = stablehlo.negate %64 : tensor<4x16xf32>
    %66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %67 = stablehlo.reduce(%65 init: %66) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %68 = stablehlo.reshape %67 : (tensor<4xf32>) -> tensor<4x1xf32>
    %69 = stablehlo.exponential %14 : tensor<4x16xf32>
    %70 = stablehlo.broadcast_in_dim %68, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %71 = stablehlo.multiply %70, %69 : tensor<4x16xf32>
    %72 = stablehlo.add %64, %71 : tensor<4x16xf32>
    return %34, %72 : tensor<f32>, tensor<4x16xf32>
  }
}
