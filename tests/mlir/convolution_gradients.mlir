// What differentiation makes of convolutions, on every instruction set, against the interpreter.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=baseline %s

func.func @main(
    %x0: tensor<3x5x7x9xf32>, %g0: tensor<3x13x7x9xf32>, %w0: tensor<13x5x3x3xf32>,
    %x1: tensor<2x20x11x10xf32>, %g1: tensor<2x14x6x5xf32>, %x2: tensor<2x6x9x9xf32>,
    %g2: tensor<2x9x9x9xf32>, %x3: tensor<2x4x18x17xbf16>, %g3: tensor<2x7x18x17xbf16>,
    %x4: tensor<2x3x41xf64>, %g4: tensor<2x4x41xf64>, %g5: tensor<2x6x5x4xf32>,
    %w5: tensor<6x5x1x1xf32>, %g6: tensor<2x20x6x7xf32>, %w6: tensor<20x9x3x3xf32>,
    %b6: tensor<2x9x12x14xf32>, %g7: tensor<1x4x5x6xf32>, %w7: tensor<4x3x4x5xf32>) -> (
    tensor<13x5x3x3xf32>, tensor<14x20x3x3xf32>, tensor<9x2x3x3xf32>, tensor<7x4x3x3xbf16>, tensor<4x3x3xf64>, tensor<2x5x10x8xf32>, tensor<2x9x12x14xf32>, tensor<1x3x16x20xf32>) {
  // Of a kernel, with what updates it: rows that end where the input's do, images that end within a vector.
  %d0 = stablehlo.convolution(%x0, %g0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x5x7x9xf32>, tensor<3x13x7x9xf32>) -> tensor<13x5x3x3xf32>
  %y0 = stablehlo.subtract %w0, %d0 : tensor<13x5x3x3xf32>
  // Of a strided kernel.
  %y1 = stablehlo.convolution(%x1, %g1) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x20x11x10xf32>, tensor<2x14x6x5xf32>) -> tensor<14x20x3x3xf32>
  // Groups.
  %y2 = stablehlo.convolution(%x2, %g2) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 3 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x9x9xf32>, tensor<2x9x9x9xf32>) -> tensor<9x2x3x3xf32>
  // Other types, one dimension.
  %y3 = stablehlo.convolution(%x3, %g3) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x18x17xbf16>, tensor<2x7x18x17xbf16>) -> tensor<7x4x3x3xbf16>
  %y4 = stablehlo.convolution(%x4, %g4) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x3x41xf64>, tensor<2x4x41xf64>) -> tensor<4x3x3xf64>
  // Of the input of a strided convolution: outputs that no element of the gradient meets, windows of several sizes, what follows it.
  %y5 = stablehlo.convolution(%g5, %w5) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x5x4xf32>, tensor<6x5x1x1xf32>) -> tensor<2x5x10x8xf32>
  %d6 = stablehlo.convolution(%g6, %w6) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x20x6x7xf32>, tensor<20x9x3x3xf32>) -> tensor<2x9x12x14xf32>
  %s6 = stablehlo.add %d6, %b6 : tensor<2x9x12x14xf32>
  %y6 = stablehlo.tanh %s6 : tensor<2x9x12x14xf32>
  // Window and input dilated by different strides.
  %y7 = stablehlo.convolution(%g7, %w7) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[4, 5], [3, 0]], lhs_dilate = [3, 4], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x4x5x6xf32>, tensor<4x3x4x5xf32>) -> tensor<1x3x16x20xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7 : tensor<13x5x3x3xf32>, tensor<14x20x3x3xf32>, tensor<9x2x3x3xf32>, tensor<7x4x3x3xbf16>, tensor<4x3x3xf64>, tensor<2x5x10x8xf32>, tensor<2x9x12x14xf32>, tensor<1x3x16x20xf32>
}
