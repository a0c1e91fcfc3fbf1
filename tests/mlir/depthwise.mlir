// Depthwise convolutions of every kind: images that are read in place, and what is padded first (dilated inputs, steps above two, bf16).
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=baseline %s

func.func @main(
    %x0: tensor<2x5x7x7xf32>, %w0: tensor<5x1x3x3xf32>,
    %x1: tensor<1x3x14x14xf32>, %w1: tensor<3x1x5x5xf32>,
    %x2: tensor<2x3x28x28xf32>, %w2: tensor<3x1x3x3xf32>,
    %x3: tensor<1x2x33x75xf32>, %w3: tensor<2x1x3x3xf32>,
    %x4: tensor<2x4x15x29xf32>, %w4: tensor<8x1x5x3xf32>,
    %x5: tensor<1x3x30x160xf32>, %w5: tensor<3x1x3x3xf32>,
    %x6: tensor<1x3x13x11xf64>, %w6: tensor<3x1x3x3xf64>,
    %x7: tensor<1x3x9x10xf32>, %w7: tensor<3x1x7x7xf32>,
    %x8: tensor<2x3x12x12xbf16>, %w8: tensor<3x1x3x3xbf16>,
    %x9: tensor<2x3x6x7xf32>, %w9: tensor<3x1x3x3xf32>,
    %x10: tensor<1x3x20x21xf32>, %w10: tensor<3x1x3x3xf32>,
    %x11: tensor<2x3x5x1xf32>, %w11: tensor<3x1x3x1xf32>,
    %b: tensor<3xf32>)
    -> (tensor<2x5x7x7xf32>, tensor<1x3x14x14xf32>, tensor<2x3x28x28xf32>, tensor<1x2x33x75xf32>, tensor<2x8x8x15xf32>, tensor<1x3x16x80xf32>, tensor<1x3x11x9xf64>,
        tensor<1x3x9x10xf32>, tensor<2x3x12x12xbf16>, tensor<2x3x13x15xf32>, tensor<1x3x7x7xf32>, tensor<2x3x5x1xf32>) {
  %0 = stablehlo.convolution(%x0, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 5 : i64} : (tensor<2x5x7x7xf32>, tensor<5x1x3x3xf32>) -> tensor<2x5x7x7xf32>
  // Rows of 14, a window turned around.
  %1 = stablehlo.convolution(%x1, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], reverse = [true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x14x14xf32>, tensor<3x1x5x5xf32>) -> tensor<1x3x14x14xf32>
  // An epilogue, and a dilated window.
  %c2 = stablehlo.convolution(%x2, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x28x28xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x28x28xf32>
  %b2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<2x3x28x28xf32>
  %a2 = stablehlo.add %c2, %b2 : tensor<2x3x28x28xf32>
  %2 = stablehlo.tanh %a2 : tensor<2x3x28x28xf32>
  // Rows that are no whole vectors, with few left.
  %3 = stablehlo.convolution(%x3, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x33x75xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x33x75xf32>
  // By two, two features of each channel; padded on one side only.
  %4 = stablehlo.convolution(%x4, %w4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[2, 2], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x4x15x29xf32>, tensor<8x1x5x3xf32>) -> tensor<2x8x8x15xf32>
  %5 = stablehlo.convolution(%x5, %w5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 3], [0, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x30x160xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x16x80xf32>
  %6 = stablehlo.convolution(%x6, %w6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x13x11xf64>, tensor<3x1x3x3xf64>) -> tensor<1x3x11x9xf64>
  %7 = stablehlo.convolution(%x7, %w7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[3, 3], [3, 3]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x9x10xf32>, tensor<3x1x7x7xf32>) -> tensor<1x3x9x10xf32>
  %8 = stablehlo.convolution(%x8, %w8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x12x12xbf16>, tensor<3x1x3x3xbf16>) -> tensor<2x3x12x12xbf16>
  // A dilated input; steps of three; one column.
  %9 = stablehlo.convolution(%x9, %w9) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x6x7xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x13x15xf32>
  %10 = stablehlo.convolution(%x10, %w10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [3, 3], pad = [[1, 1], [1, 0]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x20x21xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x7x7xf32>
  %11 = stablehlo.convolution(%x11, %w11) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [0, 0]]}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x5x1xf32>, tensor<3x1x3x1xf32>) -> tensor<2x3x5x1xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x5x7x7xf32>, tensor<1x3x14x14xf32>, tensor<2x3x28x28xf32>, tensor<1x2x33x75xf32>, tensor<2x8x8x15xf32>,
      tensor<1x3x16x80xf32>, tensor<1x3x11x9xf64>, tensor<1x3x9x10xf32>, tensor<2x3x12x12xbf16>, tensor<2x3x13x15xf32>, tensor<1x3x7x7xf32>, tensor<2x3x5x1xf32>
}
