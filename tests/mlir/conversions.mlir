// Floats beyond the ends of an integer type are its last number, nan is 0, on every instruction set; and no element is converted alone.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s
// CHECK-NOT: {{vcvt(t)?s[sd]2}}
// CHECK: vcvttps2dq
// CHECK-NOT: {{vcvt(t)?s[sd]2}}

func.func @main() -> (tensor<128xi8>, tensor<128xi16>, tensor<128xi32>, tensor<128xi64>, tensor<128xui8>, tensor<128xui16>, tensor<128xui32>, tensor<128xui64>, tensor<128xi8>, tensor<128xi16>, tensor<128xi32>, tensor<128xi64>, tensor<128xui8>, tensor<128xui16>, tensor<128xui32>, tensor<128xui64>) {
  %v = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0.0, -0.0, -0.99, 1.5, -1.5, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, 32768.0, -32769.0, 65535.5, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0, 9.2233714E+18, 0x5F000000, 0xDF000000, 0xDF000001, 1.8446742E+19, 0x5F800000, 3.0E+38, -3.0E+38]> : tensor<32xf32>
  %x = stablehlo.concatenate %v, %v, %v, %v, dim = 0 : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<128xf32>
  %y = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xf64>
  %half = stablehlo.constant dense<0.5> : tensor<128xf64>
  %z = stablehlo.add %y, %half : tensor<128xf64>
  %f32_i8 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xi8>
  %f32_i16 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xi16>
  %f32_i32 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xi32>
  %f32_i64 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xi64>
  %f32_ui8 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xui8>
  %f32_ui16 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xui16>
  %f32_ui32 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xui32>
  %f32_ui64 = stablehlo.convert %x : (tensor<128xf32>) -> tensor<128xui64>
  %f64_i8 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xi8>
  %f64_i16 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xi16>
  %f64_i32 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xi32>
  %f64_i64 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xi64>
  %f64_ui8 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xui8>
  %f64_ui16 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xui16>
  %f64_ui32 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xui32>
  %f64_ui64 = stablehlo.convert %z : (tensor<128xf64>) -> tensor<128xui64>
  return %f32_i8, %f32_i16, %f32_i32, %f32_i64, %f32_ui8, %f32_ui16, %f32_ui32, %f32_ui64, %f64_i8, %f64_i16, %f64_i32, %f64_i64, %f64_ui8, %f64_ui16, %f64_ui32, %f64_ui64 : tensor<128xi8>, tensor<128xi16>, tensor<128xi32>, tensor<128xi64>, tensor<128xui8>, tensor<128xui16>, tensor<128xui32>, tensor<128xui64>, tensor<128xi8>, tensor<128xi16>, tensor<128xi32>, tensor<128xi64>, tensor<128xui8>, tensor<128xui16>, tensor<128xui32>, tensor<128xui64>
}
