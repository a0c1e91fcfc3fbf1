// Weights by tiles are packed into memory of their own in the second run, and read there from the third on: linear layers along either dimension, ends of rows, columns and K, several blocks of K, a
// residual, windows of a convolution whose kernel is transposed before.
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare --repeat=2 %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan cresset-run --compare --repeat=3 %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_SCRATCH=nan CRESSET_THREADS=2 cresset-run --compare --repeat=4 --cpu=wide %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_GUARD=end cresset-run --compare --repeat=4 %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_WRITE_WATCH=0 cresset-run --compare --repeat=4 %s
func.func @main(%x0: tensor<50x203xbf16>, %w0: tensor<97x203xbf16> {cresset.weight}, %x1: tensor<40x1100xbf16>, %w1: tensor<1100x75xbf16> {cresset.weight}, %r1: tensor<40x75xbf16>, %x2: tensor<600x64xbf16>, %w2: tensor<256x64xbf16> {cresset.weight}, %image: tensor<2x9x8x64xbf16>, %kernel: tensor<96x64x3x3xbf16> {cresset.weight}, %x3: tensor<5x300xbf16>, %w3: tensor<70x300xbf16> {cresset.weight}) -> (tensor<50x97xbf16>, tensor<40x75xbf16>, tensor<600x256xbf16>, tensor<2x9x8x96xbf16>, tensor<5x70xbf16>) {
  %0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [1] : (tensor<50x203xbf16>, tensor<97x203xbf16>) -> tensor<50x97xbf16>
  %1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [0] : (tensor<40x1100xbf16>, tensor<1100x75xbf16>) -> tensor<40x75xbf16>
  %2 = stablehlo.add %1, %r1 : tensor<40x75xbf16>
  %3 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [1] : (tensor<600x64xbf16>, tensor<256x64xbf16>) -> tensor<600x256xbf16>
  %last = stablehlo.transpose %kernel, dims = [0, 2, 3, 1] : (tensor<96x64x3x3xbf16>) -> tensor<96x3x3x64xbf16>
  %4 = stablehlo.convolution(%image, %last) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x64xbf16>, tensor<96x3x3x64xbf16>) -> tensor<2x9x8x96xbf16>
  %5 = stablehlo.dot_general %x3, %w3, contracting_dims = [1] x [1] : (tensor<5x300xbf16>, tensor<70x300xbf16>) -> tensor<5x70xbf16>
  return %0, %2, %3, %4, %5 : tensor<50x97xbf16>, tensor<40x75xbf16>, tensor<600x256xbf16>, tensor<2x9x8x96xbf16>, tensor<5x70xbf16>
}
