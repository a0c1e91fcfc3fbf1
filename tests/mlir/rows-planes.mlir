// Rows that have several dimensions, which what is read with them tells apart: norms of groups of channels, with scales of channels, and activations behind another shape. Of sums of
// the same rows each array is read once.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=SHAPES

// CHECK: # rows -> f32[8x3x37]: {{.*}}logistic
// CHECK: # rows -> f32[6x8x5]: reduce, subtract
// CHECK: # rows -> f32[40]: {{.*}}reduce
// CHECK: # rows -> f32[8x6x7x7]
// CHECK: vfmsub{{.*}}ymm
// CHECK: # rows -> f32[6x33x1]
// CHECK: vmulps {{.*}}ymm
// CHECK: # rows -> f32[48x40x1x1]: transpose
// CHECK: vunpcklps
// CHECK: # convolution {{.*}}: maximum
// CHECK: # reduce -> f32[4x5]
// CHECK-NOT: {{^#}}

// The activation is computed of rows, and reshaped then.
// SHAPES: stablehlo.logistic {{.*}} : tensor<8x3x37xf32>
// SHAPES: stablehlo.multiply {{.*}} : tensor<8x3x37xf32>
// SHAPES: stablehlo.reshape {{.*}} -> tensor<2x12x37xf32>
func.func @main(%x: tensor<2x12x37xf32>, %scale: tensor<4x3xf32>, %y: tensor<6x8x5xf32>, %z: tensor<40x70xf32>, %u: tensor<40x70xf32>,
                %planes: tensor<8x6x7x7xf32>, %gate: tensor<8x6xf32>, %others: tensor<8x6x49xf32>, %lines: tensor<6x33x1xf32>, %line: tensor<33x1xf32>,
                %windows: tensor<40x48x1x1xf32>, %pixels: tensor<4x8x6x6xf32>, %kernel: tensor<5x8x1x1xf32>)
    -> (tensor<2x12x37xf32>, tensor<6x8x5xf32>, tensor<40xf32>, tensor<40xf32>, tensor<8x6x7x7xf32>, tensor<6x33x1xf32>, tensor<48x40x1x1xf32>,
        tensor<4x5x6x6xf32>, tensor<4x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<111.0> : tensor<8xf32>
  %rows = stablehlo.reshape %x : (tensor<2x12x37xf32>) -> tensor<8x3x37xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<8x3x37xf32>, tensor<f32>) -> tensor<8xf32>
  %mean = stablehlo.divide %sum, %count : tensor<8xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<8xf32>) -> tensor<8x3x37xf32>
  %centred = stablehlo.subtract %rows, %means : tensor<8x3x37xf32>
  %square = stablehlo.multiply %centred, %centred : tensor<8x3x37xf32>
  %squares = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<8x3x37xf32>, tensor<f32>) -> tensor<8xf32>
  %var = stablehlo.divide %squares, %count : tensor<8xf32>
  %rstd = stablehlo.rsqrt %var : tensor<8xf32>
  %rstds = stablehlo.broadcast_in_dim %rstd, dims = [0] : (tensor<8xf32>) -> tensor<8x3x37xf32>
  %normed = stablehlo.multiply %centred, %rstds : tensor<8x3x37xf32>
  %twice = stablehlo.broadcast_in_dim %scale, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  %flat = stablehlo.reshape %twice : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
  %scales = stablehlo.broadcast_in_dim %flat, dims = [0, 1] : (tensor<8x3xf32>) -> tensor<8x3x37xf32>
  %scaled = stablehlo.multiply %normed, %scales : tensor<8x3x37xf32>
  %image = stablehlo.reshape %scaled : (tensor<8x3x37xf32>) -> tensor<2x12x37xf32>
  %logistic = stablehlo.logistic %image : tensor<2x12x37xf32>
  %silu = stablehlo.multiply %image, %logistic : tensor<2x12x37xf32>

  // Too narrow for vectors along the last dimension, which nothing tells from the one before.
  %largest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %most = stablehlo.reduce(%y init: %largest) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<6x8x5xf32>, tensor<f32>) -> tensor<6xf32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<6xf32>) -> tensor<6x8x5xf32>
  %less = stablehlo.subtract %y, %mosts : tensor<6x8x5xf32>

  %a = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x70xf32>, tensor<f32>) -> tensor<40xf32>
  %product = stablehlo.multiply %z, %u : tensor<40x70xf32>
  %b = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x70xf32>, tensor<f32>) -> tensor<40xf32>

  // A plane of 49 is a row for vectors, where a line of it is shorter than one.
  %gates = stablehlo.broadcast_in_dim %gate, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x7x7xf32>
  %other = stablehlo.reshape %others : (tensor<8x6x49xf32>) -> tensor<8x6x7x7xf32>
  %gated = stablehlo.multiply %planes, %gates : tensor<8x6x7x7xf32>
  %both = stablehlo.subtract %gated, %other : tensor<8x6x7x7xf32>

  // Vectors lie along the last dimension that has more than one element.
  %repeated = stablehlo.broadcast_in_dim %line, dims = [1, 2] : (tensor<33x1xf32>) -> tensor<6x33x1xf32>
  %times = stablehlo.multiply %lines, %repeated : tensor<6x33x1xf32>
  // So do squares of what is transposed; of windows of one element nothing is reversed.
  %turned = stablehlo.transpose %windows, dims = [1, 0, 2, 3] : (tensor<40x48x1x1xf32>) -> tensor<48x40x1x1xf32>
  %reversed = stablehlo.reverse %turned, dims = [2, 3] : tensor<48x40x1x1xf32>
  // A sum of planes alone leaves what it sums to the product before.
  %convolved = stablehlo.convolution(%pixels, %kernel) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x6x6xf32>, tensor<5x8x1x1xf32>) -> tensor<4x5x6x6xf32>
  %floor = stablehlo.constant dense<0.0> : tensor<4x5x6x6xf32>
  %relu = stablehlo.maximum %convolved, %floor : tensor<4x5x6x6xf32>
  %pool = stablehlo.reduce(%relu init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<4x5x6x6xf32>, tensor<f32>) -> tensor<4x5xf32>
  return %silu, %less, %a, %b, %both, %times, %reversed, %relu, %pool : tensor<2x12x37xf32>, tensor<6x8x5xf32>, tensor<40xf32>, tensor<40xf32>, tensor<8x6x7x7xf32>, tensor<6x33x1xf32>, tensor<48x40x1x1xf32>, tensor<4x5x6x6xf32>, tensor<4x5xf32>
}
