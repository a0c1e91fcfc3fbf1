// Windows along a line, of which panels hold each channel once: dilated, padded, reversed, grouped, several images, what follows; against the interpreter.
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s

func.func @main(
    %x0: tensor<1x24x1x331xf32>, %w0: tensor<20x24x1x7xf32>, %x1: tensor<3x16x200xf32>, %w1: tensor<33x16x3xf32>, %b1: tensor<33xf32>, %x2: tensor<1x32x1x90xf32>, %w2: tensor<24x16x1x11xf32>,
    %x3: tensor<1x40x1x130xf32>, %w3: tensor<40x48x1x5xf32>, %x4: tensor<2x8x250xf32>, %w4: tensor<3x8x16xf32>, %x5: tensor<1x300x1x70xf32>, %w5: tensor<64x300x1x3xf32>, %x6: tensor<1x4x1x37xf32>, %w6: tensor<5x4x1x3xf32>)
    -> (tensor<1x20x1x331xf32>, tensor<3x33x200xf32>, tensor<1x24x1x60xf32>, tensor<1x48x1x130xf32>, tensor<2x3x245xf32>, tensor<1x64x1x68xf32>, tensor<1x5x1x25xf32>) {
  %y0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [9, 9]], rhs_dilate = [1, 3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x24x1x331xf32>, tensor<20x24x1x7xf32>) -> tensor<1x20x1x331xf32>
  // Several images, an odd number of features, a bias.
  %c1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[8, 0]], rhs_dilate = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<3x16x200xf32>, tensor<33x16x3xf32>) -> tensor<3x33x200xf32>
  %bias = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<33xf32>) -> tensor<3x33x200xf32>
  %y1 = stablehlo.add %c1, %bias : tensor<3x33x200xf32>
  // Groups; padding that crops.
  %y2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [-5, -15]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<1x32x1x90xf32>, tensor<24x16x1x11xf32>) -> tensor<1x24x1x60xf32>
  // The gradient of an input.
  %y3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [4, 4]], rhs_dilate = [1, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x40x1x130xf32>, tensor<40x48x1x5xf32>) -> tensor<1x48x1x130xf32>
  // As many places as there may be, few features.
  %y4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[7, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x8x250xf32>, tensor<3x8x16xf32>) -> tensor<2x3x245xf32>
  // Several blocks of channels.
  %y5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x300x1x70xf32>, tensor<64x300x1x3xf32>) -> tensor<1x64x1x68xf32>
  // A window that reaches further than the columns that are left.
  %y6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [4, 0]], rhs_dilate = [1, 8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x4x1x37xf32>, tensor<5x4x1x3xf32>) -> tensor<1x5x1x25xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6 : tensor<1x20x1x331xf32>, tensor<3x33x200xf32>, tensor<1x24x1x60xf32>, tensor<1x48x1x130xf32>, tensor<2x3x245xf32>, tensor<1x64x1x68xf32>, tensor<1x5x1x25xf32>
}
