// A value that each round leaves as it is, and also returns in the place of another.
// RUN: cresset-run --compare %s | FileCheck %s
// CHECK-COUNT-2: largest error 0
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %i0, %a = %x, %b = %y) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %a, %a : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
  return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>
}
