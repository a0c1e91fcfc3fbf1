// RUN: cresset-opt %s -split-input-file -verify-diagnostics

func.func @transpose(%a: tensor<4x3xf32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{transpose_c2}}
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @dot(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-error@+1 {{dot_general_c10}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @slice(%a: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{slice_c3}}
  %0 = stablehlo.slice %a [0:5] : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @broadcast(%a: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{broadcast_in_dim_c5}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reshape(%a: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{reshape_c2}}
  %0 = stablehlo.reshape %a : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @composite(%a: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{composite_c2}}
  %0 = stablehlo.composite "acme.f" %a {decomposition = @missing} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @triangular_solve(%a: tensor<3x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{triangular_solve_c3: a must be square and as large as the dimension of b that is solved for}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @triangular_solve(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{triangular_solve_i6}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>}> : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @conv_dims(%x: tensor<2x3x8xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x3x6xf32> {
  // expected-error@+1 {{each once}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 0]x[i, o, 0, 0]->[b, f, 0, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xf32>, tensor<3x3x3xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}

// -----

func.func @conv_dims2(%x: tensor<2x3x8xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x3x6xf32> {
  // expected-error@+1 {{each once}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, b, f, 0]x[i, o, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xf32>, tensor<3x3x3xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}

// -----

func.func @conv_noattr(%x: tensor<2x3x8xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x3x6xf32> {
  // expected-error@+1 {{expected two numbers}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {pad = [[0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xf32>, tensor<3x3x3xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}

// -----

func.func @conv_rev(%x: tensor<2x3x8x8xf32>, %w: tensor<3x3x3x3xf32>) -> tensor<2x3x6x6xf32> {
  // expected-error@+1 {{convolution_c2 to convolution_c9}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<2x3x6x6xf32>
  return %0 : tensor<2x3x6x6xf32>
}

// -----

func.func @conv_stride0(%x: tensor<2x3x8xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x3x6xf32> {
  // expected-error@+1 {{convolution_c2 to convolution_c9}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {stride = [0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xf32>, tensor<3x3x3xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}

// -----

func.func @conv_dil0(%x: tensor<2x3x8xf32>, %w: tensor<3x3x1xf32>) -> tensor<2x3x1xf32> {
  // expected-error@+1 {{convolution_c2 to convolution_c9}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {lhs_dilate = [0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xf32>, tensor<3x3x1xf32>) -> tensor<2x3x1xf32>
  return %0 : tensor<2x3x1xf32>
}

// -----

func.func @gather_collapsed(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{gather_c7, gather_c8}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [7], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @gather_batch(%x: tensor<3x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x1xf32> {
  // expected-error@+1 {{gather_c13}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [9], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x1xi32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

func.func @gather_batch2(%x: tensor<3x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x1xf32> {
  // expected-error@+1 {{gather_c16}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x1xi32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

func.func @gather_shape(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<5x7xf32> {
  // expected-error@+1 {{gather_c22}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// -----

func.func @scatter_ivd(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{scatter_c22}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 5>} : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @scatter_map(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{scatter_c19}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @scatter_updates(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<5x9xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{scatter_c4}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<5x9xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @scatter_empty(%x: tensor<8xf32>, %i: tensor<1xi32>) -> tensor<8xf32> {
  // expected-error@+1 {{scatter_c5}}
  "stablehlo.scatter"(%i) ({
    stablehlo.return
  }) {scatter_dimension_numbers = #stablehlo.scatter<index_vector_dim = 0>} : (tensor<1xi32>) -> ()
  return %x : tensor<8xf32>
}

// -----

func.func @sort_empty(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  // expected-error@+1 {{expected 1 or more operands}}
  "stablehlo.sort"() ({
    stablehlo.return %t : tensor<i1>
  }) {dimension = 0 : i64} : () -> ()
  return %x : tensor<8xf32>
}

// -----

func.func @reduce_nonshaped(%x: tensor<8xf32>, %i: i32) -> tensor<f32> {
  // expected-error@+1 {{both tensors}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, i32) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reduce_init_shape(%x: tensor<8xf32>, %i: tensor<0xf32>) -> tensor<f32> {
  // expected-error@+1 {{reduce_c2}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<0xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reduce_body(%x: tensor<8xf32>, %i: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{reduce_c6, reduce_c8}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
     stablehlo.return %a, %b : tensor<f32>, tensor<f32> }
  return %0 : tensor<f32>
}

// -----

func.func @reduce_results(%x: tensor<8xf32>, %i: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error@+1 {{reduce_c3}}
  %0:2 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
     stablehlo.return %a : tensor<f32> }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// -----

func.func @rw_empty(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{reduce_window_c1}}
  "stablehlo.reduce_window"() ({
    stablehlo.return
  }) {window_dimensions = array<i64: 2>} : () -> ()
  return %x : tensor<8xf32>
}

// -----

func.func @rw_stride0(%x: tensor<8xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{reduce_window_c4 to reduce_window_c12}}
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @sas(%x: tensor<8xf32>, %s: tensor<4xf32>, %i: tensor<f32>) -> tensor<8xf32> {
  // expected-error@+1 {{select_and_scatter_c9}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) ({
  ^bb0(%a: tensor<f32>):
    %c = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @if_vec(%x: tensor<3xi1>) -> tensor<f32> {
  // expected-error@+1 {{must be 0D tensor}}
  %0 = "stablehlo.if"(%x) ({ %c = stablehlo.constant dense<1.0> : tensor<f32>
   stablehlo.return %c : tensor<f32> }, { %c = stablehlo.constant dense<2.0> : tensor<f32>
   stablehlo.return %c : tensor<f32> }) : (tensor<3xi1>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @if_results(%x: tensor<i1>) -> tensor<f32> {
  // expected-error@+1 {{if_c1 to if_c3}}
  %0 = "stablehlo.if"(%x) ({ %c = stablehlo.constant dense<1.0> : tensor<4xf32>
   stablehlo.return %c : tensor<4xf32> }, { stablehlo.return }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @case_none(%x: tensor<i32>) -> tensor<f32> {
  // expected-error@+1 {{case_c1}}
  %0 = "stablehlo.case"(%x) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @case_vec(%x: tensor<0xi32>) -> tensor<f32> {
  // expected-error@+1 {{must be 0D tensor}}
  %0 = "stablehlo.case"(%x) ({ %c = stablehlo.constant dense<1.0> : tensor<f32>
   stablehlo.return %c : tensor<f32> }) : (tensor<0xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @while_body(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{while_c2}}
  %0 = stablehlo.while(%a = %x) : tensor<f32> cond { %c = stablehlo.constant dense<false> : tensor<i1>
   stablehlo.return %c : tensor<i1> } do { stablehlo.return }
  return %0 : tensor<f32>
}

// -----

func.func @while_cond(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{while_c1}}
  %0 = stablehlo.while(%a = %x) : tensor<f32> cond { stablehlo.return %a : tensor<f32> } do { stablehlo.return %a : tensor<f32> }
  return %0 : tensor<f32>
}

// -----

func.func @topk(%x: tensor<8xf32>) -> (tensor<20xf32>,tensor<20xi32>) {
  // expected-error@+1 {{needs a k from 0}}
  %v, %i = chlo.top_k(%x, k = 20) : tensor<8xf32> -> (tensor<20xf32>, tensor<20xi32>)
  return %v, %i : tensor<20xf32>,tensor<20xi32>
}

// -----

func.func @topk0(%x: tensor<f32>) -> (tensor<f32>,tensor<i32>) {
  // expected-error@+1 {{needs a k from 0}}
  %v, %i = chlo.top_k(%x, k = 1) : tensor<f32> -> (tensor<f32>, tensor<i32>)
  return %v, %i : tensor<f32>,tensor<i32>
}

// -----

func.func @next_int(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{of floating-point values}}
  %v = chlo.next_after %x, %x : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  return %v : tensor<4xi32>
}

// -----

func.func @squarei(%x: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{requires the same type}}
  %v = chlo.square %x : tensor<4xi32> -> tensor<4xf32>
  return %v : tensor<4xf32>
}

// -----

func.func @f128(%x: tensor<4xf128>) -> tensor<4xf128> {
  // expected-error@+1 {{at most 64 bits an element}}
  %0 = stablehlo.add %x, %x : tensor<4xf128>
  return %0 : tensor<4xf128>
}

// -----

func.func @i128(%x: tensor<4xi128>) -> tensor<4xi128> {
  // expected-error@+1 {{at most 64 bits an element}}
  %0 = stablehlo.add %x, %x : tensor<4xi128>
  return %0 : tensor<4xi128>
}

// -----

func.func @huge(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{at most 2^58 elements}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4294967296x4294967296xf32>
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<4294967296x4294967296xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @dot_unique(%a: tensor<3x3xf32>, %b: tensor<3x3xf32>) -> tensor<f32> {
  // expected-error@+1 {{dot_general_c3}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 0] x [0, 1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @slice_vector(%a: tensor<4xf32>, %i: tensor<0xi32>) -> tensor<1xf32> {
  // expected-error@+1 {{must be variadic of 0D tensor}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<4xf32>, tensor<0xi32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @gather_map(%x: tensor<8x4xf32>, %i: tensor<3x2xi32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{gather_c18}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<8x4xf32>, tensor<3x2xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @gather_slice(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{gather_c9}}
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4>} : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// The window of an update is wider than the input.
func.func @scatter_window(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x9xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{scatter_c4}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x9xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @scatter_body(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{scatter_c23}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.convert %b : (tensor<f32>) -> tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @sort_body(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{sort_c5}}
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {dimension = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @window_body(%x: tensor<8xf32>, %i: tensor<f32>) -> tensor<7xf32> {
  // expected-error@+1 {{reduce_window_c13}}
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) {window_dimensions = array<i64: 2>} : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @case_results(%x: tensor<i32>) -> tensor<f32> {
  // expected-error@+1 {{case_c2 to case_c4}}
  %0 = "stablehlo.case"(%x) ({
    %c = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}
