// Windows of bf16 packed as pairs along K, the two elements of which may be in different rows, channels or lanes' runs.
// RUN: cresset-run --compare %s
// RUN: env CRESSET_GUARD=end cresset-run --compare %s
// RUN: env CRESSET_GUARD=begin cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=avx2 %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %s
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=baseline %s

func.func @main(
    %x0: tensor<4x6x14x14xbf16>, %w0: tensor<9x6x3x3xbf16>,
    %x1: tensor<3x5x3x5xbf16>, %w1: tensor<9x5x3x3xbf16>,
    %x2: tensor<1x4x20x35xbf16>, %w2: tensor<7x4x3x3xbf16>,
    %x3: tensor<2x3x24x68xbf16>, %w3: tensor<8x3x7x7xbf16>,
    %x4: tensor<2x6x20x40xbf16>, %w4: tensor<9x6x3x3xbf16>,
    %x5: tensor<3x5x14x14xbf16>, %w5: tensor<9x5x3x3xbf16>,
    %x6: tensor<2x6x40x40xbf16>, %w6: tensor<9x6x1x1xbf16>,
    %x7: tensor<3x6x13x13xbf16>, %w7: tensor<9x6x1x1xbf16>,
    %x8: tensor<3x5x5x5xbf16>, %w8: tensor<9x5x1x1xbf16>,
    %x9: tensor<3x10x10x10xbf16>, %w9: tensor<40x10x1x1xbf16>,
    %x10: tensor<2x9x7x7xbf16>, %w10: tensor<12x9x1x1xbf16>,
    %x11: tensor<2x4x17x30xbf16>, %w11: tensor<7x4x3x3xbf16>,
    %x12: tensor<2x8x15x20xbf16>, %w12: tensor<12x4x3x3xbf16>,
    %x13: tensor<2x2x18x18xbf16>, %w13: tensor<5x2x13x13xbf16>,
    %x14: tensor<1x301x6x6xbf16>, %w14: tensor<8x301x3x3xbf16>) -> (
    tensor<4x9x14x14xbf16>, tensor<3x9x3x5xbf16>, tensor<1x7x18x33xbf16>, tensor<2x8x12x34xbf16>, tensor<2x9x10x20xbf16>, tensor<3x9x7x7xbf16>, tensor<2x9x20x20xbf16>, tensor<3x9x7x7xbf16>, tensor<3x9x3x3xbf16>, tensor<3x40x10x10xbf16>, tensor<2x12x7x7xbf16>, tensor<2x7x6x10xbf16>, tensor<2x12x15x20xbf16>, tensor<2x5x18x18xbf16>, tensor<1x8x6x6xbf16>) {
  // 3 x 3 at borders and across images.
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x6x14x14xbf16>, tensor<9x6x3x3xbf16>) -> tensor<4x9x14x14xbf16>
  // An odd number of channels and of images, positions fewer than a vector.
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x5x3x5xbf16>, tensor<9x5x3x3xbf16>) -> tensor<3x9x3x5xbf16>
  // One image, no padding.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x4x20x35xbf16>, tensor<7x4x3x3xbf16>) -> tensor<1x7x18x33xbf16>
  // The first layer: windows that move by two, inside the image and at its borders.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[3, 3], [3, 3]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x3x24x68xbf16>, tensor<8x3x7x7xbf16>) -> tensor<2x8x12x34xbf16>
  // 3 x 3 by two, a vector of two and of several rows.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x20x40xbf16>, tensor<9x6x3x3xbf16>) -> tensor<2x9x10x20xbf16>
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x5x14x14xbf16>, tensor<9x5x3x3xbf16>) -> tensor<3x9x7x7xbf16>
  // 1 x 1 by two, rows of 20, 7 and 3.
  %y6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x6x40x40xbf16>, tensor<9x6x1x1xbf16>) -> tensor<2x9x20x20xbf16>
  %y7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x6x13x13xbf16>, tensor<9x6x1x1xbf16>) -> tensor<3x9x7x7xbf16>
  %y8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x5x5x5xbf16>, tensor<9x5x1x1xbf16>) -> tensor<3x9x3x3xbf16>
  // Pixels within images and across them, also of an odd number of channels.
  %y9 = stablehlo.convolution(%x9, %w9) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x10x10x10xbf16>, tensor<40x10x1x1xbf16>) -> tensor<3x40x10x10xbf16>
  %y10 = stablehlo.convolution(%x10, %w10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x7x7xbf16>, tensor<12x9x1x1xbf16>) -> tensor<2x12x7x7xbf16>
  // By three: lane by lane.
  %y11 = stablehlo.convolution(%x11, %w11) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [3, 3], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x17x30xbf16>, tensor<7x4x3x3xbf16>) -> tensor<2x7x6x10xbf16>
  // Dilated, and groups.
  %y12 = stablehlo.convolution(%x12, %w12) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<2x8x15x20xbf16>, tensor<12x4x3x3xbf16>) -> tensor<2x12x15x20xbf16>
  // Windows that are not unrolled.
  %y13 = stablehlo.convolution(%x13, %w13) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[6, 6], [6, 6]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x2x18x18xbf16>, tensor<5x2x13x13xbf16>) -> tensor<2x5x18x18xbf16>
  // Many channels: several blocks of K, whose first ones are whole pairs of channels.
  %y14 = stablehlo.convolution(%x14, %w14) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x301x6x6xbf16>, tensor<8x301x3x3xbf16>) -> tensor<1x8x6x6xbf16>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14 : tensor<4x9x14x14xbf16>, tensor<3x9x3x5xbf16>, tensor<1x7x18x33xbf16>, tensor<2x8x12x34xbf16>, tensor<2x9x10x20xbf16>, tensor<3x9x7x7xbf16>, tensor<2x9x20x20xbf16>, tensor<3x9x7x7xbf16>, tensor<3x9x3x3xbf16>, tensor<3x40x10x10xbf16>, tensor<2x12x7x7xbf16>, tensor<2x7x6x10xbf16>, tensor<2x12x15x20xbf16>, tensor<2x5x18x18xbf16>, tensor<1x8x6x6xbf16>
}
