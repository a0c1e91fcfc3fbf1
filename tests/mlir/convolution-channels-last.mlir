// Convolutions of bytes whose channels are neighbours, summed in i32: steps, dilated windows, all pairs of signs, channels that are no fours, groups, lines, windows of several blocks, numbers that are taken
// away, and bytes that somebody else reads as i32. Exactly, as products of rows that lie in memory.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-11: largest error 0
func.func @main(%x0: tensor<2x13x11x16xui8>, %w0: tensor<20x3x3x16xi8>, %x1: tensor<1x12x12x8xui8>, %w1: tensor<35x3x3x8xi8>, %x2: tensor<1x9x9x12xi8>, %w2: tensor<17x3x2x12xi8>, %x3: tensor<2x7x7x6xui8>, %w3: tensor<16x3x3x6xi8>, %x4: tensor<1x8x8x16xui8>, %w4: tensor<24x3x3x8xi8>, %x5: tensor<3x5x6x24xui8>, %w5: tensor<70x1x1x24xui8>, %x6: tensor<1x4x4x1024xui8>, %w6: tensor<33x3x3x1024xi8>, %x7: tensor<2x40x8xui8>, %w7: tensor<24x5x8xi8>, %x8: tensor<1x9x9x16xui8>, %w8: tensor<20x3x3x16xi8>, %x9: tensor<1x3x4x5x4xui8>, %w9: tensor<18x2x2x2x4xi8>) -> (tensor<2x6x5x20xi32>, tensor<1x8x8x35xi32>, tensor<1x7x4x17xi32>, tensor<2x5x5x16xi32>, tensor<1x6x6x24xi32>, tensor<3x5x6x70xi32>, tensor<1x2x2x33xi32>, tensor<2x18x24xi32>, tensor<1x7x7x20xi32>, tensor<1x9x9x16xi32>, tensor<1x2x3x4x18xi32>) {
  %a0 = stablehlo.convert %x0 : (tensor<2x13x11x16xui8>) -> tensor<2x13x11x16xi32>
  %b0 = stablehlo.convert %w0 : (tensor<20x3x3x16xi8>) -> tensor<20x3x3x16xi32>
  %y0 = stablehlo.convolution(%a0, %b0) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x11x16xi32>, tensor<20x3x3x16xi32>) -> tensor<2x6x5x20xi32>
  %a1 = stablehlo.convert %x1 : (tensor<1x12x12x8xui8>) -> tensor<1x12x12x8xi32>
  %b1 = stablehlo.convert %w1 : (tensor<35x3x3x8xi8>) -> tensor<35x3x3x8xi32>
  %y1 = stablehlo.convolution(%a1, %b1) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x12x12x8xi32>, tensor<35x3x3x8xi32>) -> tensor<1x8x8x35xi32>
  %a2 = stablehlo.convert %x2 : (tensor<1x9x9x12xi8>) -> tensor<1x9x9x12xi32>
  %b2 = stablehlo.convert %w2 : (tensor<17x3x2x12xi8>) -> tensor<17x3x2x12xi32>
  %y2 = stablehlo.convolution(%a2, %b2) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x12xi32>, tensor<17x3x2x12xi32>) -> tensor<1x7x4x17xi32>
  %a3 = stablehlo.convert %x3 : (tensor<2x7x7x6xui8>) -> tensor<2x7x7x6xi32>
  %b3 = stablehlo.convert %w3 : (tensor<16x3x3x6xi8>) -> tensor<16x3x3x6xi32>
  %z3 = stablehlo.constant dense<5> : tensor<2x7x7x6xi32>
  %d3 = stablehlo.subtract %a3, %z3 : tensor<2x7x7x6xi32>
  %y3 = stablehlo.convolution(%d3, %b3) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x7x6xi32>, tensor<16x3x3x6xi32>) -> tensor<2x5x5x16xi32>
  %a4 = stablehlo.convert %x4 : (tensor<1x8x8x16xui8>) -> tensor<1x8x8x16xi32>
  %b4 = stablehlo.convert %w4 : (tensor<24x3x3x8xi8>) -> tensor<24x3x3x8xi32>
  %z4 = stablehlo.constant dense<9> : tensor<1x8x8x16xi32>
  %d4 = stablehlo.subtract %a4, %z4 : tensor<1x8x8x16xi32>
  %y4 = stablehlo.convolution(%d4, %b4) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x16xi32>, tensor<24x3x3x8xi32>) -> tensor<1x6x6x24xi32>
  %a5 = stablehlo.convert %x5 : (tensor<3x5x6x24xui8>) -> tensor<3x5x6x24xi32>
  %b5 = stablehlo.convert %w5 : (tensor<70x1x1x24xui8>) -> tensor<70x1x1x24xi32>
  %z5 = stablehlo.constant dense<200> : tensor<3x5x6x24xi32>
  %d5 = stablehlo.subtract %a5, %z5 : tensor<3x5x6x24xi32>
  %y5 = stablehlo.convolution(%d5, %b5) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x5x6x24xi32>, tensor<70x1x1x24xi32>) -> tensor<3x5x6x70xi32>
  %a6 = stablehlo.convert %x6 : (tensor<1x4x4x1024xui8>) -> tensor<1x4x4x1024xi32>
  %b6 = stablehlo.convert %w6 : (tensor<33x3x3x1024xi8>) -> tensor<33x3x3x1024xi32>
  %z6 = stablehlo.constant dense<77> : tensor<1x4x4x1024xi32>
  %d6 = stablehlo.subtract %a6, %z6 : tensor<1x4x4x1024xi32>
  %y6 = stablehlo.convolution(%d6, %b6) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1024xi32>, tensor<33x3x3x1024xi32>) -> tensor<1x2x2x33xi32>
  %a7 = stablehlo.convert %x7 : (tensor<2x40x8xui8>) -> tensor<2x40x8xi32>
  %b7 = stablehlo.convert %w7 : (tensor<24x5x8xi8>) -> tensor<24x5x8xi32>
  %z7 = stablehlo.constant dense<3> : tensor<2x40x8xi32>
  %d7 = stablehlo.subtract %a7, %z7 : tensor<2x40x8xi32>
  %y7 = stablehlo.convolution(%d7, %b7) dim_numbers = [b, 0, f]x[o, 0, i]->[b, 0, f], window = {stride = [2], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x40x8xi32>, tensor<24x5x8xi32>) -> tensor<2x18x24xi32>
  %a8 = stablehlo.convert %x8 : (tensor<1x9x9x16xui8>) -> tensor<1x9x9x16xi32>
  %b8 = stablehlo.convert %w8 : (tensor<20x3x3x16xi8>) -> tensor<20x3x3x16xi32>
  %z8 = stablehlo.constant dense<100> : tensor<1x9x9x16xi32>
  %d8 = stablehlo.subtract %a8, %z8 : tensor<1x9x9x16xi32>
  %y8 = stablehlo.convolution(%d8, %b8) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x16xi32>, tensor<20x3x3x16xi32>) -> tensor<1x7x7x20xi32>
  %a9 = stablehlo.convert %x9 : (tensor<1x3x4x5x4xui8>) -> tensor<1x3x4x5x4xi32>
  %b9 = stablehlo.convert %w9 : (tensor<18x2x2x2x4xi8>) -> tensor<18x2x2x2x4xi32>
  %z9 = stablehlo.constant dense<1> : tensor<1x3x4x5x4xi32>
  %d9 = stablehlo.subtract %a9, %z9 : tensor<1x3x4x5x4xi32>
  %y9 = stablehlo.convolution(%d9, %b9) dim_numbers = [b, 0, 1, 2, f]x[o, 0, 1, 2, i]->[b, 0, 1, 2, f], window = {stride = [1, 1, 1], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x5x4xi32>, tensor<18x2x2x2x4xi32>) -> tensor<1x2x3x4x18xi32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %a8, %y9 : tensor<2x6x5x20xi32>, tensor<1x8x8x35xi32>, tensor<1x7x4x17xi32>, tensor<2x5x5x16xi32>, tensor<1x6x6x24xi32>, tensor<3x5x6x70xi32>, tensor<1x2x2x33xi32>, tensor<2x18x24xi32>, tensor<1x7x7x20xi32>, tensor<1x9x9x16xi32>, tensor<1x2x3x4x18xi32>
}
