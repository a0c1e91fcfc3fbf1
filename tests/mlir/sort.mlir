// A comparator is called from C++, whose bools are 0 or 1 in all of their byte: masks of AVX2's comparisons are all ones.
// RUN: cresset-run --assembly --cpu=avx2 %s | FileCheck %s
// CHECK-LABEL: kernel.less:
// CHECK: vcmpunordsd
// CHECK: {{andb|andl}} $1
// CHECK: ret
func.func @main(%x: tensor<5x128xf64>) -> tensor<5x128xf64> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %p = stablehlo.abs %a : tensor<f64>
    %q = stablehlo.abs %b : tensor<f64>
    %less = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %number = stablehlo.compare EQ, %a, %a, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %nan = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %before = stablehlo.and %number, %nan : tensor<i1>
    %either = stablehlo.or %less, %before : tensor<i1>
    stablehlo.return %either : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<5x128xf64>) -> tensor<5x128xf64>
  return %0 : tensor<5x128xf64>
}
