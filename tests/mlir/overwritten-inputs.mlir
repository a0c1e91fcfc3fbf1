// A result that is written where a donated input lies, by a kernel that reads this input for another result: it is read before. cresset-run donates, as the device does.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/product.mlir && cresset-run --compare --cpu=avx2 %t/product.mlir && cresset-run --compare --cpu=baseline %t/product.mlir
// RUN: cresset-run --assembly %t/product.mlir | FileCheck %t/product.mlir
// RUN: cresset-run --compare %t/rows.mlir && cresset-run --compare --cpu=avx2 %t/rows.mlir && cresset-run --compare --cpu=baseline %t/rows.mlir
// RUN: cresset-run --assembly %t/rows.mlir | FileCheck %t/rows.mlir
// RUN: cresset-run --compare %t/convolution.mlir && cresset-run --compare --cpu=avx2 %t/convolution.mlir

//--- product.mlir
// What an optimizer does that keeps the last gradient (MARS): the change of the gradient, and the gradient over the last one. One kernel, and no copy of either.
// CHECK: # dot f32[64x33] f32[64x17] -> f32[33x17]: subtract
// CHECK-NOT: {{^}}#
func.func @main(%a: tensor<64x33xf32>, %b: tensor<64x17xf32>, %last: tensor<33x17xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<33x17xf32>, tensor<33x17xf32>) {
  %gradient = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x33xf32>, tensor<64x17xf32>) -> tensor<33x17xf32>
  %change = stablehlo.subtract %gradient, %last : tensor<33x17xf32>
  return %gradient, %change : tensor<33x17xf32>, tensor<33x17xf32>
}

//--- rows.mlir
// One kernel for both.
// CHECK: # rows -> f32[13x37]: cosine, subtract
// CHECK-NOT: {{^}}#
func.func @main(%x: tensor<13x37xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<13x37xf32>) -> (tensor<13x37xf32>, tensor<13x37xf32>) {
  %now = stablehlo.cosine %y : tensor<13x37xf32>
  %change = stablehlo.subtract %now, %x : tensor<13x37xf32>
  return %now, %change : tensor<13x37xf32>, tensor<13x37xf32>
}

//--- convolution.mlir
func.func @main(%images: tensor<2x3x9x9xf32>, %kernel: tensor<4x3x3x3xf32>, %before: tensor<2x4x9x9xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2x4x9x9xf32>, tensor<2x4x9x9xf32>) {
  %now = stablehlo.convolution(%images, %kernel) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x9x9xf32>
  %change = stablehlo.subtract %now, %before : tensor<2x4x9x9xf32>
  return %now, %change : tensor<2x4x9x9xf32>, tensor<2x4x9x9xf32>
}
