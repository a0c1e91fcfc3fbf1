// RUN: cresset-opt %s | FileCheck %s --check-prefix=KEEP
// RUN: cresset-opt --decompose-composites %s | FileCheck %s --check-prefix=ALL
// RUN: cresset-opt --decompose-composites=names=acme.outer %s | FileCheck %s --check-prefix=OUTER

// KEEP: stablehlo.composite "acme.outer" %{{.*}} {composite_attributes = {beta = 2.000000e+00 : f64}, decomposition = @outer, version = 1 : i32}
// ALL-NOT: composite
// ALL: func.func @main
// ALL-NEXT: stablehlo.tanh
// ALL-NEXT: stablehlo.negate
// ALL-NEXT: return
// ALL-NOT: func.func private
// OUTER: func.func @main
// OUTER-NEXT: stablehlo.composite "acme.inner"
// OUTER-NEXT: stablehlo.negate
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "acme.outer" %x {composite_attributes = {beta = 2.0 : f64}, decomposition = @outer, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "acme.inner" %x {decomposition = @inner} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
