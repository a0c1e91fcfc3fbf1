// RUN: cresset-opt --raise-composites %s | FileCheck %s
// What differs in a constant, or beyond the numbers that one would try.

// A softplus that is linear from 0.5 on is none of mish's.
// CHECK-LABEL: func.func @softplus_threshold
// CHECK-NOT: aten.mish
// CHECK: return
func.func @softplus_threshold(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.composite "aten.softplus" %x {composite_attributes = {beta = 1.0 : f64, threshold = 0.5 : f64}, decomposition = @sp, version = 1 : i32} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = stablehlo.tanh %0 : tensor<64xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
func.func private @sp(%x: tensor<64xf32>) -> tensor<64xf32> {
  %t = stablehlo.constant dense<0.5> : tensor<64xf32>
  %e = stablehlo.exponential %x : tensor<64xf32>
  %l = stablehlo.log_plus_one %e : tensor<64xf32>
  %c = stablehlo.compare GT, %x, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %r = stablehlo.select %c, %x, %l : tensor<64xi1>, tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @gradient_threshold
// CHECK: composite "aten.threshold_backward" {{.*}}threshold = 5.000000e-01
// CHECK-NOT: composite "aten.threshold_backward"
// CHECK: return
func.func @gradient_threshold(%g: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<2.0> : tensor<64xf32>
  %h = stablehlo.constant dense<0.5> : tensor<64xf32>
  %0 = stablehlo.composite "aten.threshold_backward" %g, %x {composite_attributes = {threshold = 0.5 : f64}, decomposition = @tb, version = 1 : i32} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = stablehlo.multiply %0, %z : tensor<64xf32>
  %2 = stablehlo.multiply %1, %h : tensor<64xf32>
  return %2 : tensor<64xf32>
}
func.func private @tb(%g: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %t = stablehlo.constant dense<0.5> : tensor<64xf32>
  %z = stablehlo.constant dense<0.0> : tensor<64xf32>
  %c = stablehlo.compare GT, %x, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %r = stablehlo.select %c, %g, %z : tensor<64xi1>, tensor<64xf32>
  return %r : tensor<64xf32>
}

// The sum of the last element with itself.
// CHECK-LABEL: func.func @reducer
// CHECK-NOT: composite
// CHECK: return
func.func @reducer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = stablehlo.subtract %x, %mb : tensor<4x8xf32>
  %e = stablehlo.exponential %d : tensor<4x8xf32>
  %sum = stablehlo.reduce(%e init: %zero) across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
     %s = stablehlo.add %b, %b : tensor<f32>
     stablehlo.return %s : tensor<f32> }
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %p = stablehlo.divide %e, %sb : tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// 0.5 as an integer is 0.
// CHECK-LABEL: func.func @truncated
// CHECK-NOT: aten.gelu
// CHECK: return
func.func @truncated(%x: tensor<64xf32>) -> tensor<64xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<64xf32>
  %i = stablehlo.convert %h : (tensor<64xf32>) -> tensor<64xi32>
  %f = stablehlo.convert %i : (tensor<64xi32>) -> tensor<64xf32>
  %c = stablehlo.constant dense<0.70710678> : tensor<64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<64xf32>
  %a = stablehlo.multiply %x, %c : tensor<64xf32>
  %e = chlo.erf %a : tensor<64xf32> -> tensor<64xf32>
  %b = stablehlo.add %e, %one : tensor<64xf32>
  %d = stablehlo.multiply %x, %b : tensor<64xf32>
  %y = stablehlo.multiply %d, %f : tensor<64xf32>
  return %y : tensor<64xf32>
}

