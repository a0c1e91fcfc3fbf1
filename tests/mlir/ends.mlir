// Columns beyond whole panels: products in both orientations, pixels and windows of small images, Winograd's tiles; several steps along K.
// RUN: cresset-run --compare --tolerance=%longest_sums %s
// RUN: cresset-run --compare --tolerance=%longest_sums --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=%longest_sums --cpu=wide %s
// RUN: cresset-run --compare --tolerance=%longest_sums --cpu=baseline %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --tolerance=%longest_sums %s

func.func @main(
    %a0: tensor<40x50xf32>, %b0: tensor<50x49xf32>,
    %a1: tensor<24x70xf32>, %b1: tensor<49x70xf32>,
    %a2: tensor<37x30xf32>, %b2: tensor<30x17xf32>,
    %a3: tensor<20x1100xf32>, %b3: tensor<1100x33xf32>,
    %a4: tensor<64x1100xf32>, %b4: tensor<1100x52xf32>,
    %a5: tensor<64x300xf32>, %b5: tensor<200x300xf32>,
    %a6: tensor<23x30xf64>, %b6: tensor<30x25xf64>,
    %a7: tensor<23x300xf64>, %b7: tensor<19x300xf64>,
    %a8: tensor<30x50xbf16>, %b8: tensor<50x49xbf16>,
    %a9: tensor<30x61xbf16>, %b9: tensor<52x61xbf16>,
    %a10: tensor<20x30xi32>, %b10: tensor<30x7xi32>,
    %a11: tensor<1x70x7x7xf32>, %b11: tensor<40x70x1x1xf32>,
    %a12: tensor<2x70x7x7xf32>, %b12: tensor<40x70x1x1xf32>,
    %a13: tensor<3x40x7x7xf32>, %b13: tensor<24x40x1x1xf32>,
    %a14: tensor<1x20x14x14xf32>, %b14: tensor<48x20x1x1xf32>,
    %a15: tensor<4x70x7x7xf32>, %b15: tensor<16x70x1x1xf32>,
    %a16: tensor<1x300x14x14xf32>, %b16: tensor<26x300x1x1xf32>,
    %a17: tensor<1x9x15x15xf32>, %b17: tensor<14x9x3x3xf32>,
    %a18: tensor<2x5x1x17xf32>, %b18: tensor<12x5x1x1xf32>,
    %a19: tensor<1x12x7x7xf64>, %b19: tensor<16x12x3x3xf64>,
    %a20: tensor<1x40x7x7xf64>, %b20: tensor<24x40x1x1xf64>,
    %a21: tensor<3x20x1x5xf64>, %b21: tensor<4x20x1x1xf64>,
    %a22: tensor<1x30x1x19xf32>, %b22: tensor<2x30x1x1xf32>,
    %a23: tensor<1x30x1x23xf32>, %b23: tensor<1x30x1x1xf32>,
    %a24: tensor<1x40x7x7xbf16>, %b24: tensor<24x40x1x1xbf16>,
    %a25: tensor<2x9x14x14xbf16>, %b25: tensor<14x9x3x3xbf16>,
    %a26: tensor<1x9x3x11xf32>, %b26: tensor<14x9x3x3xf32>,
    %a27: tensor<1x64x14x14xf32>, %b27: tensor<48x64x3x3xf32>,
    %a28: tensor<1x128x7x7xf32>, %b28: tensor<48x128x3x3xf32>,
    %a29: tensor<5x64x7x7xf32>, %b29: tensor<32x64x3x3xf32>,
    %a30: tensor<21x1100xf32>, %b30: tensor<1100x55xf32>,
    %a31: tensor<1x90x6x9xf32>, %b31: tensor<33x90x1x1xf32>,
    %a32: tensor<1x61x7x8xf32>, %b32: tensor<17x61x1x1xf32>) -> (
    tensor<40x49xf32>,
    tensor<24x49xf32>,
    tensor<37x17xf32>,
    tensor<20x33xf32>,
    tensor<64x52xf32>,
    tensor<64x200xf32>,
    tensor<23x25xf64>,
    tensor<23x19xf64>,
    tensor<30x49xbf16>,
    tensor<30x52xbf16>,
    tensor<20x7xi32>,
    tensor<1x40x7x7xf32>,
    tensor<2x40x7x7xf32>,
    tensor<3x24x7x7xf32>,
    tensor<1x48x14x14xf32>,
    tensor<4x16x7x7xf32>,
    tensor<1x26x14x14xf32>,
    tensor<1x14x7x7xf32>,
    tensor<2x12x1x17xf32>,
    tensor<1x16x7x7xf64>,
    tensor<1x24x7x7xf64>,
    tensor<3x4x1x5xf64>,
    tensor<1x2x1x19xf32>,
    tensor<1x1x1x23xf32>,
    tensor<1x24x7x7xbf16>,
    tensor<2x14x7x7xbf16>,
    tensor<1x14x3x11xf32>,
    tensor<1x48x14x14xf32>,
    tensor<1x48x7x7xf32>,
    tensor<5x32x7x7xf32>,
    tensor<21x55xf32>,
    tensor<1x33x6x9xf32>,
    tensor<1x17x7x8xf32>) {
  %y0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (tensor<40x50xf32>, tensor<50x49xf32>) -> tensor<40x49xf32>
  %y1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [1] : (tensor<24x70xf32>, tensor<49x70xf32>) -> tensor<24x49xf32>
  %y2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<37x30xf32>, tensor<30x17xf32>) -> tensor<37x17xf32>
  %y3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<20x1100xf32>, tensor<1100x33xf32>) -> tensor<20x33xf32>
  %y4 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [0] : (tensor<64x1100xf32>, tensor<1100x52xf32>) -> tensor<64x52xf32>
  %y5 = stablehlo.dot_general %a5, %b5, contracting_dims = [1] x [1] : (tensor<64x300xf32>, tensor<200x300xf32>) -> tensor<64x200xf32>
  %y6 = stablehlo.dot_general %a6, %b6, contracting_dims = [1] x [0] : (tensor<23x30xf64>, tensor<30x25xf64>) -> tensor<23x25xf64>
  %y7 = stablehlo.dot_general %a7, %b7, contracting_dims = [1] x [1] : (tensor<23x300xf64>, tensor<19x300xf64>) -> tensor<23x19xf64>
  %y8 = stablehlo.dot_general %a8, %b8, contracting_dims = [1] x [0] : (tensor<30x50xbf16>, tensor<50x49xbf16>) -> tensor<30x49xbf16>
  %y9 = stablehlo.dot_general %a9, %b9, contracting_dims = [1] x [1] : (tensor<30x61xbf16>, tensor<52x61xbf16>) -> tensor<30x52xbf16>
  %y10 = stablehlo.dot_general %a10, %b10, contracting_dims = [1] x [0] : (tensor<20x30xi32>, tensor<30x7xi32>) -> tensor<20x7xi32>
  %y11 = stablehlo.convolution(%a11, %b11) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x70x7x7xf32>, tensor<40x70x1x1xf32>) -> tensor<1x40x7x7xf32>
  %y12 = stablehlo.convolution(%a12, %b12) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x70x7x7xf32>, tensor<40x70x1x1xf32>) -> tensor<2x40x7x7xf32>
  %y13 = stablehlo.convolution(%a13, %b13) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x40x7x7xf32>, tensor<24x40x1x1xf32>) -> tensor<3x24x7x7xf32>
  %y14 = stablehlo.convolution(%a14, %b14) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x20x14x14xf32>, tensor<48x20x1x1xf32>) -> tensor<1x48x14x14xf32>
  %y15 = stablehlo.convolution(%a15, %b15) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x70x7x7xf32>, tensor<16x70x1x1xf32>) -> tensor<4x16x7x7xf32>
  %y16 = stablehlo.convolution(%a16, %b16) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x300x14x14xf32>, tensor<26x300x1x1xf32>) -> tensor<1x26x14x14xf32>
  %y17 = stablehlo.convolution(%a17, %b17) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x9x15x15xf32>, tensor<14x9x3x3xf32>) -> tensor<1x14x7x7xf32>
  %y18 = stablehlo.convolution(%a18, %b18) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x5x1x17xf32>, tensor<12x5x1x1xf32>) -> tensor<2x12x1x17xf32>
  %y19 = stablehlo.convolution(%a19, %b19) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x12x7x7xf64>, tensor<16x12x3x3xf64>) -> tensor<1x16x7x7xf64>
  %y20 = stablehlo.convolution(%a20, %b20) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x40x7x7xf64>, tensor<24x40x1x1xf64>) -> tensor<1x24x7x7xf64>
  %y21 = stablehlo.convolution(%a21, %b21) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x20x1x5xf64>, tensor<4x20x1x1xf64>) -> tensor<3x4x1x5xf64>
  %y22 = stablehlo.convolution(%a22, %b22) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x30x1x19xf32>, tensor<2x30x1x1xf32>) -> tensor<1x2x1x19xf32>
  %y23 = stablehlo.convolution(%a23, %b23) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x30x1x23xf32>, tensor<1x30x1x1xf32>) -> tensor<1x1x1x23xf32>
  %y24 = stablehlo.convolution(%a24, %b24) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x40x7x7xbf16>, tensor<24x40x1x1xbf16>) -> tensor<1x24x7x7xbf16>
  %y25 = stablehlo.convolution(%a25, %b25) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x14x14xbf16>, tensor<14x9x3x3xbf16>) -> tensor<2x14x7x7xbf16>
  %y26 = stablehlo.convolution(%a26, %b26) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x9x3x11xf32>, tensor<14x9x3x3xf32>) -> tensor<1x14x3x11xf32>
  %y27 = stablehlo.convolution(%a27, %b27) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x14x14xf32>, tensor<48x64x3x3xf32>) -> tensor<1x48x14x14xf32>
  %y28 = stablehlo.convolution(%a28, %b28) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x128x7x7xf32>, tensor<48x128x3x3xf32>) -> tensor<1x48x7x7xf32>
  %y29 = stablehlo.convolution(%a29, %b29) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<5x64x7x7xf32>, tensor<32x64x3x3xf32>) -> tensor<5x32x7x7xf32>
  %y30 = stablehlo.dot_general %a30, %b30, contracting_dims = [1] x [0] : (tensor<21x1100xf32>, tensor<1100x55xf32>) -> tensor<21x55xf32>
  %y31 = stablehlo.convolution(%a31, %b31) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x90x6x9xf32>, tensor<33x90x1x1xf32>) -> tensor<1x33x6x9xf32>
  %y32 = stablehlo.convolution(%a32, %b32) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x61x7x8xf32>, tensor<17x61x1x1xf32>) -> tensor<1x17x7x8xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32 : tensor<40x49xf32>, tensor<24x49xf32>, tensor<37x17xf32>, tensor<20x33xf32>, tensor<64x52xf32>, tensor<64x200xf32>, tensor<23x25xf64>, tensor<23x19xf64>, tensor<30x49xbf16>, tensor<30x52xbf16>, tensor<20x7xi32>, tensor<1x40x7x7xf32>, tensor<2x40x7x7xf32>, tensor<3x24x7x7xf32>, tensor<1x48x14x14xf32>, tensor<4x16x7x7xf32>, tensor<1x26x14x14xf32>, tensor<1x14x7x7xf32>, tensor<2x12x1x17xf32>, tensor<1x16x7x7xf64>, tensor<1x24x7x7xf64>, tensor<3x4x1x5xf64>, tensor<1x2x1x19xf32>, tensor<1x1x1x23xf32>, tensor<1x24x7x7xbf16>, tensor<2x14x7x7xbf16>, tensor<1x14x3x11xf32>, tensor<1x48x14x14xf32>, tensor<1x48x7x7xf32>, tensor<5x32x7x7xf32>, tensor<21x55xf32>, tensor<1x33x6x9xf32>, tensor<1x17x7x8xf32>
}
