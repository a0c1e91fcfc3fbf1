// A reshape moves above element-wise operations for an element-wise user, however many they are.
// RUN: cresset-opt --simplify %s | FileCheck %s

// CHECK: stablehlo.reshape %arg0
// CHECK-NOT: stablehlo.reshape
func.func @main(%x: tensor<4x32xbf16>) -> tensor<128xbf16> {
  %0 = stablehlo.tanh %x : tensor<4x32xbf16>
  %1 = stablehlo.multiply %0, %0 : tensor<4x32xbf16>
  %2 = stablehlo.tanh %1 : tensor<4x32xbf16>
  %3 = stablehlo.multiply %2, %2 : tensor<4x32xbf16>
  %4 = stablehlo.tanh %3 : tensor<4x32xbf16>
  %5 = stablehlo.multiply %4, %4 : tensor<4x32xbf16>
  %6 = stablehlo.tanh %5 : tensor<4x32xbf16>
  %7 = stablehlo.multiply %6, %6 : tensor<4x32xbf16>
  %8 = stablehlo.tanh %7 : tensor<4x32xbf16>
  %9 = stablehlo.multiply %8, %8 : tensor<4x32xbf16>
  %10 = stablehlo.tanh %9 : tensor<4x32xbf16>
  %11 = stablehlo.multiply %10, %10 : tensor<4x32xbf16>
  %12 = stablehlo.tanh %11 : tensor<4x32xbf16>
  %13 = stablehlo.multiply %12, %12 : tensor<4x32xbf16>
  %14 = stablehlo.tanh %13 : tensor<4x32xbf16>
  %15 = stablehlo.multiply %14, %14 : tensor<4x32xbf16>
  %16 = stablehlo.tanh %15 : tensor<4x32xbf16>
  %17 = stablehlo.multiply %16, %16 : tensor<4x32xbf16>
  %18 = stablehlo.tanh %17 : tensor<4x32xbf16>
  %19 = stablehlo.multiply %18, %18 : tensor<4x32xbf16>
  %20 = stablehlo.tanh %19 : tensor<4x32xbf16>
  %21 = stablehlo.multiply %20, %20 : tensor<4x32xbf16>
  %22 = stablehlo.tanh %21 : tensor<4x32xbf16>
  %23 = stablehlo.multiply %22, %22 : tensor<4x32xbf16>
  %24 = stablehlo.tanh %23 : tensor<4x32xbf16>
  %r = stablehlo.reshape %24 : (tensor<4x32xbf16>) -> tensor<128xbf16>
  %s = stablehlo.tanh %r : tensor<128xbf16>
  return %s : tensor<128xbf16>
}

// What is behind a barrier is computed again; in front of it, and behind it, equal operations are one.
// CHECK-LABEL: func.func @barrier
// CHECK: %[[A:.*]] = stablehlo.tanh %arg0
// CHECK: %[[B:.*]] = stablehlo.tanh %arg0
// CHECK-NOT: stablehlo.tanh
// CHECK: stablehlo.add %[[B]], %[[B]]
// CHECK-NOT: barrier
func.func @barrier(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.tanh %x : tensor<4xf32>
  %b = stablehlo.tanh %x : tensor<4xf32>
  %front = stablehlo.multiply %a, %b : tensor<4xf32>
  %again = stablehlo.optimization_barrier %x : tensor<4xf32>
  %c = stablehlo.tanh %again : tensor<4xf32>
  %d = stablehlo.tanh %again : tensor<4xf32>
  %behind = stablehlo.add %c, %d : tensor<4xf32>
  return %front, %behind : tensor<4xf32>, tensor<4xf32>
}

