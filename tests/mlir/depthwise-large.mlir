// Windows within channels that have more places than are written out, column by column; against the interpreter.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_GUARD=end cresset-run --compare %s

func.func @main(%x: tensor<2x5x20x23xf32>, %w: tensor<5x1x13x13xf32>, %b: tensor<2x5x20x23xf32>, %y: tensor<1x3x30x37xbf16>, %v: tensor<6x1x17x11xbf16>, %z: tensor<1x4x5x12x18xf64>, %u: tensor<4x1x3x7x9xf64>, %r: tensor<2x3x25x25xf32>, %q: tensor<3x1x15x15xf32>) -> (tensor<2x5x20x23xf32>, tensor<1x6x17x20xbf16>, tensor<1x4x5x12x18xf64>, tensor<2x3x25x25xf32>) {
  // A large window, and what follows.
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[6, 6], [6, 6]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64}
      : (tensor<2x5x20x23xf32>, tensor<5x1x13x13xf32>) -> tensor<2x5x20x23xf32>
  %1 = stablehlo.add %0, %b : tensor<2x5x20x23xf32>
  // By two, with two features of each channel, dilated.
  %2 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[10, 9], [12, 10]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<1x3x30x37xbf16>, tensor<6x1x17x11xbf16>) -> tensor<1x6x17x20xbf16>
  // Three dimensions.
  %3 = stablehlo.convolution(%z, %u) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[1, 1], [3, 3], [4, 4]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
      : (tensor<1x4x5x12x18xf64>, tensor<4x1x3x7x9xf64>) -> tensor<1x4x5x12x18xf64>
  // As the gradient of an input has it.
  %4 = stablehlo.convolution(%r, %q) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[7, 7], [7, 7]], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
      : (tensor<2x3x25x25xf32>, tensor<3x1x15x15xf32>) -> tensor<2x3x25x25xf32>
  return %1, %2, %3, %4 : tensor<2x5x20x23xf32>, tensor<1x6x17x20xbf16>, tensor<1x4x5x12x18xf64>, tensor<2x3x25x25xf32>
}
