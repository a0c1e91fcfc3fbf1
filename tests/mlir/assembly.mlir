// What the inner loops are made of, on machines that this one need not be.
// RUN: split-file %s %t
// RUN: cresset-run --assembly --cpu=avx512 %t/bf16.mlir | FileCheck %s --check-prefix=PAIRS
// RUN: cresset-run --assembly --cpu=amx %t/bf16.mlir | FileCheck %s --check-prefix=TILES
// RUN: cresset-run --assembly --cpu=avx512 %t/attention.mlir | FileCheck %s --check-prefix=WEIGHTS
// RUN: cresset-run --assembly --cpu=amx %t/epilogue.mlir | FileCheck %s --check-prefix=EPILOGUE
// RUN: cresset-run --assembly --cpu=amx %t/f32.mlir | FileCheck %s --check-prefix=SPLIT
// RUN: cresset-run --assembly --cpu=avx512 %t/f32.mlir | FileCheck %s --check-prefix=WIDE
// RUN: cresset-run --assembly --cpu=avx2 %t/f32.mlir | FileCheck %s --check-prefix=NARROW
// RUN: sed 's/512x/128x/g; s/3072/2816/g' %t/f32.mlir | cresset-run --assembly --cpu=avx2 - | FileCheck %s --check-prefix=NARROW
// RUN: cresset-run --assembly --cpu=avx512 %t/some_rows.mlir | FileCheck %s --check-prefix=SOME
// RUN: cresset-run --assembly --cpu=avx512 %t/images.mlir | FileCheck %s --check-prefix=IMAGES
// RUN: cresset-run --assembly --cpu=avx512 %t/few_rows.mlir | FileCheck %s --check-prefix=FEW
// RUN: cresset-run --assembly --cpu=avx512 %t/few_rows_far.mlir | FileCheck %s --check-prefix=FAR
// RUN: sed 's/<8x/<1x/g' %t/few_rows_far.mlir | cresset-run --assembly --cpu=avx2 - | FileCheck %s --check-prefix=ONE
// RUN: sed 's/<8x/<16x/g' %t/few_rows_far.mlir | cresset-run --assembly --cpu=avx2 - | FileCheck %s --check-prefix=LONG
// RUN: sed 's/<8x/<16x/g; s/x768x/x256x/g' %t/few_rows_far.mlir | cresset-run --assembly --cpu=avx2 - | FileCheck %s --check-prefix=SHORT
// RUN: cresset-run --assembly --cpu=avx512 %t/rows_along_n.mlir | FileCheck %s --check-prefix=ALONG
// RUN: cresset-run --assembly --cpu=avx2 %t/rows.mlir | FileCheck %s --check-prefix=ROWS
// RUN: cresset-run --assembly --cpu=avx512 %t/math.mlir | FileCheck %s --check-prefix=MATH
// RUN: cresset-run --assembly --cpu=avx512 %t/math.mlir | FileCheck %s --check-prefix=PARTS
// RUN: cresset-run --assembly --cpu=avx512 %t/softmax.mlir | FileCheck %s --check-prefix=AHEAD
// RUN: cresset-run --assembly --cpu=avx2 %t/softmax.mlir | FileCheck %s --check-prefix=NARROW-AHEAD
// RUN: cresset-run --assembly --cpu=avx512 %t/large.mlir | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/4096x/512x/g' %t/large.mlir | cresset-run --assembly --cpu=avx512 - | FileCheck %s --check-prefix=SMALL
// RUN: cresset-run --assembly --cpu=avx2 %t/math.mlir | FileCheck %s --check-prefix=MATH
// RUN: cresset-run --assembly --cpu=avx512 %t/remainder.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx2 %t/remainder.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx2 %t/remainder64.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx512 %t/tan.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx2 %t/tan.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx512 %t/power.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx2 %t/power.mlir | FileCheck %s --check-prefix=RARELY
// RUN: cresset-run --assembly --cpu=avx512 %t/narrowed.mlir | FileCheck %s --check-prefix=TWICE
// RUN: cresset-run --assembly --cpu=avx512 %t/larger.mlir | FileCheck %s --check-prefix=ORDER
// RUN: cresset-run --assembly --cpu=avx512 %t/windows.mlir | FileCheck %s --check-prefix=WINDOWS
// RUN: cresset-run --assembly --cpu=avx2 %t/depthwise.mlir | FileCheck %s --check-prefix=INSIDE
// RUN: cresset-run --assembly --cpu=avx2 %t/pixels.mlir | FileCheck %s --check-prefix=PIXELS
// RUN: cresset-run --assembly --cpu=avx2 %t/bytes.mlir | FileCheck %s --check-prefix=WORDS
// RUN: cresset-run --assembly --cpu=avx2 %t/positions.mlir | FileCheck %s --check-prefix=POSITIONS
// RUN: cresset-run --assembly --cpu=avx2 %t/to_bytes.mlir | FileCheck %s --check-prefix=BYTES

