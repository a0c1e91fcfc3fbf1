// Triangular systems, in widths below, at and between those of the vectors, against the interpreter.
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s
// RUN: cresset-opt %s | FileCheck %s

// CHECK-LABEL: @main
// CHECK: "stablehlo.triangular_solve"(%{{.*}}, %{{.*}}) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x17x17xf32>, tensor<2x17x70xf32>) -> tensor<2x17x70xf32>
func.func @main(%a: tensor<2x17x17xf32>, %b: tensor<2x17x70xf32>, %row: tensor<2x3x17xf32>, %many: tensor<2x17x150xf32>, %a64: tensor<5x5xf64>, %b64: tensor<5x1xf64>, %a16: tensor<9x9xbf16>, %b16: tensor<9x16xbf16>)
    -> (tensor<2x17x70xf32>, tensor<2x17x70xf32>, tensor<2x17x150xf32>, tensor<2x17x70xf32>, tensor<2x3x17xf32>, tensor<2x3x17xf32>, tensor<2x3x17xf32>, tensor<5x1xf64>, tensor<9x16xbf16>) {
  // Well-conditioned: two on the diagonal, little beside it.
  %i = stablehlo.iota dim = 1 : tensor<2x17x17xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x17x17xi32>
  %on = stablehlo.compare EQ, %i, %j : (tensor<2x17x17xi32>, tensor<2x17x17xi32>) -> tensor<2x17x17xi1>
  %two = stablehlo.constant dense<2.0> : tensor<2x17x17xf32>
  %few = stablehlo.constant dense<0.125> : tensor<2x17x17xf32>
  %off = stablehlo.multiply %a, %few : tensor<2x17x17xf32>
  %m = stablehlo.select %on, %two, %off : tensor<2x17x17xi1>, tensor<2x17x17xf32>
  %0 = "stablehlo.triangular_solve"(%m, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x17x70xf32>) -> tensor<2x17x70xf32>
  %1 = "stablehlo.triangular_solve"(%m, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x17x70xf32>) -> tensor<2x17x70xf32>
  %2 = "stablehlo.triangular_solve"(%m, %many) <{left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x17x150xf32>) -> tensor<2x17x150xf32>
  %3 = "stablehlo.triangular_solve"(%m, %b) <{left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<2x17x17xf32>, tensor<2x17x70xf32>) -> tensor<2x17x70xf32>
  %4 = "stablehlo.triangular_solve"(%m, %row) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x3x17xf32>) -> tensor<2x3x17xf32>
  %5 = "stablehlo.triangular_solve"(%m, %row) <{left_side = false, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x3x17xf32>) -> tensor<2x3x17xf32>
  %6 = "stablehlo.triangular_solve"(%m, %row) <{left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x17x17xf32>, tensor<2x3x17xf32>) -> tensor<2x3x17xf32>
  %7 = "stablehlo.triangular_solve"(%a64, %b64) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<5x5xf64>, tensor<5x1xf64>) -> tensor<5x1xf64>
  %8 = "stablehlo.triangular_solve"(%a16, %b16) <{left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<9x9xbf16>, tensor<9x16xbf16>) -> tensor<9x16xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x17x70xf32>, tensor<2x17x70xf32>, tensor<2x17x150xf32>, tensor<2x17x70xf32>, tensor<2x3x17xf32>, tensor<2x3x17xf32>, tensor<2x3x17xf32>, tensor<5x1xf64>, tensor<9x16xbf16>
}