// The steps of a recurrent layer: their inputs are multiplied together, once for all steps; each state waits for the one before it.
// CHECK-LABEL: func.func @recurrent
// CHECK: %[[X:.*]] = stablehlo.concatenate
// CHECK: stablehlo.dot_general %[[X]], %arg3{{.*}} : (tensor<6x64xf32>, tensor<256x64xf32>) -> tensor<6x256xf32>
// CHECK-COUNT-2: stablehlo.dot_general {{.*}} : (tensor<2x256xf32>, tensor<256x256xf32>) -> tensor<2x256xf32>
// CHECK-NOT: stablehlo.dot_general
func.func @recurrent(%x0: tensor<2x64xf32>, %x1: tensor<2x64xf32>, %x2: tensor<2x64xf32>, %w: tensor<256x64xf32>, %u: tensor<256x256xf32>) -> tensor<2x256xf32> {
  %i0 = stablehlo.dot_general %x0, %w, contracting_dims = [1] x [1] : (tensor<2x64xf32>, tensor<256x64xf32>) -> tensor<2x256xf32>
  %h0 = stablehlo.tanh %i0 : tensor<2x256xf32>
  %r0 = stablehlo.dot_general %h0, %u, contracting_dims = [1] x [1] : (tensor<2x256xf32>, tensor<256x256xf32>) -> tensor<2x256xf32>
  %i1 = stablehlo.dot_general %x1, %w, contracting_dims = [1] x [1] : (tensor<2x64xf32>, tensor<256x64xf32>) -> tensor<2x256xf32>
  %s1 = stablehlo.add %i1, %r0 : tensor<2x256xf32>
  %h1 = stablehlo.tanh %s1 : tensor<2x256xf32>
  %r1 = stablehlo.dot_general %h1, %u, contracting_dims = [1] x [1] : (tensor<2x256xf32>, tensor<256x256xf32>) -> tensor<2x256xf32>
  %i2 = stablehlo.dot_general %x2, %w, contracting_dims = [1] x [1] : (tensor<2x64xf32>, tensor<256x64xf32>) -> tensor<2x256xf32>
  %s2 = stablehlo.add %i2, %r1 : tensor<2x256xf32>
  %h2 = stablehlo.tanh %s2 : tensor<2x256xf32>
  return %h2 : tensor<2x256xf32>
}

// The gradients of a weight from the steps it was used in are one product.
// CHECK-LABEL: func.func @gradient
// CHECK-DAG: %[[G:.*]] = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0
// CHECK-DAG: %[[GT:.*]] = stablehlo.transpose %[[G]]
// CHECK-DAG: %[[X:.*]] = stablehlo.concatenate %arg3, %arg4, %arg5, dim = 0
// CHECK: %[[W:.*]] = stablehlo.dot_general %[[GT]], %[[X]]
// CHECK: stablehlo.add %arg6, %[[W]]
// CHECK-NOT: stablehlo.dot_general
func.func @gradient(%g0: tensor<2x64xf32>, %g1: tensor<2x64xf32>, %g2: tensor<2x64xf32>, %x0: tensor<2x16xf32>, %x1: tensor<2x16xf32>, %x2: tensor<2x16xf32>,
                    %before: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %t0 = stablehlo.transpose %g0, dims = [1, 0] : (tensor<2x64xf32>) -> tensor<64x2xf32>
  %d0 = stablehlo.dot_general %t0, %x0, contracting_dims = [1] x [0] : (tensor<64x2xf32>, tensor<2x16xf32>) -> tensor<64x16xf32>
  %t1 = stablehlo.transpose %g1, dims = [1, 0] : (tensor<2x64xf32>) -> tensor<64x2xf32>
  %d1 = stablehlo.dot_general %t1, %x1, contracting_dims = [1] x [0] : (tensor<64x2xf32>, tensor<2x16xf32>) -> tensor<64x16xf32>
  %t2 = stablehlo.transpose %g2, dims = [1, 0] : (tensor<2x64xf32>) -> tensor<64x2xf32>
  %d2 = stablehlo.dot_general %t2, %x2, contracting_dims = [1] x [0] : (tensor<64x2xf32>, tensor<2x16xf32>) -> tensor<64x16xf32>
  %s0 = stablehlo.add %before, %d0 : tensor<64x16xf32>
  %s1 = stablehlo.add %s0, %d1 : tensor<64x16xf32>
  %s2 = stablehlo.add %s1, %d2 : tensor<64x16xf32>
  return %s2 : tensor<64x16xf32>
}

