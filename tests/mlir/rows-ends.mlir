// The last vector of a row begins earlier: what it has in common with the one before is computed twice, summed once, and written over an input only when all has been read.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/rows.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/rows.mlir
// RUN: cresset-run --compare --cpu=wide %t/rows.mlir
// RUN: cresset-run --compare --cpu=baseline %t/rows.mlir
// RUN: cresset-run --assembly --cpu=avx2 %t/softmax.mlir | FileCheck %t/softmax.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/softmax.mlir

//--- softmax.mlir
// Three vectors of eight for 21 columns, in each of the walks; of the exponentials none is a single number's, and the one division is of the sum.
// CHECK-LABEL: kernel:
// CHECK-NOT: vmulss
// CHECK: vdivss
// CHECK-NOT: vmulss
// CHECK: ret
func.func @main(%x: tensor<6x21xf32>) -> tensor<6x21xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<6x21xf32>, tensor<f32>) -> tensor<6xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<6xf32>) -> tensor<6x21xf32>
  %d = stablehlo.subtract %x, %mb : tensor<6x21xf32>
  %e = stablehlo.exponential %d : tensor<6x21xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x21xf32>, tensor<f32>) -> tensor<6xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<6xf32>) -> tensor<6x21xf32>
  %y = stablehlo.divide %e, %sb : tensor<6x21xf32>
  return %y : tensor<6x21xf32>
}

