// What several kernels read, and costs next to nothing to compute again of fewer bytes, is never written: a product's bf16 as f32, and that scaled. What one row shares is.
// RUN: cresset-run --compare %s
// RUN: cresset-run --compare --excess-precision %s
// RUN: cresset-run --compare --cpu=avx2 %s
// RUN: cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --excess-precision --cpu=avx512 %s | FileCheck %s

// CHECK: # dot bf16[96x64] bf16[64x128] -> bf16[96x128]
// CHECK-NOT: {{^}}# {{.*}}-> f32[96x128]
// CHECK: # {{.*}}-> f32[128]
// CHECK: # {{.*}}-> f32[96x128]
// CHECK-NOT: {{^}}# {{.*}}-> f32[96x128]
func.func @main(%x: tensor<96x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<96x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scale = stablehlo.constant dense<0.70710678> : tensor<96x128xf32>
  %share = stablehlo.constant dense<0.0104166667> : tensor<128xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<96x64xbf16>, tensor<64x128xbf16>) -> tensor<96x128xbf16>
  %1 = stablehlo.convert %0 : (tensor<96x128xbf16>) -> tensor<96x128xf32>
  %2 = stablehlo.multiply %1, %scale : tensor<96x128xf32>
  %3 = stablehlo.logistic %2 : tensor<96x128xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<96x128xf32>, tensor<f32>) -> tensor<128xf32>
  %5 = stablehlo.multiply %4, %share : tensor<128xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<128xf32>) -> tensor<96x128xf32>
  %7 = stablehlo.tanh %6 : tensor<96x128xf32>
  %8 = stablehlo.multiply %2, %7 : tensor<96x128xf32>
  return %8 : tensor<96x128xf32>
}
