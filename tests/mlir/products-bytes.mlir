// Products of bytes, whose sums are i32: of equal and of different signs, where B lies along either dimension, of few rows, of several blocks along K; and of operands that are converted where
// they are read: bytes to floats, a caller's f32 to bf16. On every kind of instructions.
// RUN: cresset-run --compare %s | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_SCRATCH=nan CRESSET_THREADS=2 cresset-run --compare %s | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_SCRATCH=nan cresset-run --compare --cpu=wide %s | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=baseline %s | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %s | FileCheck %s --check-prefix=EXACT
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %s | FileCheck %s --check-prefix=EXACT
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefix=FOURS
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=PAIRS
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefix=KERNELS
// EXACT-COUNT-16: xi32>: largest error 0{{$}}
// EXACT-NOT: too large
// EXACT-COUNT-5: largest error
// FOURS: vpdpbusd
// FOURS: vdpbf16ps
// PAIRS: vpmaddwd
// KERNELS-NOT: {{^}}# rows
// KERNELS-COUNT-21: {{^}}# dot
// KERNELS-NOT: {{^}}#
func.func @main(%a: tensor<37x131xi8>, %b: tensor<131x77xi8>, %c: tensor<77x131xi8>, %u: tensor<37x131xui8>, %w: tensor<131x77xui8>, %v: tensor<77x131xui8>, %f: tensor<37x131xf32>, %g: tensor<13x131xi8>, %h: tensor<13x131xui8>, %x: tensor<1x700xi8>, %y: tensor<90x700xi8>, %d: tensor<40x4500xi8>, %e: tensor<4500x52xi8>, %k: tensor<2300x33xi8>, %p: tensor<3x20x70xi8>, %q: tensor<3x70x24xi8>, %hb: tensor<37x131xbf16>, %fw: tensor<131x77xf32>, %h16: tensor<77x131xf16>, %j: tensor<2x131xf32>) -> (tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<1x90xi32>, tensor<40x52xi32>, tensor<33x33xi32>, tensor<3x20x24xi32>, tensor<37x77xf32>, tensor<2x77xf32>, tensor<37x77xbf16>, tensor<37x77xbf16>, tensor<37x77xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<37x131xi8>, tensor<131x77xi8>) -> tensor<37x77xi32>
  %1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [1] : (tensor<37x131xi8>, tensor<77x131xi8>) -> tensor<37x77xi32>
  %a_i32 = stablehlo.convert %a : (tensor<37x131xi8>) -> tensor<37x131xi32>
  %w_i32 = stablehlo.convert %w : (tensor<131x77xui8>) -> tensor<131x77xi32>
  %2 = stablehlo.dot_general %a_i32, %w_i32, contracting_dims = [1] x [0] : (tensor<37x131xi32>, tensor<131x77xi32>) -> tensor<37x77xi32>
  %v_i32 = stablehlo.convert %v : (tensor<77x131xui8>) -> tensor<77x131xi32>
  %3 = stablehlo.dot_general %a_i32, %v_i32, contracting_dims = [1] x [1] : (tensor<37x131xi32>, tensor<77x131xi32>) -> tensor<37x77xi32>
  %u_i32 = stablehlo.convert %u : (tensor<37x131xui8>) -> tensor<37x131xi32>
  %b_i32 = stablehlo.convert %b : (tensor<131x77xi8>) -> tensor<131x77xi32>
  %4 = stablehlo.dot_general %u_i32, %b_i32, contracting_dims = [1] x [0] : (tensor<37x131xi32>, tensor<131x77xi32>) -> tensor<37x77xi32>
  %c_i32 = stablehlo.convert %c : (tensor<77x131xi8>) -> tensor<77x131xi32>
  %5 = stablehlo.dot_general %u_i32, %c_i32, contracting_dims = [1] x [1] : (tensor<37x131xi32>, tensor<77x131xi32>) -> tensor<37x77xi32>
  %6 = stablehlo.dot_general %u_i32, %w_i32, contracting_dims = [1] x [0] : (tensor<37x131xi32>, tensor<131x77xi32>) -> tensor<37x77xi32>
  %7 = stablehlo.dot_general %u_i32, %v_i32, contracting_dims = [1] x [1] : (tensor<37x131xi32>, tensor<77x131xi32>) -> tensor<37x77xi32>
  %g_i32 = stablehlo.convert %g : (tensor<13x131xi8>) -> tensor<13x131xi32>
  %8 = stablehlo.dot_general %g_i32, %c_i32, contracting_dims = [1] x [1] : (tensor<13x131xi32>, tensor<77x131xi32>) -> tensor<13x77xi32>
  %9 = stablehlo.dot_general %g_i32, %v_i32, contracting_dims = [1] x [1] : (tensor<13x131xi32>, tensor<77x131xi32>) -> tensor<13x77xi32>
  %h_i32 = stablehlo.convert %h : (tensor<13x131xui8>) -> tensor<13x131xi32>
  %10 = stablehlo.dot_general %h_i32, %c_i32, contracting_dims = [1] x [1] : (tensor<13x131xi32>, tensor<77x131xi32>) -> tensor<13x77xi32>
  %11 = stablehlo.dot_general %h_i32, %v_i32, contracting_dims = [1] x [1] : (tensor<13x131xi32>, tensor<77x131xi32>) -> tensor<13x77xi32>
  %12 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<1x700xi8>, tensor<90x700xi8>) -> tensor<1x90xi32>
  %13 = stablehlo.dot_general %d, %e, contracting_dims = [1] x [0] : (tensor<40x4500xi8>, tensor<4500x52xi8>) -> tensor<40x52xi32>
  %14 = stablehlo.dot_general %k, %k, contracting_dims = [0] x [0] : (tensor<2300x33xi8>, tensor<2300x33xi8>) -> tensor<33x33xi32>
  %15 = stablehlo.dot_general %p, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x20x70xi8>, tensor<3x70x24xi8>) -> tensor<3x20x24xi32>
  %c_f32 = stablehlo.convert %c : (tensor<77x131xi8>) -> tensor<77x131xf32>
  %16 = stablehlo.dot_general %f, %c_f32, contracting_dims = [1] x [1] : (tensor<37x131xf32>, tensor<77x131xf32>) -> tensor<37x77xf32>
  %17 = stablehlo.dot_general %j, %c_f32, contracting_dims = [1] x [1] : (tensor<2x131xf32>, tensor<77x131xf32>) -> tensor<2x77xf32>
  %c_bf16 = stablehlo.convert %c : (tensor<77x131xi8>) -> tensor<77x131xbf16>
  %18 = stablehlo.dot_general %hb, %c_bf16, contracting_dims = [1] x [1] : (tensor<37x131xbf16>, tensor<77x131xbf16>) -> tensor<37x77xbf16>
  %fw_bf16 = stablehlo.convert %fw : (tensor<131x77xf32>) -> tensor<131x77xbf16>
  %19 = stablehlo.dot_general %hb, %fw_bf16, contracting_dims = [1] x [0] : (tensor<37x131xbf16>, tensor<131x77xbf16>) -> tensor<37x77xbf16>
  %h16_f32 = stablehlo.convert %h16 : (tensor<77x131xf16>) -> tensor<77x131xf32>
  %20 = stablehlo.dot_general %f, %h16_f32, contracting_dims = [1] x [1] : (tensor<37x131xf32>, tensor<77x131xf32>) -> tensor<37x77xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20 : tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<37x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<13x77xi32>, tensor<1x90xi32>, tensor<40x52xi32>, tensor<33x33xi32>, tensor<3x20x24xi32>, tensor<37x77xf32>, tensor<2x77xf32>, tensor<37x77xbf16>, tensor<37x77xbf16>, tensor<37x77xf32>
}
