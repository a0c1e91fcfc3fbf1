// Weights of few bits, with a scale and a zero for each group of them, become floats where the product reads them: along K, along N, in one row or many, as bf16 too. What is
// wanted elsewhere as well, or would be read one by one, is made before.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/along_k.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/along_k.mlir
// RUN: cresset-run --compare --cpu=wide %t/along_k.mlir
// RUN: cresset-run --compare --cpu=baseline %t/along_k.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/along_k.mlir | FileCheck %s --check-prefixes=MADE,VECTORS
// RUN: cresset-run --compare --tolerance=1e-2 %t/half.mlir
// RUN: cresset-run --compare --tolerance=1e-2 --cpu=avx2 %t/half.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare --tolerance=1e-2 %t/half.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=1e-2 %t/half.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/half.mlir | FileCheck %s --check-prefix=MADE
// RUN: cresset-run --compare %t/along_n.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/along_n.mlir
// RUN: cresset-run --compare --cpu=baseline %t/along_n.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/along_n.mlir | FileCheck %s --check-prefixes=MADE,VECTORS
// RUN: cresset-run --compare --tolerance=1e-2 %t/half_along_n.mlir
// RUN: cresset-run --compare --tolerance=1e-2 --cpu=avx2 %t/half_along_n.mlir
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare --tolerance=1e-2 %t/half_along_n.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=1e-2 %t/half_along_n.mlir
// RUN: cresset-run --compare %t/batch.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/batch.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/batch.mlir | FileCheck %s --check-prefix=BATCH
// RUN: cresset-run --compare %t/before.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/before.mlir | FileCheck %s --check-prefix=BEFORE

// MADE-COUNT-3: # dot
// VECTORS-NOT: gather
// MADE-NOT: # rows

// BATCH: # dot f32[2x3x128] f32[2x128x192]
// BATCH-NOT: # rows

// BEFORE-DAG: # rows -> f32[130x6x32]
// BEFORE-DAG: # rows -> ui8[130x96x2]

// One row, as many as are multiplied where the weights lie, and more, by 130 features of 192 in groups of 32.
//--- along_k.mlir
func.func @main(%x0: tensor<1x192xf32>, %x1: tensor<7x192xf32>, %x2: tensor<50x192xf32>, %q0: tensor<130x192xi8>, %q1: tensor<130x192xi8>, %q2: tensor<130x192xi8>, %z: tensor<130x6xi8>, %s: tensor<130x6xf32>) -> (tensor<1x130xf32>, tensor<7x130xf32>, tensor<50x130xf32>) {
  %a0 = stablehlo.reshape %q0 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b0 = stablehlo.convert %a0 : (tensor<130x6x32xi8>) -> tensor<130x6x32xf32>
  %c0 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d0 = stablehlo.convert %c0 : (tensor<130x6x1xi8>) -> tensor<130x6x1xf32>
  %e0 = stablehlo.broadcast_in_dim %d0, dims = [0, 1, 2] : (tensor<130x6x1xf32>) -> tensor<130x6x32xf32>
  %f0 = stablehlo.subtract %b0, %e0 : tensor<130x6x32xf32>
  %g0 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xf32>) -> tensor<130x6x32xf32>
  %h0 = stablehlo.multiply %f0, %g0 : tensor<130x6x32xf32>
  %w0 = stablehlo.reshape %h0 : (tensor<130x6x32xf32>) -> tensor<130x192xf32>
  %r0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [1] : (tensor<1x192xf32>, tensor<130x192xf32>) -> tensor<1x130xf32>
  %a1 = stablehlo.reshape %q1 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b1 = stablehlo.convert %a1 : (tensor<130x6x32xi8>) -> tensor<130x6x32xf32>
  %c1 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d1 = stablehlo.convert %c1 : (tensor<130x6x1xi8>) -> tensor<130x6x1xf32>
  %e1 = stablehlo.broadcast_in_dim %d1, dims = [0, 1, 2] : (tensor<130x6x1xf32>) -> tensor<130x6x32xf32>
  %f1 = stablehlo.subtract %b1, %e1 : tensor<130x6x32xf32>
  %g1 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xf32>) -> tensor<130x6x32xf32>
  %h1 = stablehlo.multiply %f1, %g1 : tensor<130x6x32xf32>
  %w1 = stablehlo.reshape %h1 : (tensor<130x6x32xf32>) -> tensor<130x192xf32>
  %r1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [1] : (tensor<7x192xf32>, tensor<130x192xf32>) -> tensor<7x130xf32>
  %a2 = stablehlo.reshape %q2 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b2 = stablehlo.convert %a2 : (tensor<130x6x32xi8>) -> tensor<130x6x32xf32>
  %c2 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d2 = stablehlo.convert %c2 : (tensor<130x6x1xi8>) -> tensor<130x6x1xf32>
  %e2 = stablehlo.broadcast_in_dim %d2, dims = [0, 1, 2] : (tensor<130x6x1xf32>) -> tensor<130x6x32xf32>
  %f2 = stablehlo.subtract %b2, %e2 : tensor<130x6x32xf32>
  %g2 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xf32>) -> tensor<130x6x32xf32>
  %h2 = stablehlo.multiply %f2, %g2 : tensor<130x6x32xf32>
  %w2 = stablehlo.reshape %h2 : (tensor<130x6x32xf32>) -> tensor<130x192xf32>
  %r2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [1] : (tensor<50x192xf32>, tensor<130x192xf32>) -> tensor<50x130xf32>
  return %r0, %r1, %r2 : tensor<1x130xf32>, tensor<7x130xf32>, tensor<50x130xf32>
}

