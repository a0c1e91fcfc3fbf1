// Transformed 3 x 3 windows of few tiles, or of few beyond whole panels: 49, 16, 196, 25, 21 and 63, by channels that their sums do not divide and features beyond the blocks.
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 %s

func.func @main(
    %x0: tensor<1x67x14x14xf32>, %w0: tensor<40x67x3x3xf32>,
    %x1: tensor<1x64x7x7xf32>, %w1: tensor<64x64x3x3xf32>,
    %x2: tensor<1x66x28x28xf32>, %w2: tensor<48x66x3x3xf32>,
    %x3: tensor<1x65x10x10xf32>, %w3: tensor<33x65x3x3xf32>,
    %x4: tensor<1x64x6x14xf32>, %w4: tensor<48x64x3x3xf32>,
    %x5: tensor<1x64x14x18xf32>, %w5: tensor<32x64x3x3xf32>) -> (
    tensor<1x40x14x14xf32>, tensor<1x64x7x7xf32>, tensor<1x48x28x28xf32>, tensor<1x33x10x10xf32>, tensor<1x48x6x14xf32>, tensor<1x32x14x18xf32>) {
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x67x14x14xf32>, tensor<40x67x3x3xf32>) -> tensor<1x40x14x14xf32>
  %y1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x7x7xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32>
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x66x28x28xf32>, tensor<48x66x3x3xf32>) -> tensor<1x48x28x28xf32>
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x65x10x10xf32>, tensor<33x65x3x3xf32>) -> tensor<1x33x10x10xf32>
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x6x14xf32>, tensor<48x64x3x3xf32>) -> tensor<1x48x6x14xf32>
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x64x14x18xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x14x18xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5 : tensor<1x40x14x14xf32>, tensor<1x64x7x7xf32>, tensor<1x48x28x28xf32>, tensor<1x33x10x10xf32>, tensor<1x48x6x14xf32>, tensor<1x32x14x18xf32>
}
