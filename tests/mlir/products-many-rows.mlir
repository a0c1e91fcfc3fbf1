// Many rows by tiles: all panels of a block's columns are packed before, and each tile's rows pass them. Ends of rows, of columns and of K; a residual, which is asked for; two results; batches; windows
// of a convolution; bytes, with A's zero.
// RUN: split-file %s %t
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %t/bf16.mlir
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan CRESSET_THREADS=2 cresset-run --compare --cpu=wide %t/bf16.mlir
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_GUARD=end cresset-run --compare %t/bf16.mlir
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %t/bytes.mlir | FileCheck %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan CRESSET_THREADS=2 cresset-run --compare %t/bytes.mlir | FileCheck %s
// RUN: cresset-run --assembly --cpu=amx %t/order.mlir | FileCheck %s --check-prefix=ORDER
// CHECK: largest error 0{{$}}
// B is packed, in squares, before the first product.
// ORDER-NOT: tdpbf16ps
// ORDER: vpunpckldq
// ORDER: tdpbf16ps
// ORDER-NOT: vpunpckldq
//--- bf16.mlir
func.func @main(%x: tensor<521x70xbf16>, %w: tensor<75x70xbf16>, %r: tensor<521x75xbf16>, %bx: tensor<2x512x33xbf16>, %bw: tensor<2x33x16xbf16>, %image: tensor<1x23x24x32xbf16>, %kernel: tensor<40x3x3x32xbf16>) -> (tensor<521x75xbf16>, tensor<521x75xbf16>, tensor<2x512x16xbf16>, tensor<1x23x24x40xbf16>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<521x70xbf16>, tensor<75x70xbf16>) -> tensor<521x75xbf16>
  %1 = stablehlo.add %0, %r : tensor<521x75xbf16>
  %2 = stablehlo.dot_general %bx, %bw, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x512x33xbf16>, tensor<2x33x16xbf16>) -> tensor<2x512x16xbf16>
  %3 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x23x24x32xbf16>, tensor<40x3x3x32xbf16>) -> tensor<1x23x24x40xbf16>
  return %0, %1, %2, %3 : tensor<521x75xbf16>, tensor<521x75xbf16>, tensor<2x512x16xbf16>, tensor<1x23x24x40xbf16>
}
//--- bytes.mlir
func.func @main(%x: tensor<530x135xui8>, %w: tensor<70x135xi8>) -> tensor<530x70xi32> {
  %xi = stablehlo.convert %x : (tensor<530x135xui8>) -> tensor<530x135xi32>
  %zero = stablehlo.constant dense<7> : tensor<530x135xi32>
  %a = stablehlo.subtract %xi, %zero : tensor<530x135xi32>
  %b = stablehlo.convert %w : (tensor<70x135xi8>) -> tensor<70x135xi32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<530x135xi32>, tensor<70x135xi32>) -> tensor<530x70xi32>
  return %0 : tensor<530x70xi32>
}
//--- order.mlir
func.func @main(%x: tensor<1024x64xbf16>, %w: tensor<256x64xbf16>) -> tensor<1024x256xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<1024x64xbf16>, tensor<256x64xbf16>) -> tensor<1024x256xbf16>
  return %0 : tensor<1024x256xbf16>
}
