// How panels of a convolution's input are packed: neighbours, vectors inside the image, at its borders and across its rows.
// RUN: split-file %s %t
// RUN: cresset-run --compare --tolerance=3e-5 %t/all.mlir
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %t/all.mlir
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %t/all.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --tolerance=3e-5 %t/all.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=3e-5 %t/all.mlir
// RUN: cresset-run --assembly --cpu=avx2 %t/pixels.mlir | FileCheck %s

//--- all.mlir
func.func @main(
    %x0: tensor<3x300x6x6xf32>, %w0: tensor<26x300x1x1xf32>,
    %x1: tensor<1x70x7x7xf32>, %w1: tensor<9x70x1x1xf32>,
    %x2: tensor<2x40x12x12xf32>, %w2: tensor<13x40x1x1xf32>,
    %x3: tensor<2x5x40x36xf32>, %w3: tensor<13x5x3x3xf32>,
    %x4: tensor<2x5x9x33xf32>, %w4: tensor<13x5x3x3xf32>,
    %x5: tensor<2x20x41x1xf32>, %w5: tensor<13x20x2x1xf32>,
    %x6: tensor<2x3x48x64xf32>, %w6: tensor<13x3x7x7xf32>,
    %x7: tensor<2x4x18x30xf32>, %w7: tensor<13x4x5x5xf32>,
    %x8: tensor<2x4x38x40xf32>, %w8: tensor<13x4x3x3xf32>,
    %x9: tensor<2x6x22x34xf32>, %w9: tensor<14x3x5x5xf32>,
    %x10: tensor<2x4x22x34xf64>, %w10: tensor<13x4x3x3xf64>,
    %x11: tensor<2x4x22x34xbf16>, %w11: tensor<13x4x3x3xbf16>,
    %x12: tensor<2x37x6x6xbf16>, %w12: tensor<13x37x1x1xbf16>,
    %s: tensor<26xf32>, %r: tensor<3x26x6x6xf32>) -> (
    tensor<3x26x6x6xf32>,
    tensor<1x9x7x7xf32>,
    tensor<2x13x6x6xf32>,
    tensor<2x13x20x18xf32>,
    tensor<2x13x7x16xf32>,
    tensor<2x13x20x1xf32>,
    tensor<2x13x24x32xf32>,
    tensor<2x13x18x30xf32>,
    tensor<2x13x18x19xf32>,
    tensor<2x14x22x17xf32>,
    tensor<2x13x11x17xf64>,
    tensor<2x13x11x17xbf16>,
    tensor<2x13x6x6xbf16>) {
  // 1 x 1: panels and vectors that end with an image and others, two blocks along K.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x300x6x6xf32>, tensor<26x300x1x1xf32>) -> tensor<3x26x6x6xf32>
  // 1 x 1, one image, whose end is a part of a vector.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x70x7x7xf32>, tensor<9x70x1x1xf32>) -> tensor<1x9x7x7xf32>
  // 1 x 1, strided.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x40x12x12xf32>, tensor<13x40x1x1xf32>) -> tensor<2x13x6x6xf32>
  // 3 x 3, strided: vectors inside, at borders, across rows.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x5x40x36xf32>, tensor<13x5x3x3xf32>) -> tensor<2x13x20x18xf32>
  // The same, of which rows are one element further apart than windows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x5x9x33xf32>, tensor<13x5x3x3xf32>) -> tensor<2x13x7x16xf32>
  // Windows of the size of a row move down by one: rows follow each other as windows do.
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x20x41x1xf32>, tensor<13x20x2x1xf32>) -> tensor<2x13x20x1xf32>
  // 7 x 7, strided, of three channels.
  %y6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[3, 3], [3, 3]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x3x48x64xf32>, tensor<13x3x7x7xf32>) -> tensor<2x13x24x32xf32>
  // 5 x 5.
  %y7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x18x30xf32>, tensor<13x4x5x5xf32>) -> tensor<2x13x18x30xf32>
  // Dilated, strided.
  %y8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x38x40xf32>, tensor<13x4x3x3xf32>) -> tensor<2x13x18x19xf32>
  // Groups.
  %y9 = stablehlo.convolution(%x9, %w9) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 2], pad = [[2, 2], [2, 2]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x6x22x34xf32>, tensor<14x3x5x5xf32>) -> tensor<2x14x22x17xf32>
  // f64.
  %y10 = stablehlo.convolution(%x10, %w10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x22x34xf64>, tensor<13x4x3x3xf64>) -> tensor<2x13x11x17xf64>
  // bf16.
  %y11 = stablehlo.convolution(%x11, %w11) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x22x34xbf16>, tensor<13x4x3x3xbf16>) -> tensor<2x13x11x17xbf16>
  // bf16, 1 x 1.
  %y12 = stablehlo.convolution(%x12, %w12) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x37x6x6xbf16>, tensor<13x37x1x1xbf16>) -> tensor<2x13x6x6xbf16>
  // What follows reads another array, which is asked for.
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<26xf32>) -> tensor<3x26x6x6xf32>
  %p = stablehlo.multiply %y0, %sb : tensor<3x26x6x6xf32>
  %q = stablehlo.add %p, %r : tensor<3x26x6x6xf32>
  return %q, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12 : tensor<3x26x6x6xf32>, tensor<1x9x7x7xf32>, tensor<2x13x6x6xf32>, tensor<2x13x20x18xf32>, tensor<2x13x7x16xf32>, tensor<2x13x20x1xf32>, tensor<2x13x24x32xf32>, tensor<2x13x18x30xf32>, tensor<2x13x18x19xf32>, tensor<2x14x22x17xf32>, tensor<2x13x11x17xf64>, tensor<2x13x11x17xbf16>, tensor<2x13x6x6xbf16>
}

// Images of whole panels: nothing is gathered, and the next panel is asked for, and what is added.
// CHECK-NOT: vinsertps
// CHECK: prefetcht0
// CHECK: prefetcht0
// CHECK: vfmadd231ps
// CHECK-NOT: vinsertps
// CHECK: vaddps

//--- pixels.mlir
func.func @main(%x: tensor<2x64x16x16xf32>, %w: tensor<48x64x1x1xf32>, %r: tensor<2x48x16x16xf32>) -> tensor<2x48x16x16xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x64x16x16xf32>, tensor<48x64x1x1xf32>) -> tensor<2x48x16x16xf32>
  %z = stablehlo.add %y, %r : tensor<2x48x16x16xf32>
  return %z : tensor<2x48x16x16xf32>
}
