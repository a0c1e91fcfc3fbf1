// What is rewritten before kernels are made keeps its meaning.
// RUN: cresset-opt --simplify %s | FileCheck %s
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=wide %s

// 1 + tanh(u) is 2 logistic(2u), whose factors cancel the half and join the constant: multiply, multiply, add, multiply, logistic, multiply.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.tanh
// CHECK-DAG: dense<1.59576917>
// CHECK: stablehlo.logistic
// CHECK-NEXT: stablehlo.multiply
// CHECK-NOT: stablehlo.tanh
// A sum that begins with 3 is not divided; one that begins with 0 is, into 16.
// CHECK: stablehlo.reduce({{.*}} : (tensor<2048x33xf32>, tensor<f32>) -> tensor<33xf32>
// CHECK: stablehlo.reduce({{.*}} -> tensor<16x33xf32>
// CHECK: stablehlo.reduce({{.*}} : (tensor<200x100xf32>, tensor<f32>) -> tensor<f32>
// Of a line of which three are read, three are wanted.
// CHECK: cresset.first_wanted = 3
func.func @main(%x: tensor<200x100xf32>, %y: tensor<2048x33xf32>) -> (tensor<200x100xf32>, tensor<33xf32>, tensor<33xf32>, tensor<f32>, tensor<200x3xf32>) {
  %c = stablehlo.constant dense<4.471500e-02> : tensor<200x100xf32>
  %beta = stablehlo.constant dense<0.797884583> : tensor<200x100xf32>
  %half = stablehlo.constant dense<0.5> : tensor<200x100xf32>
  %one = stablehlo.constant dense<1.0> : tensor<200x100xf32>
  %0 = stablehlo.multiply %x, %x : tensor<200x100xf32>
  %1 = stablehlo.multiply %0, %x : tensor<200x100xf32>
  %2 = stablehlo.multiply %1, %c : tensor<200x100xf32>
  %3 = stablehlo.add %x, %2 : tensor<200x100xf32>
  %4 = stablehlo.multiply %3, %beta : tensor<200x100xf32>
  %5 = stablehlo.tanh %4 : tensor<200x100xf32>
  %6 = stablehlo.add %5, %one : tensor<200x100xf32>
  %7 = stablehlo.multiply %x, %half : tensor<200x100xf32>
  %8 = stablehlo.multiply %7, %6 : tensor<200x100xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %a = stablehlo.reduce(%y init: %three) applies stablehlo.add across dimensions = [0] : (tensor<2048x33xf32>, tensor<f32>) -> tensor<33xf32>
  %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2048x33xf32>, tensor<f32>) -> tensor<33xf32>
  %s = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [0, 1] : (tensor<200x100xf32>, tensor<f32>) -> tensor<f32>
  %sorted = "stablehlo.sort"(%x) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %before = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<200x100xf32>) -> tensor<200x100xf32>
  %first = stablehlo.slice %sorted [0:200, 0:3] : (tensor<200x100xf32>) -> tensor<200x3xf32>
  return %8, %a, %b, %s, %first : tensor<200x100xf32>, tensor<33xf32>, tensor<33xf32>, tensor<f32>, tensor<200x3xf32>
}
