// Reductions whose last dimension is no number of vectors, and kept dimensions of less than one.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare --tolerance=1e-5 %s
// RUN: cresset-run --compare --tolerance=1e-5 --cpu=baseline %s
// RUN: cresset-run --assembly %s | FileCheck %s --check-prefix=CODE

// Parts that are few enough to be rows, and long enough.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reshape %arg0 : (tensor<256x100xf32>) -> tensor<16x1600xf32>
// CHECK: stablehlo.reduce{{.*}} across dimensions = [1]
// CHECK: stablehlo.reduce{{.*}} across dimensions = [0]
// CODE-NOT: logf
func.func @main(%x: tensor<256x100xf32>, %y: tensor<9x13xf32>, %z: tensor<9x13xi64>, %b: tensor<5x21xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i64>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.abs %x : tensor<256x100xf32>
  %l = stablehlo.log %a : tensor<256x100xf32>
  %0 = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x100xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<9x13xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%y init: %least) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<9x13xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%z init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<9x13xi64>, tensor<i64>) -> tensor<i64>
  %c = stablehlo.compare GT, %y, %y : (tensor<9x13xf32>, tensor<9x13xf32>) -> tensor<9x13xi1>
  %4 = stablehlo.reduce(%c init: %false) applies stablehlo.or across dimensions = [0, 1] : (tensor<9x13xi1>, tensor<i1>) -> tensor<i1>
  %r = stablehlo.broadcast_in_dim %b, dims = [0, 2] : (tensor<5x21xf32>) -> tensor<5x3x21xf32>
  %i = stablehlo.iota dim = 1 : tensor<5x3x21xf32>
  %p = stablehlo.add %r, %i : tensor<5x3x21xf32>
  %5 = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<5x3x21xf32>, tensor<f32>) -> tensor<5xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>, tensor<5xf32>
}

// CHECK-LABEL: func.func @columns
// CHECK: stablehlo.reduce{{.*}} across dimensions = [0] : (tensor<3x105xf32>, tensor<f32>) -> tensor<105xf32>
func.func @columns(%x: tensor<3x21x5xf32>) -> tensor<21x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<3x21x5xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x21x5xf32>, tensor<f32>) -> tensor<21x5xf32>
  return %1 : tensor<21x5xf32>
}
