// RUN: cresset-opt --raise-composites %s | FileCheck %s
// A position bias that is itself a product becomes attention's mask. How it is computed is never looked into: its sums of 16 million terms are more than is ever evaluated.

// CHECK-LABEL: func.func @main
// CHECK: %[[BIAS:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0]
// CHECK: stablehlo.composite "aten.scaled_dot_product_attention" %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} {composite_attributes = {dropout_p
// CHECK-NOT: stablehlo.exponential
// CHECK: return
func.func @main(%q: tensor<6x5x8xf32>, %k: tensor<6x5x8xf32>, %v: tensor<6x5x8xf32>, %a: tensor<6x5x16777216xf32>, %b: tensor<6x5x16777216xf32>) -> tensor<6x5x8xf32> {
  %scale = stablehlo.constant dense<0.353553385> : tensor<6x5x5xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %product = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<6x5x8xf32>, tensor<6x5x8xf32>) -> tensor<6x5x5xf32>
  %c = stablehlo.negate %a : tensor<6x5x16777216xf32>
  %bias = stablehlo.dot_general %c, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<6x5x16777216xf32>, tensor<6x5x16777216xf32>) -> tensor<6x5x5xf32>
  %scaled = stablehlo.multiply %product, %scale : tensor<6x5x5xf32>
  %scores = stablehlo.add %scaled, %bias : tensor<6x5x5xf32>
  %0 = stablehlo.reduce(%scores init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<6x5x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<6x5xf32>) -> tensor<6x5x5xf32>
  %2 = stablehlo.subtract %scores, %1 : tensor<6x5x5xf32>
  %3 = stablehlo.exponential %2 : tensor<6x5x5xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<6x5x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<6x5xf32>) -> tensor<6x5x5xf32>
  %weights = stablehlo.divide %3, %5 : tensor<6x5x5xf32>
  %6 = stablehlo.dot_general %weights, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x5xf32>, tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %6 : tensor<6x5x8xf32>
}