//--- rows.mlir
func.func @main(%x1: tensor<5x9xf32> {tf.aliasing_output = 0 : i32},
    %x2: tensor<5x21xf32> {tf.aliasing_output = 1 : i32},
    %x3: tensor<5x37xf32> {tf.aliasing_output = 2 : i32},
    %x4: tensor<3x67xf32> {tf.aliasing_output = 3 : i32},
    %x5: tensor<3x100xf32> {tf.aliasing_output = 4 : i32},
    %x6: tensor<2x129xf32> {tf.aliasing_output = 5 : i32},
    %x7: tensor<5x5xf32> {tf.aliasing_output = 6 : i32},
    %x8: tensor<4x3xf32> {tf.aliasing_output = 7 : i32},
    %x9: tensor<3x13xf64> {tf.aliasing_output = 8 : i32},
    %x10: tensor<3x50xbf16> {tf.aliasing_output = 9 : i32},
    %x11: tensor<3x50xf16> {tf.aliasing_output = 10 : i32},
    %x12: tensor<3x41xi64> {tf.aliasing_output = 11 : i32},
    %f: tensor<5x3279xf32> {tf.aliasing_output = 12 : i32})
    -> (tensor<5x9xf32>, tensor<5x21xf32>, tensor<5x37xf32>, tensor<3x67xf32>, tensor<3x100xf32>, tensor<2x129xf32>, tensor<5x5xf32>, tensor<4x3xf32>, tensor<3x13xf64>, tensor<3x50xbf16>, tensor<3x50xf16>, tensor<3x41xi64>, tensor<5x3279xf32>) {
  %low1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero1 = stablehlo.constant dense<0.0> : tensor<f32>
  %m1 = stablehlo.reduce(%x1 init: %low1) applies stablehlo.maximum across dimensions = [1] : (tensor<5x9xf32>, tensor<f32>) -> tensor<5xf32>
  %mb1 = stablehlo.broadcast_in_dim %m1, dims = [0] : (tensor<5xf32>) -> tensor<5x9xf32>
  %d1 = stablehlo.subtract %x1, %mb1 : tensor<5x9xf32>
  %e1 = stablehlo.exponential %d1 : tensor<5x9xf32>
  %s1 = stablehlo.reduce(%e1 init: %zero1) applies stablehlo.add across dimensions = [1] : (tensor<5x9xf32>, tensor<f32>) -> tensor<5xf32>
  %sb1 = stablehlo.broadcast_in_dim %s1, dims = [0] : (tensor<5xf32>) -> tensor<5x9xf32>
  %y1 = stablehlo.divide %e1, %sb1 : tensor<5x9xf32>
  %low2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero2 = stablehlo.constant dense<0.0> : tensor<f32>
  %m2 = stablehlo.reduce(%x2 init: %low2) applies stablehlo.maximum across dimensions = [1] : (tensor<5x21xf32>, tensor<f32>) -> tensor<5xf32>
  %mb2 = stablehlo.broadcast_in_dim %m2, dims = [0] : (tensor<5xf32>) -> tensor<5x21xf32>
  %d2 = stablehlo.subtract %x2, %mb2 : tensor<5x21xf32>
  %e2 = stablehlo.exponential %d2 : tensor<5x21xf32>
  %s2 = stablehlo.reduce(%e2 init: %zero2) applies stablehlo.add across dimensions = [1] : (tensor<5x21xf32>, tensor<f32>) -> tensor<5xf32>
  %sb2 = stablehlo.broadcast_in_dim %s2, dims = [0] : (tensor<5xf32>) -> tensor<5x21xf32>
  %y2 = stablehlo.divide %e2, %sb2 : tensor<5x21xf32>
  %low3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero3 = stablehlo.constant dense<0.0> : tensor<f32>
  %m3 = stablehlo.reduce(%x3 init: %low3) applies stablehlo.maximum across dimensions = [1] : (tensor<5x37xf32>, tensor<f32>) -> tensor<5xf32>
  %mb3 = stablehlo.broadcast_in_dim %m3, dims = [0] : (tensor<5xf32>) -> tensor<5x37xf32>
  %d3 = stablehlo.subtract %x3, %mb3 : tensor<5x37xf32>
  %e3 = stablehlo.exponential %d3 : tensor<5x37xf32>
  %s3 = stablehlo.reduce(%e3 init: %zero3) applies stablehlo.add across dimensions = [1] : (tensor<5x37xf32>, tensor<f32>) -> tensor<5xf32>
  %sb3 = stablehlo.broadcast_in_dim %s3, dims = [0] : (tensor<5xf32>) -> tensor<5x37xf32>
  %y3 = stablehlo.divide %e3, %sb3 : tensor<5x37xf32>
  %low4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero4 = stablehlo.constant dense<0.0> : tensor<f32>
  %m4 = stablehlo.reduce(%x4 init: %low4) applies stablehlo.maximum across dimensions = [1] : (tensor<3x67xf32>, tensor<f32>) -> tensor<3xf32>
  %mb4 = stablehlo.broadcast_in_dim %m4, dims = [0] : (tensor<3xf32>) -> tensor<3x67xf32>
  %d4 = stablehlo.subtract %x4, %mb4 : tensor<3x67xf32>
  %e4 = stablehlo.exponential %d4 : tensor<3x67xf32>
  %s4 = stablehlo.reduce(%e4 init: %zero4) applies stablehlo.add across dimensions = [1] : (tensor<3x67xf32>, tensor<f32>) -> tensor<3xf32>
  %sb4 = stablehlo.broadcast_in_dim %s4, dims = [0] : (tensor<3xf32>) -> tensor<3x67xf32>
  %y4 = stablehlo.divide %e4, %sb4 : tensor<3x67xf32>
  %low5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero5 = stablehlo.constant dense<0.0> : tensor<f32>
  %m5 = stablehlo.reduce(%x5 init: %low5) applies stablehlo.maximum across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  %mb5 = stablehlo.broadcast_in_dim %m5, dims = [0] : (tensor<3xf32>) -> tensor<3x100xf32>
  %d5 = stablehlo.subtract %x5, %mb5 : tensor<3x100xf32>
  %e5 = stablehlo.exponential %d5 : tensor<3x100xf32>
  %s5 = stablehlo.reduce(%e5 init: %zero5) applies stablehlo.add across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  %sb5 = stablehlo.broadcast_in_dim %s5, dims = [0] : (tensor<3xf32>) -> tensor<3x100xf32>
  %y5 = stablehlo.divide %e5, %sb5 : tensor<3x100xf32>
  %low6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero6 = stablehlo.constant dense<0.0> : tensor<f32>
  %m6 = stablehlo.reduce(%x6 init: %low6) applies stablehlo.maximum across dimensions = [1] : (tensor<2x129xf32>, tensor<f32>) -> tensor<2xf32>
  %mb6 = stablehlo.broadcast_in_dim %m6, dims = [0] : (tensor<2xf32>) -> tensor<2x129xf32>
  %d6 = stablehlo.subtract %x6, %mb6 : tensor<2x129xf32>
  %e6 = stablehlo.exponential %d6 : tensor<2x129xf32>
  %s6 = stablehlo.reduce(%e6 init: %zero6) applies stablehlo.add across dimensions = [1] : (tensor<2x129xf32>, tensor<f32>) -> tensor<2xf32>
  %sb6 = stablehlo.broadcast_in_dim %s6, dims = [0] : (tensor<2xf32>) -> tensor<2x129xf32>
  %y6 = stablehlo.divide %e6, %sb6 : tensor<2x129xf32>
  %low7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero7 = stablehlo.constant dense<0.0> : tensor<f32>
  %m7 = stablehlo.reduce(%x7 init: %low7) applies stablehlo.maximum across dimensions = [1] : (tensor<5x5xf32>, tensor<f32>) -> tensor<5xf32>
  %mb7 = stablehlo.broadcast_in_dim %m7, dims = [0] : (tensor<5xf32>) -> tensor<5x5xf32>
  %d7 = stablehlo.subtract %x7, %mb7 : tensor<5x5xf32>
  %e7 = stablehlo.exponential %d7 : tensor<5x5xf32>
  %s7 = stablehlo.reduce(%e7 init: %zero7) applies stablehlo.add across dimensions = [1] : (tensor<5x5xf32>, tensor<f32>) -> tensor<5xf32>
  %sb7 = stablehlo.broadcast_in_dim %s7, dims = [0] : (tensor<5xf32>) -> tensor<5x5xf32>
  %y7 = stablehlo.divide %e7, %sb7 : tensor<5x5xf32>
  %low8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero8 = stablehlo.constant dense<0.0> : tensor<f32>
  %m8 = stablehlo.reduce(%x8 init: %low8) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %mb8 = stablehlo.broadcast_in_dim %m8, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %d8 = stablehlo.subtract %x8, %mb8 : tensor<4x3xf32>
  %e8 = stablehlo.exponential %d8 : tensor<4x3xf32>
  %s8 = stablehlo.reduce(%e8 init: %zero8) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %sb8 = stablehlo.broadcast_in_dim %s8, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %y8 = stablehlo.divide %e8, %sb8 : tensor<4x3xf32>
  %low9 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %zero9 = stablehlo.constant dense<0.0> : tensor<f64>
  %m9 = stablehlo.reduce(%x9 init: %low9) applies stablehlo.maximum across dimensions = [1] : (tensor<3x13xf64>, tensor<f64>) -> tensor<3xf64>
  %mb9 = stablehlo.broadcast_in_dim %m9, dims = [0] : (tensor<3xf64>) -> tensor<3x13xf64>
  %d9 = stablehlo.subtract %x9, %mb9 : tensor<3x13xf64>
  %e9 = stablehlo.exponential %d9 : tensor<3x13xf64>
  %s9 = stablehlo.reduce(%e9 init: %zero9) applies stablehlo.add across dimensions = [1] : (tensor<3x13xf64>, tensor<f64>) -> tensor<3xf64>
  %sb9 = stablehlo.broadcast_in_dim %s9, dims = [0] : (tensor<3xf64>) -> tensor<3x13xf64>
  %y9 = stablehlo.divide %e9, %sb9 : tensor<3x13xf64>
  %low10 = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero10 = stablehlo.constant dense<0.0> : tensor<bf16>
  %m10 = stablehlo.reduce(%x10 init: %low10) applies stablehlo.maximum across dimensions = [1] : (tensor<3x50xbf16>, tensor<bf16>) -> tensor<3xbf16>
  %mb10 = stablehlo.broadcast_in_dim %m10, dims = [0] : (tensor<3xbf16>) -> tensor<3x50xbf16>
  %d10 = stablehlo.subtract %x10, %mb10 : tensor<3x50xbf16>
  %e10 = stablehlo.exponential %d10 : tensor<3x50xbf16>
  %s10 = stablehlo.reduce(%e10 init: %zero10) applies stablehlo.add across dimensions = [1] : (tensor<3x50xbf16>, tensor<bf16>) -> tensor<3xbf16>
  %sb10 = stablehlo.broadcast_in_dim %s10, dims = [0] : (tensor<3xbf16>) -> tensor<3x50xbf16>
  %y10 = stablehlo.divide %e10, %sb10 : tensor<3x50xbf16>
  %low11 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %zero11 = stablehlo.constant dense<0.0> : tensor<f16>
  %m11 = stablehlo.reduce(%x11 init: %low11) applies stablehlo.maximum across dimensions = [1] : (tensor<3x50xf16>, tensor<f16>) -> tensor<3xf16>
  %mb11 = stablehlo.broadcast_in_dim %m11, dims = [0] : (tensor<3xf16>) -> tensor<3x50xf16>
  %d11 = stablehlo.subtract %x11, %mb11 : tensor<3x50xf16>
  %e11 = stablehlo.exponential %d11 : tensor<3x50xf16>
  %s11 = stablehlo.reduce(%e11 init: %zero11) applies stablehlo.add across dimensions = [1] : (tensor<3x50xf16>, tensor<f16>) -> tensor<3xf16>
  %sb11 = stablehlo.broadcast_in_dim %s11, dims = [0] : (tensor<3xf16>) -> tensor<3x50xf16>
  %y11 = stablehlo.divide %e11, %sb11 : tensor<3x50xf16>
  %low12 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %zero12 = stablehlo.constant dense<0> : tensor<i64>
  %m12 = stablehlo.reduce(%x12 init: %low12) applies stablehlo.maximum across dimensions = [1] : (tensor<3x41xi64>, tensor<i64>) -> tensor<3xi64>
  %mb12 = stablehlo.broadcast_in_dim %m12, dims = [0] : (tensor<3xi64>) -> tensor<3x41xi64>
  %d12 = stablehlo.subtract %x12, %mb12 : tensor<3x41xi64>
  %s12 = stablehlo.reduce(%d12 init: %zero12) applies stablehlo.add across dimensions = [1] : (tensor<3x41xi64>, tensor<i64>) -> tensor<3xi64>
  %sb12 = stablehlo.broadcast_in_dim %s12, dims = [0] : (tensor<3xi64>) -> tensor<3x41xi64>
  %y12 = stablehlo.add %d12, %sb12 : tensor<3x41xi64>
  %t = stablehlo.tanh %f : tensor<5x3279xf32>
  %g = stablehlo.subtract %f, %t : tensor<5x3279xf32>
  return %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %g : tensor<5x9xf32>, tensor<5x21xf32>, tensor<5x37xf32>, tensor<3x67xf32>, tensor<3x100xf32>, tensor<2x129xf32>, tensor<5x5xf32>, tensor<4x3xf32>, tensor<3x13xf64>, tensor<3x50xbf16>, tensor<3x50xf16>, tensor<3x41xi64>, tensor<5x3279xf32>
}
