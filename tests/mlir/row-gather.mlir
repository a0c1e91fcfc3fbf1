// Gathers along rows by constant positions that never decrease: vectors are read, and lanes of them picked.
// RUN: split-file %s %t
// RUN: cresset-opt --simplify %t/twice.mlir | FileCheck %s --check-prefix=MARK
// RUN: cresset-opt --simplify %t/backwards.mlir | FileCheck %s --check-prefix=PLAIN
// RUN: cresset-opt --simplify %t/beyond.mlir | FileCheck %s --check-prefix=PLAIN
// RUN: cresset-run --assembly --cpu=avx512 %t/twice.mlir | FileCheck %s --check-prefix=WIDE
// RUN: cresset-run --assembly --cpu=avx512 %t/short.mlir | FileCheck %s --check-prefix=WIDE
// RUN: cresset-run --assembly --cpu=avx512 %t/shorter.mlir | FileCheck %s --check-prefix=WIDE
// RUN: cresset-run --assembly --cpu=avx2 %t/twice.mlir | FileCheck %s --check-prefix=NARROW
// RUN: cresset-run --assembly --cpu=avx2 %t/half.mlir | FileCheck %s --check-prefix=NARROW
// RUN: cresset-run --assembly --cpu=amx %t/far.mlir | FileCheck %s --check-prefix=FAR
// RUN: cresset-run --assembly --cpu=avx512 %t/far.mlir | FileCheck %s --check-prefix=ONE-BY-ONE
// RUN: cresset-run --compare --tolerance=0 %t/twice.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/twice.mlir
// RUN: cresset-run --compare --tolerance=0 %t/twice_next.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/twice_next.mlir
// RUN: cresset-run --compare --tolerance=0 %t/half.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/half.mlir
// RUN: cresset-run --compare --tolerance=0 %t/short.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/short.mlir
// RUN: cresset-run --compare --tolerance=0 %t/shorter.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/shorter.mlir
// RUN: cresset-run --compare --tolerance=0 %t/shortest.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/shortest.mlir
// RUN: cresset-run --compare --tolerance=0 %t/unlike.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/unlike.mlir
// RUN: cresset-run --compare --tolerance=0 %t/ends.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/ends.mlir
// RUN: cresset-run --compare --tolerance=0 %t/bf16.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/bf16.mlir
// RUN: cresset-run --compare --tolerance=0 %t/integers.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/integers.mlir
// RUN: cresset-run --compare --tolerance=0 %t/doubles.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/doubles.mlir
// RUN: cresset-run --compare --tolerance=0 %t/backwards.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/backwards.mlir
// RUN: cresset-run --compare --tolerance=0 %t/beyond.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/beyond.mlir
// RUN: cresset-run --compare --tolerance=0 %t/far.mlir && cresset-run --compare --tolerance=0 --cpu=avx2 %t/far.mlir
// RUN: cresset-run --compare --tolerance=0 --cpu=baseline %t/twice.mlir && cresset-run --compare --tolerance=0 --cpu=wide %t/twice.mlir
// RUN: cresset-run --compare --tolerance=0 --cpu=baseline %t/short.mlir && cresset-run --compare --tolerance=0 --cpu=wide %t/short.mlir
// RUN: cresset-run --compare --tolerance=0 --cpu=baseline %t/bf16.mlir && cresset-run --compare --tolerance=0 --cpu=wide %t/bf16.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare --tolerance=0 %t/twice.mlir && env CRESSET_GUARD=begin cresset-run --compare --tolerance=0 %t/twice.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare --tolerance=0 %t/short.mlir && env CRESSET_GUARD=begin cresset-run --compare --tolerance=0 %t/short.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare --tolerance=0 %t/shortest.mlir && env CRESSET_GUARD=begin cresset-run --compare --tolerance=0 %t/shortest.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare --tolerance=0 %t/ends.mlir && env CRESSET_GUARD=begin cresset-run --compare --tolerance=0 %t/ends.mlir

