// RUN: cresset-opt %s | FileCheck %s --check-prefix=KEEP
// RUN: cresset-opt --decompose-composites %s | FileCheck %s --check-prefix=ALL
// RUN: cresset-opt --decompose-composites=filter=acme.outer %s | FileCheck %s --check-prefix=OUTER
// RUN: cresset-opt --decompose-composites="filter=acme.*{beta=2,dtype=f32,rank=1,shape=4,version=1}" %s | FileCheck %s --check-prefix=OUTER
// RUN: cresset-opt --decompose-composites="filter=acme.outer{dtype=bf16}" %s | FileCheck %s --check-prefix=KEEP
// RUN: cresset-opt --decompose-composites="filter=acme.outer{beta=2e+0}" %s | FileCheck %s --check-prefix=OUTER
// RUN: cresset-opt --decompose-composites=filter=all,-acme.outer %s | FileCheck %s --check-prefix=KEEP
// RUN: not cresset-opt --decompose-composites="filter=acme.outer{dtype}" %s 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not cresset-opt --decompose-composites="filter=aten.gelo" %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: cresset-opt --decompose-composites="filter=acme.outr" %s 2>&1 | FileCheck %s --check-prefixes=NEAR,KEEP
// RUN: cresset-opt --decompose-composites="filter=aten.gelu,vendor.other" %s 2>&1 | FileCheck %s --check-prefixes=FINE,KEEP
// RUN: not cresset-opt --decompose-composites="filter=aten.gelu{aproximate=tanh}" %s 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not cresset-opt --decompose-composites="filter=aten.*{epsilon=1}" %s 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: cresset-opt --decompose-composites="filter=acme.outer{gamma=2},aten.layer_norm{eps=1}" %s 2>&1 | FileCheck %s --check-prefixes=FINE,KEEP
// RUN: cresset-opt --composites-to-custom-calls %s | FileCheck %s --check-prefix=CALL

// RUN: cresset-opt --decompose-composites=filter=acme.inner %s | FileCheck %s --check-prefix=INNER

// INNER: stablehlo.composite "acme.outer"
// INNER-NOT: acme.inner
// NONE: error: composite filter 'aten.gelo': there is no such composite; did you mean aten.gelu?
// NEAR: warning: composite filter 'acme.outr': there is no such composite; did you mean acme.outer?
// FINE-NOT: warning
// KEY: error: composite filter 'aten.gelu{aproximate=…}': it has no attribute 'aproximate'; did you mean approximate?
// KEYS: error: composite filter 'aten.*{epsilon=…}': none of these composites has attribute 'epsilon'
// BAD: 'dtype' is no condition; write key=value
// CALL: stablehlo.custom_call @acme.outer(%{{.*}}) {api_version = 4 : i32, backend_config = {beta = 2.000000e+00 : f64}, mhlo.frontend_attributes = {composite_version = "1"}} : (tensor<4xf32>) -> tensor<4xf32>
// CALL-NOT: func.func private

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