// Twenty-four sums of sixteen lanes, and nothing else is spilled between them.
// PAIRS-COUNT-24: vdpbf16ps
// PAIRS-NOT: {{vdpbf16ps|vpmovdw}}
// What the sums are rounded with is one instruction.
// PAIRS: vcvtneps2bf16
// PAIRS-NOT: {{vdpbf16ps|vpmovdw}}

// So are the weights of attention, right behind their exponentials.
// WEIGHTS: vperm{{d|ps}}
// WEIGHTS-NOT: {{vcmpunord|vpmovdw}}
// WEIGHTS: vcvtneps2bf16 %zmm

// Two tiles by two: four loads and four products in each step, also in those that pack the next panel; the shapes of tiles are set once, nobody is called.
// TILES-NOT: call
// TILES: ldtilecfg
// TILES-NOT: {{call|ldtilecfg|tdpbf16ps}}
// TILES: tileloadd
// TILES: tileloadd
// TILES: tdpbf16ps
// TILES: tileloadd
// TILES: tdpbf16ps
// TILES: tileloadd
// TILES: tdpbf16ps
// TILES-NEXT: tdpbf16ps
// TILES-NOT: {{call|ldtilecfg|tdpbf16ps}}
// TILES: tilerelease
// TILES-NOT: {{call|tdpbf16ps}}

// A linear layer with its activation is one kernel, and the sums go through it a vector at a time.
// EPILOGUE-NOT: call
// EPILOGUE: tdpbf16ps
// EPILOGUE: vfmadd{{.*}}zmm
// EPILOGUE: tilerelease
// EPILOGUE-NOT: call

// Floats as sums of three bf16: six products of parts by two tiles by two, for which fourteen tiles are loaded. The next panel is packed between them: its floats are split.
// SPLIT: ldtilecfg
// SPLIT-NOT: call
// SPLIT: tdpbf16ps
// SPLIT: vsubps{{.*}}zmm
// SPLIT: tdpbf16ps
// SPLIT: tilerelease

// WIDE-COUNT-24: vfmadd{{.*}}zmm
// WIDE: jne

// With sixteen registers all twelve sums that they hold, four times in a turn of the loop, also of 128 rows, which are no multiple of six.
// NARROW-COUNT-48: vfmadd{{.*}}ymm
// NARROW-NOT: {{zmm|vfmadd}}

// Thirty-six rows are six tiles of six by four vectors, not five of eight by three.
// SOME-COUNT-4: {{vmov.*\), %zmm}}
// SOME-COUNT-6: vbroadcastss
// SOME-NOT: vbroadcastss

// 784 positions are 49 vectors, but one vector of them has a load for each multiply-add: tiles are two wide. Nothing is spilled between the sums.
// IMAGES: [[LOOP:\.L[A-Z0-9_]+]]:
// IMAGES-COUNT-16: vfmadd231ps %zmm
// IMAGES-NOT: {{vfmadd|rsp}}
// IMAGES: jne

// Eight rows of bf16 by weights as they lie: pairs along K, which nothing widens.
// FEW-NOT: vpmovzxwd {{.*}}zmm
// FEW-COUNT-24: vdpbf16ps
// FEW-NOT: {{vdpbf16ps|vpmovzxwd.*zmm}}