// How far 4 of the positions reach, 8, 16, 32 and 64.
// MARK: cresset.reaches = array<i64: 2, 4, 8, 16, 32>
// PLAIN-NOT: cresset.reaches

// No lane is read by itself but those behind the last vector.
// WIDE-NOT: vinsertps
// WIDE: {{vperm(d|ps|[it]2(d|ps))}}
// WIDE-NOT: vinsertps
// NARROW-NOT: vinsertps
// NARROW: {{vperm(d|ps)}}
// NARROW-NOT: vinsertps

// Others are one instruction where that is faster.
// FAR: vgatherqps
// ONE-BY-ONE-NOT: vgather

//--- twice.mlir
func.func @main(%x: tensor<3x96xf32>) -> tensor<3x192xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 30, 30, 31, 31, 32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 37, 37, 38, 38, 39, 39, 40, 40, 41, 41, 42, 42, 43, 43, 44, 44, 45, 45, 46, 46, 47, 47, 48, 48, 49, 49, 50, 50, 51, 51, 52, 52, 53, 53, 54, 54, 55, 55, 56, 56, 57, 57, 58, 58, 59, 59, 60, 60, 61, 61, 62, 62, 63, 63, 64, 64, 65, 65, 66, 66, 67, 67, 68, 68, 69, 69, 70, 70, 71, 71, 72, 72, 73, 73, 74, 74, 75, 75, 76, 76, 77, 77, 78, 78, 79, 79, 80, 80, 81, 81, 82, 82, 83, 83, 84, 84, 85, 85, 86, 86, 87, 87, 88, 88, 89, 89, 90, 90, 91, 91, 92, 92, 93, 93, 94, 94, 95]> : tensor<192xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x96xf32>, tensor<192xi32>) -> tensor<3x192xf32>
  return %0 : tensor<3x192xf32>
}

//--- twice_next.mlir
func.func @main(%x: tensor<3x96xf32>) -> tensor<3x192xf32> {
  %p = stablehlo.constant dense<[1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 30, 30, 31, 31, 32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 37, 37, 38, 38, 39, 39, 40, 40, 41, 41, 42, 42, 43, 43, 44, 44, 45, 45, 46, 46, 47, 47, 48, 48, 49, 49, 50, 50, 51, 51, 52, 52, 53, 53, 54, 54, 55, 55, 56, 56, 57, 57, 58, 58, 59, 59, 60, 60, 61, 61, 62, 62, 63, 63, 64, 64, 65, 65, 66, 66, 67, 67, 68, 68, 69, 69, 70, 70, 71, 71, 72, 72, 73, 73, 74, 74, 75, 75, 76, 76, 77, 77, 78, 78, 79, 79, 80, 80, 81, 81, 82, 82, 83, 83, 84, 84, 85, 85, 86, 86, 87, 87, 88, 88, 89, 89, 90, 90, 91, 91, 92, 92, 93, 93, 94, 94, 95, 95, 95]> : tensor<192xi64>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x96xf32>, tensor<192xi64>) -> tensor<3x192xf32>
  return %0 : tensor<3x192xf32>
}

//--- half.mlir
func.func @main(%x: tensor<3x80xf32>) -> tensor<3x40xf32> {
  %p = stablehlo.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78]> : tensor<40xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x80xf32>, tensor<40xi32>) -> tensor<3x40xf32>
  return %0 : tensor<3x40xf32>
}

//--- short.mlir
func.func @main(%x: tensor<3x24xf32>) -> tensor<3x96xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 16, 17, 17, 17, 17, 18, 18, 18, 18, 19, 19, 19, 19, 20, 20, 20, 20, 21, 21, 21, 21, 22, 22, 22, 22, 23, 23]> : tensor<96xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x24xf32>, tensor<96xi32>) -> tensor<3x96xf32>
  return %0 : tensor<3x96xf32>
}

//--- shorter.mlir
func.func @main(%x: tensor<3x7xf32>) -> tensor<3x70xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6]> : tensor<70xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x7xf32>, tensor<70xi32>) -> tensor<3x70xf32>
  return %0 : tensor<3x70xf32>
}

