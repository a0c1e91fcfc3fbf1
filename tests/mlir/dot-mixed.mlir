// Operands of two element types, and such as were widened.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=NARROW
// CHECK-NOT: too large
// CHECK-COUNT-6: largest error
// NARROW: dot_general {{.*}}(tensor<5x40xbf16>, tensor<8x40xbf16>) -> tensor<5x8xf32>
// NARROW: dot_general {{.*}}(tensor<5x40xf32>, tensor<9x40xf32>) -> tensor<5x9xf32>
func.func @main(%x: tensor<5x40xbf16>, %y: tensor<40x9xf32>, %h: tensor<40x9xf16>, %z: tensor<8x40xbf16>, %b: tensor<40x9xi8>) -> (tensor<5x9xf32>, tensor<5x9xf32>, tensor<9x5xf32>, tensor<5x8xf32>, tensor<5x9xf32>, tensor<9x9xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x40xbf16>, tensor<40x9xf32>) -> tensor<5x9xf32>
  %1 = stablehlo.dot_general %x, %h, contracting_dims = [1] x [0] : (tensor<5x40xbf16>, tensor<40x9xf16>) -> tensor<5x9xf32>
  %2 = stablehlo.dot_general %y, %x, contracting_dims = [0] x [1] : (tensor<40x9xf32>, tensor<5x40xbf16>) -> tensor<9x5xf32>
  %fx = stablehlo.convert %x : (tensor<5x40xbf16>) -> tensor<5x40xf32>
  %fz = stablehlo.convert %z : (tensor<8x40xbf16>) -> tensor<8x40xf32>
  %3 = stablehlo.dot_general %fx, %fz, contracting_dims = [1] x [1] : (tensor<5x40xf32>, tensor<8x40xf32>) -> tensor<5x8xf32>
  %t = stablehlo.transpose %h, dims = [1, 0] : (tensor<40x9xf16>) -> tensor<9x40xf16>
  %fh = stablehlo.convert %t : (tensor<9x40xf16>) -> tensor<9x40xf32>
  %4 = stablehlo.dot_general %fx, %fh, contracting_dims = [1] x [1] : (tensor<5x40xf32>, tensor<9x40xf32>) -> tensor<5x9xf32>
  %i = stablehlo.convert %y : (tensor<40x9xf32>) -> tensor<40x9xi8>
  %5 = stablehlo.dot_general %i, %b, contracting_dims = [0] x [0] : (tensor<40x9xi8>, tensor<40x9xi8>) -> tensor<9x9xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<5x9xf32>, tensor<5x9xf32>, tensor<9x5xf32>, tensor<5x8xf32>, tensor<5x9xf32>, tensor<9x9xi32>
}
