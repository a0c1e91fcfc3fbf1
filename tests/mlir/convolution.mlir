// Convolutions of every kind on every instruction set, against the interpreter.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=baseline %s

func.func @main(
    %x0: tensor<3x7x7x7xf32>, %w0: tensor<13x7x3x3xf32>,
    %x1: tensor<1x70x9x11xf32>, %w1: tensor<5x70x3x3xf32>,
    %x2: tensor<9x20x2x2xf32>, %w2: tensor<10x20x3x3xf32>,
    %x3: tensor<2x6x17x15xf32>, %w3: tensor<8x6x3x2xf32>,
    %x4: tensor<2x3x12x10xf32>, %w4: tensor<4x3x3x3xf32>,
    %x5: tensor<2x6x5x4xf32>, %w5: tensor<6x5x3x3xf32>,
    %x6: tensor<3x2x24x24xf64>, %w6: tensor<3x4x23x23xf64>,
    %x7: tensor<2x12x8x9xf32>, %w7: tensor<18x4x3x3xf32>,
    %x8: tensor<6x4x6x5xf32>, %w8: tensor<9x4x3x3xf32>,
    %x9: tensor<2x9x8x5xf32>, %w9: tensor<3x3x5x7xf32>,
    %x10: tensor<2x5x37xf32>, %w10: tensor<6x5x4xf32>,
    %x11: tensor<1x3x6x5x7xf32>, %w11: tensor<4x3x3x2x3xf32>,
    %x12: tensor<2x5x7x9xf64>, %w12: tensor<7x5x3x3xf64>,
    %x13: tensor<2x40x7x9xbf16>, %w13: tensor<7x40x3x3xbf16>,
    %x14: tensor<1x5x8x8xf16>, %w14: tensor<7x5x3x3xf16>,
    %x15: tensor<1x5x8x9xi32>, %w15: tensor<7x5x3x3xi32>,
    %x16: tensor<2x5x7x7xf32>, %w16: tensor<5x1x3x3xf32>,
    %x17: tensor<1x3x14x29xf32>, %w17: tensor<3x1x5x7xf32>,
    %x18: tensor<2x4x17x19xf32>, %w18: tensor<4x1x3x3xf32>,
    %x19: tensor<1x3x11x13xf32>, %w19: tensor<3x1x3x5xf32>,
    %x20: tensor<2x3x9x10xf32>, %w20: tensor<6x1x3x3xf32>,
    %x21: tensor<1x3x5x6xf32>, %w21: tensor<3x1x3x3xf32>,
    %x22: tensor<1x2x210x300xf32>, %w22: tensor<2x1x3x3xf32>,
    %x23: tensor<2x3x40xf32>, %w23: tensor<3x1x4xf32>,
    %x24: tensor<1x3x5x6x7xf32>, %w24: tensor<3x1x3x3x3xf32>,
    %x25: tensor<1x3x9x11xbf16>, %w25: tensor<3x1x3x3xbf16>,
    %x26: tensor<1x3x9x11xf64>, %w26: tensor<3x1x3x3xf64>,
    %x27: tensor<3x20x7x7xf32>, %w27: tensor<13x20x1x1xf32>,
    %x28: tensor<2x20x9x8xf32>, %w28: tensor<13x20x1x1xf32>,
    %x29: tensor<2x6x5x8xf32>, %w29: tensor<7x6x1x1xf32>,
    %x30: tensor<5x8x1x3xbf16>, %w30: tensor<6x4x1x1xbf16>) -> (
    tensor<3x13x7x7xf32>, tensor<1x5x9x11xf32>, tensor<9x10x2x2xf32>, tensor<2x8x8x6xf32>, tensor<2x4x7x9xf32>, tensor<2x5x10x11xf32>, tensor<4x2x4x4xf64>, tensor<2x18x8x9xf32>, tensor<2x9x5x4xf32>, tensor<2x9x8x7xf32>, tensor<2x6x37xf32>, tensor<1x4x6x3x7xf32>, tensor<2x7x7x9xf64>, tensor<2x7x7x9xbf16>, tensor<1x7x8x8xf16>, tensor<1x7x8x9xi32>, tensor<2x5x7x7xf32>, tensor<1x3x14x27xf32>, tensor<2x4x9x8xf32>, tensor<1x3x3x3xf32>, tensor<2x6x9x10xf32>, tensor<1x3x8x12xf32>, tensor<1x2x210x300xf32>, tensor<2x3x40xf32>, tensor<1x3x5x3x7xf32>, tensor<1x3x9x11xbf16>, tensor<1x3x9x11xf64>, tensor<3x13x7x7xf32>, tensor<2x13x5x4xf32>, tensor<2x7x7x10xf32>, tensor<5x6x1x3xbf16>) {
  // Rows that end where the input's do, images that end within a vector, rows and columns beyond the tiles.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x7x7x7xf32>, tensor<13x7x3x3xf32>) -> tensor<3x13x7x7xf32>
  // Several blocks of K.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x70x9x11xf32>, tensor<5x70x3x3xf32>) -> tensor<1x5x9x11xf32>
  // Images smaller than a vector.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<9x20x2x2xf32>, tensor<10x20x3x3xf32>) -> tensor<9x10x2x2xf32>
  // Strides, dilation, uneven padding.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 3], pad = [[2, 0], [1, 3]], lhs_dilate = [1, 1], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x17x15xf32>, tensor<8x6x3x2xf32>) -> tensor<2x8x8x6xf32>
  // Padding that crops.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[-1, -2], [2, -1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x3x12x10xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x7x9xf32>
  // Gradient of a strided convolution: the input is dilated, the window reversed.
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 2], [2, 1]], lhs_dilate = [2, 3], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x5x4xf32>, tensor<6x5x3x3xf32>) -> tensor<2x5x10x11xf32>
  // Gradient of a kernel: batch and features exchanged, a large window.
  %y6 = stablehlo.convolution(%x6, %w6) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x2x24x24xf64>, tensor<3x4x23x23xf64>) -> tensor<4x2x4x4xf64>
  // Groups.
  %y7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<2x12x8x9xf32>, tensor<18x4x3x3xf32>) -> tensor<2x18x8x9xf32>
  // Groups of the batch.
  %y8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 0], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 3 : i64, feature_group_count = 1 : i64}
      : (tensor<6x4x6x5xf32>, tensor<9x4x3x3xf32>) -> tensor<2x9x5x4xf32>
  // Channels last.
  %y9 = stablehlo.convolution(%x9, %w9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x8x5xf32>, tensor<3x3x5x7xf32>) -> tensor<2x9x8x7xf32>
  // One dimension.
  %y10 = stablehlo.convolution(%x10, %w10) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[3, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x5x37xf32>, tensor<6x5x4xf32>) -> tensor<2x6x37xf32>
  // Three dimensions.
  %y11 = stablehlo.convolution(%x11, %w11) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 2, 1], pad = [[1, 1], [1, 0], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x3x6x5x7xf32>, tensor<4x3x3x2x3xf32>) -> tensor<1x4x6x3x7xf32>
  // F64.
  %y12 = stablehlo.convolution(%x12, %w12) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x5x7x9xf64>, tensor<7x5x3x3xf64>) -> tensor<2x7x7x9xf64>
  // Bf16.
  %y13 = stablehlo.convolution(%x13, %w13) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x40x7x9xbf16>, tensor<7x40x3x3xbf16>) -> tensor<2x7x7x9xbf16>
  // F16.
  %y14 = stablehlo.convolution(%x14, %w14) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x5x8x8xf16>, tensor<7x5x3x3xf16>) -> tensor<1x7x8x8xf16>
  // Integers.
  %y15 = stablehlo.convolution(%x15, %w15) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x5x8x9xi32>, tensor<7x5x3x3xi32>) -> tensor<1x7x8x9xi32>
  // Depthwise.
  %y16 = stablehlo.convolution(%x16, %w16) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<2x5x7x7xf32>, tensor<5x1x3x3xf32>) -> tensor<2x5x7x7xf32>
  // Depthwise, wide rows and uneven padding.
  %y17 = stablehlo.convolution(%x17, %w17) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [3, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x14x29xf32>, tensor<3x1x5x7xf32>) -> tensor<1x3x14x27xf32>
  // Depthwise, strides and dilation.
  %y18 = stablehlo.convolution(%x18, %w18) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
      : (tensor<2x4x17x19xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x9x8xf32>
  // Depthwise, strides, no padding, rows shorter than a vector.
  %y19 = stablehlo.convolution(%x19, %w19) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [3, 4], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x11x13xf32>, tensor<3x1x3x5xf32>) -> tensor<1x3x3x3xf32>
  // Depthwise, two features of each.
  %y20 = stablehlo.convolution(%x20, %w20) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<2x3x9x10xf32>, tensor<6x1x3x3xf32>) -> tensor<2x6x9x10xf32>
  // Depthwise, dilated input and cropping.
  %y21 = stablehlo.convolution(%x21, %w21) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, -1], [1, 2]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x5x6xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x8x12xf32>
  // Depthwise, rows in blocks.
  %y22 = stablehlo.convolution(%x22, %w22) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<1x2x210x300xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x210x300xf32>
  // Depthwise, one dimension.
  %y23 = stablehlo.convolution(%x23, %w23) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[3, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<2x3x40xf32>, tensor<3x1x4xf32>) -> tensor<2x3x40xf32>
  // Depthwise, three dimensions.
  %y24 = stablehlo.convolution(%x24, %w24) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 2, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x5x6x7xf32>, tensor<3x1x3x3x3xf32>) -> tensor<1x3x5x3x7xf32>
  // Depthwise, bf16.
  %y25 = stablehlo.convolution(%x25, %w25) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x9x11xbf16>, tensor<3x1x3x3xbf16>) -> tensor<1x3x9x11xbf16>
  // Depthwise, f64.
  %y26 = stablehlo.convolution(%x26, %w26) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x9x11xf64>, tensor<3x1x3x3xf64>) -> tensor<1x3x9x11xf64>
  // One pixel windows, images that end within a vector.
  %y27 = stablehlo.convolution(%x27, %w27) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x20x7x7xf32>, tensor<13x20x1x1xf32>) -> tensor<3x13x7x7xf32>
  // One pixel windows, strided.
  %y28 = stablehlo.convolution(%x28, %w28) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x20x9x8xf32>, tensor<13x20x1x1xf32>) -> tensor<2x13x5x4xf32>
  // One pixel windows, padded.
  %y29 = stablehlo.convolution(%x29, %w29) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x5x8xf32>, tensor<7x6x1x1xf32>) -> tensor<2x7x7x10xf32>
  // One pixel windows, groups, images smaller than a vector, bf16.
  %y30 = stablehlo.convolution(%x30, %w30) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<5x8x1x3xbf16>, tensor<6x4x1x1xbf16>) -> tensor<5x6x1x3xbf16>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30 : tensor<3x13x7x7xf32>, tensor<1x5x9x11xf32>, tensor<9x10x2x2xf32>, tensor<2x8x8x6xf32>, tensor<2x4x7x9xf32>, tensor<2x5x10x11xf32>, tensor<4x2x4x4xf64>, tensor<2x18x8x9xf32>, tensor<2x9x5x4xf32>, tensor<2x9x8x7xf32>, tensor<2x6x37xf32>, tensor<1x4x6x3x7xf32>, tensor<2x7x7x9xf64>, tensor<2x7x7x9xbf16>, tensor<1x7x8x8xf16>, tensor<1x7x8x9xi32>, tensor<2x5x7x7xf32>, tensor<1x3x14x27xf32>, tensor<2x4x9x8xf32>, tensor<1x3x3x3xf32>, tensor<2x6x9x10xf32>, tensor<1x3x8x12xf32>, tensor<1x2x210x300xf32>, tensor<2x3x40xf32>, tensor<1x3x5x3x7xf32>, tensor<1x3x9x11xbf16>, tensor<1x3x9x11xf64>, tensor<3x13x7x7xf32>, tensor<2x13x5x4xf32>, tensor<2x7x7x10xf32>, tensor<5x6x1x3xbf16>
}
