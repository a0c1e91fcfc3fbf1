// Places of windows and outputs that meet nothing but padding; images of one element; kernels that are transposed and reversed. Winograd's sums of 360 products round by about 1e-5 in f32.
// RUN: cresset-run --compare --tolerance=3e-5 %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// CHECK-NOT: too large
// CHECK-COUNT-14: largest error
func.func @main(%x: tensor<8x12x1x1xf32>, %w: tensor<12x10x4x4xf32>, %v: tensor<10x12x3x3xf32>, %g: tensor<8x10x1x1xf32>, %line: tensor<8x12x1x9xf32>, %far: tensor<2x12x3x4xf32>, %h: tensor<8x12x1x1xbf16>, %wh: tensor<12x10x4x4xbf16>, %y: tensor<2x40x12x13xf32>, %u: tensor<40x48x3x3xf32>, %by: tensor<2x10x5x5xf32>, %step: tensor<2x12x11x12xf32>, %gs: tensor<2x10x5x4xf32>, %gl: tensor<2x13x11x12xf32>, %xl: tensor<2x12x13x11xf32>) -> (
    tensor<8x10x4x4xf32>, tensor<8x10x1x1xf32>, tensor<10x12x3x3xf32>, tensor<8x10x1x9xf32>, tensor<8x10x2x3xf32>, tensor<2x10x3x4xf32>, tensor<8x10x4x4xbf16>, tensor<2x48x12x13xf32>, tensor<2x12x10x11xf32>, tensor<2x10x7x8xf32>, tensor<8x10x5x4xf32>, tensor<8x10x4x4xf32>, tensor<10x12x1x1xf32>, tensor<12x1x3x3xf32>) {
  %t = stablehlo.transpose %w, dims = [1, 0, 2, 3] : (tensor<12x10x4x4xf32>) -> tensor<10x12x4x4xf32>
  %r = stablehlo.reverse %t, dims = [2, 3] : tensor<10x12x4x4xf32>
  // What a generator begins with: by its weights as they lie.
  // RULE: [[W:%.*]] = stablehlo.reshape %arg1 : (tensor<12x10x4x4xf32>) -> tensor<12x160xf32>
  // RULE: dot_general {{.*}}, [[W]], contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x160xf32>)
  %0 = stablehlo.convolution(%x, %r) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 3], [3, 3]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<10x12x4x4xf32>) -> tensor<8x10x4x4xf32>
  // One place of nine, and its gradient.
  // RULE: stablehlo.slice %arg2 [0:10, 0:12, 1:2, 1:2]
  // RULE: dot_general
  %1 = stablehlo.convolution(%x, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<10x12x3x3xf32>) -> tensor<8x10x1x1xf32>
  // RULE: convolution{{.*}} -> tensor<10x12x1x1xf32>
  // RULE: stablehlo.pad
  %2 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<8x10x1x1xf32>) -> tensor<10x12x3x3xf32>
  // Three of nine.
  // RULE: stablehlo.slice %arg2 [0:10, 0:12, 1:2, 0:3]
  // RULE: convolution{{.*}}pad = {{\[\[}}0, 0], [1, 1]]
  %3 = stablehlo.convolution(%line, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x9xf32>, tensor<10x12x3x3xf32>) -> tensor<8x10x1x9xf32>
  // Some of a window that is reversed, or along one dimension.
  %4 = stablehlo.convolution(%x, %r) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [2, 3]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<10x12x4x4xf32>) -> tensor<8x10x2x3xf32>
  // Dilated windows reach further than the image: three places of a row of three, one of a column's; by two, from where no place meets an element.
  %5 = stablehlo.convolution(%far, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[4, 4], [3, 3]], rhs_dilate = [4, 3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x12x3x4xf32>, tensor<10x12x3x3xf32>) -> tensor<2x10x3x4xf32>
  %th = stablehlo.transpose %wh, dims = [1, 0, 2, 3] : (tensor<12x10x4x4xbf16>) -> tensor<10x12x4x4xbf16>
  %6 = stablehlo.convolution(%h, %th) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xbf16>, tensor<10x12x4x4xbf16>) -> tensor<8x10x4x4xbf16>
  // The gradient of an input reads the kernel as it lies, also Winograd's; by two; where one dimension is reversed.
  // RULE: convolution(%arg8, %arg9) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]{{.*}}reverse = [true, true]
  %tu = stablehlo.transpose %u, dims = [1, 0, 2, 3] : (tensor<40x48x3x3xf32>) -> tensor<48x40x3x3xf32>
  %ru = stablehlo.reverse %tu, dims = [2, 3] : tensor<48x40x3x3xf32>
  %7 = stablehlo.convolution(%y, %ru) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x40x12x13xf32>, tensor<48x40x3x3xf32>) -> tensor<2x48x12x13xf32>
  // RULE: convolution(%arg10, %arg2) dim_numbers = [b, f, 0, 1]x[i, o, 1, 0]{{.*}}reverse = [true, false]
  %tv = stablehlo.transpose %v, dims = [3, 1, 2, 0] : (tensor<10x12x3x3xf32>) -> tensor<3x12x3x10xf32>
  %rv = stablehlo.reverse %tv, dims = [0] : tensor<3x12x3x10xf32>
  %8 = stablehlo.convolution(%by, %rv) dim_numbers = [b, f, 0, 1]x[0, o, 1, i]->[b, f, 0, 1], window = {pad = [[1, 2], [1, 3]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x10x5x5xf32>, tensor<3x12x3x10xf32>) -> tensor<2x12x10x11xf32>
  // Two outputs of seven rows, two of eight columns meet the image.
  // RULE: convolution(%arg5, {{.*}} -> tensor<2x10x3x3xf32>
  // RULE: stablehlo.pad
  %9 = stablehlo.convolution(%far, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[6, 6], [8, 5]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x12x3x4xf32>, tensor<10x12x3x3xf32>) -> tensor<2x10x7x8xf32>
  // Whose windows meet the one element at places far apart; a kernel that is read twice.
  %10 = stablehlo.convolution(%x, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[4, 4], [3, 2]], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<10x12x3x3xf32>) -> tensor<8x10x5x4xf32>
  %11 = stablehlo.convolution(%x, %t) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 3], [3, 3]], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x12x1x1xf32>, tensor<10x12x4x4xf32>) -> tensor<8x10x4x4xf32>
  // The gradient of a kernel of one place that moves by two and by three sees every second row, every third column.
  // RULE: [[SEEN:%.*]] = stablehlo.slice %arg11 [0:2, 0:12, 1:10:2, 0:10:3]
  // RULE: convolution([[SEEN]], %arg12){{.*}}rhs_dilate = [1, 1]
  %12 = stablehlo.convolution(%step, %gs) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[-1, -1], [0, -2]], rhs_dilate = [2, 3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x12x11x12xf32>, tensor<2x10x5x4xf32>) -> tensor<10x12x1x1xf32>
  // A kernel of several places is summed along rows of the outputs' gradient, which are made of one with channels last.
  // RULE: [[ROWS:%.*]] = stablehlo.transpose %arg13, dims = [0, 3, 1, 2]
  // RULE: convolution(%arg14, [[ROWS]])
  %gf = stablehlo.transpose %gl, dims = [0, 3, 1, 2] : (tensor<2x13x11x12xf32>) -> tensor<2x12x13x11xf32>
  %13 = stablehlo.convolution(%xl, %gf) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 12 : i64, feature_group_count = 1 : i64}
      : (tensor<2x12x13x11xf32>, tensor<2x12x13x11xf32>) -> tensor<12x1x3x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 : tensor<8x10x4x4xf32>, tensor<8x10x1x1xf32>, tensor<10x12x3x3xf32>, tensor<8x10x1x9xf32>, tensor<8x10x2x3xf32>, tensor<2x10x3x4xf32>, tensor<8x10x4x4xbf16>, tensor<2x48x12x13xf32>, tensor<2x12x10x11xf32>, tensor<2x10x7x8xf32>, tensor<8x10x5x4xf32>, tensor<8x10x4x4xf32>, tensor<10x12x1x1xf32>, tensor<12x1x3x3xf32>
}
