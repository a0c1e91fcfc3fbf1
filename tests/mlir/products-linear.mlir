// Products by a B that runs along K: vectors of rows that end in the middle, rows of B beyond whole tiles, K in parts, batches and f64, against the interpreter. Sums of 2050 products
// of normal numbers are some 45 large, and 1024 of them in a row are rounded by 45 x sqrt(1024) x 2^-24 = 9e-5.
// RUN: cresset-run --compare --tolerance=9e-5 %s
// RUN: cresset-run --compare --tolerance=9e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=9e-5 --cpu=avx2 %s
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefix=ASSEMBLY

// Weights are operands of multiply-adds where they lie, or broadcast from there.
// ASSEMBLY: vfmadd231ps {{.*}}{1to16}

func.func @main(%a0: tensor<9x64xf32>, %b0: tensor<70x64xf32>, %a1: tensor<16x193xf32>, %b1: tensor<100x193xf32>, %a2: tensor<32x130xf32>, %b2: tensor<65x130xf32>,
    %a3: tensor<48x200xf32>, %b3: tensor<128x200xf32>, %a4: tensor<63x256xf32>, %b4: tensor<96x256xf32>,
    %a5: tensor<64x2050xf32>, %b5: tensor<203x2050xf32>, %a6: tensor<80x1030xf32>, %b6: tensor<64x1030xf32>,
    %a7: tensor<106x192xf32>, %b7: tensor<130x192xf32>, %a8: tensor<260x449xf32>, %b8: tensor<259x449xf32>, %a9: tensor<15x70xf64>, %b9: tensor<64x70xf64>,
    %a10: tensor<40x200xf64>, %b10: tensor<67x200xf64>, %a11: tensor<3x12x66xf32>, %b11: tensor<3x72x66xf32>,
    %a12: tensor<2x64x192xf32>, %b12: tensor<2x64x192xf32>)
    -> (tensor<9x70xf32>, tensor<16x100xf32>, tensor<32x65xf32>, tensor<48x128xf32>, tensor<63x96xf32>, tensor<64x203xf32>, tensor<80x64xf32>,
      tensor<106x130xf32>, tensor<260x259xf32>, tensor<15x64xf64>, tensor<40x67xf64>, tensor<3x12x72xf32>, tensor<2x64x64xf32>) {
  %0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [1] : (tensor<9x64xf32>, tensor<70x64xf32>) -> tensor<9x70xf32>
  %1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [1] : (tensor<16x193xf32>, tensor<100x193xf32>) -> tensor<16x100xf32>
  %2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [1] : (tensor<32x130xf32>, tensor<65x130xf32>) -> tensor<32x65xf32>
  %3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [1] : (tensor<48x200xf32>, tensor<128x200xf32>) -> tensor<48x128xf32>
  %4 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [1] : (tensor<63x256xf32>, tensor<96x256xf32>) -> tensor<63x96xf32>
  %5 = stablehlo.dot_general %a5, %b5, contracting_dims = [1] x [1] : (tensor<64x2050xf32>, tensor<203x2050xf32>) -> tensor<64x203xf32>
  %6 = stablehlo.dot_general %a6, %b6, contracting_dims = [1] x [1] : (tensor<80x1030xf32>, tensor<64x1030xf32>) -> tensor<80x64xf32>
  %7 = stablehlo.dot_general %a7, %b7, contracting_dims = [1] x [1] : (tensor<106x192xf32>, tensor<130x192xf32>) -> tensor<106x130xf32>
  %8 = stablehlo.dot_general %a8, %b8, contracting_dims = [1] x [1] : (tensor<260x449xf32>, tensor<259x449xf32>) -> tensor<260x259xf32>
  %9 = stablehlo.dot_general %a9, %b9, contracting_dims = [1] x [1] : (tensor<15x70xf64>, tensor<64x70xf64>) -> tensor<15x64xf64>
  %10 = stablehlo.dot_general %a10, %b10, contracting_dims = [1] x [1] : (tensor<40x200xf64>, tensor<67x200xf64>) -> tensor<40x67xf64>
  %11 = stablehlo.dot_general %a11, %b11, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x12x66xf32>, tensor<3x72x66xf32>) -> tensor<3x12x72xf32>
  %12 = stablehlo.dot_general %a12, %b12, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x64x192xf32>, tensor<2x64x192xf32>) -> tensor<2x64x64xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 :
      tensor<9x70xf32>, tensor<16x100xf32>, tensor<32x65xf32>, tensor<48x128xf32>, tensor<63x96xf32>, tensor<64x203xf32>, tensor<80x64xf32>,
      tensor<106x130xf32>, tensor<260x259xf32>, tensor<15x64xf64>, tensor<40x67xf64>, tensor<3x12x72xf32>, tensor<2x64x64xf32>
}
