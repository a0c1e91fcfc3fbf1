// Reductions to one element: of rows first, in parallel, then of what these are. Rows are some last dimensions, or parts of everything where those leave few.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s --check-prefix=KERNEL

// A norm of one group and one image: what is kept has one element.
// CHECK-DAG: dimensions = [2] : (tensor<1x64x257xf32>{{.*}}-> tensor<1x64xf32>
// CHECK-DAG: dimensions = [0, 1] : (tensor<1x64xf32>
// Dimensions that are too short for a row are parts of it.
// CHECK-DAG: dimensions = [1, 2] : (tensor<333x96x3xf32>
// Two long rows, and one of two dimensions: equal parts.
// CHECK-DAG: dimensions = [1] : (tensor<25x4000xf32>
// CHECK-DAG: dimensions = [1] : (tensor<19x3971xf32>
// No parts, because the size has no such divisors; integers; minima.
// CHECK-DAG: dimensions = [0] : (tensor<65537xf32>
// CHECK-DAG: dimensions = [1] : (tensor<48x257xi32>
// CHECK-DAG: dimensions = [1] : (tensor<16x4096xf32>
// Slices: one dimension, whose rows are read as they lie.
// CHECK-DAG: dimensions = [3] : (tensor<4x3x63x64xf32>
// Columns too few for a vector: of several rows beside each other, but where what is reduced repeats its scales.
// CHECK-DAG: dimensions = [1] : (tensor<8x25x48xf32>{{.*}}-> tensor<8x48xf32>
// CHECK-DAG: dimensions = [1] : (tensor<8x16x3xf32>{{.*}}-> tensor<8x3xf32>
// CHECK-DAG: dimensions = [1] : (tensor<64x400x3xf32>{{.*}}-> tensor<64x3xf32>
// Parts of which there are not sixteen.
// CHECK-DAG: dimensions = [1] : (tensor<14x71x96xf32>{{.*}}-> tensor<14x96xf32>
// KERNEL: # rows -> f32[1x64]: reduce
// KERNEL: # rows -> f32[25]: multiply, reduce
// KERNEL: # reduce -> i32[3]
// KERNEL: vpaddd {{.*}}ymm
func.func @main(%a: tensor<1x64x257xf32>, %b: tensor<333x96x3xf32>, %c: tensor<2x50000xf32>, %d: tensor<75449x1xf32>, %e: tensor<65537xf32>, %i: tensor<48x257xi32>,
                %n: tensor<8x400x3xf32>, %m: tensor<64x400x3xf32>, %scale: tensor<64x400xf32>, %l: tensor<994x96xf32>, %p: tensor<3x31x33xi32>, %q: tensor<4x3x64x64xf32>)
    -> (tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<1xf32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<8x3xf32>, tensor<64x3xf32>, tensor<96xf32>, tensor<3xi32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %most = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x64x257xf32>, tensor<f32>) -> tensor<1xf32>
  %whole = stablehlo.floor %b : tensor<333x96x3xf32>  // whose sums are exact in any order
  %1 = stablehlo.reduce(%whole init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<333x96x3xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.multiply %c, %c : tensor<2x50000xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x50000xf32>, tensor<f32>) -> tensor<f32>
  %floor = stablehlo.floor %d : tensor<75449x1xf32>
  %4 = stablehlo.reduce(%floor init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<75449x1xf32>, tensor<f32>) -> tensor<1xf32>
  %5 = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65537xf32>, tensor<f32>) -> tensor<f32>
  %6 = stablehlo.reduce(%i init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<48x257xi32>, tensor<i32>) -> tensor<i32>
  %7 = stablehlo.slice %e [1:65537] : (tensor<65537xf32>) -> tensor<65536xf32>
  %8 = stablehlo.reduce(%7 init: %most) applies stablehlo.minimum across dimensions = [0] : (tensor<65536xf32>, tensor<f32>) -> tensor<f32>
  %9 = stablehlo.reduce(%n init: %most) applies stablehlo.minimum across dimensions = [1] : (tensor<8x400x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %10 = stablehlo.broadcast_in_dim %scale, dims = [0, 1] : (tensor<64x400xf32>) -> tensor<64x400x3xf32>
  %11 = stablehlo.multiply %m, %10 : tensor<64x400x3xf32>
  %12 = stablehlo.reduce(%11 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x400x3xf32>, tensor<f32>) -> tensor<64x3xf32>
  %13 = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<994x96xf32>, tensor<f32>) -> tensor<96xf32>
  // Integers cross the ends of rows as other elements do.
  %14 = stablehlo.reduce(%p init: %none) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x31x33xi32>, tensor<i32>) -> tensor<3xi32>
  // Of slices rows stay what they are, if short: in equal parts of everything each vector would be looked for.
  %15 = stablehlo.slice %q [0:4, 0:3, 1:64, 0:64] : (tensor<4x3x64x64xf32>) -> tensor<4x3x63x64xf32>
  %16 = stablehlo.slice %q [0:4, 0:3, 0:63, 0:64] : (tensor<4x3x64x64xf32>) -> tensor<4x3x63x64xf32>
  %17 = stablehlo.subtract %15, %16 : tensor<4x3x63x64xf32>
  %18 = stablehlo.reduce(%17 init: %most) applies stablehlo.minimum across dimensions = [0, 1, 2, 3] : (tensor<4x3x63x64xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %3, %4, %5, %6, %8, %9, %12, %13, %14, %18 : tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<1xf32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<8x3xf32>, tensor<64x3xf32>, tensor<96xf32>, tensor<3xi32>, tensor<f32>
}
