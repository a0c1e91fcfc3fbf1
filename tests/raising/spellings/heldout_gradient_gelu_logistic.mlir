// EXPECT: aten.gelu_backward approximate=tanh
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<0.797884583> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4x16xf32>
    %2 = chlo.square %arg1 : tensor<4x16xf32> -> tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.multiply %3, %arg1 : tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %6 = stablehlo.multiply %5, %2 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %8 = stablehlo.add %7, %6 : tensor<4x16xf32>
    %9 = stablehlo.multiply %1, %8 : tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<4x16xf32>
    %12 = stablehlo.negate %11 : tensor<4x16xf32>
    %13 = stablehlo.exponential %12 : tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %15 = stablehlo.add %14, %13 : tensor<4x16xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %17 = stablehlo.divide %16, %15 : tensor<4x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %19 = stablehlo.subtract %18, %17 : tensor<4x16xf32>
    %20 = stablehlo.multiply %17, %19 : tensor<4x16xf32>
    %21 = stablehlo.multiply %arg1, %arg0 : tensor<4x16xf32>
    %22 = stablehlo.multiply %arg0, %17 : tensor<4x16xf32>
    %23 = stablehlo.multiply %21, %20 : tensor<4x16xf32>
    %cst_7 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %25 = stablehlo.multiply %24, %23 : tensor<4x16xf32>
    %26 = stablehlo.multiply %1, %25 : tensor<4x16xf32>
    %27 = stablehlo.multiply %25, %8 : tensor<4x16xf32>
    %cst_8 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %29 = stablehlo.multiply %28, %26 : tensor<4x16xf32>
    %30 = stablehlo.multiply %29, %4 : tensor<4x16xf32>
    %31 = stablehlo.add %22, %30 : tensor<4x16xf32>
    %cst_9 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %33 = stablehlo.multiply %32, %27 : tensor<4x16xf32>
    %34 = stablehlo.add %31, %33 : tensor<4x16xf32>
    return %34 : tensor<4x16xf32>
  }
}
