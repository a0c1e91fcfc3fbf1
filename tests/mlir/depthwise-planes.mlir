// Depthwise convolutions of three dimensions: planes that are read in place, and what is padded first (steps above two, dilated inputs, bf16).
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=baseline %s

func.func @main(
    %x0: tensor<2x3x5x14x15xf32>, %w0: tensor<3x1x3x3x3xf32>,
    %x1: tensor<1x4x4x13x20xf32>, %w1: tensor<4x1x3x3x3xf32>,
    %x2: tensor<1x3x9x6x20xf32>, %w2: tensor<3x1x5x1x1xf32>,
    %x3: tensor<1x2x7x9x9xf32>, %w3: tensor<2x1x3x3x3xf32>,
    %x4: tensor<1x3x6x10x33xf32>, %w4: tensor<6x1x2x3x3xf32>,
    %x5: tensor<1x2x4x7x9xf64>, %w5: tensor<2x1x3x3x3xf64>,
    %x6: tensor<1x2x4x7x20xf32>, %w6: tensor<2x1x3x3x3xf32>,
    %x7: tensor<1x2x3x5x6xf32>, %w7: tensor<2x1x3x3x3xf32>,
    %x8: tensor<1x2x3x8x9xbf16>, %w8: tensor<2x1x3x3x3xbf16>)
    -> (tensor<2x3x5x14x15xf32>, tensor<1x4x4x7x10xf32>, tensor<1x3x9x6x20xf32>, tensor<1x2x5x9x7xf32>, tensor<1x6x5x9x33xf32>, tensor<1x2x4x7x9xf64>, tensor<1x2x4x7x7xf32>, tensor<1x2x5x5x11xf32>, tensor<1x2x3x8x9xbf16>) {
  // What follows, and rows that are no whole vectors.
  %c0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x5x14x15xf32>, tensor<3x1x3x3x3xf32>) -> tensor<2x3x5x14x15xf32>
  %0 = stablehlo.tanh %c0 : tensor<2x3x5x14x15xf32>
  // Images whose planes stay and whose rows move by two.
  %1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 2, 2], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<1x4x4x13x20xf32>, tensor<4x1x3x3x3xf32>) -> tensor<1x4x4x7x10xf32>
  // Windows of a row of planes.
  %2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[2, 2], [0, 0], [0, 0]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x9x6x20xf32>, tensor<3x1x5x1x1xf32>) -> tensor<1x3x9x6x20xf32>
  // Planes that move by two and are apart; planes of padding.
  %3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [2, 1, 1], pad = [[3, 4], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [2, 1, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x7x9x9xf32>, tensor<2x1x3x3x3xf32>) -> tensor<1x2x5x9x7xf32>
  // Turned around, two features of each channel, padding that crops.
  %4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[-1, 1], [1, 0], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1], reverse = [true, true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x6x10x33xf32>, tensor<6x1x2x3x3xf32>) -> tensor<1x6x5x9x33xf32>
  %5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x4x7x9xf64>, tensor<2x1x3x3x3xf64>) -> tensor<1x2x4x7x9xf64>
  // Padded first.
  %6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 3], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x4x7x20xf32>, tensor<2x1x3x3x3xf32>) -> tensor<1x2x4x7x7xf32>
  %7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [2, 1, 2], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x3x5x6xf32>, tensor<2x1x3x3x3xf32>) -> tensor<1x2x5x5x11xf32>
  %8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x3x8x9xbf16>, tensor<2x1x3x3x3xbf16>) -> tensor<1x2x3x8x9xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x5x14x15xf32>, tensor<1x4x4x7x10xf32>, tensor<1x3x9x6x20xf32>, tensor<1x2x5x9x7xf32>, tensor<1x6x5x9x33xf32>, tensor<1x2x4x7x9xf64>, tensor<1x2x4x7x7xf32>, tensor<1x2x5x5x11xf32>, tensor<1x2x3x8x9xbf16>
}
