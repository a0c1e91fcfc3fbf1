// Machines without FMA and F16C: nothing is called for each lane. Products multiply and add, exponentials reduce their argument in two parts, halves are converted.
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-run --assembly --cpu=baseline %s | FileCheck %s --check-prefix=CODE
// CHECK-NOT: too large
// CHECK-COUNT-3: largest error
// CODE: # dot
// CODE-NOT: fmaf
// CODE: # rows
// CODE-NOT: fmaf
func.func @main(%a: tensor<20x70xf32>, %b: tensor<70x30xf32>, %h: tensor<40xf16>) -> (tensor<20x30xf32>, tensor<20x70xf32>, tensor<40xf16>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<20x70xf32>, tensor<70x30xf32>) -> tensor<20x30xf32>
  %1 = stablehlo.exponential %a : tensor<20x70xf32>
  %2 = stablehlo.tanh %a : tensor<20x70xf32>
  %3 = stablehlo.logistic %a : tensor<20x70xf32>
  %4 = stablehlo.add %1, %2 : tensor<20x70xf32>
  %5 = stablehlo.add %4, %3 : tensor<20x70xf32>
  %6 = stablehlo.tanh %h : tensor<40xf16>
  return %0, %5, %6 : tensor<20x30xf32>, tensor<20x70xf32>, tensor<40xf16>
}
