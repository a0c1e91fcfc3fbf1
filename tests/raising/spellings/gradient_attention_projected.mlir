// EXPECT: aten.scaled_dot_product_attention_backward is_causal scale=0.25
module @jit_alone attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x16xf32>, %arg1: tensor<2x8x16xf32>, %arg2: tensor<16x3x16xf32>, %arg3: tensor<16x3x16xf32>, %arg4: tensor<16x3x16xf32>, %arg5: tensor<3x16x16xf32>) -> (tensor<2x8x16xf32> {jax.result_info = "result[0]"}, tensor<16x3x16xf32> {jax.result_info = "result[1]"}, tensor<16x3x16xf32> {jax.result_info = "result[2]"}, tensor<16x3x16xf32> {jax.result_info = "result[3]"}, tensor<3x16x16xf32> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %1 = stablehlo.dot_general %arg1, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %2 = stablehlo.dot_general %arg1, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x3x16xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x3x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<2x8x3x16xf32>
    %5 = stablehlo.dot_general %4, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
    %6 = stablehlo.iota dim = 0 : tensor<8xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %8 = stablehlo.iota dim = 0 : tensor<8xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<8xi32>) -> tensor<1x8xi32>
    %10 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x8xi32>) -> tensor<8x8xi32>
    %12 = stablehlo.compare GE, %10, %11, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %13 = call @_where(%12, %cst_0, %cst_1) : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
    %14 = stablehlo.convert %13 : tensor<8x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<1x1x8x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xf32>) -> tensor<2x3x8x8xf32>
    %17 = stablehlo.add %5, %16 : tensor<2x3x8x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %20 = stablehlo.maximum %19, %18 : tensor<2x3x8xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<2x3x8x8xf32>
    %24 = stablehlo.exponential %23 : tensor<2x3x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %28 = stablehlo.divide %24, %27 : tensor<2x3x8x8xf32>
    %29 = stablehlo.multiply %26, %26 : tensor<2x3x8x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x3x8x1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<2x3x8x1xf32>
    %32 = stablehlo.dot_general %2, %28, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %33 = stablehlo.transpose %32, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %34 = stablehlo.dot_general %arg0, %33, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<2x8x3x16xf32>) -> tensor<16x3x16xf32>
    %35 = stablehlo.transpose %34, dims = [1, 2, 0] : (tensor<16x3x16xf32>) -> tensor<3x16x16xf32>
    %36 = stablehlo.dot_general %arg0, %arg5, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xf32>, tensor<3x16x16xf32>) -> tensor<2x8x3x16xf32>
    %37 = stablehlo.transpose %36, dims = [0, 2, 3, 1] : (tensor<2x8x3x16xf32>) -> tensor<2x3x16x8xf32>
    %38 = stablehlo.dot_general %37, %2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
    %39 = stablehlo.dot_general %37, %28, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x16x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x16x8xf32>
    %40 = stablehlo.transpose %39, dims = [0, 3, 1, 2] : (tensor<2x3x16x8xf32>) -> tensor<2x8x3x16xf32>
    %41 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %42 = stablehlo.multiply %38, %41 : tensor<2x3x8x8xf32>
    %43 = stablehlo.multiply %42, %24 : tensor<2x3x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%43 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %45 = stablehlo.reshape %44 : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
    %46 = stablehlo.negate %45 : tensor<2x3x8x1xf32>
    %47 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x8xf32>
    %48 = stablehlo.divide %38, %47 : tensor<2x3x8x8xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%46 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x1xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
    %51 = stablehlo.add %48, %50 : tensor<2x3x8x8xf32>
    %52 = stablehlo.multiply %51, %24 : tensor<2x3x8x8xf32>
    %53 = stablehlo.dot_general %52, %4, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32>
    %54 = stablehlo.transpose %53, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %55 = stablehlo.dot_general %52, %1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32>
    %56 = stablehlo.transpose %55, dims = [0, 2, 1, 3] : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
    %cst_8 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x8x3x16xf32>
    %58 = stablehlo.multiply %56, %57 : tensor<2x8x3x16xf32>
    %59 = stablehlo.dot_general %40, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x16xf32>) -> tensor<3x16x16xf32>
    %60 = stablehlo.transpose %59, dims = [2, 0, 1] : (tensor<3x16x16xf32>) -> tensor<16x3x16xf32>
    %61 = stablehlo.dot_general %40, %arg4, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x16xf32>
    %62 = stablehlo.dot_general %54, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x16xf32>) -> tensor<3x16x16xf32>
    %63 = stablehlo.transpose %62, dims = [2, 0, 1] : (tensor<3x16x16xf32>) -> tensor<16x3x16xf32>
    %64 = stablehlo.dot_general %54, %arg3, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x16xf32>
    %65 = stablehlo.add %61, %64 : tensor<2x8x16xf32>
    %66 = stablehlo.dot_general %58, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<2x8x16xf32>) -> tensor<3x16x16xf32>
    %67 = stablehlo.transpose %66, dims = [2, 0, 1] : (tensor<3x16x16xf32>) -> tensor<16x3x16xf32>
    %68 = stablehlo.dot_general %58, %arg2, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x3x16xf32>, tensor<16x3x16xf32>) -> tensor<2x8x16xf32>
    %69 = stablehlo.add %65, %68 : tensor<2x8x16xf32>
    return %69, %67, %63, %60, %35 : tensor<2x8x16xf32>, tensor<16x3x16xf32>, tensor<16x3x16xf32>, tensor<16x3x16xf32>, tensor<3x16x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<8x8xi1>, tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
