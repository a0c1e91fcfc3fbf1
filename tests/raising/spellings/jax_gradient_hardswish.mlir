// EXPECT: aten.hardswish_backward
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}) {
    %0:2 = call @hard_silu(%arg1) : (tensor<4x16xf32>) -> (tensor<4x16xi1>, tensor<4x16xf32>)
    %1 = call @hard_silu_0(%0#0, %0#1, %arg1, %arg0) : (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @hard_silu(%arg0: tensor<4x16xf32>) -> (tensor<4x16xi1>, tensor<4x16xf32>) {
    %0:2 = call @hard_sigmoid(%arg0) : (tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xi1>)
    return %0#1, %0#0 : tensor<4x16xi1>, tensor<4x16xf32>
  }
  func.func private @hard_sigmoid(%arg0: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xi1>) {
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x16xf32>
    %2 = call @relu6(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %4 = stablehlo.compare GT, %1, %3, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %cst_1 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %6 = stablehlo.compare LT, %1, %5, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %7 = stablehlo.and %4, %6 : tensor<4x16xi1>
    %cst_2 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %9 = stablehlo.divide %2, %8 : tensor<4x16xf32>
    return %9, %7 : tensor<4x16xf32>, tensor<4x16xi1>
  }
  func.func private @relu6(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.minimum %1, %2 : tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
  func.func private @hard_silu_0(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>, %arg2: tensor<4x16xf32>, %arg3: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<4x16xf32>
    %1 = stablehlo.multiply %arg3, %arg1 : tensor<4x16xf32>
    %2 = call @hard_sigmoid_1(%arg0, %0) : (tensor<4x16xi1>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.add %1, %2 : tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
  func.func private @hard_sigmoid_1(%arg0: tensor<4x16xi1>, %arg1: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.divide %arg1, %0 : tensor<4x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.select %arg0, %1, %2 : tensor<4x16xi1>, tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
}
