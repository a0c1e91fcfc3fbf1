// Where a rewrite would lose what is at the end of a type, or of what it may assume.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// CHECK-NOT: too large
// CHECK-COUNT-5: largest error
func.func @main(%a: tensor<3x3xf32>, %b: tensor<160xf32>, %c: tensor<4xf32>, %x: tensor<20x30000xui8>, %w: tensor<30000x24xui8>, %i: tensor<20x5000xi8>, %j: tensor<5000x37xi8>) -> (tensor<3x3xf32>, tensor<300xf32>, tensor<4xf32>, tensor<20x24xf32>, tensor<20x37xi8>) {
  // Padding within, and as much cut off behind.
  %seven = stablehlo.constant dense<7.0> : tensor<f32>
  %padded = stablehlo.pad %a, %seven, low = [0, 0], high = [0, -2], interior = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  // A start that is no signed byte.
  %half = stablehlo.constant dense<0.5> : tensor<300xf32>
  %start = stablehlo.constant dense<130> : tensor<ui8>
  %updated = stablehlo.dynamic_update_slice %half, %b, %start : (tensor<300xf32>, tensor<160xf32>, tensor<ui8>) -> tensor<300xf32>
  // x - x³ / 6 of infinities is no number.
  %sixth = stablehlo.constant dense<-0.16666667> : tensor<4xf32>
  %ends = stablehlo.constant dense<[0x7F800000, 1.0, 0xFF800000, 3.0]> : tensor<4xf32>
  %e = stablehlo.add %c, %ends : tensor<4xf32>
  %e2 = stablehlo.multiply %e, %e : tensor<4xf32>
  %e3 = stablehlo.multiply %e2, %e : tensor<4xf32>
  %part = stablehlo.multiply %e3, %sixth : tensor<4xf32>
  %sine = stablehlo.add %e, %part : tensor<4xf32>
  // Bytes less a number that is none, of which so many products exceed i32.
  %high = stablehlo.constant dense<250> : tensor<ui8>
  %hx = stablehlo.broadcast_in_dim %high, dims = [] : (tensor<ui8>) -> tensor<20x30000xui8>
  %hw = stablehlo.broadcast_in_dim %high, dims = [] : (tensor<ui8>) -> tensor<30000x24xui8>
  %xm = stablehlo.maximum %x, %hx : tensor<20x30000xui8>
  %wm = stablehlo.maximum %w, %hw : tensor<30000x24xui8>
  %z = stablehlo.constant dense<-100.0> : tensor<20x30000xf32>
  %sx = stablehlo.constant dense<0.01> : tensor<20x30000xf32>
  %sw = stablehlo.constant dense<0.01> : tensor<30000x24xf32>
  %xf = stablehlo.convert %xm : (tensor<20x30000xui8>) -> tensor<20x30000xf32>
  %wf = stablehlo.convert %wm : (tensor<30000x24xui8>) -> tensor<30000x24xf32>
  %xd = stablehlo.subtract %xf, %z : tensor<20x30000xf32>
  %xs = stablehlo.multiply %xd, %sx : tensor<20x30000xf32>
  %ws = stablehlo.multiply %wf, %sw : tensor<30000x24xf32>
  %q = stablehlo.dot_general %xs, %ws, contracting_dims = [1] x [0] : (tensor<20x30000xf32>, tensor<30000x24xf32>) -> tensor<20x24xf32>
  // Sums of bytes, in parts.
  %bytes = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<20x5000xi8>, tensor<5000x37xi8>) -> tensor<20x37xi8>
  return %padded, %updated, %sine, %q, %bytes : tensor<3x3xf32>, tensor<300xf32>, tensor<4xf32>, tensor<20x24xf32>, tensor<20x37xi8>
}