//--- half.mlir
func.func @main(%x0: tensor<1x192xbf16>, %x1: tensor<7x192xbf16>, %x2: tensor<50x192xbf16>, %q0: tensor<130x192xi8>, %q1: tensor<130x192xi8>, %q2: tensor<130x192xi8>, %z: tensor<130x6xi8>, %s: tensor<130x6xbf16>) -> (tensor<1x130xbf16>, tensor<7x130xbf16>, tensor<50x130xbf16>) {
  %a0 = stablehlo.reshape %q0 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b0 = stablehlo.convert %a0 : (tensor<130x6x32xi8>) -> tensor<130x6x32xbf16>
  %c0 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d0 = stablehlo.convert %c0 : (tensor<130x6x1xi8>) -> tensor<130x6x1xbf16>
  %e0 = stablehlo.broadcast_in_dim %d0, dims = [0, 1, 2] : (tensor<130x6x1xbf16>) -> tensor<130x6x32xbf16>
  %f0 = stablehlo.subtract %b0, %e0 : tensor<130x6x32xbf16>
  %g0 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xbf16>) -> tensor<130x6x32xbf16>
  %h0 = stablehlo.multiply %f0, %g0 : tensor<130x6x32xbf16>
  %w0 = stablehlo.reshape %h0 : (tensor<130x6x32xbf16>) -> tensor<130x192xbf16>
  %r0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [1] : (tensor<1x192xbf16>, tensor<130x192xbf16>) -> tensor<1x130xbf16>
  %a1 = stablehlo.reshape %q1 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b1 = stablehlo.convert %a1 : (tensor<130x6x32xi8>) -> tensor<130x6x32xbf16>
  %c1 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d1 = stablehlo.convert %c1 : (tensor<130x6x1xi8>) -> tensor<130x6x1xbf16>
  %e1 = stablehlo.broadcast_in_dim %d1, dims = [0, 1, 2] : (tensor<130x6x1xbf16>) -> tensor<130x6x32xbf16>
  %f1 = stablehlo.subtract %b1, %e1 : tensor<130x6x32xbf16>
  %g1 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xbf16>) -> tensor<130x6x32xbf16>
  %h1 = stablehlo.multiply %f1, %g1 : tensor<130x6x32xbf16>
  %w1 = stablehlo.reshape %h1 : (tensor<130x6x32xbf16>) -> tensor<130x192xbf16>
  %r1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [1] : (tensor<7x192xbf16>, tensor<130x192xbf16>) -> tensor<7x130xbf16>
  %a2 = stablehlo.reshape %q2 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b2 = stablehlo.convert %a2 : (tensor<130x6x32xi8>) -> tensor<130x6x32xbf16>
  %c2 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d2 = stablehlo.convert %c2 : (tensor<130x6x1xi8>) -> tensor<130x6x1xbf16>
  %e2 = stablehlo.broadcast_in_dim %d2, dims = [0, 1, 2] : (tensor<130x6x1xbf16>) -> tensor<130x6x32xbf16>
  %f2 = stablehlo.subtract %b2, %e2 : tensor<130x6x32xbf16>
  %g2 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xbf16>) -> tensor<130x6x32xbf16>
  %h2 = stablehlo.multiply %f2, %g2 : tensor<130x6x32xbf16>
  %w2 = stablehlo.reshape %h2 : (tensor<130x6x32xbf16>) -> tensor<130x192xbf16>
  %r2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [1] : (tensor<50x192xbf16>, tensor<130x192xbf16>) -> tensor<50x130xbf16>
  return %r0, %r1, %r2 : tensor<1x130xbf16>, tensor<7x130xbf16>, tensor<50x130xbf16>
}

