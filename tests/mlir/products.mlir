// Every orientation, rows and columns beyond the tiles, several blocks of K, on every instruction set, against the interpreter.
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s

func.func @main(%a: tensor<37x50xf32>, %at: tensor<50x37xf32>, %b: tensor<50x41xf32>, %bt: tensor<41x50xf32>, %deep: tensor<11x600xf32>, %deepb: tensor<600x70xf32>,
    %deepbt: tensor<70x600xf32>, %d: tensor<23x30xf64>, %dbt: tensor<29x30xf64>,
    %even: tensor<64x300xf32>, %event: tensor<300x64xf32>, %evenb: tensor<300x72xf32>, %evenbt: tensor<72x300xf32>)
    -> (tensor<37x41xf32>, tensor<37x41xf32>, tensor<37x41xf32>, tensor<37x41xf32>, tensor<11x70xf32>, tensor<11x70xf32>, tensor<23x29xf64>, tensor<64x72xf32>, tensor<64x72xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<37x50xf32>, tensor<50x41xf32>) -> tensor<37x41xf32>
  %1 = stablehlo.dot_general %a, %bt, contracting_dims = [1] x [1] : (tensor<37x50xf32>, tensor<41x50xf32>) -> tensor<37x41xf32>
  %2 = stablehlo.dot_general %at, %b, contracting_dims = [0] x [0] : (tensor<50x37xf32>, tensor<50x41xf32>) -> tensor<37x41xf32>
  %3 = stablehlo.dot_general %at, %bt, contracting_dims = [0] x [1] : (tensor<50x37xf32>, tensor<41x50xf32>) -> tensor<37x41xf32>
  %4 = stablehlo.dot_general %deep, %deepb, contracting_dims = [1] x [0] : (tensor<11x600xf32>, tensor<600x70xf32>) -> tensor<11x70xf32>
  %5 = stablehlo.dot_general %deep, %deepbt, contracting_dims = [1] x [1] : (tensor<11x600xf32>, tensor<70x600xf32>) -> tensor<11x70xf32>
  %6 = stablehlo.dot_general %d, %dbt, contracting_dims = [1] x [1] : (tensor<23x30xf64>, tensor<29x30xf64>) -> tensor<23x29xf64>
  %7 = stablehlo.dot_general %even, %evenbt, contracting_dims = [1] x [1] : (tensor<64x300xf32>, tensor<72x300xf32>) -> tensor<64x72xf32>
  %8 = stablehlo.dot_general %event, %evenb, contracting_dims = [0] x [0] : (tensor<300x64xf32>, tensor<300x72xf32>) -> tensor<64x72xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<37x41xf32>, tensor<37x41xf32>, tensor<37x41xf32>, tensor<37x41xf32>, tensor<11x70xf32>, tensor<11x70xf32>, tensor<23x29xf64>, tensor<64x72xf32>, tensor<64x72xf32>
}
