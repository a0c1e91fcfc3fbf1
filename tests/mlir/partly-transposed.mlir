// Element-wise kernels some of whose arrays are read along another dimension than what is written: squares of these are transposed first.
// RUN: split-file %s %t
// RUN: cresset-run --assembly --cpu=avx512 %t/residual.mlir | FileCheck %s
// RUN: cresset-run --assembly --cpu=avx2 %t/residual.mlir | FileCheck %s
// RUN: cresset-run --compare %t/residual.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/residual.mlir
// RUN: cresset-run --compare --cpu=baseline %t/residual.mlir
// RUN: cresset-run --compare --cpu=wide %t/residual.mlir
// RUN: cresset-run --compare %t/square.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/square.mlir
// RUN: cresset-run --compare --cpu=baseline %t/square.mlir
// RUN: cresset-run --compare --cpu=wide %t/square.mlir
// RUN: cresset-run --compare %t/several.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/several.mlir
// RUN: cresset-run --compare %t/halves.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/halves.mlir
// RUN: cresset-run --compare --cpu=baseline %t/halves.mlir
// RUN: cresset-run --compare --cpu=wide %t/halves.mlir
// RUN: cresset-run --compare %t/integers.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/integers.mlir
// RUN: cresset-run --compare %t/overwritten.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/overwritten.mlir
// RUN: cresset-run --compare --cpu=baseline %t/overwritten.mlir
// RUN: cresset-run --compare --cpu=wide %t/overwritten.mlir
// RUN: cresset-run --compare %t/batch.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/batch.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare %t/residual.mlir
// RUN: env CRESSET_GUARD=begin cresset-run --compare %t/residual.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare %t/square.mlir
// RUN: env CRESSET_GUARD=begin cresset-run --compare %t/square.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare %t/halves.mlir
// RUN: env CRESSET_GUARD=begin cresset-run --compare %t/halves.mlir
// RUN: env CRESSET_GUARD=end cresset-run --compare %t/overwritten.mlir
// RUN: env CRESSET_GUARD=begin cresset-run --compare %t/overwritten.mlir

// No lane is read by itself.
// CHECK-NOT: vinsertps
// CHECK: vunpck
// CHECK-NOT: vinsertps

//--- residual.mlir
func.func @main(%x: tensor<2x48x64xf32>, %y: tensor<2x64x48xf32>, %s: tensor<48xf32>) -> tensor<2x48x64xf32> {
  %0 = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<2x64x48xf32>) -> tensor<2x48x64xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<48xf32>) -> tensor<2x48x64xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x48x64xf32>
  %3 = stablehlo.add %2, %x : tensor<2x48x64xf32>
  return %3 : tensor<2x48x64xf32>
}

//--- square.mlir
func.func @main(%x: tensor<75x75xf32>) -> tensor<75x75xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<75x75xf32>) -> tensor<75x75xf32>
  %1 = stablehlo.logistic %0 : tensor<75x75xf32>
  %2 = stablehlo.subtract %1, %x : tensor<75x75xf32>
  return %2 : tensor<75x75xf32>
}

//--- several.mlir
func.func @main(%x: tensor<3x40x50xf32>, %y: tensor<3x50x40xf32>, %z: tensor<50x40x3xf32>, %w: tensor<50xf32>) -> tensor<3x40x50xf32> {
  %0 = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<3x50x40xf32>) -> tensor<3x40x50xf32>
  %1 = stablehlo.slice %y [0:3, 0:50, 0:40] : (tensor<3x50x40xf32>) -> tensor<3x50x40xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<3x50x40xf32>) -> tensor<3x40x50xf32>
  %3 = stablehlo.broadcast_in_dim %w, dims = [2] : (tensor<50xf32>) -> tensor<3x40x50xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<3x40x50xf32>
  %5 = stablehlo.maximum %4, %x : tensor<3x40x50xf32>
  %6 = stablehlo.add %5, %2 : tensor<3x40x50xf32>
  return %6 : tensor<3x40x50xf32>
}

//--- halves.mlir
func.func @main(%x: tensor<35x83xbf16>, %y: tensor<83x35xf32>) -> tensor<35x83xbf16> {
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<83x35xf32>) -> tensor<35x83xf32>
  %1 = stablehlo.convert %0 : (tensor<35x83xf32>) -> tensor<35x83xbf16>
  %2 = stablehlo.add %1, %x : tensor<35x83xbf16>
  return %2 : tensor<35x83xbf16>
}

//--- integers.mlir
func.func @main(%x: tensor<35x83xi64>, %y: tensor<83x35xi64>) -> tensor<35x83xi64> {
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<83x35xi64>) -> tensor<35x83xi64>
  %1 = stablehlo.add %0, %x : tensor<35x83xi64>
  return %1 : tensor<35x83xi64>
}

//--- overwritten.mlir
func.func @main(%x: tensor<67x83xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<83x67xf32>) -> tensor<67x83xf32> {
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<83x67xf32>) -> tensor<67x83xf32>
  %1 = stablehlo.add %0, %x : tensor<67x83xf32>
  return %1 : tensor<67x83xf32>
}

//--- batch.mlir
func.func @main(%x: tensor<2x20x5x7x19xf32>, %y: tensor<2x5x7x19x20xf32>) -> tensor<2x20x5x7x19xf32> {
  %0 = stablehlo.transpose %y, dims = [0, 4, 1, 2, 3] : (tensor<2x5x7x19x20xf32>) -> tensor<2x20x5x7x19xf32>
  %1 = stablehlo.add %0, %x : tensor<2x20x5x7x19xf32>
  return %1 : tensor<2x20x5x7x19xf32>
}