// Eight weights of four bits in one number, one behind the other along K.
//--- along_n.mlir
func.func @main(%x0: tensor<1x64xf32>, %x1: tensor<7x64xf32>, %x2: tensor<33x64xf32>, %q0: tensor<8x192xi32>, %q1: tensor<8x192xi32>, %q2: tensor<8x192xi32>, %s: tensor<4x192xf32>) -> (tensor<1x192xf32>, tensor<7x192xf32>, tensor<33x192xf32>) {
  %shifts = stablehlo.constant dense<[0, 4, 8, 12, 16, 20, 24, 28]> : tensor<8xi32>
  %mask = stablehlo.constant dense<15> : tensor<8x8x192xi32>
  %a0 = stablehlo.broadcast_in_dim %q0, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b0 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c0 = stablehlo.shift_right_logical %a0, %b0 : tensor<8x8x192xi32>
  %d0 = stablehlo.and %c0, %mask : tensor<8x8x192xi32>
  %e0 = stablehlo.reshape %d0 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f0 = stablehlo.convert %e0 : (tensor<64x192xi32>) -> tensor<64x192xf32>
  %g0 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xf32>) -> tensor<4x16x192xf32>
  %h0 = stablehlo.reshape %g0 : (tensor<4x16x192xf32>) -> tensor<64x192xf32>
  %w0 = stablehlo.multiply %f0, %h0 : tensor<64x192xf32>
  %r0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x192xf32>) -> tensor<1x192xf32>
  %a1 = stablehlo.broadcast_in_dim %q1, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b1 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c1 = stablehlo.shift_right_logical %a1, %b1 : tensor<8x8x192xi32>
  %d1 = stablehlo.and %c1, %mask : tensor<8x8x192xi32>
  %e1 = stablehlo.reshape %d1 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f1 = stablehlo.convert %e1 : (tensor<64x192xi32>) -> tensor<64x192xf32>
  %g1 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xf32>) -> tensor<4x16x192xf32>
  %h1 = stablehlo.reshape %g1 : (tensor<4x16x192xf32>) -> tensor<64x192xf32>
  %w1 = stablehlo.multiply %f1, %h1 : tensor<64x192xf32>
  %r1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [0] : (tensor<7x64xf32>, tensor<64x192xf32>) -> tensor<7x192xf32>
  %a2 = stablehlo.broadcast_in_dim %q2, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b2 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c2 = stablehlo.shift_right_logical %a2, %b2 : tensor<8x8x192xi32>
  %d2 = stablehlo.and %c2, %mask : tensor<8x8x192xi32>
  %e2 = stablehlo.reshape %d2 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f2 = stablehlo.convert %e2 : (tensor<64x192xi32>) -> tensor<64x192xf32>
  %g2 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xf32>) -> tensor<4x16x192xf32>
  %h2 = stablehlo.reshape %g2 : (tensor<4x16x192xf32>) -> tensor<64x192xf32>
  %w2 = stablehlo.multiply %f2, %h2 : tensor<64x192xf32>
  %r2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [0] : (tensor<33x64xf32>, tensor<64x192xf32>) -> tensor<33x192xf32>
  return %r0, %r1, %r2 : tensor<1x192xf32>, tensor<7x192xf32>, tensor<33x192xf32>
}

