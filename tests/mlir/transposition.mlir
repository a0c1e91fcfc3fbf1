// What is read along another dimension than it is written is read as whole vectors, squares of which are turned: also where something is broadcast to it, and through reshapes.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/each.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/each.mlir
// RUN: cresset-run --compare --cpu=wide %t/each.mlir
// RUN: cresset-run --compare --cpu=baseline %t/each.mlir
// RUN: cresset-run --compare %t/squares.mlir
// RUN: cresset-run --compare %t/pixels.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/pixels.mlir
// RUN: cresset-run --compare --cpu=wide %t/pixels.mlir
// RUN: cresset-run --compare --cpu=baseline %t/pixels.mlir
// RUN: cresset-run --compare %t/phases.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/phases.mlir
// RUN: cresset-run --compare --cpu=wide %t/phases.mlir
// RUN: cresset-run --compare --cpu=baseline %t/phases.mlir
// RUN: cresset-run --assembly --cpu=avx512 %t/phases.mlir | FileCheck %s --check-prefix=PHASES
// RUN: cresset-run --assembly --cpu=avx512 %t/pixels.mlir | FileCheck %s --check-prefix=PIXELS
// RUN: cresset-run --assembly --cpu=avx512 %t/squares.mlir | FileCheck %s
// RUN: cresset-run --assembly --cpu=avx512 %t/images.mlir | FileCheck %s
// RUN: cresset-run --assembly --cpu=avx512 %t/tokens.mlir | FileCheck %s

// CHECK-LABEL: # rows
// CHECK-NOT: {{vinsertps|vgather}}
// CHECK: vunpck
// CHECK-NOT: {{vinsertps|vgather}}

// The channels of a pixel are interleaved by vectors: of bytes four at once.
// PIXELS-LABEL: # rows -> ui8[2x21x19x4]: transpose
// PIXELS-NOT: {{vpinsrb|vgather}}
// PIXELS: {{vpunpck|vpermb|vpshufb}}
// PIXELS-LABEL: # rows -> f32[1x40x33x3]
// PIXELS-NOT: {{vinsertps|vgather}}
// PIXELS: ret

// Of rows that are shorter than a vector, as phases of small images, by narrower ones.
// PHASES-LABEL: # rows -> f32[2x3x9x2x9x2]: transpose
// PHASES-NOT: vmovss
// PHASES: {{vunpck|vperm}}
// PHASES-NOT: vmovss
// PHASES: ret