// Weights that come from memory are asked for up to L2, a line for each that is multiplied.
// FAR-NOT: {{prefetch(t0|nta)}}
// FAR-COUNT-3: prefetcht1
// FAR-NOT: prefetch

// One row by AVX2 reads four of them side by side, two lines of each in turn, as the hardware follows by itself.
// ONE-NOT: prefetch
// ONE-COUNT-16: vfmadd{{.*}}ymm
// ONE-NOT: {{prefetch|vfmadd}}

// Some rows are dot products, which end in a sum of lanes; of few terms that takes longer than packing.
// LONG: vfmadd
// LONG-NOT: vbroadcastss
// SHORT: vbroadcastss
// SHORT: vfmadd

// Eight rows of bf16 by weights along N: their elements are widened before, not in the loop over columns.
// ALONG-NOT: vpbroadcastd %{{[er].*}}, %zmm
// ALONG-COUNT-128: vfmadd{{.*}}zmm
// ALONG-NOT: vpbroadcastd %{{[er].*}}, %zmm

// The sums of four rows and what they are made of fit into the registers.
// ROWS-NOT: vmovups{{.*}}%ymm{{.*}}(%rsp)
// ROWS: vfmadd
// ROWS-NOT: vmovups{{.*}}(%rsp), %ymm

// Sixty-four elements are four lines: two that will be read are asked for, and with narrower vectors two that will be written.
// A register holds the powers of two that exponentials begin with.
// AHEAD-COUNT-4: vperm{{d|ps}}
// AHEAD-COUNT-2: prefetcht0
// AHEAD-NOT: prefetchw
// NARROW-AHEAD-COUNT-2: prefetch

// Large results are written past the caches, if they begin with a line and overwrite no input.
// LARGE-DAG: vmovntps %zmm
// LARGE-DAG: sfence
// LARGE-DAG: vmovups %zmm
// SMALL: .text
// SMALL-NOT: {{vmovnt|sfence}}
// SMALL: .size

// Transcendental functions call nobody.
// MATH: .text
// MATH-NOT: call
// MATH: .size

// Logarithms take numbers apart by one instruction for each part, also those of 0 and inf.
// PARTS-DAG: vgetexpps
// PARTS-DAG: vgetmantps

// By way of f32: nobody makes bf16 of f64 at once.
// TWICE-NOT: call
// TWICE: vcvtpd2ps
// TWICE-NOT: call
// TWICE: vcvtne{{(2)?}}ps2bf16
// TWICE-NOT: call

// Those that call for arguments far out go round the calls first: a vector is divided before anybody is called.
// RARELY-NOT: call
// RARELY: vdivp{{[sd]}} {{.*[yz]mm}}

// The largest of several rounded numbers is rounded once: by the instruction, not by masks, unless a lane is denormal.
// ORDER: vfmadd
// ORDER-NOT: vpandd
// ORDER: vmaxps
// ORDER: vfpclassps
// ORDER: jne
// ORDER: vcvtne{{(2)?}}ps2bf16

// Windows that move by two: a pair is read by masks as it lies, and is not put together lane by lane or by another walk over the panel.
// WINDOWS-NOT: vpinsrw
// WINDOWS: vmovdqu16 {{.*}}, %zmm{{[0-9]+}} {%k{{[0-9]}}}
// WINDOWS-NOT: vpinsrw
// WINDOWS: vdpbf16ps
// WINDOWS-NOT: vpinsrw

// Depthwise: eight rows of one vector whose windows lie within the rows, by nothing that is masked.
// INSIDE-NOT: vmaskmovps
// INSIDE-COUNT-72: vfmadd{{.*}}ymm
// INSIDE: vmaskmovps

//--- bf16.mlir
func.func @main(%a: tensor<512x768xbf16>, %b: tensor<768x3072xbf16>) -> tensor<512x3072xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x768xbf16>, tensor<768x3072xbf16>) -> tensor<512x3072xbf16>
  return %0 : tensor<512x3072xbf16>
}

