// EXPECT: aten.scaled_dot_product_attention_backward scale=0.25
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x3x16xbf16>, %arg1: tensor<2x8x3x16xbf16>, %arg2: tensor<2x8x3x16xbf16>, %arg3: tensor<2x8x3x16xbf16>) -> (tensor<2x8x3x16xbf16> {jax.result_info = "result[0]"}, tensor<2x8x3x16xbf16> {jax.result_info = "result[1]"}, tensor<2x8x3x16xbf16> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x8x3x16xbf16>) -> tensor<2x8x3x1x16xbf16>
    %1 = stablehlo.dot_general %0, %arg2, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8x3x1x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x1x8xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x8x1x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x8x1x8xf32>, tensor<f32>) -> tensor<2x3x8x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x8x1xf32>
    %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2] : (tensor<2x3x8x1xf32>) -> tensor<1x2x3x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %9 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x8x1x8xf32>) -> tensor<1x2x3x8x8xf32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %11 = stablehlo.subtract %9, %10 : tensor<1x2x3x8x8xf32>
    %12 = stablehlo.exponential %11 : tensor<1x2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %16 = stablehlo.divide %12, %15 : tensor<1x2x3x8x8xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<1x2x3x8x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x8x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<1x2x3x8x1xf32>
    %20 = stablehlo.convert %16 : (tensor<1x2x3x8x8xf32>) -> tensor<1x2x3x8x8xbf16>
    %21 = stablehlo.reshape %arg0 : (tensor<2x8x3x16xbf16>) -> tensor<2x8x3x1x16xbf16>
    %22 = stablehlo.transpose %21, dims = [3, 0, 1, 2, 4] : (tensor<2x8x3x1x16xbf16>) -> tensor<1x2x8x3x16xbf16>
    %23 = stablehlo.transpose %22, dims = [1, 3, 4, 0, 2] : (tensor<1x2x8x3x16xbf16>) -> tensor<2x3x16x1x8xbf16>
    %24 = stablehlo.dot_general %23, %arg3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x1x8x8xbf16>
    %25 = stablehlo.transpose %24, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x8x8xbf16>) -> tensor<1x2x3x8x8xbf16>
    %26 = stablehlo.dot_general %23, %20, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x1x8xbf16>, tensor<1x2x3x8x8xbf16>) -> tensor<2x3x16x8xbf16>
    %27 = stablehlo.transpose %26, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xbf16>) -> tensor<2x8x3x16xbf16>
    %28 = stablehlo.convert %25 : (tensor<1x2x3x8x8xbf16>) -> tensor<1x2x3x8x8xf32>
    %29 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %30 = stablehlo.multiply %28, %29 : tensor<1x2x3x8x8xf32>
    %31 = stablehlo.multiply %30, %12 : tensor<1x2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x8x8xf32>, tensor<f32>) -> tensor<1x2x3x8xf32>
    %33 = stablehlo.reshape %32 : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x1xf32>
    %34 = stablehlo.negate %33 : tensor<1x2x3x8x1xf32>
    %35 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x8x1xf32>) -> tensor<1x2x3x8x8xf32>
    %36 = stablehlo.divide %28, %35 : tensor<1x2x3x8x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%34 init: %cst_5) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [1, 2, 3] : (tensor<2x3x8xf32>) -> tensor<1x2x3x8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2, 3] : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x8x8xf32>
    %40 = stablehlo.add %36, %39 : tensor<1x2x3x8x8xf32>
    %41 = stablehlo.multiply %40, %12 : tensor<1x2x3x8x8xf32>
    %42 = stablehlo.transpose %41, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x8x8xf32>) -> tensor<2x3x8x1x8xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x8x1x8xf32>
    %44 = stablehlo.multiply %42, %43 : tensor<2x3x8x1x8xf32>
    %45 = stablehlo.dot_general %44, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x1x16xbf16>) -> tensor<2x3x8x16xf32>
    %46 = stablehlo.transpose %45, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %47 = stablehlo.convert %46 : (tensor<2x8x3x16xf32>) -> tensor<2x8x3x16xbf16>
    %48 = stablehlo.dot_general %44, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x8x1x8xf32>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x1x16xf32>
    %49 = stablehlo.transpose %48, dims = [0, 2, 1, 3, 4] : (tensor<2x3x8x1x16xf32>) -> tensor<2x8x3x1x16xf32>
    %50 = stablehlo.convert %49 : (tensor<2x8x3x1x16xf32>) -> tensor<2x8x3x1x16xbf16>
    %51 = stablehlo.reshape %50 : (tensor<2x8x3x1x16xbf16>) -> tensor<2x8x3x16xbf16>
    return %51, %47, %27 : tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>
  }
}