//--- phases.mlir
func.func @main(%x: tensor<2x3x2x2x9x9xf32>, %y: tensor<2x3x2x3x5x6xbf16>, %z: tensor<4x2x2x7x15xi64>) -> (tensor<2x3x9x2x9x2xf32>, tensor<2x3x5x2x6x3xbf16>, tensor<4x7x2x15x2xi64>) {
  %0 = stablehlo.transpose %x, dims = [0, 1, 4, 2, 5, 3] : (tensor<2x3x2x2x9x9xf32>) -> tensor<2x3x9x2x9x2xf32>
  %1 = stablehlo.transpose %y, dims = [0, 1, 4, 2, 5, 3] : (tensor<2x3x2x3x5x6xbf16>) -> tensor<2x3x5x2x6x3xbf16>
  %2 = stablehlo.negate %1 : tensor<2x3x5x2x6x3xbf16>
  %3 = stablehlo.transpose %z, dims = [0, 3, 1, 4, 2] : (tensor<4x2x2x7x15xi64>) -> tensor<4x7x2x15x2xi64>
  return %0, %2, %3 : tensor<2x3x9x2x9x2xf32>, tensor<2x3x5x2x6x3xbf16>, tensor<4x7x2x15x2xi64>
}
//--- pixels.mlir
func.func @main(%x: tensor<2x4x21x19xui8>, %y: tensor<1x3x40x33xf32>, %z: tensor<2x70xbf16>, %w: tensor<1x8x5x16xi64>) -> (tensor<2x21x19x4xui8>, tensor<1x40x33x3xf32>, tensor<70x2xbf16>, tensor<1x5x16x8xi64>) {
  %0 = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<2x4x21x19xui8>) -> tensor<2x21x19x4xui8>
  %1 = stablehlo.add %y, %y : tensor<1x3x40x33xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 3, 1] : (tensor<1x3x40x33xf32>) -> tensor<1x40x33x3xf32>
  %3 = stablehlo.transpose %z, dims = [1, 0] : (tensor<2x70xbf16>) -> tensor<70x2xbf16>
  %4 = stablehlo.transpose %w, dims = [0, 2, 3, 1] : (tensor<1x8x5x16xi64>) -> tensor<1x5x16x8xi64>
  return %0, %2, %3, %4 : tensor<2x21x19x4xui8>, tensor<1x40x33x3xf32>, tensor<70x2xbf16>, tensor<1x5x16x8xi64>
}
//--- squares.mlir
func.func @main(%x: tensor<1x49x64xf32>, %b: tensor<64xf32>) -> tensor<1x64x7x7xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<64xf32>) -> tensor<1x49x64xf32>
  %1 = stablehlo.add %x, %0 : tensor<1x49x64xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x49x64xf32>) -> tensor<7x7x1x64xf32>
  %3 = stablehlo.transpose %2, dims = [2, 3, 0, 1] : (tensor<7x7x1x64xf32>) -> tensor<1x64x7x7xf32>
  return %3 : tensor<1x64x7x7xf32>
}
//--- images.mlir
func.func @main(%x: tensor<2x48x6x6xf32>, %b: tensor<48xf32>) -> tensor<2x36x48xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<2x48x6x6xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x48x6x6xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x48x6x6xf32>) -> tensor<2x48x36xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x48x36xf32>) -> tensor<2x36x48xf32>
  return %3 : tensor<2x36x48xf32>
}
//--- tokens.mlir
func.func @main(%x: tensor<2x36x48xf32>, %b: tensor<48xf32>) -> tensor<2x48x6x6xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<48xf32>) -> tensor<2x36x48xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x36x48xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x36x48xf32>) -> tensor<2x48x36xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x48x36xf32>) -> tensor<2x48x6x6xf32>
  return %3 : tensor<2x48x6x6xf32>
}
//--- each.mlir
func.func @main(%x: tensor<2x19x5x7xf32>, %b: tensor<19xf32>, %t: tensor<2x35x19xf32>, %m: tensor<2x35x1xf32>, %w: tensor<4x3x17x18xbf16>, %d: tensor<33x21xf64>, %e: tensor<21x33xf64>)
    -> (tensor<2x35x19xf32>, tensor<2x19x5x7xf32>, tensor<4x18x17x3xbf16>, tensor<4x17x3x18xbf16>, tensor<21x33xf64>, tensor<17x33xf64>) {
  // Images to tokens, and back.
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<19xf32>) -> tensor<2x19x5x7xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x19x5x7xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x19x5x7xf32>) -> tensor<2x19x35xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x19x35xf32>) -> tensor<2x35x19xf32>
  %4 = stablehlo.tanh %3 : tensor<2x35x19xf32>
  %5 = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<2x35x1xf32>) -> tensor<2x35x19xf32>
  %6 = stablehlo.multiply %t, %5 : tensor<2x35x19xf32>
  %7 = stablehlo.transpose %6, dims = [0, 2, 1] : (tensor<2x35x19xf32>) -> tensor<2x19x35xf32>
  %8 = stablehlo.reshape %7 : (tensor<2x19x35xf32>) -> tensor<2x19x5x7xf32>
  // Bf16; the last dimension stays in one, which is no transposition.
  %9 = stablehlo.transpose %w, dims = [0, 3, 2, 1] : (tensor<4x3x17x18xbf16>) -> tensor<4x18x17x3xbf16>
  %10 = stablehlo.transpose %w, dims = [0, 2, 1, 3] : (tensor<4x3x17x18xbf16>) -> tensor<4x17x3x18xbf16>
  // One operand turned, the other not; and of a part.
  %11 = stablehlo.transpose %d, dims = [1, 0] : (tensor<33x21xf64>) -> tensor<21x33xf64>
  %12 = stablehlo.subtract %11, %e : tensor<21x33xf64>
  %13 = stablehlo.slice %d [0:33, 3:20] : (tensor<33x21xf64>) -> tensor<33x17xf64>
  %14 = stablehlo.transpose %13, dims = [1, 0] : (tensor<33x17xf64>) -> tensor<17x33xf64>
  %15 = stablehlo.abs %14 : tensor<17x33xf64>
  return %4, %8, %9, %10, %12, %15 : tensor<2x35x19xf32>, tensor<2x19x5x7xf32>, tensor<4x18x17x3xbf16>, tensor<4x17x3x18xbf16>, tensor<21x33xf64>, tensor<17x33xf64>
}
