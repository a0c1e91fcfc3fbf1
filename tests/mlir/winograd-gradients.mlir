// Gradients of 3 x 3 kernels after Winograd against the interpreter: of f32s by tiles of 2 x 2, of bf16 and f16, summed in f32, by 4 x 4. Of results up to 150 these round by 4e-7 and 3e-6; sums one by one by 2e-7.
// RUN: split-file %s %t
// RUN: cresset-run --compare --tolerance=8e-5 --cpu=avx2 %t/f32.mlir
// RUN: cresset-run --compare --tolerance=8e-5 --cpu=wide %t/f32.mlir
// RUN: cresset-run --compare --tolerance=8e-5 %t/f32.mlir
// RUN: cresset-run --compare --tolerance=5e-4 %t/bf16.mlir
// RUN: cresset-run --compare --tolerance=5e-4 %t/f16.mlir
// RUN: cresset-run --assembly --cpu=avx2 %t/f32.mlir | FileCheck %s

// The gradient's tiles are halved: nothing else multiplies without adding.
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps
// CHECK: # convolution
// CHECK: vmulps

//--- f32.mlir
func.func @main(
    %x0: tensor<2x70x13x15xf32>, %g0: tensor<2x44x13x15xf32>,
    %x1: tensor<3x32x18x34xf32>, %g1: tensor<3x32x16x32xf32>,
    %x2: tensor<2x64x20x19xf32>, %g2: tensor<2x64x20x19xf32>,
    %x3: tensor<24x48x7x9xf32>, %g3: tensor<24x40x7x9xf32>,
    %x4: tensor<2x32x7x13x16xf32>, %g4: tensor<2x24x4x13x16xf32>,
    %w0: tensor<44x70x3x3xf32>) -> (
    tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>) {
  // Odd rows and columns, features beyond the blocks, channels beyond vectors; what updates the kernel.
  %y0 = stablehlo.convolution(%x0, %g0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x70x13x15xf32>, tensor<2x44x13x15xf32>) -> tensor<44x70x3x3xf32>
  %z0 = stablehlo.subtract %w0, %y0 : tensor<44x70x3x3xf32>
  // Rows of whole vectors; windows that see no padding.
  %y1 = stablehlo.convolution(%x1, %g1) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x32x18x34xf32>, tensor<3x32x16x32xf32>) -> tensor<32x32x3x3xf32>
  // Groups; padding of more than the window, and padding that crops.
  %y2 = stablehlo.convolution(%x2, %g2) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [2, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x20x19xf32>, tensor<2x64x20x19xf32>) -> tensor<64x32x3x3xf32>
  // Many small images.
  %y3 = stablehlo.convolution(%x3, %g3) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<24x48x7x9xf32>, tensor<24x40x7x9xf32>) -> tensor<40x48x3x3xf32>
  // Three dimensions, of which planes move by two.
  %y4 = stablehlo.convolution(%x4, %g4) dim_numbers = [f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[f, b, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [2, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x32x7x13x16xf32>, tensor<2x24x4x13x16xf32>) -> tensor<24x32x3x3x3xf32>
  return %z0, %y1, %y2, %y3, %y4 : tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>
}

//--- bf16.mlir
func.func @main(
    %x0: tensor<2x70x13x15xbf16>, %g0: tensor<2x44x13x15xbf16>,
    %x1: tensor<3x32x18x34xbf16>, %g1: tensor<3x32x16x32xbf16>,
    %x2: tensor<2x64x20x19xbf16>, %g2: tensor<2x64x20x19xbf16>,
    %x3: tensor<24x48x7x9xbf16>, %g3: tensor<24x40x7x9xbf16>,
    %x4: tensor<2x32x7x13x16xbf16>, %g4: tensor<2x24x4x13x16xbf16>,
    %w0: tensor<44x70x3x3xf32>) -> (
    tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>) {
  // Odd rows and columns, features beyond the blocks, channels beyond vectors; what updates the kernel.
  %y0 = stablehlo.convolution(%x0, %g0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x70x13x15xbf16>, tensor<2x44x13x15xbf16>) -> tensor<44x70x3x3xf32>
  %z0 = stablehlo.subtract %w0, %y0 : tensor<44x70x3x3xf32>
  // Rows of whole vectors; windows that see no padding.
  %y1 = stablehlo.convolution(%x1, %g1) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x32x18x34xbf16>, tensor<3x32x16x32xbf16>) -> tensor<32x32x3x3xf32>
  // Groups; padding of more than the window, and padding that crops.
  %y2 = stablehlo.convolution(%x2, %g2) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [2, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x20x19xbf16>, tensor<2x64x20x19xbf16>) -> tensor<64x32x3x3xf32>
  // Many small images.
  %y3 = stablehlo.convolution(%x3, %g3) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<24x48x7x9xbf16>, tensor<24x40x7x9xbf16>) -> tensor<40x48x3x3xf32>
  // Three dimensions, of which planes move by two.
  %y4 = stablehlo.convolution(%x4, %g4) dim_numbers = [f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[f, b, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [2, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x32x7x13x16xbf16>, tensor<2x24x4x13x16xbf16>) -> tensor<24x32x3x3x3xf32>
  return %z0, %y1, %y2, %y3, %y4 : tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>
}

//--- f16.mlir
func.func @main(
    %x0: tensor<2x70x13x15xf16>, %g0: tensor<2x44x13x15xf16>,
    %x1: tensor<3x32x18x34xf16>, %g1: tensor<3x32x16x32xf16>,
    %x2: tensor<2x64x20x19xf16>, %g2: tensor<2x64x20x19xf16>,
    %x3: tensor<24x48x7x9xf16>, %g3: tensor<24x40x7x9xf16>,
    %x4: tensor<2x32x7x13x16xf16>, %g4: tensor<2x24x4x13x16xf16>,
    %w0: tensor<44x70x3x3xf32>) -> (
    tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>) {
  // Odd rows and columns, features beyond the blocks, channels beyond vectors; what updates the kernel.
  %y0 = stablehlo.convolution(%x0, %g0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x70x13x15xf16>, tensor<2x44x13x15xf16>) -> tensor<44x70x3x3xf32>
  %z0 = stablehlo.subtract %w0, %y0 : tensor<44x70x3x3xf32>
  // Rows of whole vectors; windows that see no padding.
  %y1 = stablehlo.convolution(%x1, %g1) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x32x18x34xf16>, tensor<3x32x16x32xf16>) -> tensor<32x32x3x3xf32>
  // Groups; padding of more than the window, and padding that crops.
  %y2 = stablehlo.convolution(%x2, %g2) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[3, -1], [2, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x20x19xf16>, tensor<2x64x20x19xf16>) -> tensor<64x32x3x3xf32>
  // Many small images.
  %y3 = stablehlo.convolution(%x3, %g3) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<24x48x7x9xf16>, tensor<24x40x7x9xf16>) -> tensor<40x48x3x3xf32>
  // Three dimensions, of which planes move by two.
  %y4 = stablehlo.convolution(%x4, %g4) dim_numbers = [f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[f, b, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [2, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x32x7x13x16xf16>, tensor<2x24x4x13x16xf16>) -> tensor<24x32x3x3x3xf32>
  return %z0, %y1, %y2, %y3, %y4 : tensor<44x70x3x3xf32>, tensor<32x32x3x3xf32>, tensor<64x32x3x3xf32>, tensor<40x48x3x3xf32>, tensor<24x32x3x3x3xf32>
}
