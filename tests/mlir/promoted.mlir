// Bodies may work in a wider type than that of the inputs and init values, which are converted before.
// RUN: cresset-run --compare %s
// RUN: cresset-opt --simplify %s | FileCheck %s
// CHECK: stablehlo.convert %arg0 : (tensor<8x30x40xbf16>) -> tensor<8x30x40xf32>
func.func @main(%x: tensor<8x30x40xbf16>) -> (tensor<8x29x39xf32>, tensor<8x29x39xf32>, tensor<30x40xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %1 = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2>} : (tensor<8x30x40xbf16>, tensor<bf16>) -> tensor<8x29x39xf32>
  %2 = "stablehlo.reduce_window"(%x, %one) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2>} : (tensor<8x30x40xbf16>, tensor<bf16>) -> tensor<8x29x39xf32>
  %0 = stablehlo.reduce(%x init: %one) across dimensions = [0] : (tensor<8x30x40xbf16>, tensor<bf16>) -> tensor<30x40xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.multiply %a, %b : tensor<f32>
    %t = stablehlo.add %s, %b : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }
  return %1, %2, %0 : tensor<8x29x39xf32>, tensor<8x29x39xf32>, tensor<30x40xf32>
}
