// Depthwise convolutions whose channels are neighbours: of floats, of bytes less a number, around which the image is padded; lines, volumes, steps, dilated windows, rows that are no whole tiles,
// windows larger than the image, channels that are no whole vectors, and several blocks of these.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=CODE
// CHECK-NOT: too large
// CHECK-COUNT-7: largest error
// RULE: stablehlo.convolution{{.*}}pad = {{\[\[}}1, 2], [3, 1]]{{.*}}feature_group_count = 24{{.*}}(tensor<2x9x13x24xf32>, tensor<5x4x1x24xf32>)
// RULE-NOT: stablehlo.pad
// Bytes are read as such, and padded nowhere.
// CODE: # convolution f32[2x9x13x24] f32[5x4x1x24] -> ui8[2x4x7x24]
// CODE: vpmovzxbd
// CODE-NOT: {{^}}# rows{{.*}}pad
func.func @main(%line: tensor<3x40x20xf32>, %kl: tensor<5x1x20xf32>, %image: tensor<1x7x30x300xf32>, %ki: tensor<3x3x1x300xf32>, %volume: tensor<1x4x5x6x8xf32>, %kv: tensor<3x2x3x1x8xf32>, %half: tensor<2x6x9x19xbf16>, %kh: tensor<3x3x1x19xbf16>, %small: tensor<2x2x3x12xf32>, %ks: tensor<7x7x1x12xf32>, %bytes: tensor<2x9x13x24xf32>, %kb: tensor<5x4x1x24xi8>, %signed: tensor<1x6x11x16xi8>, %kg: tensor<3x3x1x16xf32>) -> (tensor<3x18x20xf32>, tensor<1x7x30x300xf32>, tensor<1x4x3x6x8xf32>, tensor<2x6x5x19xbf16>, tensor<2x2x3x12xf32>, tensor<2x4x7x24xui8>, tensor<1x6x11x16xf32>) {
  %0 = stablehlo.convolution(%line, %kl) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 3]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<3x40x20xf32>, tensor<5x1x20xf32>) -> tensor<3x18x20xf32>
  %1 = stablehlo.convolution(%image, %ki) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 300 : i64} : (tensor<1x7x30x300xf32>, tensor<3x3x1x300xf32>) -> tensor<1x7x30x300xf32>
  %2 = stablehlo.convolution(%volume, %kv) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {stride = [1, 2, 1], pad = [[2, 0], [0, 1], [1, 1]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<1x4x5x6x8xf32>, tensor<3x2x3x1x8xf32>) -> tensor<1x4x3x6x8xf32>
  %3 = stablehlo.convolution(%half, %kh) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 19 : i64} : (tensor<2x6x9x19xbf16>, tensor<3x3x1x19xbf16>) -> tensor<2x6x5x19xbf16>
  %4 = stablehlo.convolution(%small, %ks) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[3, 3], [3, 3]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 12 : i64} : (tensor<2x2x3x12xf32>, tensor<7x7x1x12xf32>) -> tensor<2x2x3x12xf32>
  // quantised behind the padding, whose zeros are 7 then
  %pad_value = stablehlo.constant dense<0.0> : tensor<f32>
  %padded = stablehlo.pad %bytes, %pad_value, low = [0, 1, 3, 0], high = [0, 2, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x9x13x24xf32>, tensor<f32>) -> tensor<2x12x17x24xf32>
  %scale = stablehlo.constant dense<20.0> : tensor<2x12x17x24xf32>
  %seven = stablehlo.constant dense<7.0> : tensor<2x12x17x24xf32>
  %lowest = stablehlo.constant dense<0.0> : tensor<2x12x17x24xf32>
  %most = stablehlo.constant dense<255.0> : tensor<2x12x17x24xf32>
  %q0 = stablehlo.multiply %padded, %scale : tensor<2x12x17x24xf32>
  %q1 = stablehlo.round_nearest_even %q0 : tensor<2x12x17x24xf32>
  %q2 = stablehlo.add %q1, %seven : tensor<2x12x17x24xf32>
  %q3 = stablehlo.maximum %q2, %lowest : tensor<2x12x17x24xf32>
  %q4 = stablehlo.minimum %q3, %most : tensor<2x12x17x24xf32>
  %q5 = stablehlo.convert %q4 : (tensor<2x12x17x24xf32>) -> tensor<2x12x17x24xui8>
  %q6 = stablehlo.convert %q5 : (tensor<2x12x17x24xui8>) -> tensor<2x12x17x24xf32>
  %q7 = stablehlo.subtract %q6, %seven : tensor<2x12x17x24xf32>
  %w = stablehlo.convert %kb : (tensor<5x4x1x24xi8>) -> tensor<5x4x1x24xf32>
  %5 = stablehlo.convolution(%q7, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64} : (tensor<2x12x17x24xf32>, tensor<5x4x1x24xf32>) -> tensor<2x4x7x24xf32>
  %small_scale = stablehlo.constant dense<1.953125e-03> : tensor<2x4x7x24xf32>
  %none = stablehlo.constant dense<0.0> : tensor<2x4x7x24xf32>
  %largest = stablehlo.constant dense<255.0> : tensor<2x4x7x24xf32>
  %r0 = stablehlo.multiply %5, %small_scale : tensor<2x4x7x24xf32>
  %r1 = stablehlo.round_nearest_even %r0 : tensor<2x4x7x24xf32>
  %r2 = stablehlo.maximum %r1, %none : tensor<2x4x7x24xf32>
  %r3 = stablehlo.minimum %r2, %largest : tensor<2x4x7x24xf32>
  %r4 = stablehlo.convert %r3 : (tensor<2x4x7x24xf32>) -> tensor<2x4x7x24xui8>
  // signed ones as they are, by weights that are floats
  %s0 = stablehlo.convert %signed : (tensor<1x6x11x16xi8>) -> tensor<1x6x11x16xf32>
  %s1 = stablehlo.constant dense<-3.0> : tensor<1x6x11x16xf32>
  %s2 = stablehlo.subtract %s0, %s1 : tensor<1x6x11x16xf32>
  %6 = stablehlo.convolution(%s2, %kg) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<1x6x11x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x6x11x16xf32>
  return %0, %1, %2, %3, %4, %r4, %6 : tensor<3x18x20xf32>, tensor<1x7x30x300xf32>, tensor<1x4x3x6x8xf32>, tensor<2x6x5x19xbf16>, tensor<2x2x3x12xf32>, tensor<2x4x7x24xui8>, tensor<1x6x11x16xf32>
}
