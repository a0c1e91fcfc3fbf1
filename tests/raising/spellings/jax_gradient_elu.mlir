// EXPECT: aten.elu_backward input_scale=1 scale=1 alpha=1 is_result=0
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %0:3 = call @elu(%arg1) : (tensor<4x16xf32>) -> (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xi1>)
    %1 = call @elu_0(%0#0, %0#1, %0#2, %arg0) : (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xi1>, tensor<4x16xf32>) -> tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @elu(%arg0: tensor<4x16xf32>) -> (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xi1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.compare GT, %arg0, %2, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = call @_where(%3, %cst_1, %arg0) : (tensor<4x16xi1>, tensor<f32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<4x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %7 = stablehlo.add %5, %6 : tensor<4x16xf32>
    return %3, %7, %1 : tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xi1>
  }
  func.func private @_where(%arg0: tensor<4x16xi1>, %arg1: tensor<f32>, %arg2: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<4x16xi1>, tensor<4x16xf32>
    return %2 : tensor<4x16xf32>
  }
  func.func private @elu_0(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>, %arg2: tensor<4x16xi1>, %arg3: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0:2 = call @_where_1(%arg2, %arg3) : (tensor<4x16xi1>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.multiply %1, %0#1 : tensor<4x16xf32>
    %3 = stablehlo.multiply %2, %arg1 : tensor<4x16xf32>
    %4 = call @_where_2(%arg0, %3) : (tensor<4x16xi1>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %5 = stablehlo.add %0#0, %4 : tensor<4x16xf32>
    return %5 : tensor<4x16xf32>
  }
  func.func private @_where_1(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<4x16xi1>, tensor<4x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %0 : tensor<4x16xi1>, tensor<4x16xf32>
    return %2, %1 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  func.func private @_where_2(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<4x16xi1>, tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
}
