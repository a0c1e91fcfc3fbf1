// The reference interpreter and what was compiled agree; what can't be interpreted is an error that names the operation.
// RUN: cresset-run --interpret %s | FileCheck %s
// RUN: cresset-run --compare %s | FileCheck %s --check-prefix=COMPARE
// RUN: not cresset-run --interpret --function=call %s 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not cresset-run --interpret --function=missing %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: cresset-run --interpret --function=loop %s | FileCheck %s --check-prefix=LOOP

// CHECK: tensor<2x2xf32>: 7 10 15 22
// CHECK: tensor<3xi32>: 1 2 3
// COMPARE: tensor<2x2xf32>: largest error 0
func.func @main() -> (tensor<2x2xf32>, tensor<3xi32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %i = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %1 = "stablehlo.sort"(%i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %less = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  return %0, %1 : tensor<2x2xf32>, tensor<3xi32>
}

// CALL: error: stablehlo.custom_call: can't be evaluated
func.func @call() -> tensor<f32> {
  %0 = stablehlo.custom_call @acme() : () -> tensor<f32>
  return %0 : tensor<f32>
}

// MISSING: error: the module has no function @missing

// LOOP: tensor<i32>: 10
func.func @loop() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32> cond {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  return %0 : tensor<i32>
}
