// Random bits are emitted where they are asked for, and attention draws its own: neither is decomposed, and nothing but results goes to memory.
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: cresset-run --assembly --cpu=baseline %s | FileCheck %s

// CHECK: # rows -> f32[4x64]: cresset.random_bits, compare, select
// WIDE: vpmuludq{{.*}}zmm
// NARROW: vpmuludq{{.*}}ymm
// CHECK: # attention f32[1x2x9x8] f32[1x2x9x8] f32[1x2x9x8] i64[] i64[] -> f32[1x2x9x8]
// CHECK: pmuludq
// CHECK: # attention_gradient f32[1x2x9x8] f32[1x2x9x8] f32[1x2x9x8] f32[1x2x9x8] f32[9x9] f32[1x2x9x8] f32[1x2x9] i64[] i64[] -> f32[1x2x9x8]
// CHECK: pmuludq
// CHECK-NOT: {{^}}#

func.func @main(%x: tensor<4x64xf32>, %q: tensor<1x2x9x8xf32>, %mask: tensor<9x9xf32>, %seed: tensor<i64>, %offset: tensor<i64>) -> (tensor<4x64xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) {
  %bits = stablehlo.composite "cresset.random_bits" %seed, %offset {composite_attributes = {spacing = 8 : i64}, decomposition = @bits, version = 1 : i32} : (tensor<i64>, tensor<i64>) -> tensor<4x64xui32>
  %limit = stablehlo.constant dense<429496730> : tensor<4x64xui32>
  %zero = stablehlo.constant dense<0.0> : tensor<4x64xf32>
  %kept = stablehlo.compare GE, %bits, %limit, UNSIGNED : (tensor<4x64xui32>, tensor<4x64xui32>) -> tensor<4x64xi1>
  %dropped = stablehlo.select %kept, %x, %zero : tensor<4x64xi1>, tensor<4x64xf32>
  %out, %sums = stablehlo.composite "aten.scaled_dot_product_attention" %q, %q, %q, %seed, %offset {composite_attributes = {dropout_p = 0.1 : f64, is_causal = false}, decomposition = @attention, version = 1 : i32} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  %gradients:3 = stablehlo.composite "aten.scaled_dot_product_attention_backward" %q, %q, %q, %q, %mask, %out, %sums, %seed, %offset {composite_attributes = {dropout_p = 0.1 : f64, is_causal = false}, decomposition = @gradient, version = 1 : i32} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<9x9xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  return %dropped, %gradients#0, %gradients#1, %gradients#2 : tensor<4x64xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>
}
func.func private @bits(%seed: tensor<i64>, %offset: tensor<i64>) -> tensor<4x64xui32> {
  %0 = stablehlo.constant dense<0> : tensor<4x64xui32>
  return %0 : tensor<4x64xui32>
}
func.func private @attention(%q: tensor<1x2x9x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %seed: tensor<i64>, %offset: tensor<i64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<1x2x9xf32>
  return %q, %0 : tensor<1x2x9x8xf32>, tensor<1x2x9xf32>
}
func.func private @gradient(%g: tensor<1x2x9x8xf32>, %q: tensor<1x2x9x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %mask: tensor<9x9xf32>, %out: tensor<1x2x9x8xf32>, %sums: tensor<1x2x9xf32>, %seed: tensor<i64>, %offset: tensor<i64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) {
  return %q, %k, %v : tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>
}
