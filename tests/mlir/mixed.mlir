// A product of different types is an error, not the end of the process.
// RUN: not cresset-run %s 2>&1 | FileCheck %s

// CHECK: operands of different element types are not supported
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xi64>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