//--- shortest.mlir
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x64xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4]> : tensor<64xui8>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x5xf32>, tensor<64xui8>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

//--- unlike.mlir
func.func @main(%x: tensor<3x200xf32>) -> tensor<3x150xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 4, 4, 4, 9, 9, 9, 9, 9, 9, 16, 16, 16, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 36, 36, 36, 41, 41, 41, 41, 41, 41, 44, 44, 44, 49, 49, 49, 49, 49, 49, 56, 56, 56, 64, 64, 64, 76, 76, 76, 81, 81, 81, 81, 81, 81, 84, 84, 84, 89, 89, 89, 89, 89, 89, 96, 96, 96, 100, 100, 100, 100, 100, 100, 100, 104, 104, 104, 116, 116, 116, 121, 121, 121, 121, 121, 121, 124, 124, 124, 129, 129, 129, 129, 129, 129, 136, 136, 136, 144, 144, 144, 156, 156, 156, 161, 161, 161, 161, 161, 161, 164, 164, 164, 169, 169, 169, 169, 169, 169, 176, 176, 176, 184, 184, 184, 196, 196, 196]> : tensor<150xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x200xf32>, tensor<150xi32>) -> tensor<3x150xf32>
  return %0 : tensor<3x150xf32>
}

//--- ends.mlir
func.func @main(%x: tensor<3x100xf32>) -> tensor<3x96xf32> {
  %p = stablehlo.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99]> : tensor<96xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x100xf32>, tensor<96xi32>) -> tensor<3x96xf32>
  return %0 : tensor<3x96xf32>
}

//--- bf16.mlir
func.func @main(%x: tensor<3x33xbf16>) -> tensor<3x77xbf16> {
  %p = stablehlo.constant dense<[0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16, 17, 17, 18, 18, 19, 19, 19, 20, 20, 21, 21, 22, 22, 22, 23, 23, 24, 24, 25, 25, 25, 26, 26, 27, 27, 28, 28, 28, 29, 29, 30, 30, 31, 31, 31, 32]> : tensor<77xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x33xbf16>, tensor<77xi32>) -> tensor<3x77xbf16>
  return %0 : tensor<3x77xbf16>
}

//--- integers.mlir
func.func @main(%x: tensor<3x40xi32>) -> tensor<3x90xi32> {
  %p = stablehlo.constant dense<[0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 29, 30, 30, 31, 31, 32, 32, 33, 33, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 39]> : tensor<90xi16>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x40xi32>, tensor<90xi16>) -> tensor<3x90xi32>
  return %0 : tensor<3x90xi32>
}

//--- doubles.mlir
func.func @main(%x: tensor<3x40xf64>) -> tensor<3x90xf64> {
  %p = stablehlo.constant dense<[0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 29, 30, 30, 31, 31, 32, 32, 33, 33, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 39]> : tensor<90xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x40xf64>, tensor<90xi32>) -> tensor<3x90xf64>
  return %0 : tensor<3x90xf64>
}

//--- backwards.mlir
func.func @main(%x: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %p = stablehlo.constant dense<[63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]> : tensor<64xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x64xf32>, tensor<64xi32>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

//--- beyond.mlir
func.func @main(%x: tensor<3x32xf32>) -> tensor<3x64xf32> {
  %p = stablehlo.constant dense<[-3, -3, -3, -3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]> : tensor<64xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x32xf32>, tensor<64xi32>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

//--- far.mlir
func.func @main(%x: tensor<3x300xf32>) -> tensor<3x60xf32> {
  %p = stablehlo.constant dense<[0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 105, 110, 115, 120, 125, 130, 135, 140, 145, 150, 155, 160, 165, 170, 175, 180, 185, 190, 195, 200, 205, 210, 215, 220, 225, 230, 235, 240, 245, 250, 255, 260, 265, 270, 275, 280, 285, 290, 295]> : tensor<60xi32>
  %0 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1>}> : (tensor<3x300xf32>, tensor<60xi32>) -> tensor<3x60xf32>
  return %0 : tensor<3x60xf32>
}