//--- attention.mlir
func.func @main(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>) -> tensor<1x2x64x64xbf16> {
  %0:2 = stablehlo.composite "aten.scaled_dot_product_attention" %q, %k, %v {composite_attributes = {dropout_p = 0.0 : f64, is_causal = true}, decomposition = @attention, version = 1 : i32} : (tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) -> (tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>)
  return %0#0 : tensor<1x2x64x64xbf16>
}
func.func private @attention(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>) -> (tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<1x2x64xf32>
  return %v, %0 : tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>
}

//--- epilogue.mlir
func.func @main(%x: tensor<512x768xbf16>, %w: tensor<3072x768xbf16>, %b: tensor<3072xbf16>) -> tensor<512x3072xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<512x768xbf16>, tensor<3072x768xbf16>) -> tensor<512x3072xbf16>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3072xbf16>) -> tensor<512x3072xbf16>
  %2 = stablehlo.add %0, %1 : tensor<512x3072xbf16>
  %3 = stablehlo.tanh %2 : tensor<512x3072xbf16>
  return %3 : tensor<512x3072xbf16>
}

//--- f32.mlir
func.func @main(%a: tensor<512x768xf32>, %b: tensor<768x3072xf32>) -> tensor<512x3072xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x768xf32>, tensor<768x3072xf32>) -> tensor<512x3072xf32>
  return %0 : tensor<512x3072xf32>
}

//--- math.mlir
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.tanh %x : tensor<64x512xf32>
  %1 = stablehlo.exponential %0 : tensor<64x512xf32>
  %2 = stablehlo.log_plus_one %1 : tensor<64x512xf32>
  %3 = stablehlo.exponential_minus_one %2 : tensor<64x512xf32>
  %4 = stablehlo.logistic %3 : tensor<64x512xf32>
  %5 = stablehlo.log %4 : tensor<64x512xf32>
  %6 = stablehlo.custom_call @mhlo.erf(%5) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %7 = stablehlo.rsqrt %6 : tensor<64x512xf32>
  %8 = stablehlo.atan2 %7, %x : tensor<64x512xf32>
  return %8 : tensor<64x512xf32>
}

//--- softmax.mlir
func.func @main(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<64x1024xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<64x1024xf32>
  %3 = stablehlo.exponential %2 : tensor<64x1024xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x1024xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %6 = stablehlo.divide %3, %5 : tensor<64x1024xf32>
  return %6 : tensor<64x1024xf32>
}

//--- remainder.mlir
func.func @main(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.remainder %x, %y : tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}

//--- remainder64.mlir
func.func @main(%x: tensor<64x512xf64>, %y: tensor<64x512xf64>) -> tensor<64x512xf64> {
  %0 = stablehlo.remainder %x, %y : tensor<64x512xf64>
  return %0 : tensor<64x512xf64>
}

//--- tan.mlir
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.tan %x : tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}

//--- power.mlir
func.func @main(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.power %x, %y : tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}

//--- narrowed.mlir
func.func @main(%x: tensor<64x512xf64>) -> tensor<64x512xbf16> {
  %0 = stablehlo.convert %x : (tensor<64x512xf64>) -> tensor<64x512xf32>
  %1 = stablehlo.convert %0 : (tensor<64x512xf32>) -> tensor<64x512xbf16>
  return %1 : tensor<64x512xbf16>
}

//--- large.mlir
func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.add %x, %x : tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}

//--- rows.mlir
func.func @main(%a: tensor<4x768xf32>, %b: tensor<3072x768xf32>) -> tensor<4x3072xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4x768xf32>, tensor<3072x768xf32>) -> tensor<4x3072xf32>
  return %0 : tensor<4x3072xf32>
}

//--- some_rows.mlir
func.func @main(%a: tensor<36x768xf32>, %b: tensor<768x1024xf32>) -> tensor<36x1024xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<36x768xf32>, tensor<768x1024xf32>) -> tensor<36x1024xf32>
  return %0 : tensor<36x1024xf32>
}

