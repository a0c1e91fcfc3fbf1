// The same bytes as elements of another width, either way.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-COUNT-6: largest error 0
func.func @main(%a: tensor<5x2xi32>, %b: tensor<7xi64>, %c: tensor<3x9xi32>, %d: tensor<4x4xi8>, %e: tensor<6x2xi16>, %f: tensor<33xi32>) -> (tensor<5xi64>, tensor<7x4xi16>, tensor<3x9x4xui8>, tensor<4xi32>, tensor<6xui32>, tensor<33x2xi16>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<5x2xi32>) -> tensor<5xi64>
  %1 = stablehlo.bitcast_convert %b : (tensor<7xi64>) -> tensor<7x4xi16>
  %2 = stablehlo.bitcast_convert %c : (tensor<3x9xi32>) -> tensor<3x9x4xui8>
  %3 = stablehlo.bitcast_convert %d : (tensor<4x4xi8>) -> tensor<4xi32>
  %4 = stablehlo.bitcast_convert %e : (tensor<6x2xi16>) -> tensor<6xui32>
  %g = stablehlo.convert %f : (tensor<33xi32>) -> tensor<33xf32>
  %h = stablehlo.negate %g : tensor<33xf32>
  %5 = stablehlo.bitcast_convert %h : (tensor<33xf32>) -> tensor<33x2xi16>
  return %0, %1, %2, %3, %4, %5 : tensor<5xi64>, tensor<7x4xi16>, tensor<3x9x4xui8>, tensor<4xi32>, tensor<6xui32>, tensor<33x2xi16>
}
