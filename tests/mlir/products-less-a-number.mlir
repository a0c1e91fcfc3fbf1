// Products of bytes less a number, which is taken away where they are read: by sums of the columns where bytes are multiplied by fours, for one row, for few and for many; depths that are no multiple
// of four or of a vector, and of several blocks; all pairs of signs; of transposed weights, of batches; where somebody else reads the difference, too,
// or the bytes as i32. A number beyond bytes is taken away before.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-run --assembly %s | FileCheck %s --check-prefix=KERNELS
// CHECK-NOT: too large
// CHECK-COUNT-14: largest error 0
// KERNELS-NOT: # rows
// KERNELS-COUNT-10: # dot
// KERNELS: # rows -> i32[20]: subtract, reduce
func.func @main(%a0: tensor<1x130xui8>, %b0: tensor<40x130xi8>, %a1: tensor<1x4096xui8>, %b1: tensor<1100x4096xi8>, %a2: tensor<5x131xui8>, %b2: tensor<33x131xi8>, %a3: tensor<12x256xi8>, %b3: tensor<70x256xi8>, %a4: tensor<3x77xui8>, %b4: tensor<20x77xui8>, %a5: tensor<13x70xui8>, %b5: tensor<50x70xi8>, %a6: tensor<40x259xi8>, %b6: tensor<90x259xi8>, %a7: tensor<33x5000xui8>, %b7: tensor<40x5000xui8>, %a8: tensor<20x66xi8>, %b8: tensor<66x35xui8>, %a9: tensor<20x64xui8>, %b9: tensor<64x130xi8>) -> (tensor<1x40xi32>, tensor<1x1100xi32>, tensor<5x33xi32>, tensor<12x70xi32>, tensor<3x20xi32>, tensor<13x50xi32>, tensor<40x90xi32>, tensor<33x40xi32>, tensor<20x35xi32>, tensor<20x130xi32>, tensor<20xi32>, tensor<20x130xi32>, tensor<13x50xi32>, tensor<13x70xi32>) {
  %x0 = stablehlo.convert %a0 : (tensor<1x130xui8>) -> tensor<1x130xi32>
  %z0 = stablehlo.constant dense<7> : tensor<1x130xi32>
  %d0 = stablehlo.subtract %x0, %z0 : tensor<1x130xi32>
  %w0 = stablehlo.convert %b0 : (tensor<40x130xi8>) -> tensor<40x130xi32>
  %p0 = stablehlo.dot_general %d0, %w0, contracting_dims = [1] x [1] : (tensor<1x130xi32>, tensor<40x130xi32>) -> tensor<1x40xi32>
  %x1 = stablehlo.convert %a1 : (tensor<1x4096xui8>) -> tensor<1x4096xi32>
  %z1 = stablehlo.constant dense<255> : tensor<1x4096xi32>
  %d1 = stablehlo.subtract %x1, %z1 : tensor<1x4096xi32>
  %w1 = stablehlo.convert %b1 : (tensor<1100x4096xi8>) -> tensor<1100x4096xi32>
  %p1 = stablehlo.dot_general %d1, %w1, contracting_dims = [1] x [1] : (tensor<1x4096xi32>, tensor<1100x4096xi32>) -> tensor<1x1100xi32>
  %x2 = stablehlo.convert %a2 : (tensor<5x131xui8>) -> tensor<5x131xi32>
  %z2 = stablehlo.constant dense<128> : tensor<5x131xi32>
  %d2 = stablehlo.subtract %x2, %z2 : tensor<5x131xi32>
  %w2 = stablehlo.convert %b2 : (tensor<33x131xi8>) -> tensor<33x131xi32>
  %p2 = stablehlo.dot_general %d2, %w2, contracting_dims = [1] x [1] : (tensor<5x131xi32>, tensor<33x131xi32>) -> tensor<5x33xi32>
  %x3 = stablehlo.convert %a3 : (tensor<12x256xi8>) -> tensor<12x256xi32>
  %z3 = stablehlo.constant dense<-9> : tensor<12x256xi32>
  %d3 = stablehlo.subtract %x3, %z3 : tensor<12x256xi32>
  %w3 = stablehlo.convert %b3 : (tensor<70x256xi8>) -> tensor<70x256xi32>
  %p3 = stablehlo.dot_general %d3, %w3, contracting_dims = [1] x [1] : (tensor<12x256xi32>, tensor<70x256xi32>) -> tensor<12x70xi32>
  %x4 = stablehlo.convert %a4 : (tensor<3x77xui8>) -> tensor<3x77xi32>
  %z4 = stablehlo.constant dense<3> : tensor<3x77xi32>
  %d4 = stablehlo.subtract %x4, %z4 : tensor<3x77xi32>
  %w4 = stablehlo.convert %b4 : (tensor<20x77xui8>) -> tensor<20x77xi32>
  %p4 = stablehlo.dot_general %d4, %w4, contracting_dims = [1] x [1] : (tensor<3x77xi32>, tensor<20x77xi32>) -> tensor<3x20xi32>
  %x5 = stablehlo.convert %a5 : (tensor<13x70xui8>) -> tensor<13x70xi32>
  %z5 = stablehlo.constant dense<100> : tensor<13x70xi32>
  %d5 = stablehlo.subtract %x5, %z5 : tensor<13x70xi32>
  %w5 = stablehlo.convert %b5 : (tensor<50x70xi8>) -> tensor<50x70xi32>
  %p5 = stablehlo.dot_general %d5, %w5, contracting_dims = [1] x [1] : (tensor<13x70xi32>, tensor<50x70xi32>) -> tensor<13x50xi32>
  %x6 = stablehlo.convert %a6 : (tensor<40x259xi8>) -> tensor<40x259xi32>
  %z6 = stablehlo.constant dense<-128> : tensor<40x259xi32>
  %d6 = stablehlo.subtract %x6, %z6 : tensor<40x259xi32>
  %w6 = stablehlo.convert %b6 : (tensor<90x259xi8>) -> tensor<90x259xi32>
  %p6 = stablehlo.dot_general %d6, %w6, contracting_dims = [1] x [1] : (tensor<40x259xi32>, tensor<90x259xi32>) -> tensor<40x90xi32>
  %x7 = stablehlo.convert %a7 : (tensor<33x5000xui8>) -> tensor<33x5000xi32>
  %z7 = stablehlo.constant dense<200> : tensor<33x5000xi32>
  %d7 = stablehlo.subtract %x7, %z7 : tensor<33x5000xi32>
  %w7 = stablehlo.convert %b7 : (tensor<40x5000xui8>) -> tensor<40x5000xi32>
  %p7 = stablehlo.dot_general %d7, %w7, contracting_dims = [1] x [1] : (tensor<33x5000xi32>, tensor<40x5000xi32>) -> tensor<33x40xi32>
  %x8 = stablehlo.convert %a8 : (tensor<20x66xi8>) -> tensor<20x66xi32>
  %z8 = stablehlo.constant dense<5> : tensor<20x66xi32>
  %d8 = stablehlo.subtract %x8, %z8 : tensor<20x66xi32>
  %w8 = stablehlo.convert %b8 : (tensor<66x35xui8>) -> tensor<66x35xi32>
  %p8 = stablehlo.dot_general %d8, %w8, contracting_dims = [1] x [0] : (tensor<20x66xi32>, tensor<66x35xi32>) -> tensor<20x35xi32>
  %x9 = stablehlo.convert %a9 : (tensor<20x64xui8>) -> tensor<20x64xi32>
  %z9 = stablehlo.constant dense<12> : tensor<20x64xi32>
  %d9 = stablehlo.subtract %x9, %z9 : tensor<20x64xi32>
  %w9 = stablehlo.convert %b9 : (tensor<64x130xi8>) -> tensor<64x130xi32>
  %p9 = stablehlo.dot_general %d9, %w9, contracting_dims = [1] x [0] : (tensor<20x64xi32>, tensor<64x130xi32>) -> tensor<20x130xi32>
  // the last difference is summed up as well
  %none = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%d9 init: %none) applies stablehlo.add across dimensions = [1] : (tensor<20x64xi32>, tensor<i32>) -> tensor<20xi32>
  %x10 = stablehlo.convert %a9 : (tensor<20x64xui8>) -> tensor<20x64xi32>
  %z10 = stablehlo.constant dense<1000> : tensor<20x64xi32>
  %d10 = stablehlo.subtract %x10, %z10 : tensor<20x64xi32>
  %p10 = stablehlo.dot_general %d10, %w9, contracting_dims = [1] x [0] : (tensor<20x64xi32>, tensor<64x130xi32>) -> tensor<20x130xi32>
  %x11 = stablehlo.convert %a5 : (tensor<13x70xui8>) -> tensor<13x70xi32>
  %z11 = stablehlo.constant dense<9> : tensor<13x70xi32>
  %d11 = stablehlo.subtract %x11, %z11 : tensor<13x70xi32>
  %p11 = stablehlo.dot_general %d11, %w5, contracting_dims = [1] x [1] : (tensor<13x70xi32>, tensor<50x70xi32>) -> tensor<13x50xi32>
  return %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9, %sum, %p10, %p11, %x11 : tensor<1x40xi32>, tensor<1x1100xi32>, tensor<5x33xi32>, tensor<12x70xi32>, tensor<3x20xi32>, tensor<13x50xi32>, tensor<40x90xi32>, tensor<33x40xi32>, tensor<20x35xi32>, tensor<20x130xi32>, tensor<20xi32>, tensor<20x130xi32>, tensor<13x50xi32>, tensor<13x70xi32>
}
