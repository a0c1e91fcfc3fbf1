// Attention and its gradient are a kernel each, which reads its operands where they lie: nothing is transposed, and scores are never in memory.
// What the kernel does not do is decomposed.
// RUN: split-file %s %t
// RUN: cat %t/main.mlir %t/functions.mlir > %t/gradient.mlir
// RUN: cat %t/transposed.mlir %t/functions.mlir > %t/order.mlir
// RUN: sed '/_backward" /s/dropout_p = 0.0/dropout_p = 0.1/' %t/gradient.mlir > %t/dropout.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/gradient.mlir | FileCheck %s --check-prefixes=WHOLE,WIDE
// RUN: cresset-run --assembly --cpu=avx2 %t/gradient.mlir | FileCheck %s --check-prefixes=WHOLE,NARROW
// RUN: cresset-run --assembly --cpu=avx2 %t/dropout.mlir | FileCheck %s --check-prefix=DROPOUT
// RUN: cresset-run --assembly --cpu=avx2 %t/order.mlir | FileCheck %s --check-prefix=ORDER
// RUN: cresset-run --compare %t/order.mlir
// RUN: cresset-run --compare %t/gradient.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/gradient.mlir
// RUN: cresset-run --compare --cpu=wide %t/gradient.mlir
// RUN: cresset-run --compare --cpu=baseline %t/gradient.mlir

// WHOLE: # attention f32[1x4x20x16] f32[1x4x20x16] f32[1x4x20x16] f32[20x20] -> f32[1x4x20x16]: transpose
// WHOLE: # attention_gradient f32[1x4x20x16] f32[1x4x20x16] f32[1x4x20x16] f32[1x4x20x16] f32[1x4x20x16] f32[1x4x20] f32[20x20] -> f32[1x4x20x16]: transpose
// WIDE: vfmadd{{.*}}zmm
// NARROW: vfmadd{{.*}}ymm
// WHOLE-NOT: {{^}}#

// Results of both that are transposed are written so; the gradient reads the forward's as it lies, and what has other readers, too, is transposed for them.
// ORDER: # attention f32
// ORDER: # attention_gradient f32
// ORDER: # rows -> f32[1x20x4x16]: transpose
// ORDER-NOT: {{^}}#

// DROPOUT: # attention f32
// DROPOUT-NOT: attention_gradient
// DROPOUT-COUNT-5: # dot f32

//--- main.mlir
func.func @main(%g: tensor<1x20x4x16xf32>, %q: tensor<1x20x4x16xf32>, %k: tensor<1x20x4x16xf32>, %v: tensor<1x20x4x16xf32>, %mask: tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>) {
  %0 = stablehlo.transpose %g, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %1 = stablehlo.transpose %q, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %2 = stablehlo.transpose %k, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %3 = stablehlo.transpose %v, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %4:2 = stablehlo.composite "aten.scaled_dot_product_attention" %1, %2, %3, %mask {composite_attributes = {dropout_p = 0.0 : f64, is_causal = false}, decomposition = @aten.scaled_dot_product_attention.impl_0, version = 1 : i32} : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20xf32>)
  %5:3 = stablehlo.composite "aten.scaled_dot_product_attention_backward" %0, %1, %2, %3, %4#0, %4#1, %mask {composite_attributes = {dropout_p = 0.0 : f64, is_causal = false}, decomposition = @aten.scaled_dot_product_attention_backward.impl_0, version = 1 : i32} : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20xf32>, tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>)
  return %5#0, %5#1, %5#2 : tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>
}

//--- transposed.mlir
func.func @main(%g: tensor<1x20x4x16xf32>, %q: tensor<1x20x4x16xf32>, %k: tensor<1x20x4x16xf32>, %v: tensor<1x20x4x16xf32>, %mask: tensor<20x20xf32>) -> (tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x4x20x16xf32>) {
  %0 = stablehlo.transpose %g, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %1 = stablehlo.transpose %q, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %2 = stablehlo.transpose %k, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %3 = stablehlo.transpose %v, dims = [0, 2, 1, 3] : (tensor<1x20x4x16xf32>) -> tensor<1x4x20x16xf32>
  %4:2 = stablehlo.composite "aten.scaled_dot_product_attention" %1, %2, %3, %mask {composite_attributes = {dropout_p = 0.0 : f64, is_causal = false}, decomposition = @aten.scaled_dot_product_attention.impl_0, version = 1 : i32} : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20xf32>)
  %5:3 = stablehlo.composite "aten.scaled_dot_product_attention_backward" %0, %1, %2, %3, %4#0, %4#1, %mask {composite_attributes = {dropout_p = 0.0 : f64, is_causal = false}, decomposition = @aten.scaled_dot_product_attention_backward.impl_0, version = 1 : i32} : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20xf32>, tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>)
  %6 = stablehlo.transpose %4#0, dims = [0, 2, 1, 3] : (tensor<1x4x20x16xf32>) -> tensor<1x20x4x16xf32>
  %7 = stablehlo.transpose %5#0, dims = [0, 2, 1, 3] : (tensor<1x4x20x16xf32>) -> tensor<1x20x4x16xf32>
  %8 = stablehlo.transpose %5#1, dims = [0, 2, 1, 3] : (tensor<1x4x20x16xf32>) -> tensor<1x20x4x16xf32>
  %9 = stablehlo.transpose %5#2, dims = [0, 2, 1, 3] : (tensor<1x4x20x16xf32>) -> tensor<1x20x4x16xf32>
  return %6, %7, %8, %9, %5#2 : tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x20x4x16xf32>, tensor<1x4x20x16xf32>
}

