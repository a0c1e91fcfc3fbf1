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
