// The same numbers on every instruction set; a module that can't be compiled is an error, not a crash.
// RUN: cresset-run --cpu=baseline %s > %t.baseline
// RUN: cresset-run %s | FileCheck %s
// RUN: cat %t.baseline | FileCheck %s
// RUN: cresset-run --help | FileCheck %s --check-prefix=HELP

// Without LLVM's own.
// HELP-NOT: --aarch64
// HELP: --assembly
// HELP-NOT: --x86

// CHECK: tensor<3xf32>: 10 10 10
// CHECK: tensor<f32>: 45
func.func @main() -> (tensor<3xf32>, tensor<f32>) {
  %i = stablehlo.iota dim = 0 : tensor<5x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
  %one = stablehlo.constant dense<1.0> : tensor<5x3xf32>
  %s = stablehlo.add %i, %one : tensor<5x3xf32>
  %1 = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}