//--- functions.mlir
func.func private @aten.scaled_dot_product_attention.impl_0(%arg0: tensor<1x4x20x16xf32>, %arg1: tensor<1x4x20x16xf32>, %arg2: tensor<1x4x20x16xf32>, %arg3: tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x20xf32>
  %1 = stablehlo.constant dense<2.500000e-01> : tensor<1x4x20x20xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1x4x20x20xf32>
  %3 = stablehlo.constant dense<0xFF800000> : tensor<1x4x20x20xf32>
  %4 = stablehlo.broadcast_in_dim %arg3, dims = [2, 3] : (tensor<20x20xf32>) -> tensor<1x4x20x20xf32>
  %5 = stablehlo.add %2, %4 : tensor<1x4x20x20xf32>
  %6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x20x20xf32>, tensor<f32>) -> tensor<1x4x20xf32>
  %8 = stablehlo.constant dense<-3.40282347E+38> : tensor<1x4x20xf32>
  %9 = stablehlo.maximum %7, %8 : tensor<1x4x20xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x4x20xf32>) -> tensor<1x4x20x20xf32>
  %11 = stablehlo.subtract %5, %10 : tensor<1x4x20x20xf32>
  %12 = stablehlo.exponential %11 : tensor<1x4x20x20xf32>
  %13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [3] : (tensor<1x4x20x20xf32>, tensor<f32>) -> tensor<1x4x20xf32>
  %15 = stablehlo.constant dense<1.000000e+00> : tensor<1x4x20xf32>
  %16 = stablehlo.constant dense<0.000000e+00> : tensor<1x4x20xf32>
  %17 = stablehlo.compare  EQ, %14, %16,  FLOAT : (tensor<1x4x20xf32>, tensor<1x4x20xf32>) -> tensor<1x4x20xi1>
  %18 = stablehlo.select %17, %15, %14 : tensor<1x4x20xi1>, tensor<1x4x20xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x4x20xf32>) -> tensor<1x4x20x20xf32>
  %20 = stablehlo.divide %12, %19 : tensor<1x4x20x20xf32>
  %21 = stablehlo.dot_general %20, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x4x20x20xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x16xf32>
  %22 = stablehlo.log %18 : tensor<1x4x20xf32>
  %23 = stablehlo.add %22, %9 : tensor<1x4x20xf32>
  return %21, %23 : tensor<1x4x20x16xf32>, tensor<1x4x20xf32>
}
func.func private @aten.scaled_dot_product_attention_backward.impl_0(%arg0: tensor<1x4x20x16xf32>, %arg1: tensor<1x4x20x16xf32>, %arg2: tensor<1x4x20x16xf32>, %arg3: tensor<1x4x20x16xf32>, %arg4: tensor<1x4x20x16xf32>, %arg5: tensor<1x4x20xf32>, %arg6: tensor<20x20xf32>) -> (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>) {
  %0 = stablehlo.dot_general %arg1, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x20xf32>
  %1 = stablehlo.constant dense<2.500000e-01> : tensor<1x4x20x20xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1x4x20x20xf32>
  %3 = stablehlo.constant dense<0xFF800000> : tensor<1x4x20x20xf32>
  %4 = stablehlo.broadcast_in_dim %arg6, dims = [2, 3] : (tensor<20x20xf32>) -> tensor<1x4x20x20xf32>
  %5 = stablehlo.add %2, %4 : tensor<1x4x20x20xf32>
  %6 = stablehlo.broadcast_in_dim %arg5, dims = [0, 1, 2] : (tensor<1x4x20xf32>) -> tensor<1x4x20x20xf32>
  %7 = stablehlo.subtract %5, %6 : tensor<1x4x20x20xf32>
  %8 = stablehlo.exponential %7 : tensor<1x4x20x20xf32>
  %9 = stablehlo.multiply %arg0, %arg4 : tensor<1x4x20x16xf32>
  %10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.add across dimensions = [3] : (tensor<1x4x20x16xf32>, tensor<f32>) -> tensor<1x4x20xf32>
  %12 = stablehlo.dot_general %arg0, %arg3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x20xf32>
  %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<1x4x20xf32>) -> tensor<1x4x20x20xf32>
  %14 = stablehlo.subtract %12, %13 : tensor<1x4x20x20xf32>
  %15 = stablehlo.multiply %8, %14 : tensor<1x4x20x20xf32>
  %16 = stablehlo.constant dense<2.500000e-01> : tensor<1x4x20x20xf32>
  %17 = stablehlo.multiply %15, %16 : tensor<1x4x20x20xf32>
  %18 = stablehlo.dot_general %17, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x4x20x20xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x16xf32>
  %19 = stablehlo.dot_general %17, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<1x4x20x20xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x16xf32>
  %20 = stablehlo.dot_general %8, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<1x4x20x20xf32>, tensor<1x4x20x16xf32>) -> tensor<1x4x20x16xf32>
  return %18, %19, %20 : tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>, tensor<1x4x20x16xf32>
}
