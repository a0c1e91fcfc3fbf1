// What can't be compiled is an error that says so, before any code is made of it.
// RUN: split-file %s %t
// RUN: not cresset-run %t/eight_bits.mlir 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: not cresset-run %t/four_bits.mlir 2>&1 | FileCheck %s --check-prefix=FOUR
// RUN: not cresset-run %t/converted.mlir 2>&1 | FileCheck %s --check-prefix=CONVERTED
// RUN: not cresset-run %t/no_body.mlir 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: cresset-opt --simplify %t/no_body.mlir | FileCheck %s --check-prefix=CALL
// RUN: not cresset-run %t/wide.mlir 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not cresset-run --interpret %t/huge.mlir 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not cresset-run %t/places.mlir 2>&1 | FileCheck %s --check-prefix=CUSTOM
// RUN: not cresset-run %t/square.mlir 2>&1 | FileCheck %s --check-prefix=CUSTOM

// EIGHT: 'stablehlo.add' op is not supported by the CPU compiler: type 'tensor<4xf8E4M3FN>'
//--- eight_bits.mlir
func.func @main(%x: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = stablehlo.add %x, %x : tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}

// FOUR: 'stablehlo.add' op is not supported by the CPU compiler: type 'tensor<4xi4>'
//--- four_bits.mlir
func.func @main(%x: tensor<4xi4>) -> tensor<4xi4> {
  %0 = stablehlo.add %x, %x : tensor<4xi4>
  return %0 : tensor<4xi4>
}

// CONVERTED: 'stablehlo.convert' op is not supported by the CPU compiler: type 'tensor<4xf8E5M2>'
//--- converted.mlir
func.func @main(%x: tensor<4xf8E5M2>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xf8E5M2>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// BODY: 'func.call' op can't be compiled: the function has no body
// CALL: call @f
//--- no_body.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>

// MAIN: @main must take and return tensors of static shapes, of at most 64 bits an element and 2^58 elements
//--- wide.mlir
func.func @main(%x: tensor<4xi128>) -> tensor<4xi128> {
  return %x : tensor<4xi128>
}

//--- huge.mlir
func.func @main(%x: tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32> {
  return %x : tensor<4294967296x4294967296xf32>
}

// More than there are; a number of another type.
// CUSTOM: 'stablehlo.custom_call' op is not supported by the CPU compiler
//--- places.mlir
func.func @main(%x: tensor<8xf32>) -> (tensor<20xf32>, tensor<20xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 20 : i64, largest = true}} : (tensor<8xf32>) -> (tensor<20xf32>, tensor<20xi32>)
  return %0#0, %0#1 : tensor<20xf32>, tensor<20xi32>
}

//--- square.mlir
func.func @main(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @mhlo.square(%x) : (tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
