// Pairs: two values stand one after the other along the last dimension, as those of complex numbers; rows shorter than a vector, of several, and with some beyond.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=wide %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_GUARD=end cresset-run --compare %s

func.func @main(%x: tensor<3x5x64x2xf32>, %y: tensor<5x1x64xf32>, %few: tensor<7x3xf32>, %many: tensor<2x37xbf16>, %wide: tensor<4x19xf64>, %whole: tensor<6x33xi32>, %bits: tensor<40xi1>)
    -> (tensor<3x5x64x2xf32>, tensor<7x3x2xf32>, tensor<2x37x2xbf16>, tensor<4x19x2xf64>, tensor<6x33x2xi32>, tensor<40x2xi1>, tensor<19x4x2xf64>) {
  %a0 = stablehlo.slice %x [0:3, 0:5, 0:64, 0:1] : (tensor<3x5x64x2xf32>) -> tensor<3x5x64x1xf32>
  %b0 = stablehlo.slice %x [0:3, 0:5, 0:64, 1:2] : (tensor<3x5x64x2xf32>) -> tensor<3x5x64x1xf32>
  %angle = stablehlo.broadcast_in_dim %y, dims = [1, 3, 2] : (tensor<5x1x64xf32>) -> tensor<3x5x64x1xf32>
  %re = stablehlo.multiply %a0, %angle : tensor<3x5x64x1xf32>
  %im = stablehlo.subtract %b0, %angle : tensor<3x5x64x1xf32>
  %0 = stablehlo.concatenate %re, %im, dim = 3 : (tensor<3x5x64x1xf32>, tensor<3x5x64x1xf32>) -> tensor<3x5x64x2xf32>

  %f = stablehlo.reshape %few : (tensor<7x3xf32>) -> tensor<7x3x1xf32>
  %g = stablehlo.negate %f : tensor<7x3x1xf32>
  %1 = stablehlo.concatenate %g, %f, dim = 2 : (tensor<7x3x1xf32>, tensor<7x3x1xf32>) -> tensor<7x3x2xf32>

  %m = stablehlo.reshape %many : (tensor<2x37xbf16>) -> tensor<2x37x1xbf16>
  %n = stablehlo.abs %m : tensor<2x37x1xbf16>
  %2 = stablehlo.concatenate %m, %n, dim = 2 : (tensor<2x37x1xbf16>, tensor<2x37x1xbf16>) -> tensor<2x37x2xbf16>

  %w = stablehlo.reshape %wide : (tensor<4x19xf64>) -> tensor<4x19x1xf64>
  %3 = stablehlo.concatenate %w, %w, dim = 2 : (tensor<4x19x1xf64>, tensor<4x19x1xf64>) -> tensor<4x19x2xf64>

  %i = stablehlo.reshape %whole : (tensor<6x33xi32>) -> tensor<6x33x1xi32>
  %j = stablehlo.add %i, %i : tensor<6x33x1xi32>
  %4 = stablehlo.concatenate %i, %j, dim = 2 : (tensor<6x33x1xi32>, tensor<6x33x1xi32>) -> tensor<6x33x2xi32>

  %p = stablehlo.reshape %bits : (tensor<40xi1>) -> tensor<40x1xi1>
  %q = stablehlo.not %p : tensor<40x1xi1>
  %5 = stablehlo.concatenate %p, %q, dim = 1 : (tensor<40x1xi1>, tensor<40x1xi1>) -> tensor<40x2xi1>

  %t = stablehlo.transpose %wide, dims = [1, 0] : (tensor<4x19xf64>) -> tensor<19x4xf64>
  %u = stablehlo.reshape %t : (tensor<19x4xf64>) -> tensor<19x4x1xf64>
  %v = stablehlo.exponential %u : tensor<19x4x1xf64>
  %6 = stablehlo.concatenate %u, %v, dim = 2 : (tensor<19x4x1xf64>, tensor<19x4x1xf64>) -> tensor<19x4x2xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x5x64x2xf32>, tensor<7x3x2xf32>, tensor<2x37x2xbf16>, tensor<4x19x2xf64>, tensor<6x33x2xi32>, tensor<40x2xi1>, tensor<19x4x2xf64>
}
