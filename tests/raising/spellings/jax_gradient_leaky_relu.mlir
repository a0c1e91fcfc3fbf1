// EXPECT: aten.leaky_relu_backward negative_slope=0.01 self_is_result=0
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %0 = call @leaky_relu(%arg1) : (tensor<4x16xf32>) -> tensor<4x16xi1>
    %1 = call @leaky_relu_0(%0, %arg0) : (tensor<4x16xi1>, tensor<4x16xf32>) -> tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @leaky_relu(%arg0: tensor<4x16xf32>) -> tensor<4x16xi1> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.compare GE, %arg0, %0, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    return %1 : tensor<4x16xi1>
  }
  func.func private @leaky_relu_0(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0:2 = call @_where(%arg0, %arg1) : (tensor<4x16xi1>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
    %cst = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %2 = stablehlo.multiply %1, %0#1 : tensor<4x16xf32>
    %3 = stablehlo.add %0#0, %2 : tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
  func.func private @_where(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<4x16xi1>, tensor<4x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %0 : tensor<4x16xi1>, tensor<4x16xf32>
    return %2, %1 : tensor<4x16xf32>, tensor<4x16xf32>
  }
}
