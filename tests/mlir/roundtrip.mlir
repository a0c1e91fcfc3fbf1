// RUN: cresset-opt %s | cresset-opt | FileCheck %s
// RUN: cresset-opt --mlir-print-op-generic %s | cresset-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %p: tensor<4x3xi1>) -> tensor<4x3xf32> {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4x3xf32>
  %0 = stablehlo.add %a, %b : tensor<4x3xf32>
  // CHECK: stablehlo.compare  LT, %{{.*}}, %{{.*}},  FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %1 = stablehlo.compare LT, %0, %b, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x3xi1>, tensor<4x3xf32>
  %2 = stablehlo.select %1, %0, %b : tensor<4x3xi1>, tensor<4x3xf32>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4x3xf32>) -> tensor<4x3xbf16>
  %3 = stablehlo.convert %2 : (tensor<4x3xf32>) -> tensor<4x3xbf16>
  return %2 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @shape
func.func @shape(%a: tensor<4x3xf32>) -> tensor<6x2xf32> {
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:2, 1:3, 0:4:2] : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  %2 = stablehlo.slice %1 [0:2, 1:3, 0:4:2] : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  // CHECK: stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0]
  %3 = stablehlo.pad %2, %c, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x2x2xf32>, tensor<f32>) -> tensor<2x3x2xf32>
  // CHECK: stablehlo.reshape
  %4 = stablehlo.reshape %3 : (tensor<2x3x2xf32>) -> tensor<6x2xf32>
  // CHECK: stablehlo.iota dim = 1 : tensor<6x2xf32>
  %5 = stablehlo.iota dim = 1 : tensor<6x2xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0
  %6 = stablehlo.concatenate %4, %5, dim = 0 : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<12x2xf32>
  return %4 : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @contract
func.func @contract(%a: tensor<2x4x8xf32>, %b: tensor<2x8x5xf32>, %x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x5xf32> {
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = {{\[\[}}1, 1], [1, 1]]}
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<2x4x5xf32>
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%a: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<4xf32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [0]
  // CHECK: reducer(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>)
  %1 = stablehlo.reduce(%a init: %c) across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %m = stablehlo.maximum %x, %y : tensor<f32>
    %n = stablehlo.add %m, %y : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @gather
func.func @gather(%a: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  // CHECK: #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @control
func.func @control(%n: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: stablehlo.while(%{{.*}} = %{{.*}}) : tensor<i32>
  // CHECK: cond
  // CHECK: do
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
   cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %0 : tensor<i32>
}

// The body works in a wider type than the init value, of which `applies` would make it.
// CHECK-LABEL: func.func @promoted
func.func @promoted(%x: tensor<8xbf16>, %i: tensor<bf16>) -> tensor<f32> {
  // CHECK: reducer(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>)
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<8xbf16>, tensor<bf16>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @aliases
func.func @aliases(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
  // CHECK: output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
}
