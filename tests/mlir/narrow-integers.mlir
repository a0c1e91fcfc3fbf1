// What is computed of counters in 64 bits, and compared or converted, is computed in 32 where these hold it.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: i64
// CHECK: return
func.func @main(%kept: tensor<6x7xi1>, %bytes: tensor<6x7xui8>) -> (tensor<6x7xf32>, tensor<6x7xi1>, tensor<6x7xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<6x7xi64>
  %j = stablehlo.iota dim = 1 : tensor<6x7xi64>
  %three = stablehlo.constant dense<3> : tensor<6x7xi64>
  %d = stablehlo.subtract %j, %i : tensor<6x7xi64>
  %a = stablehlo.abs %d : tensor<6x7xi64>
  %n = stablehlo.negate %a : tensor<6x7xi64>
  %q = stablehlo.divide %n, %three : tensor<6x7xi64>
  %r = stablehlo.remainder %d, %three : tensor<6x7xi64>
  %s = stablehlo.select %kept, %q, %r : (tensor<6x7xi1>, tensor<6x7xi64>, tensor<6x7xi64>) -> tensor<6x7xi64>
  %f = stablehlo.convert %s : (tensor<6x7xi64>) -> tensor<6x7xf32>
  %m = stablehlo.compare GE, %d, %three : (tensor<6x7xi64>, tensor<6x7xi64>) -> tensor<6x7xi1>
  %b = stablehlo.convert %bytes : (tensor<6x7xui8>) -> tensor<6x7xi64>
  %p = stablehlo.multiply %b, %d : tensor<6x7xi64>
  %l = stablehlo.minimum %p, %b : tensor<6x7xi64>
  %g = stablehlo.convert %l : (tensor<6x7xi64>) -> tensor<6x7xf32>
  return %f, %m, %g : tensor<6x7xf32>, tensor<6x7xi1>, tensor<6x7xf32>
}

// 32 bits don't hold a product that may be 2^31, nor what nothing is known of.
// CHECK-LABEL: func.func @wide
// CHECK: stablehlo.multiply {{.*}} : tensor<65537xi64>
// CHECK: stablehlo.compare {{.*}} : (tensor<65537xi64>
// CHECK: return
func.func @wide(%x: tensor<65537xi64>) -> (tensor<65537xf32>, tensor<65537xi1>) {
  %i = stablehlo.iota dim = 0 : tensor<65537xi64>
  %c = stablehlo.constant dense<32768> : tensor<65537xi64>
  %p = stablehlo.multiply %i, %c : tensor<65537xi64>
  %f = stablehlo.convert %p : (tensor<65537xi64>) -> tensor<65537xf32>
  %s = stablehlo.add %i, %x : tensor<65537xi64>
  %m = stablehlo.compare LT, %s, %i : (tensor<65537xi64>, tensor<65537xi64>) -> tensor<65537xi1>
  return %f, %m : tensor<65537xf32>, tensor<65537xi1>
}

// One less, and they do.
// CHECK-LABEL: func.func @just_narrow
// CHECK: stablehlo.multiply {{.*}} : tensor<65536xi32>
// CHECK: return
func.func @just_narrow() -> tensor<65536xf32> {
  %i = stablehlo.iota dim = 0 : tensor<65536xi64>
  %c = stablehlo.constant dense<32768> : tensor<65536xi64>
  %p = stablehlo.multiply %i, %c : tensor<65536xi64>
  %f = stablehlo.convert %p : (tensor<65536xi64>) -> tensor<65536xf32>
  return %f : tensor<65536xf32>
}
