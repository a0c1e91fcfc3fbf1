// Few rows, few columns, matrix by vector: in both orientations, beyond whole vectors and blocks, on every instruction set, against the interpreter.
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s

func.func @main(%a0: tensor<1x70xf32>, %b0: tensor<70x301xf32>, %a1: tensor<2x101xf32>, %b1: tensor<101x35xf32>, %a2: tensor<3x66xf32>, %b2: tensor<66x20xf32>,
    %a3: tensor<4x130xf32>, %b3: tensor<130x50xf32>, %a4: tensor<5x33xf32>, %b4: tensor<33x300xf32>, %a5: tensor<7x77xf32>, %b5: tensor<77x23xf32>,
    %a6: tensor<8x40xf32>, %b6: tensor<40x270xf32>, %a7: tensor<11x75xf32>, %b7: tensor<75x60xf32>, %a8: tensor<16x50xf32>, %b8: tensor<50x30xf32>,
    %a9: tensor<1x70xf32>, %b9: tensor<40x70xf32>, %a10: tensor<4x101xf32>, %b10: tensor<25x101xf32>, %a11: tensor<6x66xf32>, %b11: tensor<20x66xf32>,
    %a12: tensor<8x130xf32>, %b12: tensor<50x130xf32>, %a13: tensor<10x77xf32>, %b13: tensor<33x77xf32>, %a14: tensor<32x64xf32>, %b14: tensor<35x64xf32>,
    %a15: tensor<61x70xf32>, %b15: tensor<70x1xf32>, %a16: tensor<61x70xf32>, %b16: tensor<70xf32>, %a17: tensor<70x61xf32>, %b17: tensor<70x3xf32>,
    %a18: tensor<37x90xf32>, %b18: tensor<8x90xf32>, %a19: tensor<90x37xf32>, %b19: tensor<5x90xf32>, %a20: tensor<3x1x64xf32>, %b20: tensor<3x64x20xf32>,
    %a21: tensor<3x2x64xf32>, %b21: tensor<3x20x64xf32>, %a22: tensor<3x20x64xf32>, %b22: tensor<3x64x1xf32>, %a23: tensor<70x13xf32>, %b23: tensor<70x20xf32>,
    %a24: tensor<30x109xf32>, %b24: tensor<30x20xf32>, %a25: tensor<3x70xf64>, %b25: tensor<30x70xf64>, %a26: tensor<3x70xf64>, %b26: tensor<70x30xf64>,
    %a27: tensor<9x70xf64>, %b27: tensor<30x70xf64>, %a28: tensor<9x70xf64>, %b28: tensor<70x30xf64>,
    %a29: tensor<5x30xf32>, %b29: tensor<30x1024xf32>, %a30: tensor<14x35xf32>, %b30: tensor<35x2100xf32>, %a31: tensor<16x1601xf32>, %b31: tensor<23x1601xf32>)
    -> (tensor<1x301xf32>, tensor<2x35xf32>, tensor<3x20xf32>, tensor<4x50xf32>, tensor<5x300xf32>, tensor<7x23xf32>, tensor<8x270xf32>, tensor<11x60xf32>,
      tensor<16x30xf32>, tensor<1x40xf32>, tensor<4x25xf32>, tensor<6x20xf32>, tensor<8x50xf32>, tensor<10x33xf32>, tensor<32x35xf32>, tensor<61x1xf32>,
      tensor<61xf32>, tensor<61x3xf32>, tensor<37x8xf32>, tensor<37x5xf32>, tensor<3x1x20xf32>, tensor<3x2x20xf32>, tensor<3x20x1xf32>, tensor<13x20xf32>,
      tensor<109x20xf32>, tensor<3x30xf64>, tensor<3x30xf64>, tensor<9x30xf64>, tensor<9x30xf64>, tensor<5x1024xf32>, tensor<14x2100xf32>, tensor<16x23xf32>) {
  %0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (tensor<1x70xf32>, tensor<70x301xf32>) -> tensor<1x301xf32>
  %1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [0] : (tensor<2x101xf32>, tensor<101x35xf32>) -> tensor<2x35xf32>
  %2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<3x66xf32>, tensor<66x20xf32>) -> tensor<3x20xf32>
  %3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<4x130xf32>, tensor<130x50xf32>) -> tensor<4x50xf32>
  %4 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [0] : (tensor<5x33xf32>, tensor<33x300xf32>) -> tensor<5x300xf32>
  %5 = stablehlo.dot_general %a5, %b5, contracting_dims = [1] x [0] : (tensor<7x77xf32>, tensor<77x23xf32>) -> tensor<7x23xf32>
  %6 = stablehlo.dot_general %a6, %b6, contracting_dims = [1] x [0] : (tensor<8x40xf32>, tensor<40x270xf32>) -> tensor<8x270xf32>
  %7 = stablehlo.dot_general %a7, %b7, contracting_dims = [1] x [0] : (tensor<11x75xf32>, tensor<75x60xf32>) -> tensor<11x60xf32>
  %8 = stablehlo.dot_general %a8, %b8, contracting_dims = [1] x [0] : (tensor<16x50xf32>, tensor<50x30xf32>) -> tensor<16x30xf32>
  %9 = stablehlo.dot_general %a9, %b9, contracting_dims = [1] x [1] : (tensor<1x70xf32>, tensor<40x70xf32>) -> tensor<1x40xf32>
  %10 = stablehlo.dot_general %a10, %b10, contracting_dims = [1] x [1] : (tensor<4x101xf32>, tensor<25x101xf32>) -> tensor<4x25xf32>
  %11 = stablehlo.dot_general %a11, %b11, contracting_dims = [1] x [1] : (tensor<6x66xf32>, tensor<20x66xf32>) -> tensor<6x20xf32>
  %12 = stablehlo.dot_general %a12, %b12, contracting_dims = [1] x [1] : (tensor<8x130xf32>, tensor<50x130xf32>) -> tensor<8x50xf32>
  %13 = stablehlo.dot_general %a13, %b13, contracting_dims = [1] x [1] : (tensor<10x77xf32>, tensor<33x77xf32>) -> tensor<10x33xf32>
  %14 = stablehlo.dot_general %a14, %b14, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<35x64xf32>) -> tensor<32x35xf32>
  %15 = stablehlo.dot_general %a15, %b15, contracting_dims = [1] x [0] : (tensor<61x70xf32>, tensor<70x1xf32>) -> tensor<61x1xf32>
  %16 = stablehlo.dot_general %a16, %b16, contracting_dims = [1] x [0] : (tensor<61x70xf32>, tensor<70xf32>) -> tensor<61xf32>
  %17 = stablehlo.dot_general %a17, %b17, contracting_dims = [0] x [0] : (tensor<70x61xf32>, tensor<70x3xf32>) -> tensor<61x3xf32>
  %18 = stablehlo.dot_general %a18, %b18, contracting_dims = [1] x [1] : (tensor<37x90xf32>, tensor<8x90xf32>) -> tensor<37x8xf32>
  %19 = stablehlo.dot_general %a19, %b19, contracting_dims = [0] x [1] : (tensor<90x37xf32>, tensor<5x90xf32>) -> tensor<37x5xf32>
  %20 = stablehlo.dot_general %a20, %b20, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x1x64xf32>, tensor<3x64x20xf32>) ->
      tensor<3x1x20xf32>
  %21 = stablehlo.dot_general %a21, %b21, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x2x64xf32>, tensor<3x20x64xf32>) ->
      tensor<3x2x20xf32>
  %22 = stablehlo.dot_general %a22, %b22, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x20x64xf32>, tensor<3x64x1xf32>) ->
      tensor<3x20x1xf32>
  %23 = stablehlo.dot_general %a23, %b23, contracting_dims = [0] x [0] : (tensor<70x13xf32>, tensor<70x20xf32>) -> tensor<13x20xf32>
  %24 = stablehlo.dot_general %a24, %b24, contracting_dims = [0] x [0] : (tensor<30x109xf32>, tensor<30x20xf32>) -> tensor<109x20xf32>
  %25 = stablehlo.dot_general %a25, %b25, contracting_dims = [1] x [1] : (tensor<3x70xf64>, tensor<30x70xf64>) -> tensor<3x30xf64>
  %26 = stablehlo.dot_general %a26, %b26, contracting_dims = [1] x [0] : (tensor<3x70xf64>, tensor<70x30xf64>) -> tensor<3x30xf64>
  %27 = stablehlo.dot_general %a27, %b27, contracting_dims = [1] x [1] : (tensor<9x70xf64>, tensor<30x70xf64>) -> tensor<9x30xf64>
  %28 = stablehlo.dot_general %a28, %b28, contracting_dims = [1] x [0] : (tensor<9x70xf64>, tensor<70x30xf64>) -> tensor<9x30xf64>
  %29 = stablehlo.dot_general %a29, %b29, contracting_dims = [1] x [0] : (tensor<5x30xf32>, tensor<30x1024xf32>) -> tensor<5x1024xf32>
  %30 = stablehlo.dot_general %a30, %b30, contracting_dims = [1] x [0] : (tensor<14x35xf32>, tensor<35x2100xf32>) -> tensor<14x2100xf32>
  %31 = stablehlo.dot_general %a31, %b31, contracting_dims = [1] x [1] : (tensor<16x1601xf32>, tensor<23x1601xf32>) -> tensor<16x23xf32>  // in parts along K
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 :
      tensor<1x301xf32>, tensor<2x35xf32>, tensor<3x20xf32>, tensor<4x50xf32>, tensor<5x300xf32>, tensor<7x23xf32>, tensor<8x270xf32>, tensor<11x60xf32>,
      tensor<16x30xf32>, tensor<1x40xf32>, tensor<4x25xf32>, tensor<6x20xf32>, tensor<8x50xf32>, tensor<10x33xf32>, tensor<32x35xf32>, tensor<61x1xf32>,
      tensor<61xf32>, tensor<61x3xf32>, tensor<37x8xf32>, tensor<37x5xf32>, tensor<3x1x20xf32>, tensor<3x2x20xf32>, tensor<3x20x1xf32>, tensor<13x20xf32>,
      tensor<109x20xf32>, tensor<3x30xf64>, tensor<3x30xf64>, tensor<9x30xf64>, tensor<9x30xf64>, tensor<5x1024xf32>, tensor<14x2100xf32>, tensor<16x23xf32>
}
