// What is transposed is reduced where it lies, also through a conversion; and where the dimensions that stay change their order, as it is.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// CHECK-NOT: too large
// CHECK-COUNT-3: largest error
// RULE: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<70x300xi32>
// RULE: stablehlo.reduce(%arg1 init: %{{.*}}) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<3x40x50xf32>
// RULE: stablehlo.transpose
// RULE: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<50x40x3xf32>
func.func @main(%x: tensor<70x300xi8>, %y: tensor<3x40x50xf32>) -> (tensor<70xi32>, tensor<40xf32>, tensor<40x3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<70x300xi8>) -> tensor<300x70xi8>
  %i = stablehlo.convert %t : (tensor<300x70xi8>) -> tensor<300x70xi32>
  %0 = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<300x70xi32>, tensor<i32>) -> tensor<70xi32>
  %u = stablehlo.transpose %y, dims = [2, 0, 1] : (tensor<3x40x50xf32>) -> tensor<50x3x40xf32>
  %1 = stablehlo.reduce(%u init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<50x3x40xf32>, tensor<f32>) -> tensor<40xf32>
  %v = stablehlo.transpose %y, dims = [2, 1, 0] : (tensor<3x40x50xf32>) -> tensor<50x40x3xf32>
  %2 = stablehlo.reduce(%v init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<50x40x3xf32>, tensor<f32>) -> tensor<40x3xf32>
  return %0, %1, %2 : tensor<70xi32>, tensor<40xf32>, tensor<40x3xf32>
}
