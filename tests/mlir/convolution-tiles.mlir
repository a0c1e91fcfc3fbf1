// Convolutions by tiles, whose channels are neighbours. Bytes, exactly: whole steps of channels and none, parts of one place that has many, dilated windows, steps, groups, numbers that are taken away, in one
// block along K and in several. bf16: connected convolutions of planes get their channels last where that pays, with residuals, pads and concatenations between, and are transposed only around all of
// them; one that gains too little stays; others have their channels last already. What lies outside the image is 0.
// RUN: split-file %s %t
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %t/bytes.mlir | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_THREADS=2 cresset-run --compare %t/bytes.mlir | FileCheck %s --check-prefix=EXACT
// RUN: cresset-run --compare --cpu=avx2 %t/bytes.mlir | FileCheck %s --check-prefix=EXACT
// RUN: cresset-run --assembly --cpu=amx %t/bytes.mlir | FileCheck %s --check-prefix=TILES
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare --tolerance=1e-2 %t/chain.mlir
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare --tolerance=1e-2 %t/last.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=1e-2 --cpu=wide %t/last.mlir
// RUN: cresset-run --compare --tolerance=1e-2 --cpu=avx2 %t/last.mlir
// RUN: cresset-opt --simplify=tiles=1 %t/chain.mlir | FileCheck %s --check-prefix=CHAIN
// RUN: cresset-opt --simplify %t/chain.mlir | FileCheck %s --check-prefix=PLANES
// RUN: cresset-opt --simplify=tiles=1 %t/alone.mlir | FileCheck %s --check-prefix=PLANES
// RUN: cresset-opt --simplify=tiles=1 %t/few.mlir | FileCheck %s --check-prefix=FEW
// RUN: cresset-run --assembly --cpu=amx %t/last.mlir | FileCheck %s --check-prefix=LAST
// EXACT-NOT: too large
// EXACT-COUNT-7: largest error 0{{$}}
// TILES: tdpbusd
// TILES: tdpbssd
// What the chain begins with, where it is also added as a wider type, the weights of windows, and the result.
// CHAIN-COUNT-4: stablehlo.transpose {{.*}}dims = [0, 2, 3, 1]
// CHAIN-NOT: stablehlo.transpose
// CHAIN: stablehlo.transpose {{.*}}dims = [0, 3, 1, 2]
// CHAIN: return
// Few features, but large windows, which are not packed then.
// FEW: stablehlo.transpose {{.*}}dims = [0, 2, 3, 1]
// FEW: stablehlo.transpose {{.*}}dims = [0, 3, 1, 2]
// PLANES-NOT: stablehlo.transpose
// PLANES: return
// LAST: tdpbf16ps
//--- bytes.mlir
func.func @main(%x0: tensor<2x9x8x64xui8>, %w0: tensor<40x3x3x64xi8>, %x1: tensor<1x7x7x64xi8>, %w1: tensor<24x3x3x64xi8>, %x2: tensor<1x9x9x128xui8>, %w2: tensor<33x3x3x128xi8>, %x3: tensor<1x4x5x2176xui8>, %w3: tensor<20x2x1x2176xi8>, %x4: tensor<1x6x6x24xui8>, %w4: tensor<18x3x3x24xi8>, %x5: tensor<1x5x6x128xi8>, %w5: tensor<48x2x2x64xi8>, %x6: tensor<3x5x6x96xui8>, %w6: tensor<70x1x1x96xi8>) -> (tensor<2x7x6x40xi32>, tensor<1x3x3x24xi32>, tensor<1x5x5x33xi32>, tensor<1x3x5x20xi32>, tensor<1x4x4x18xi32>, tensor<1x4x5x48xi32>, tensor<3x5x6x70xi32>) {
  %a0 = stablehlo.convert %x0 : (tensor<2x9x8x64xui8>) -> tensor<2x9x8x64xi32>
  %b0 = stablehlo.convert %w0 : (tensor<40x3x3x64xi8>) -> tensor<40x3x3x64xi32>
  %y0 = stablehlo.convolution(%a0, %b0) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x64xi32>, tensor<40x3x3x64xi32>) -> tensor<2x7x6x40xi32>
  %a1 = stablehlo.convert %x1 : (tensor<1x7x7x64xi8>) -> tensor<1x7x7x64xi32>
  %b1 = stablehlo.convert %w1 : (tensor<24x3x3x64xi8>) -> tensor<24x3x3x64xi32>
  %y1 = stablehlo.convolution(%a1, %b1) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x7x64xi32>, tensor<24x3x3x64xi32>) -> tensor<1x3x3x24xi32>
  %a2 = stablehlo.convert %x2 : (tensor<1x9x9x128xui8>) -> tensor<1x9x9x128xi32>
  %b2 = stablehlo.convert %w2 : (tensor<33x3x3x128xi8>) -> tensor<33x3x3x128xi32>
  %z2 = stablehlo.constant dense<5> : tensor<1x9x9x128xi32>
  %s2 = stablehlo.subtract %a2, %z2 : tensor<1x9x9x128xi32>
  %y2 = stablehlo.convolution(%s2, %b2) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x128xi32>, tensor<33x3x3x128xi32>) -> tensor<1x5x5x33xi32>
  %a3 = stablehlo.convert %x3 : (tensor<1x4x5x2176xui8>) -> tensor<1x4x5x2176xi32>
  %b3 = stablehlo.convert %w3 : (tensor<20x2x1x2176xi8>) -> tensor<20x2x1x2176xi32>
  %z3 = stablehlo.constant dense<9> : tensor<1x4x5x2176xi32>
  %s3 = stablehlo.subtract %a3, %z3 : tensor<1x4x5x2176xi32>
  %y3 = stablehlo.convolution(%s3, %b3) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x5x2176xi32>, tensor<20x2x1x2176xi32>) -> tensor<1x3x5x20xi32>
  %a4 = stablehlo.convert %x4 : (tensor<1x6x6x24xui8>) -> tensor<1x6x6x24xi32>
  %b4 = stablehlo.convert %w4 : (tensor<18x3x3x24xi8>) -> tensor<18x3x3x24xi32>
  %z4 = stablehlo.constant dense<3> : tensor<1x6x6x24xi32>
  %s4 = stablehlo.subtract %a4, %z4 : tensor<1x6x6x24xi32>
  %y4 = stablehlo.convolution(%s4, %b4) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x24xi32>, tensor<18x3x3x24xi32>) -> tensor<1x4x4x18xi32>
  %a5 = stablehlo.convert %x5 : (tensor<1x5x6x128xi8>) -> tensor<1x5x6x128xi32>
  %b5 = stablehlo.convert %w5 : (tensor<48x2x2x64xi8>) -> tensor<48x2x2x64xi32>
  %y5 = stablehlo.convolution(%a5, %b5) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x5x6x128xi32>, tensor<48x2x2x64xi32>) -> tensor<1x4x5x48xi32>
  %a6 = stablehlo.convert %x6 : (tensor<3x5x6x96xui8>) -> tensor<3x5x6x96xi32>
  %b6 = stablehlo.convert %w6 : (tensor<70x1x1x96xi8>) -> tensor<70x1x1x96xi32>
  %z6 = stablehlo.constant dense<7> : tensor<3x5x6x96xi32>
  %s6 = stablehlo.subtract %a6, %z6 : tensor<3x5x6x96xi32>
  %y6 = stablehlo.convolution(%s6, %b6) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x5x6x96xi32>, tensor<70x1x1x96xi32>) -> tensor<3x5x6x70xi32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6 : tensor<2x7x6x40xi32>, tensor<1x3x3x24xi32>, tensor<1x5x5x33xi32>, tensor<1x3x5x20xi32>, tensor<1x4x4x18xi32>, tensor<1x4x5x48xi32>, tensor<3x5x6x70xi32>
}
//--- chain.mlir
func.func @main(%x: tensor<8x96x14x14xbf16>, %w0: tensor<96x96x3x3xbf16>, %w1: tensor<96x96x1x1xbf16>, %w2: tensor<96x96x3x3xbf16>, %w3: tensor<96x192x3x3xbf16>, %bias: tensor<96xbf16>) -> tensor<8x96x7x7xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x96x14x14xbf16>
  %tenth = stablehlo.constant dense<0.1> : tensor<8x96x14x14xbf16>
  %small = stablehlo.constant dense<0.03> : tensor<8x96x14x14xbf16>
  %smaller = stablehlo.constant dense<0.02> : tensor<8x96x7x7xbf16>
  %begin = stablehlo.maximum %x, %zeros : tensor<8x96x14x14xbf16>
  %0 = stablehlo.convolution(%begin, %w0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x96x14x14xbf16>, tensor<96x96x3x3xbf16>) -> tensor<8x96x14x14xbf16>
  %1 = stablehlo.multiply %0, %small : tensor<8x96x14x14xbf16>
  %spread = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<96xbf16>) -> tensor<8x96x14x14xbf16>
  %2 = stablehlo.add %1, %spread : tensor<8x96x14x14xbf16>
  %wide = stablehlo.convert %2 : (tensor<8x96x14x14xbf16>) -> tensor<8x96x14x14xf32>
  %wide_begin = stablehlo.convert %begin : (tensor<8x96x14x14xbf16>) -> tensor<8x96x14x14xf32>
  %sum = stablehlo.add %wide_begin, %wide : tensor<8x96x14x14xf32>
  %3 = stablehlo.convert %sum : (tensor<8x96x14x14xf32>) -> tensor<8x96x14x14xbf16>
  %4 = stablehlo.convolution(%3, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x96x14x14xbf16>, tensor<96x96x1x1xbf16>) -> tensor<8x96x14x14xbf16>
  %5 = stablehlo.multiply %4, %tenth : tensor<8x96x14x14xbf16>
  %6 = stablehlo.convolution(%5, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x96x14x14xbf16>, tensor<96x96x3x3xbf16>) -> tensor<8x96x14x14xbf16>
  %7 = stablehlo.multiply %6, %small : tensor<8x96x14x14xbf16>
  %8 = stablehlo.concatenate %7, %3, dim = 1 : (tensor<8x96x14x14xbf16>, tensor<8x96x14x14xbf16>) -> tensor<8x192x14x14xbf16>
  %9 = stablehlo.pad %8, %zero, low = [0, 0, 1, 0], high = [0, 0, 0, 1], interior = [0, 0, 0, 0] : (tensor<8x192x14x14xbf16>, tensor<bf16>) -> tensor<8x192x15x15xbf16>
  %10 = stablehlo.convolution(%9, %w3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x192x15x15xbf16>, tensor<96x192x3x3xbf16>) -> tensor<8x96x7x7xbf16>
  %11 = stablehlo.multiply %10, %smaller : tensor<8x96x7x7xbf16>
  return %11 : tensor<8x96x7x7xbf16>
}
//--- alone.mlir
func.func @main(%x: tensor<4x64x56x56xbf16>, %w: tensor<256x64x1x1xbf16>) -> tensor<4x256x56x56xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x64x56x56xbf16>, tensor<256x64x1x1xbf16>) -> tensor<4x256x56x56xbf16>
  return %0 : tensor<4x256x56x56xbf16>
}
//--- last.mlir
func.func @main(%x: tensor<2x13x9x64xbf16>, %w: tensor<40x3x3x64xbf16>, %v: tensor<5x3x64x48xbf16>, %l: tensor<3x50x96xbf16>, %k: tensor<24x7x96xbf16>, %c: tensor<1x5x6x7x32xbf16>, %d: tensor<20x3x2x3x32xbf16>, %p: tensor<1x4x3x1056xbf16>, %q: tensor<16x2x2x1056xbf16>) -> (tensor<2x7x5x40xbf16>, tensor<2x11x9x48xbf16>, tensor<3x25x24xbf16>, tensor<1x5x5x7x20xbf16>, tensor<1x4x3x16xbf16>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x9x64xbf16>, tensor<40x3x3x64xbf16>) -> tensor<2x7x5x40xbf16>
  %1 = stablehlo.convolution(%x, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [2, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x9x64xbf16>, tensor<5x3x64x48xbf16>) -> tensor<2x11x9x48xbf16>
  %2 = stablehlo.convolution(%l, %k) dim_numbers = [b, 0, f]x[o, 0, i]->[b, 0, f], window = {stride = [2], pad = [[3, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x50x96xbf16>, tensor<24x7x96xbf16>) -> tensor<3x25x24xbf16>
  %3 = stablehlo.convolution(%c, %d) dim_numbers = [b, 0, 1, 2, f]x[o, 0, 1, 2, i]->[b, 0, 1, 2, f], window = {pad = [[1, 1], [0, 0], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x6x7x32xbf16>, tensor<20x3x2x3x32xbf16>) -> tensor<1x5x5x7x20xbf16>
  %4 = stablehlo.convolution(%p, %q) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {pad = [[1, 0], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x3x1056xbf16>, tensor<16x2x2x1056xbf16>) -> tensor<1x4x3x16xbf16>
  return %0, %1, %2, %3, %4 : tensor<2x7x5x40xbf16>, tensor<2x11x9x48xbf16>, tensor<3x25x24xbf16>, tensor<1x5x5x7x20xbf16>, tensor<1x4x3x16xbf16>
}
//--- few.mlir
func.func @main(%x: tensor<1x64x56x56xbf16>, %w: tensor<64x64x3x3xbf16> {cresset.weight}) -> tensor<1x64x56x56xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x56x56xbf16>, tensor<64x64x3x3xbf16>) -> tensor<1x64x56x56xbf16>
  return %0 : tensor<1x64x56x56xbf16>
}