//--- half_along_n.mlir
func.func @main(%x0: tensor<1x64xbf16>, %x1: tensor<7x64xbf16>, %x2: tensor<33x64xbf16>, %q0: tensor<8x192xi32>, %q1: tensor<8x192xi32>, %q2: tensor<8x192xi32>, %s: tensor<4x192xbf16>) -> (tensor<1x192xbf16>, tensor<7x192xbf16>, tensor<33x192xbf16>) {
  %shifts = stablehlo.constant dense<[0, 4, 8, 12, 16, 20, 24, 28]> : tensor<8xi32>
  %mask = stablehlo.constant dense<15> : tensor<8x8x192xi32>
  %a0 = stablehlo.broadcast_in_dim %q0, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b0 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c0 = stablehlo.shift_right_logical %a0, %b0 : tensor<8x8x192xi32>
  %d0 = stablehlo.and %c0, %mask : tensor<8x8x192xi32>
  %e0 = stablehlo.reshape %d0 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f0 = stablehlo.convert %e0 : (tensor<64x192xi32>) -> tensor<64x192xbf16>
  %g0 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xbf16>) -> tensor<4x16x192xbf16>
  %h0 = stablehlo.reshape %g0 : (tensor<4x16x192xbf16>) -> tensor<64x192xbf16>
  %w0 = stablehlo.multiply %f0, %h0 : tensor<64x192xbf16>
  %r0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [0] : (tensor<1x64xbf16>, tensor<64x192xbf16>) -> tensor<1x192xbf16>
  %a1 = stablehlo.broadcast_in_dim %q1, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b1 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c1 = stablehlo.shift_right_logical %a1, %b1 : tensor<8x8x192xi32>
  %d1 = stablehlo.and %c1, %mask : tensor<8x8x192xi32>
  %e1 = stablehlo.reshape %d1 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f1 = stablehlo.convert %e1 : (tensor<64x192xi32>) -> tensor<64x192xbf16>
  %g1 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xbf16>) -> tensor<4x16x192xbf16>
  %h1 = stablehlo.reshape %g1 : (tensor<4x16x192xbf16>) -> tensor<64x192xbf16>
  %w1 = stablehlo.multiply %f1, %h1 : tensor<64x192xbf16>
  %r1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [0] : (tensor<7x64xbf16>, tensor<64x192xbf16>) -> tensor<7x192xbf16>
  %a2 = stablehlo.broadcast_in_dim %q2, dims = [0, 2] : (tensor<8x192xi32>) -> tensor<8x8x192xi32>
  %b2 = stablehlo.broadcast_in_dim %shifts, dims = [1] : (tensor<8xi32>) -> tensor<8x8x192xi32>
  %c2 = stablehlo.shift_right_logical %a2, %b2 : tensor<8x8x192xi32>
  %d2 = stablehlo.and %c2, %mask : tensor<8x8x192xi32>
  %e2 = stablehlo.reshape %d2 : (tensor<8x8x192xi32>) -> tensor<64x192xi32>
  %f2 = stablehlo.convert %e2 : (tensor<64x192xi32>) -> tensor<64x192xbf16>
  %g2 = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x192xbf16>) -> tensor<4x16x192xbf16>
  %h2 = stablehlo.reshape %g2 : (tensor<4x16x192xbf16>) -> tensor<64x192xbf16>
  %w2 = stablehlo.multiply %f2, %h2 : tensor<64x192xbf16>
  %r2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [0] : (tensor<33x64xbf16>, tensor<64x192xbf16>) -> tensor<33x192xbf16>
  return %r0, %r1, %r2 : tensor<1x192xbf16>, tensor<7x192xbf16>, tensor<33x192xbf16>
}

