// EXPECT: aten.gelu_backward approximate=tanh
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.multiply %arg1, %2 : tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %5 = stablehlo.multiply %4, %arg1 : tensor<4x16xf32>
    %6 = stablehlo.multiply %5, %arg1 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %8 = stablehlo.add %7, %6 : tensor<4x16xf32>
    %9 = stablehlo.multiply %3, %8 : tensor<4x16xf32>
    %10 = stablehlo.tanh %9 : tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %12 = stablehlo.subtract %11, %10 : tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %14 = stablehlo.add %13, %10 : tensor<4x16xf32>
    %15 = stablehlo.multiply %1, %arg0 : tensor<4x16xf32>
    %16 = stablehlo.multiply %arg0, %14 : tensor<4x16xf32>
    %17 = stablehlo.multiply %15, %12 : tensor<4x16xf32>
    %18 = stablehlo.multiply %17, %10 : tensor<4x16xf32>
    %19 = stablehlo.add %17, %18 : tensor<4x16xf32>
    %20 = stablehlo.multiply %3, %19 : tensor<4x16xf32>
    %21 = stablehlo.multiply %19, %8 : tensor<4x16xf32>
    %22 = stablehlo.multiply %5, %20 : tensor<4x16xf32>
    %23 = stablehlo.multiply %20, %arg1 : tensor<4x16xf32>
    %cst_5 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %25 = stablehlo.multiply %24, %23 : tensor<4x16xf32>
    %26 = stablehlo.add %22, %25 : tensor<4x16xf32>
    %cst_6 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %28 = stablehlo.multiply %21, %27 : tensor<4x16xf32>
    %29 = stablehlo.add %26, %28 : tensor<4x16xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %31 = stablehlo.multiply %30, %16 : tensor<4x16xf32>
    %32 = stablehlo.add %29, %31 : tensor<4x16xf32>
    return %32 : tensor<4x16xf32>
  }
}
