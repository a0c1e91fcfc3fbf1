// What a slice cuts off a convolution's result isn't computed, also behind element-wise operations; against the interpreter.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x24x64xf32>, %w: tensor<40x24x1x3xf32>, %b: tensor<40xf32>, %y: tensor<1x16x20x22xf32>, %v: tensor<32x16x3x3xf32>, %r: tensor<1x32x10x11xf32>, %u: tensor<16x8x4x4xf32>)
    -> (tensor<2x40x64xf32>, tensor<1x32x7x6xf32>, tensor<1x8x35x41xf32>, tensor<1x20x20x22xf32>, tensor<1x32x20x22xf32>, tensor<1x32x9x22xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // A causal one, of one dimension, with a bias: padded on both sides by twice its dilation, cut on one.
  // CHECK: stablehlo.convolution{{.*}}pad = {{\[\[}}0, 0], [4, 0]]{{.*}}rhs_dilate = [1, 2]{{.*}}-> tensor<2x40x1x64xf32>
  %x0 = stablehlo.reshape %x : (tensor<2x24x64xf32>) -> tensor<2x24x1x64xf32>
  %c0 = stablehlo.convolution(%x0, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [4, 4]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x24x1x64xf32>, tensor<40x24x1x3xf32>) -> tensor<2x40x1x68xf32>
  %b0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<40xf32>) -> tensor<2x40x1x68xf32>
  %a0 = stablehlo.add %c0, %b0 : tensor<2x40x1x68xf32>
  %f0 = stablehlo.reshape %a0 : (tensor<2x40x1x68xf32>) -> tensor<2x40x68x1xf32>
  %s0 = stablehlo.slice %f0 [0:2, 0:40, 0:64, 0:1] : (tensor<2x40x68x1xf32>) -> tensor<2x40x64x1xf32>
  %r0 = stablehlo.reshape %s0 : (tensor<2x40x64x1xf32>) -> tensor<2x40x64xf32>
  %z0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x40x64xf32>
  %m0 = stablehlo.maximum %r0, %z0 : tensor<2x40x64xf32>
  // Steps of two, cut on all sides, and what is added to it.
  // CHECK: stablehlo.convolution{{.*}}stride = [2, 2], pad = {{\[\[}}-3, -2], [-7, -2]]{{.*}}-> tensor<1x32x7x6xf32>
  %c1 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x16x20x22xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x10x11xf32>
  %a1 = stablehlo.add %c1, %r : tensor<1x32x10x11xf32>
  %s1 = stablehlo.slice %a1 [0:1, 0:32, 2:9, 4:10] : (tensor<1x32x10x11xf32>) -> tensor<1x32x7x6xf32>
  // A transposed one, whose phases are features: of the 20 x 22 positions of each, so many are computed as have an output that is wanted.
  // CHECK: stablehlo.convolution{{.*}}pad = {{\[\[}}0, -1], [-1, 1]]{{.*}}-> tensor<1x32x18x21xf32>
  // CHECK: stablehlo.slice{{.*}}-> tensor<1x8x35x41xf32>
  %c2 = stablehlo.convolution(%y, %u) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x16x20x22xf32>, tensor<16x8x4x4xf32>) -> tensor<1x8x40x44xf32>
  %s2 = stablehlo.slice %c2 [0:1, 0:8, 2:37, 3:44] : (tensor<1x8x40x44xf32>) -> tensor<1x8x35x41xf32>
  // Features are not cut off; what others see is computed whole.
  // CHECK: stablehlo.convolution{{.*}}-> tensor<1x32x20x22xf32>
  // CHECK: stablehlo.slice{{.*}}-> tensor<1x20x20x22xf32>
  %c3 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x16x20x22xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x20x22xf32>
  %e3 = stablehlo.tanh %c3 : tensor<1x32x20x22xf32>
  %s3 = stablehlo.slice %e3 [0:1, 0:20, 0:20, 0:22] : (tensor<1x32x20x22xf32>) -> tensor<1x20x20x22xf32>
  // CHECK: stablehlo.convolution{{.*}}-> tensor<1x32x20x22xf32>
  // CHECK: stablehlo.slice{{.*}}-> tensor<1x32x9x22xf32>
  %c4 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x16x20x22xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x20x22xf32>
  %s4 = stablehlo.slice %c4 [0:1, 0:32, 3:12, 0:22] : (tensor<1x32x20x22xf32>) -> tensor<1x32x9x22xf32>
  return %m0, %s1, %s2, %s3, %c4, %s4 : tensor<2x40x64xf32>, tensor<1x32x7x6xf32>, tensor<1x8x35x41xf32>, tensor<1x20x20x22xf32>, tensor<1x32x20x22xf32>, tensor<1x32x9x22xf32>
}
