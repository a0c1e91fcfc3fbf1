// EXPECT: aten.gelu_backward approximate=none
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.subtract %arg1, %0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.divide %1, %2 : tensor<4x16xf32>
    %cst_1 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %5 = stablehlo.multiply %3, %4 : tensor<4x16xf32>
    %6 = stablehlo.abs %5 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %8 = stablehlo.compare GE, %5, %7, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %cst_3 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %10 = stablehlo.compare LT, %6, %9, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %11 = chlo.erf %5 : tensor<4x16xf32> -> tensor<4x16xf32>
    %12 = chlo.square %5 : tensor<4x16xf32> -> tensor<4x16xf32>
    %13 = stablehlo.negate %12 : tensor<4x16xf32>
    %14 = stablehlo.exponential %13 : tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %16 = stablehlo.add %15, %11 : tensor<4x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %18 = stablehlo.compare GT, %5, %17, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %19 = chlo.erfc %6 : tensor<4x16xf32> -> tensor<4x16xf32>
    %20 = chlo.square %6 : tensor<4x16xf32> -> tensor<4x16xf32>
    %21 = stablehlo.negate %20 : tensor<4x16xf32>
    %22 = stablehlo.exponential %21 : tensor<4x16xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %24 = stablehlo.subtract %23, %19 : tensor<4x16xf32>
    %25 = chlo.erfc %6 : tensor<4x16xf32> -> tensor<4x16xf32>
    %26 = chlo.square %6 : tensor<4x16xf32> -> tensor<4x16xf32>
    %27 = stablehlo.negate %26 : tensor<4x16xf32>
    %28 = stablehlo.exponential %27 : tensor<4x16xf32>
    %29 = stablehlo.select %18, %24, %25 : tensor<4x16xi1>, tensor<4x16xf32>
    %30 = stablehlo.select %10, %16, %29 : tensor<4x16xi1>, tensor<4x16xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %32 = stablehlo.multiply %31, %30 : tensor<4x16xf32>
    %33 = stablehlo.multiply %arg1, %arg0 : tensor<4x16xf32>
    %34 = stablehlo.multiply %arg0, %32 : tensor<4x16xf32>
    %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %36 = stablehlo.multiply %35, %33 : tensor<4x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %38 = stablehlo.select %10, %37, %36 : tensor<4x16xi1>, tensor<4x16xf32>
    %39 = stablehlo.select %10, %36, %37 : tensor<4x16xi1>, tensor<4x16xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %41 = stablehlo.select %18, %40, %38 : tensor<4x16xi1>, tensor<4x16xf32>
    %42 = stablehlo.select %18, %38, %40 : tensor<4x16xi1>, tensor<4x16xf32>
    %cst_11 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %44 = stablehlo.multiply %43, %41 : tensor<4x16xf32>
    %45 = stablehlo.multiply %44, %28 : tensor<4x16xf32>
    %46 = stablehlo.negate %42 : tensor<4x16xf32>
    %cst_12 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %48 = stablehlo.multiply %47, %46 : tensor<4x16xf32>
    %49 = stablehlo.multiply %48, %22 : tensor<4x16xf32>
    %50 = stablehlo.add %45, %49 : tensor<4x16xf32>
    %cst_13 = stablehlo.constant dense<1.12837923> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %52 = stablehlo.multiply %51, %39 : tensor<4x16xf32>
    %53 = stablehlo.multiply %52, %14 : tensor<4x16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %55 = stablehlo.select %8, %54, %50 : tensor<4x16xi1>, tensor<4x16xf32>
    %56 = stablehlo.select %8, %50, %54 : tensor<4x16xi1>, tensor<4x16xf32>
    %57 = stablehlo.add %53, %56 : tensor<4x16xf32>
    %58 = stablehlo.negate %55 : tensor<4x16xf32>
    %59 = stablehlo.add %57, %58 : tensor<4x16xf32>
    %cst_15 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %61 = stablehlo.multiply %59, %60 : tensor<4x16xf32>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %63 = stablehlo.divide %61, %62 : tensor<4x16xf32>
    %64 = stablehlo.add %34, %63 : tensor<4x16xf32>
    return %64 : tensor<4x16xf32>
  }
}
