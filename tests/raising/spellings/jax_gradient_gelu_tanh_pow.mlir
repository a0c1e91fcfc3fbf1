// EXPECT: aten.gelu_backward approximate=tanh
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<0.636619746> : tensor<f32>
    %2 = stablehlo.sqrt %cst_0 : tensor<f32>
    %cst_1 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.power %arg1, %3 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.subtract %cst_2, %cst_3 : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %7 = stablehlo.power %arg1, %6 : tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4x16xf32>
    %cst_5 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %11 = stablehlo.multiply %10, %4 : tensor<4x16xf32>
    %12 = stablehlo.add %arg1, %11 : tensor<4x16xf32>
    %13 = stablehlo.convert %2 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %15 = stablehlo.multiply %14, %12 : tensor<4x16xf32>
    %16 = stablehlo.tanh %15 : tensor<4x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %18 = stablehlo.subtract %17, %16 : tensor<4x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %20 = stablehlo.add %19, %16 : tensor<4x16xf32>
    %21 = stablehlo.multiply %1, %arg0 : tensor<4x16xf32>
    %22 = stablehlo.multiply %arg0, %20 : tensor<4x16xf32>
    %23 = stablehlo.multiply %21, %18 : tensor<4x16xf32>
    %24 = stablehlo.multiply %23, %16 : tensor<4x16xf32>
    %25 = stablehlo.add %23, %24 : tensor<4x16xf32>
    %26 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %27 = stablehlo.multiply %26, %25 : tensor<4x16xf32>
    %cst_8 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<4x16xf32>
    %30 = stablehlo.multiply %29, %9 : tensor<4x16xf32>
    %31 = stablehlo.add %27, %30 : tensor<4x16xf32>
    %cst_9 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %33 = stablehlo.multiply %32, %22 : tensor<4x16xf32>
    %34 = stablehlo.add %31, %33 : tensor<4x16xf32>
    return %34 : tensor<4x16xf32>
  }
}