//--- images.mlir
func.func @main(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [0, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
  return %0 : tensor<1x64x28x28xf32>
}

//--- few_rows_far.mlir
func.func @main(%a: tensor<8x768xf32>, %b: tensor<8192x768xf32>) -> tensor<8x8192xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x768xf32>, tensor<8192x768xf32>) -> tensor<8x8192xf32>
  return %0 : tensor<8x8192xf32>
}

//--- rows_along_n.mlir
func.func @main(%a: tensor<8x768xbf16>, %b: tensor<768x3072xbf16>) -> tensor<8x3072xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x768xbf16>, tensor<768x3072xbf16>) -> tensor<8x3072xbf16>
  return %0 : tensor<8x3072xbf16>
}

//--- few_rows.mlir
func.func @main(%a: tensor<8x768xbf16>, %b: tensor<3072x768xbf16>) -> tensor<8x3072xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x768xbf16>, tensor<3072x768xbf16>) -> tensor<8x3072xf32>
  return %0 : tensor<8x3072xf32>
}

//--- larger.mlir
func.func @main(%x: tensor<64x256xf32>, %y: tensor<64x256xf32>) -> tensor<64x256xbf16> {
  %two = stablehlo.constant dense<2.0> : tensor<64x256xf32>
  %m = stablehlo.multiply %x, %two : tensor<64x256xf32>
  %a = stablehlo.add %m, %y : tensor<64x256xf32>
  %c = stablehlo.convert %a : (tensor<64x256xf32>) -> tensor<64x256xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<64x256xbf16>
  %r = stablehlo.maximum %c, %zero : tensor<64x256xbf16>
  return %r : tensor<64x256xbf16>
}

//--- windows.mlir
func.func @main(%x: tensor<4x64x28x28xbf16>, %w: tensor<128x64x1x1xbf16>) -> tensor<4x128x14x14xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x64x28x28xbf16>, tensor<128x64x1x1xbf16>) -> tensor<4x128x14x14xbf16>
  return %0 : tensor<4x128x14x14xbf16>
}

//--- depthwise.mlir
func.func @main(%x: tensor<1x8x56x56xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x56x56xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<1x8x56x56xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x56x56xf32>
  return %0 : tensor<1x8x56x56xf32>
}

// Weights that are more than a small image, with 16 registers: its pixels are all packed before, and only rows of weights, the next ones, are asked for (t1). While all rows passed one panel, its next one was (t0).
// PIXELS-NOT: prefetcht0
// PIXELS: prefetcht1
// PIXELS: vfmadd{{.*}}ymm
// PIXELS-NOT: prefetcht0
// PIXELS: retq
//--- pixels.mlir
func.func @main(%x: tensor<1x320x7x7xf32>, %w: tensor<640x320x1x1xf32>) -> tensor<1x640x7x7xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x320x7x7xf32>, tensor<640x320x1x1xf32>) -> tensor<1x640x7x7xf32>
  return %0 : tensor<1x640x7x7xf32>
}

// Twelve sums of bytes' products, two of B and one of A, whose product takes its place: no register is left, and none is spilled.
// WORDS: vpmaddwd
// WORDS-NOT: (%rsp)
// WORDS-COUNT-11: vpmaddwd
// WORDS-NOT: (%rsp)
// WORDS: jne
//--- bytes.mlir
func.func @main(%a: tensor<512x1024xi8>, %b: tensor<512x1024xi8>) -> tensor<512x512xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<512x1024xi8>, tensor<512x1024xi8>) -> tensor<512x512xi32>
  return %0 : tensor<512x512xi32>
}

// Positions become floats eight at a time, also without AVX-512.
// POSITIONS-NOT: vcvtsi2s
// POSITIONS: vcvtdq2ps
// POSITIONS-NOT: vcvtsi2s
//--- positions.mlir
func.func @main() -> tensor<4096xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// Floats become bytes by a choice among floats: masks of one among integers would be packed with them.
// BYTES-NOT: vpacksswb
// BYTES: vcvttps2dq
// BYTES-NOT: vpacksswb
//--- to_bytes.mlir
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xi8> {
  %0 = stablehlo.convert %x : (tensor<4096xf32>) -> tensor<4096xi8>
  return %0 : tensor<4096xi8>
}