// Zeros around an image are the convolution's own padding, but nothing else is.
// CHECK-LABEL: func.func @padded_images
// CHECK-NOT: stablehlo.pad
// CHECK: stablehlo.convolution(%arg0, %arg1){{.*}}stride = [2, 2], pad = {{\[\[}}0, 1], [1, 3]]
// CHECK: stablehlo.pad %arg0
// CHECK: stablehlo.pad %arg0
// CHECK: return
func.func @padded_images(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x3x3xf32>) -> (tensor<1x4x4x5xf32>, tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 0, 0, 0], high = [0, 0, 1, 2], interior = [0, 0, 0, 0] : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x9x10xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 0], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x9x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x5xf32>
  %2 = stablehlo.pad %x, %one, low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0] : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %3 = stablehlo.convolution(%2, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %4 = stablehlo.pad %x, %zero, low = [0, 1, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %5 = stablehlo.convolution(%4, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %1, %3, %5 : tensor<1x4x4x5xf32>, tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>
}

// What a pool divides by is a number, and a power of two is as exact the other way round.
// CHECK-LABEL: func.func @divided
// CHECK-DAG: %[[QUARTER:.*]] = stablehlo.constant dense<2.500000e-01>
// CHECK-DAG: %[[THREE:.*]] = stablehlo.constant dense<3.000000e+00>
// CHECK: stablehlo.multiply %arg0, %[[QUARTER]]
// CHECK: stablehlo.divide %arg0, %[[THREE]]
// CHECK: return
func.func @divided(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<8xf32>
  %three = stablehlo.constant dense<3.0> : tensor<8xf32>
  %four = stablehlo.multiply %two, %two : tensor<8xf32>
  %0 = stablehlo.divide %x, %four : tensor<8xf32>
  %1 = stablehlo.divide %x, %three : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// A quantised relu is not below 0, and its clamp tells that i32 holds it.
// CHECK-LABEL: func.func @quantised_relu
// CHECK: %[[RELU:.*]] = stablehlo.maximum %arg0
// CHECK-NOT: stablehlo.maximum
// CHECK: stablehlo.minimum
// CHECK-NEXT: stablehlo.convert {{.*}} {cresset.within_i32} : (tensor<8xf32>) -> tensor<8xi32>
// CHECK-NEXT: stablehlo.convert {{.*}} -> tensor<8xui8>
// CHECK: return
func.func @quantised_relu(%x: tensor<8xf32>) -> tensor<8xui8> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %most = stablehlo.constant dense<255.0> : tensor<8xf32>
  %scale = stablehlo.constant dense<3.0> : tensor<8xf32>
  %0 = stablehlo.maximum %x, %zero : tensor<8xf32>
  %1 = stablehlo.multiply %0, %scale : tensor<8xf32>
  %2 = stablehlo.round_nearest_even %1 : tensor<8xf32>
  %3 = stablehlo.maximum %2, %zero : tensor<8xf32>
  %4 = stablehlo.minimum %3, %most : tensor<8xf32>
  %5 = stablehlo.convert %4 : (tensor<8xf32>) -> tensor<8xi64>
  %6 = stablehlo.convert %5 : (tensor<8xi64>) -> tensor<8xui8>
  return %6 : tensor<8xui8>
}

// Of integers that are divided, too, the remainder needs no division of its own.
// CHECK-LABEL: @remainders
// CHECK: %[[QUOTIENT:.*]] = stablehlo.divide %arg0, %arg1
// CHECK-NEXT: %[[WHOLE:.*]] = stablehlo.multiply %[[QUOTIENT]], %arg1
// CHECK-NEXT: %[[LEFT:.*]] = stablehlo.subtract %arg0, %[[WHOLE]]
// CHECK-NEXT: return %[[QUOTIENT]], %[[LEFT]]
func.func @remainders(%x: tensor<8xi64>, %y: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %0 = stablehlo.divide %x, %y : tensor<8xi64>
  %1 = stablehlo.remainder %x, %y : tensor<8xi64>
  return %0, %1 : tensor<8xi64>, tensor<8xi64>
}
