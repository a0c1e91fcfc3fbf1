// Products of unsigned bytes of at most seven bits: sums of two have 16, so that machines without VNNI multiply bytes as they are. Both operands at their ends, where one bit more would saturate.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=wide %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=CODE
// CHECK-NOT: too large
// CHECK-COUNT-7: largest error 0
// RULE-COUNT-5: seven_bits
// RULE-NOT: seven_bits
// CODE: # dot i32[40x259]
// CODE: vpmaddubsw
// CODE: # dot i32[12x256]
// CODE-NOT: vpmaddubsw
// CODE: # dot i32[12x64]
// CODE-NOT: vpmaddubsw
func.func @main(%x0: tensor<1x130xf32>, %w0: tensor<40x130xf32>, %x1: tensor<5x131xf32>, %w1: tensor<33x131xf32>, %x2: tensor<40x259xf32>, %w2: tensor<90x259xf32>, %x3: tensor<33x5000xf32>, %w3: tensor<40x5000xf32>, %im: tensor<2x9x9x16xf32>, %k: tensor<20x3x3x16xf32>, %x4: tensor<12x256xf32>, %w4: tensor<70x256xf32>, %n: tensor<12x64xf32>, %m: tensor<24x64xf32>) -> (tensor<1x40xi32>, tensor<5x33xi32>, tensor<40x90xi32>, tensor<33x40xi32>, tensor<2x9x9x20xi32>, tensor<12x70xi32>, tensor<12x24xi32>) {
  // one row, few, many; blocks of depth
  %x0s = stablehlo.constant dense<1.0e+06> : tensor<1x130xf32>
  %x0l = stablehlo.constant dense<0.0> : tensor<1x130xf32>
  %x0h = stablehlo.constant dense<127.0> : tensor<1x130xf32>
  %x00 = stablehlo.multiply %x0, %x0s : tensor<1x130xf32>
  %x01 = stablehlo.maximum %x00, %x0l : tensor<1x130xf32>
  %x02 = stablehlo.minimum %x01, %x0h : tensor<1x130xf32>
  %x03 = stablehlo.convert %x02 : (tensor<1x130xf32>) -> tensor<1x130xui8>
  %xw0 = stablehlo.convert %x03 : (tensor<1x130xui8>) -> tensor<1x130xi32>
  %w0s = stablehlo.constant dense<1.0e+06> : tensor<40x130xf32>
  %w0l = stablehlo.constant dense<-128.0> : tensor<40x130xf32>
  %w0h = stablehlo.constant dense<127.0> : tensor<40x130xf32>
  %w00 = stablehlo.multiply %w0, %w0s : tensor<40x130xf32>
  %w01 = stablehlo.maximum %w00, %w0l : tensor<40x130xf32>
  %w02 = stablehlo.minimum %w01, %w0h : tensor<40x130xf32>
  %w03 = stablehlo.convert %w02 : (tensor<40x130xf32>) -> tensor<40x130xi8>
  %ww0 = stablehlo.convert %w03 : (tensor<40x130xi8>) -> tensor<40x130xi32>
  %p0 = stablehlo.dot_general %xw0, %ww0, contracting_dims = [1] x [1] : (tensor<1x130xi32>, tensor<40x130xi32>) -> tensor<1x40xi32>
  %x1s = stablehlo.constant dense<1.0e+06> : tensor<5x131xf32>
  %x1l = stablehlo.constant dense<0.0> : tensor<5x131xf32>
  %x1h = stablehlo.constant dense<127.0> : tensor<5x131xf32>
  %x10 = stablehlo.multiply %x1, %x1s : tensor<5x131xf32>
  %x11 = stablehlo.maximum %x10, %x1l : tensor<5x131xf32>
  %x12 = stablehlo.minimum %x11, %x1h : tensor<5x131xf32>
  %x13 = stablehlo.convert %x12 : (tensor<5x131xf32>) -> tensor<5x131xui8>
  %xw1 = stablehlo.convert %x13 : (tensor<5x131xui8>) -> tensor<5x131xi32>
  %w1s = stablehlo.constant dense<1.0e+06> : tensor<33x131xf32>
  %w1l = stablehlo.constant dense<-128.0> : tensor<33x131xf32>
  %w1h = stablehlo.constant dense<127.0> : tensor<33x131xf32>
  %w10 = stablehlo.multiply %w1, %w1s : tensor<33x131xf32>
  %w11 = stablehlo.maximum %w10, %w1l : tensor<33x131xf32>
  %w12 = stablehlo.minimum %w11, %w1h : tensor<33x131xf32>
  %w13 = stablehlo.convert %w12 : (tensor<33x131xf32>) -> tensor<33x131xi8>
  %ww1 = stablehlo.convert %w13 : (tensor<33x131xi8>) -> tensor<33x131xi32>
  %z1 = stablehlo.constant dense<3> : tensor<5x131xi32>
  %d1 = stablehlo.subtract %xw1, %z1 : tensor<5x131xi32>
  %p1 = stablehlo.dot_general %d1, %ww1, contracting_dims = [1] x [1] : (tensor<5x131xi32>, tensor<33x131xi32>) -> tensor<5x33xi32>
  %x2s = stablehlo.constant dense<1.0e+06> : tensor<40x259xf32>
  %x2l = stablehlo.constant dense<0.0> : tensor<40x259xf32>
  %x2h = stablehlo.constant dense<127.0> : tensor<40x259xf32>
  %x20 = stablehlo.multiply %x2, %x2s : tensor<40x259xf32>
  %x21 = stablehlo.maximum %x20, %x2l : tensor<40x259xf32>
  %x22 = stablehlo.minimum %x21, %x2h : tensor<40x259xf32>
  %x23 = stablehlo.convert %x22 : (tensor<40x259xf32>) -> tensor<40x259xui8>
  %xw2 = stablehlo.convert %x23 : (tensor<40x259xui8>) -> tensor<40x259xi32>
  %w2s = stablehlo.constant dense<1.0e+06> : tensor<90x259xf32>
  %w2l = stablehlo.constant dense<-128.0> : tensor<90x259xf32>
  %w2h = stablehlo.constant dense<127.0> : tensor<90x259xf32>
  %w20 = stablehlo.multiply %w2, %w2s : tensor<90x259xf32>
  %w21 = stablehlo.maximum %w20, %w2l : tensor<90x259xf32>
  %w22 = stablehlo.minimum %w21, %w2h : tensor<90x259xf32>
  %w23 = stablehlo.convert %w22 : (tensor<90x259xf32>) -> tensor<90x259xi8>
  %ww2 = stablehlo.convert %w23 : (tensor<90x259xi8>) -> tensor<90x259xi32>
  %z2 = stablehlo.constant dense<127> : tensor<40x259xi32>
  %d2 = stablehlo.subtract %xw2, %z2 : tensor<40x259xi32>
  %p2 = stablehlo.dot_general %d2, %ww2, contracting_dims = [1] x [1] : (tensor<40x259xi32>, tensor<90x259xi32>) -> tensor<40x90xi32>
  %x3s = stablehlo.constant dense<1.0e+06> : tensor<33x5000xf32>
  %x3l = stablehlo.constant dense<0.0> : tensor<33x5000xf32>
  %x3h = stablehlo.constant dense<100.0> : tensor<33x5000xf32>
  %x30 = stablehlo.multiply %x3, %x3s : tensor<33x5000xf32>
  %x31 = stablehlo.maximum %x30, %x3l : tensor<33x5000xf32>
  %x32 = stablehlo.minimum %x31, %x3h : tensor<33x5000xf32>
  %x33 = stablehlo.convert %x32 : (tensor<33x5000xf32>) -> tensor<33x5000xui8>
  %xw3 = stablehlo.convert %x33 : (tensor<33x5000xui8>) -> tensor<33x5000xi32>
  %w3s = stablehlo.constant dense<1.0e+06> : tensor<40x5000xf32>
  %w3l = stablehlo.constant dense<-128.0> : tensor<40x5000xf32>
  %w3h = stablehlo.constant dense<127.0> : tensor<40x5000xf32>
  %w30 = stablehlo.multiply %w3, %w3s : tensor<40x5000xf32>
  %w31 = stablehlo.maximum %w30, %w3l : tensor<40x5000xf32>
  %w32 = stablehlo.minimum %w31, %w3h : tensor<40x5000xf32>
  %w33 = stablehlo.convert %w32 : (tensor<40x5000xf32>) -> tensor<40x5000xi8>
  %ww3 = stablehlo.convert %w33 : (tensor<40x5000xi8>) -> tensor<40x5000xi32>
  %p3 = stablehlo.dot_general %xw3, %ww3, contracting_dims = [1] x [1] : (tensor<33x5000xi32>, tensor<40x5000xi32>) -> tensor<33x40xi32>
  // windows, of whose pixels some are added: these have seven bits, too
  %ims = stablehlo.constant dense<1.0e+06> : tensor<2x9x9x16xf32>
  %iml = stablehlo.constant dense<0.0> : tensor<2x9x9x16xf32>
  %imh = stablehlo.constant dense<127.0> : tensor<2x9x9x16xf32>
  %im0 = stablehlo.multiply %im, %ims : tensor<2x9x9x16xf32>
  %im1 = stablehlo.maximum %im0, %iml : tensor<2x9x9x16xf32>
  %im2 = stablehlo.minimum %im1, %imh : tensor<2x9x9x16xf32>
  %im3 = stablehlo.convert %im2 : (tensor<2x9x9x16xf32>) -> tensor<2x9x9x16xui8>
  %fill = stablehlo.constant dense<5> : tensor<ui8>
  %padded = stablehlo.pad %im3, %fill, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x9x9x16xui8>, tensor<ui8>) -> tensor<2x11x11x16xui8>
  %imw = stablehlo.convert %padded : (tensor<2x11x11x16xui8>) -> tensor<2x11x11x16xi32>
  %ks = stablehlo.constant dense<1.0e+06> : tensor<20x3x3x16xf32>
  %kl = stablehlo.constant dense<-128.0> : tensor<20x3x3x16xf32>
  %kh = stablehlo.constant dense<127.0> : tensor<20x3x3x16xf32>
  %k0 = stablehlo.multiply %k, %ks : tensor<20x3x3x16xf32>
  %k1 = stablehlo.maximum %k0, %kl : tensor<20x3x3x16xf32>
  %k2 = stablehlo.minimum %k1, %kh : tensor<20x3x3x16xf32>
  %k3 = stablehlo.convert %k2 : (tensor<20x3x3x16xf32>) -> tensor<20x3x3x16xi8>
  %kw = stablehlo.convert %k3 : (tensor<20x3x3x16xi8>) -> tensor<20x3x3x16xi32>
  %c = stablehlo.convolution(%imw, %kw) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x11x11x16xi32>, tensor<20x3x3x16xi32>) -> tensor<2x9x9x20xi32>
  // an eighth bit; what may be below 0, and wraps around
  %x4s = stablehlo.constant dense<1.0e+06> : tensor<12x256xf32>
  %x4l = stablehlo.constant dense<0.0> : tensor<12x256xf32>
  %x4h = stablehlo.constant dense<200.0> : tensor<12x256xf32>
  %x40 = stablehlo.multiply %x4, %x4s : tensor<12x256xf32>
  %x41 = stablehlo.maximum %x40, %x4l : tensor<12x256xf32>
  %x42 = stablehlo.minimum %x41, %x4h : tensor<12x256xf32>
  %x43 = stablehlo.convert %x42 : (tensor<12x256xf32>) -> tensor<12x256xui8>
  %xw4 = stablehlo.convert %x43 : (tensor<12x256xui8>) -> tensor<12x256xi32>
  %w4s = stablehlo.constant dense<1.0e+06> : tensor<70x256xf32>
  %w4l = stablehlo.constant dense<-128.0> : tensor<70x256xf32>
  %w4h = stablehlo.constant dense<127.0> : tensor<70x256xf32>
  %w40 = stablehlo.multiply %w4, %w4s : tensor<70x256xf32>
  %w41 = stablehlo.maximum %w40, %w4l : tensor<70x256xf32>
  %w42 = stablehlo.minimum %w41, %w4h : tensor<70x256xf32>
  %w43 = stablehlo.convert %w42 : (tensor<70x256xf32>) -> tensor<70x256xi8>
  %ww4 = stablehlo.convert %w43 : (tensor<70x256xi8>) -> tensor<70x256xi32>
  %p4 = stablehlo.dot_general %xw4, %ww4, contracting_dims = [1] x [1] : (tensor<12x256xi32>, tensor<70x256xi32>) -> tensor<12x70xi32>
  %ns = stablehlo.constant dense<5.0e+01> : tensor<12x64xf32>
  %nh = stablehlo.constant dense<100.0> : tensor<12x64xf32>
  %n0 = stablehlo.multiply %n, %ns : tensor<12x64xf32>
  %n2 = stablehlo.minimum %n0, %nh : tensor<12x64xf32>
  %n3 = stablehlo.convert %n2 : (tensor<12x64xf32>) -> tensor<12x64xui8>
  %nw = stablehlo.convert %n3 : (tensor<12x64xui8>) -> tensor<12x64xi32>
  %ms = stablehlo.constant dense<1.0e+06> : tensor<24x64xf32>
  %ml = stablehlo.constant dense<-128.0> : tensor<24x64xf32>
  %mh = stablehlo.constant dense<127.0> : tensor<24x64xf32>
  %m0 = stablehlo.multiply %m, %ms : tensor<24x64xf32>
  %m1 = stablehlo.maximum %m0, %ml : tensor<24x64xf32>
  %m2 = stablehlo.minimum %m1, %mh : tensor<24x64xf32>
  %m3 = stablehlo.convert %m2 : (tensor<24x64xf32>) -> tensor<24x64xi8>
  %mw = stablehlo.convert %m3 : (tensor<24x64xi8>) -> tensor<24x64xi32>
  %pn = stablehlo.dot_general %nw, %mw, contracting_dims = [1] x [1] : (tensor<12x64xi32>, tensor<24x64xi32>) -> tensor<12x24xi32>
  return %p0, %p1, %p2, %p3, %c, %p4, %pn : tensor<1x40xi32>, tensor<5x33xi32>, tensor<40x90xi32>, tensor<33x40xi32>, tensor<2x9x9x20xi32>, tensor<12x70xi32>, tensor<12x24xi32>
}
