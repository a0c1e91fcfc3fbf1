// Operands of two element types.
// RUN: cresset-run --compare %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-3: largest error
func.func @main(%x: tensor<5x40xbf16>, %y: tensor<40x9xf32>, %h: tensor<40x9xf16>) -> (tensor<5x9xf32>, tensor<5x9xf32>, tensor<9x5xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x40xbf16>, tensor<40x9xf32>) -> tensor<5x9xf32>
  %1 = stablehlo.dot_general %x, %h, contracting_dims = [1] x [0] : (tensor<5x40xbf16>, tensor<40x9xf16>) -> tensor<5x9xf32>
  %2 = stablehlo.dot_general %y, %x, contracting_dims = [0] x [1] : (tensor<40x9xf32>, tensor<5x40xbf16>) -> tensor<9x5xf32>
  return %0, %1, %2 : tensor<5x9xf32>, tensor<5x9xf32>, tensor<9x5xf32>
}
