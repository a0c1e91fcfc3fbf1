// RUN: cresset-opt --raise-composites %s | FileCheck %s
// Products that are composites are part of what is raised, and composites again where they are left.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.composite "aten.scaled_dot_product_attention"
// CHECK: stablehlo.composite "aten.mm"
// CHECK-NOT: cresset.product
// CHECK: return
// CHECK: func.func private @aten.scaled_dot_product_attention
// CHECK: stablehlo.composite "aten.bmm"
func.func @main(%q: tensor<6x5x8xf32>, %k: tensor<6x8x5xf32>, %v: tensor<6x5x8xf32>, %x: tensor<5x8xf32>, %w: tensor<8x3xf32>) -> (tensor<5x3xf32>, tensor<6x5x8xf32>) {
  %0 = stablehlo.composite "aten.mm" %x, %w {decomposition = @mm} : (tensor<5x8xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.composite "aten.bmm" %q, %k {decomposition = @scores} : (tensor<6x5x8xf32>, tensor<6x8x5xf32>) -> tensor<6x5x5xf32>
  %2 = stablehlo.composite "aten.softmax" %1 {composite_attributes = {dim = 2 : i64}, decomposition = @softmax} : (tensor<6x5x5xf32>) -> tensor<6x5x5xf32>
  %3 = stablehlo.composite "aten.bmm" %2, %v {decomposition = @weighted} : (tensor<6x5x5xf32>, tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %0, %3 : tensor<5x3xf32>, tensor<6x5x8xf32>
}
func.func private @mm(%x: tensor<5x8xf32>, %w: tensor<8x3xf32>) -> tensor<5x3xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x8xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
func.func private @scores(%x: tensor<6x5x8xf32>, %w: tensor<6x8x5xf32>) -> tensor<6x5x5xf32> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x8xf32>, tensor<6x8x5xf32>) -> tensor<6x5x5xf32>
  return %0 : tensor<6x5x5xf32>
}
func.func private @weighted(%x: tensor<6x5x5xf32>, %w: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x5xf32>, tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %0 : tensor<6x5x8xf32>
}
func.func private @softmax(%x: tensor<6x5x5xf32>) -> tensor<6x5x5xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<6x5x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<6x5xf32>) -> tensor<6x5x5xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<6x5x5xf32>
  %3 = stablehlo.exponential %2 : tensor<6x5x5xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<6x5x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<6x5xf32>) -> tensor<6x5x5xf32>
  %6 = stablehlo.divide %3, %5 : tensor<6x5x5xf32>
  return %6 : tensor<6x5x5xf32>
}