// A broadcast that transposes.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT: composite
// CHECK: return
func.func @transposed(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<8x8xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %et = stablehlo.broadcast_in_dim %e, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.divide %et, %sb : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// By which one divides.
// CHECK-LABEL: func.func @bounded
// CHECK-NOT: composite
// CHECK: return
func.func @bounded(%x: tensor<8xf32>) -> tensor<8xf32> {
  %eps = stablehlo.constant dense<1.0e-12> : tensor<8xf32>
  %y = stablehlo.maximum %x, %eps : tensor<8xf32>
  return %y : tensor<8xf32>
}

// Gradients that are clipped at last stay so.
// CHECK-LABEL: func.func @clipped_loss
// CHECK: %[[DX:.*]] = stablehlo.composite "aten.log_softmax_backward"
// CHECK: composite "aten.hardtanh" %[[DX]]
func.func @clipped_loss(%x: tensor<16x64xf32>, %l: tensor<16xi32>, %g: tensor<f32>) -> tensor<16x64xf32> {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lo = stablehlo.constant dense<-1.0> : tensor<f32>
  %hi = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<0.0625> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
  %s = stablehlo.subtract %x, %mb : tensor<16x64xf32>
  %e = stablehlo.exponential %s : tensor<16x64xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
  %p = stablehlo.divide %e, %sb : tensor<16x64xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<16xi32>) -> tensor<16x64xi32>
  %io = stablehlo.iota dim = 1 : tensor<16x64xi32>
  %eq = stablehlo.compare EQ, %lb, %io : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
  %oh = stablehlo.convert %eq : (tensor<16x64xi1>) -> tensor<16x64xf32>
  %d = stablehlo.subtract %p, %oh : tensor<16x64xf32>
  %gn = stablehlo.multiply %g, %n : tensor<f32>
  %gb = stablehlo.broadcast_in_dim %gn, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
  %dx = stablehlo.multiply %d, %gb : tensor<16x64xf32>
  %c = stablehlo.clamp %lo, %dx, %hi : (tensor<f32>, tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}

// CHECK-LABEL: func.func @clipped_rest
// CHECK: composite "aten.softmax_backward"
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK: composite "aten.hardtanh" %[[SUM]]
func.func @clipped_rest(%x: tensor<4x10xf32>, %g: tensor<4x10xf32>, %r: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lo = stablehlo.constant dense<-10.0> : tensor<f32>
  %hi = stablehlo.constant dense<10.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
  %s = stablehlo.subtract %x, %mb : tensor<4x10xf32>
  %e = stablehlo.exponential %s : tensor<4x10xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
  %p = stablehlo.divide %e, %sb : tensor<4x10xf32>
  %t = stablehlo.multiply %g, %p : tensor<4x10xf32>
  %ts = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
  %tb = stablehlo.broadcast_in_dim %ts, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
  %d = stablehlo.subtract %g, %tb : tensor<4x10xf32>
  %dx = stablehlo.multiply %p, %d : tensor<4x10xf32>
  %dr = stablehlo.add %dx, %r : tensor<4x10xf32>
  %c = stablehlo.clamp %lo, %dr, %hi : (tensor<f32>, tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %c : tensor<4x10xf32>
}

// Scores of f16 that a select replaces: kernels compute in f32, in which they do not vanish in f16's lowest number.
// CHECK-LABEL: func.func @half
// CHECK: %[[MASK:.*]] = stablehlo.select %arg3, %{{.*}}, %{{.*}} : tensor<1x1x8x8xi1>, tensor<1x1x8x8xf32>
// CHECK: composite "aten.scaled_dot_product_attention" %arg0, %arg1, %arg2, %[[MASK]]
func.func @half(%q: tensor<1x2x8x16xf16>, %k: tensor<1x2x8x16xf16>, %v: tensor<1x2x8x16xf16>, %hidden: tensor<1x1x8x8xi1>) -> tensor<1x2x8x16xf16> {
  %ninf = stablehlo.constant dense<0xFC00> : tensor<f16>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %low = stablehlo.constant dense<-65504.0> : tensor<1x2x8x8xf16>
  %c = stablehlo.constant dense<0.25> : tensor<1x2x8x8xf16>
  %s0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x2x8x16xf16>, tensor<1x2x8x16xf16>) -> tensor<1x2x8x8xf16>
  %s1 = stablehlo.multiply %s0, %c : tensor<1x2x8x8xf16>
  %h = stablehlo.broadcast_in_dim %hidden, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xi1>) -> tensor<1x2x8x8xi1>
  %s = stablehlo.select %h, %low, %s1 : tensor<1x2x8x8xi1>, tensor<1x2x8x8xf16>
  %m = stablehlo.reduce(%s init: %ninf) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x8x8xf16>, tensor<f16>) -> tensor<1x2x8xf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<1x2x8xf16>) -> tensor<1x2x8x8xf16>
  %d = stablehlo.subtract %s, %mb : tensor<1x2x8x8xf16>
  %e = stablehlo.exponential %d : tensor<1x2x8x8xf16>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x2x8x8xf16>, tensor<f16>) -> tensor<1x2x8xf16>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x2x8xf16>) -> tensor<1x2x8x8xf16>
  %p = stablehlo.divide %e, %sb : tensor<1x2x8x8xf16>
  %y = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x2x8x8xf16>, tensor<1x2x8x16xf16>) -> tensor<1x2x8x16xf16>
  return %y : tensor<1x2x8x16xf16>
}