// Of a batch, transposed.
//--- batch.mlir
func.func @main(%x: tensor<2x3x128xf32>, %q: tensor<2x192x128xi8>, %s: tensor<2x192x4xf32>) -> tensor<2x3x192xf32> {
  %0 = stablehlo.convert %q : (tensor<2x192x128xi8>) -> tensor<2x192x128xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x192x128xf32>) -> tensor<2x192x4x32xf32>
  %2 = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<2x192x4xf32>) -> tensor<2x192x4x32xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x192x4x32xf32>
  %4 = stablehlo.reshape %3 : (tensor<2x192x4x32xf32>) -> tensor<2x192x128xf32>
  %5 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<2x192x128xf32>) -> tensor<2x128x192xf32>
  %6 = stablehlo.dot_general %x, %5, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x128xf32>, tensor<2x128x192xf32>) -> tensor<2x3x192xf32>
  return %6 : tensor<2x3x192xf32>
}

//--- before.mlir
func.func @main(%x: tensor<1x192xf32>, %q0: tensor<130x192xi8>, %p: tensor<130x96xui8>, %z: tensor<130x6xi8>, %s: tensor<130x6xf32>) -> (tensor<1x130xf32>, tensor<130x6x32xf32>, tensor<1x130xf32>) {
  %a0 = stablehlo.reshape %q0 : (tensor<130x192xi8>) -> tensor<130x6x32xi8>
  %b0 = stablehlo.convert %a0 : (tensor<130x6x32xi8>) -> tensor<130x6x32xf32>
  %c0 = stablehlo.reshape %z : (tensor<130x6xi8>) -> tensor<130x6x1xi8>
  %d0 = stablehlo.convert %c0 : (tensor<130x6x1xi8>) -> tensor<130x6x1xf32>
  %e0 = stablehlo.broadcast_in_dim %d0, dims = [0, 1, 2] : (tensor<130x6x1xf32>) -> tensor<130x6x32xf32>
  %f0 = stablehlo.subtract %b0, %e0 : tensor<130x6x32xf32>
  %g0 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<130x6xf32>) -> tensor<130x6x32xf32>
  %h0 = stablehlo.multiply %f0, %g0 : tensor<130x6x32xf32>
  %w0 = stablehlo.reshape %h0 : (tensor<130x6x32xf32>) -> tensor<130x192xf32>
  %r0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [1] : (tensor<1x192xf32>, tensor<130x192xf32>) -> tensor<1x130xf32>
  %0 = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<130x96xui8>) -> tensor<130x96x2xui8>
  %shifts = stablehlo.constant dense<[0, 4]> : tensor<2xui8>
  %1 = stablehlo.broadcast_in_dim %shifts, dims = [2] : (tensor<2xui8>) -> tensor<130x96x2xui8>
  %2 = stablehlo.shift_right_logical %0, %1 : tensor<130x96x2xui8>
  %mask = stablehlo.constant dense<15> : tensor<130x96x2xui8>
  %3 = stablehlo.and %2, %mask : tensor<130x96x2xui8>
  %4 = stablehlo.convert %3 : (tensor<130x96x2xui8>) -> tensor<130x96x2xf32>
  %5 = stablehlo.reshape %4 : (tensor<130x96x2xf32>) -> tensor<130x192xf32>
  %6 = stablehlo.dot_general %x, %5, contracting_dims = [1] x [1] : (tensor<1x192xf32>, tensor<130x192xf32>) -> tensor<1x130xf32>
  return %r0, %h0, %6 : tensor<1x130xf32>, tensor<130x6x32xf32>, tensor<1x130xf32>
}
