// Between operations of one kernel nothing is rounded to bf16 if more precision is allowed, as it is under PyTorch: 256 + 0.5 is 256 in bf16, and 0.5 more than 256 otherwise. It is rounded where a
// program says so, where somebody else reads the sum, where it is compared, where elements are summed up, and by default.
// RUN: cresset-run --excess-precision %s | FileCheck %s --check-prefixes=EXCESS,BOTH
// RUN: cresset-run --excess-precision --cpu=avx2 %s | FileCheck %s --check-prefixes=EXCESS,BOTH
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --excess-precision %s | FileCheck %s --check-prefixes=EXCESS,BOTH
// RUN: cresset-run %s | FileCheck %s --check-prefixes=ROUNDED,BOTH
// EXCESS: tensor<4xbf16>: 0.5 0.5 0.5 0.5
// EXCESS: tensor<2x2xbf16>: 0.5 0.5 0.5 0.5
// EXCESS: tensor<4x4xbf16>: 0.5 0.5 0.5 0.5
// ROUNDED: tensor<4xbf16>: 0 0 0 0
// ROUNDED: tensor<2x2xbf16>: 0 0 0 0
// ROUNDED: tensor<4x4xbf16>: 0 0 0 0
// What a program rounds itself, what is read twice, compared, and summed up.
// BOTH: tensor<4xbf16>: 0 0 0 0
// BOTH: tensor<4xbf16>: 256 256 256 256
// BOTH: tensor<4xbf16>: 0 0 0 0
// BOTH: tensor<4xbf16>: 0 0 0 0
// BOTH: tensor<f32>: 1024
func.func @main(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %x5: tensor<4xf32>, %ones: tensor<4x40xbf16>) -> (tensor<4xbf16>, tensor<2x2xbf16>, tensor<4x4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %large = stablehlo.constant dense<256.0> : tensor<4xf32>

  %nothing0 = stablehlo.multiply %x0, %0 : tensor<4xf32>
  %a0 = stablehlo.add %nothing0, %large : tensor<4xf32>
  %sum0 = stablehlo.add %a0, %half : tensor<4xf32>
  %s0 = stablehlo.convert %sum0 : (tensor<4xf32>) -> tensor<4xbf16>
  %w0 = stablehlo.convert %s0 : (tensor<4xbf16>) -> tensor<4xf32>
  %d0 = stablehlo.subtract %w0, %large : tensor<4xf32>
  %r0 = stablehlo.convert %d0 : (tensor<4xf32>) -> tensor<4xbf16>

  %nothing1 = stablehlo.multiply %x1, %0 : tensor<4xf32>
  %a1 = stablehlo.add %nothing1, %large : tensor<4xf32>
  %sum1 = stablehlo.add %a1, %half : tensor<4xf32>
  %s1 = stablehlo.convert %sum1 : (tensor<4xf32>) -> tensor<4xbf16>
  %square = stablehlo.reshape %s1 : (tensor<4xbf16>) -> tensor<2x2xbf16>
  %w1 = stablehlo.convert %square : (tensor<2x2xbf16>) -> tensor<2x2xf32>
  %large1 = stablehlo.constant dense<256.0> : tensor<2x2xf32>
  %d1 = stablehlo.subtract %w1, %large1 : tensor<2x2xf32>
  %r1 = stablehlo.convert %d1 : (tensor<2x2xf32>) -> tensor<2x2xbf16>

  // 256 and 0.5, and 38 zeros.
  %zero = stablehlo.constant dense<0.0> : tensor<4x40xbf16>
  %zeros = stablehlo.multiply %ones, %zero : tensor<4x40xbf16>
  %parts = stablehlo.constant dense<[256.0, 0.5]> : tensor<2xbf16>
  %first = stablehlo.broadcast_in_dim %parts, dims = [1] : (tensor<2xbf16>) -> tensor<4x2xbf16>
  %rest = stablehlo.slice %zeros [0:4, 2:40] : (tensor<4x40xbf16>) -> tensor<4x38xbf16>
  %left = stablehlo.concatenate %first, %rest, dim = 1 : (tensor<4x2xbf16>, tensor<4x38xbf16>) -> tensor<4x40xbf16>
  %all = stablehlo.constant dense<1.0> : tensor<4x40xbf16>
  %right = stablehlo.add %zeros, %all : tensor<4x40xbf16>
  %product = stablehlo.dot_general %left, %right, contracting_dims = [1] x [1] : (tensor<4x40xbf16>, tensor<4x40xbf16>) -> tensor<4x4xbf16>
  %w2 = stablehlo.convert %product : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %large2 = stablehlo.constant dense<256.0> : tensor<4x4xf32>
  %d2 = stablehlo.subtract %w2, %large2 : tensor<4x4xf32>
  %r2 = stablehlo.convert %d2 : (tensor<4x4xf32>) -> tensor<4x4xbf16>

  %nothing2 = stablehlo.multiply %x2, %0 : tensor<4xf32>
  %a2 = stablehlo.add %nothing2, %large : tensor<4xf32>
  %sum2 = stablehlo.add %a2, %half : tensor<4xf32>
  %s3 = stablehlo.convert %sum2 {cresset.rounds} : (tensor<4xf32>) -> tensor<4xbf16>
  %w3 = stablehlo.convert %s3 : (tensor<4xbf16>) -> tensor<4xf32>
  %d3 = stablehlo.subtract %w3, %large : tensor<4xf32>
  %r3 = stablehlo.convert %d3 : (tensor<4xf32>) -> tensor<4xbf16>

  %nothing3 = stablehlo.multiply %x3, %0 : tensor<4xf32>
  %a3 = stablehlo.add %nothing3, %large : tensor<4xf32>
  %sum3 = stablehlo.add %a3, %half : tensor<4xf32>
  %s4 = stablehlo.convert %sum3 : (tensor<4xf32>) -> tensor<4xbf16>
  %w4 = stablehlo.convert %s4 : (tensor<4xbf16>) -> tensor<4xf32>
  %d4 = stablehlo.subtract %w4, %large : tensor<4xf32>
  %r4 = stablehlo.convert %d4 : (tensor<4xf32>) -> tensor<4xbf16>

  %nothing4 = stablehlo.multiply %x4, %0 : tensor<4xf32>
  %a4 = stablehlo.add %nothing4, %large : tensor<4xf32>
  %sum4 = stablehlo.add %a4, %half : tensor<4xf32>
  %s5 = stablehlo.convert %sum4 : (tensor<4xf32>) -> tensor<4xbf16>
  %w5 = stablehlo.convert %s5 : (tensor<4xbf16>) -> tensor<4xf32>
  %greater = stablehlo.compare GT, %w5, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r5 = stablehlo.convert %greater : (tensor<4xi1>) -> tensor<4xbf16>

  %nothing5 = stablehlo.multiply %x5, %0 : tensor<4xf32>
  %a5 = stablehlo.add %nothing5, %large : tensor<4xf32>
  %sum5 = stablehlo.add %a5, %half : tensor<4xf32>
  %s6 = stablehlo.convert %sum5 : (tensor<4xf32>) -> tensor<4xbf16>
  %w6 = stablehlo.convert %s6 : (tensor<4xbf16>) -> tensor<4xf32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %r6 = stablehlo.reduce(%w6 init: %start) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %r0, %r1, %r2, %r3, %s4, %r4, %r5, %r6 : tensor<4xbf16>, tensor<2x2xbf16>, tensor<4x4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>
}
