// Pairs along K, as AVX512-BF16 multiplies them, and tiles, as AMX does, also made of other instructions: every orientation, one tile of rows or
// of columns and many, odd ends, several blocks of K, batches, an epilogue.
// RUN: cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %s
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=baseline %s
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_THREADS=2 cresset-run --compare --cpu=baseline %s

func.func @main(%a0: tensor<37x51xbf16>, %at0: tensor<51x37xbf16>, %b0: tensor<51x41xbf16>, %bt0: tensor<41x51xbf16>,
    %a1: tensor<9x77xbf16>, %at1: tensor<77x9xbf16>, %b1: tensor<77x100xbf16>, %bt1: tensor<100x77xbf16>,
    %a2: tensor<70x40xbf16>, %at2: tensor<40x70xbf16>, %b2: tensor<40x12xbf16>, %bt2: tensor<12x40xbf16>,
    %a3: tensor<35x700xbf16>, %at3: tensor<700x35xbf16>, %b3: tensor<700x33xbf16>, %bt3: tensor<33x700xbf16>,
    %a4: tensor<64x128xbf16>, %at4: tensor<128x64xbf16>, %b4: tensor<128x96xbf16>, %bt4: tensor<96x128xbf16>,
    %x: tensor<3x20x35xbf16>, %y: tensor<3x18x35xbf16>, %bias: tensor<33xbf16>)
    -> (tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<3x20x18xf32>, tensor<35x33xbf16>) {
  %0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (tensor<37x51xbf16>, tensor<51x41xbf16>) -> tensor<37x41xbf16>
  %1 = stablehlo.dot_general %a0, %bt0, contracting_dims = [1] x [1] : (tensor<37x51xbf16>, tensor<41x51xbf16>) -> tensor<37x41xbf16>
  %2 = stablehlo.dot_general %at0, %b0, contracting_dims = [0] x [0] : (tensor<51x37xbf16>, tensor<51x41xbf16>) -> tensor<37x41xbf16>
  %3 = stablehlo.dot_general %at0, %bt0, contracting_dims = [0] x [1] : (tensor<51x37xbf16>, tensor<41x51xbf16>) -> tensor<37x41xbf16>
  %4 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [0] : (tensor<9x77xbf16>, tensor<77x100xbf16>) -> tensor<9x100xbf16>
  %5 = stablehlo.dot_general %a1, %bt1, contracting_dims = [1] x [1] : (tensor<9x77xbf16>, tensor<100x77xbf16>) -> tensor<9x100xbf16>
  %6 = stablehlo.dot_general %at1, %b1, contracting_dims = [0] x [0] : (tensor<77x9xbf16>, tensor<77x100xbf16>) -> tensor<9x100xbf16>
  %7 = stablehlo.dot_general %at1, %bt1, contracting_dims = [0] x [1] : (tensor<77x9xbf16>, tensor<100x77xbf16>) -> tensor<9x100xbf16>
  %8 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<70x40xbf16>, tensor<40x12xbf16>) -> tensor<70x12xbf16>
  %9 = stablehlo.dot_general %a2, %bt2, contracting_dims = [1] x [1] : (tensor<70x40xbf16>, tensor<12x40xbf16>) -> tensor<70x12xbf16>
  %10 = stablehlo.dot_general %at2, %b2, contracting_dims = [0] x [0] : (tensor<40x70xbf16>, tensor<40x12xbf16>) -> tensor<70x12xbf16>
  %11 = stablehlo.dot_general %at2, %bt2, contracting_dims = [0] x [1] : (tensor<40x70xbf16>, tensor<12x40xbf16>) -> tensor<70x12xbf16>
  %12 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<35x700xbf16>, tensor<700x33xbf16>) -> tensor<35x33xbf16>
  %13 = stablehlo.dot_general %a3, %bt3, contracting_dims = [1] x [1] : (tensor<35x700xbf16>, tensor<33x700xbf16>) -> tensor<35x33xbf16>
  %14 = stablehlo.dot_general %at3, %b3, contracting_dims = [0] x [0] : (tensor<700x35xbf16>, tensor<700x33xbf16>) -> tensor<35x33xbf16>
  %15 = stablehlo.dot_general %at3, %bt3, contracting_dims = [0] x [1] : (tensor<700x35xbf16>, tensor<33x700xbf16>) -> tensor<35x33xbf16>
  %16 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [0] : (tensor<64x128xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
  %17 = stablehlo.dot_general %a4, %bt4, contracting_dims = [1] x [1] : (tensor<64x128xbf16>, tensor<96x128xbf16>) -> tensor<64x96xbf16>
  %18 = stablehlo.dot_general %at4, %b4, contracting_dims = [0] x [0] : (tensor<128x64xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
  %19 = stablehlo.dot_general %at4, %bt4, contracting_dims = [0] x [1] : (tensor<128x64xbf16>, tensor<96x128xbf16>) -> tensor<64x96xbf16>
  %20 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x20x35xbf16>, tensor<3x18x35xbf16>) -> tensor<3x20x18xf32>
  %21 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<33xbf16>) -> tensor<35x33xbf16>
  %22 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<35x700xbf16>, tensor<700x33xbf16>) -> tensor<35x33xbf16>
  %23 = stablehlo.add %22, %21 : tensor<35x33xbf16>
  %24 = stablehlo.tanh %23 : tensor<35x33xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %24 : tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<9x100xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<70x12xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<35x33xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<3x20x18xf32>, tensor<35x33xbf16>
}
