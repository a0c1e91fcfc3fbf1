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
