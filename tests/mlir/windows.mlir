// Windows that are reduced: with steps, padding of both signs, dilated windows and inputs, initial values that count, several types; a whole image, a window of 65 places, a cumulative sum and a window of one
// element. Only what has more places than code, and cumulative sums, stay windows.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-11: largest error
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=OPT
// OPT-COUNT-2: stablehlo.reduce_window
// OPT-NOT: stablehlo.reduce_window
func.func @main(%x0: tensor<2x9x11x16xf32>, %x1: tensor<2x3x12x13xf32>, %x2: tensor<2x8x7xf32>, %x3: tensor<3x40xbf16>, %x4: tensor<5x6x4xi32>, %x5: tensor<4x20xi1>, %x6: tensor<2x14x15x8xf32>, %x7: tensor<2x10x10x3xf32>, %x8: tensor<3x70xf32>, %x9: tensor<3x30xf32>, %x10: tensor<3x6xf32>) -> (tensor<2x5x5x16xf32>, tensor<2x3x6x5xf32>, tensor<2x15x7xf32>, tensor<3x10xbf16>, tensor<3x4x4xi32>, tensor<4x20xi1>, tensor<2x1x1x8xf32>, tensor<2x2x2x3xf32>, tensor<3x6xf32>, tensor<3x30xf32>, tensor<3x6xf32>) {
  %i0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y0 = "stablehlo.reduce_window"(%x0, %i0) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [1, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x9x11x16xf32>, tensor<f32>) -> tensor<2x5x5x16xf32>
  %i1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %y1 = "stablehlo.reduce_window"(%x1, %i1) <{window_dimensions = array<i64: 1, 1, 2, 4>, window_strides = array<i64: 1, 1, 2, 3>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 2, 1>, padding = dense<[[0, 0], [0, 0], [1, 0], [2, 2]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.minimum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x3x12x13xf32>, tensor<f32>) -> tensor<2x3x6x5xf32>
  %i2 = stablehlo.constant dense<0.5> : tensor<f32>
  %y2 = "stablehlo.reduce_window"(%x2, %i2) <{window_dimensions = array<i64: 1, 3, 2>, window_strides = array<i64: 1, 1, 1>, base_dilations = array<i64: 1, 2, 1>, window_dilations = array<i64: 1, 1, 2>, padding = dense<[[0, 0], [1, 1], [2, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x8x7xf32>, tensor<f32>) -> tensor<2x15x7xf32>
  %i3 = stablehlo.constant dense<0.0> : tensor<bf16>
  %y3 = "stablehlo.reduce_window"(%x3, %i3) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %c = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %c : tensor<bf16>
  }) : (tensor<3x40xbf16>, tensor<bf16>) -> tensor<3x10xbf16>
  %i4 = stablehlo.constant dense<1> : tensor<i32>
  %y4 = "stablehlo.reduce_window"(%x4, %i4) <{window_dimensions = array<i64: 2, 3, 1>, window_strides = array<i64: 2, 1, 1>, base_dilations = array<i64: 1, 1, 1>, window_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 1], [0, 0], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<5x6x4xi32>, tensor<i32>) -> tensor<3x4x4xi32>
  %i5 = stablehlo.constant dense<false> : tensor<i1>
  %y5 = "stablehlo.reduce_window"(%x5, %i5) <{window_dimensions = array<i64: 1, 5>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [2, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %c = stablehlo.or %a, %b : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x20xi1>, tensor<i1>) -> tensor<4x20xi1>
  %i6 = stablehlo.constant dense<0.0> : tensor<f32>
  %y6 = "stablehlo.reduce_window"(%x6, %i6) <{window_dimensions = array<i64: 1, 14, 15, 1>, window_strides = array<i64: 1, 1, 1, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x14x15x8xf32>, tensor<f32>) -> tensor<2x1x1x8xf32>
  %i7 = stablehlo.constant dense<0.25> : tensor<f32>
  %y7 = "stablehlo.reduce_window"(%x7, %i7) <{window_dimensions = array<i64: 1, 4, 4, 1>, window_strides = array<i64: 1, 3, 3, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [-1, 0], [0, -2], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x10x10x3xf32>, tensor<f32>) -> tensor<2x2x2x3xf32>
  %i8 = stablehlo.constant dense<0.0> : tensor<f32>
  %y8 = "stablehlo.reduce_window"(%x8, %i8) <{window_dimensions = array<i64: 1, 65>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x70xf32>, tensor<f32>) -> tensor<3x6xf32>
  %i9 = stablehlo.constant dense<0.0> : tensor<f32>
  %y9 = "stablehlo.reduce_window"(%x9, %i9) <{window_dimensions = array<i64: 1, 30>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [29, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x30xf32>, tensor<f32>) -> tensor<3x30xf32>
  %i10 = stablehlo.constant dense<1.0> : tensor<f32>
  %y10 = "stablehlo.reduce_window"(%x10, %i10) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10 : tensor<2x5x5x16xf32>, tensor<2x3x6x5xf32>, tensor<2x15x7xf32>, tensor<3x10xbf16>, tensor<3x4x4xi32>, tensor<4x20xi1>, tensor<2x1x1x8xf32>, tensor<2x2x2x3xf32>, tensor<3x6xf32>, tensor<3x30xf32>, tensor<3x6xf32>
}
