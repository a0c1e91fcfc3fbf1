// Scatters along one dimension, side by side in the others: along columns, whose tasks take parts that don't divide them, between dimensions, along rows; and where nothing of the input is overwritten.
// RUN: env CRESSET_SCRATCH=nan cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_GUARD=end CRESSET_THREADS=2 cresset-run --compare %s | FileCheck %s
// RUN: env CRESSET_GUARD=begin CRESSET_ANY_SIZE=1 cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s

// CHECK-COUNT-5: largest error 0{{$}}
func.func @main(%x0: tensor<9x270xi32>, %i0: tensor<12x270xi32>, %u0: tensor<12x270xi32>,
                %x1: tensor<5x70x6xi32>, %i1: tensor<4x70x6xi32>, %u1: tensor<4x70x6xi32>,
                %x2: tensor<6x5x70xi32>, %i2: tensor<6x8x70xi32>, %u2: tensor<6x8x70xi32>,
                %x3: tensor<40x8xi32>, %i3: tensor<40x20xi32>, %u3: tensor<40x20xi32>) -> (
                tensor<9x270xi32>, tensor<5x70x6xi32>, tensor<6x5x70xi32>, tensor<40x8xi32>, tensor<9x270xi32>) {
  %nine = stablehlo.constant dense<9> : tensor<12x270x1xi32>
  %a0 = stablehlo.reshape %i0 : (tensor<12x270xi32>) -> tensor<12x270x1xi32>
  %b0 = stablehlo.remainder %a0, %nine : tensor<12x270x1xi32>
  %c0 = stablehlo.abs %b0 : tensor<12x270x1xi32>
  %y0 = "stablehlo.scatter"(%x0, %c0, %u0) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<9x270xi32>, tensor<12x270x1xi32>, tensor<12x270xi32>) -> tensor<9x270xi32>
  // The last one that is written stays.
  %y4 = "stablehlo.scatter"(%x0, %c0, %u0) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    stablehlo.return %r : tensor<i32>
  }) : (tensor<9x270xi32>, tensor<12x270x1xi32>, tensor<12x270xi32>) -> tensor<9x270xi32>
  // Places that the input doesn't have are left out.
  %six = stablehlo.constant dense<6> : tensor<4x70x6x1xi32>
  %a1 = stablehlo.reshape %i1 : (tensor<4x70x6xi32>) -> tensor<4x70x6x1xi32>
  %c1 = stablehlo.remainder %a1, %six : tensor<4x70x6x1xi32>
  %y1 = "stablehlo.scatter"(%x1, %c1, %u1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1, 2], scatter_indices_batching_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.maximum %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5x70x6xi32>, tensor<4x70x6x1xi32>, tensor<4x70x6xi32>) -> tensor<5x70x6xi32>
  %five = stablehlo.constant dense<5> : tensor<6x8x70x1xi32>
  %a2 = stablehlo.reshape %i2 : (tensor<6x8x70xi32>) -> tensor<6x8x70x1xi32>
  %c2 = stablehlo.remainder %a2, %five : tensor<6x8x70x1xi32>
  %y2 = "stablehlo.scatter"(%x2, %c2, %u2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0, 2], scatter_indices_batching_dims = [0, 2], scatter_dims_to_operand_dims = [1], index_vector_dim = 3>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6x5x70xi32>, tensor<6x8x70x1xi32>, tensor<6x8x70xi32>) -> tensor<6x5x70xi32>
  %eight = stablehlo.constant dense<8> : tensor<40x20x1xi32>
  %a3 = stablehlo.reshape %i3 : (tensor<40x20xi32>) -> tensor<40x20x1xi32>
  %b3 = stablehlo.remainder %a3, %eight : tensor<40x20x1xi32>
  %c3 = stablehlo.abs %b3 : tensor<40x20x1xi32>
  %y3 = "stablehlo.scatter"(%x3, %c3, %u3) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<40x8xi32>, tensor<40x20x1xi32>, tensor<40x20xi32>) -> tensor<40x8xi32>
  return %y0, %y1, %y2, %y3, %y4 : tensor<9x270xi32>, tensor<5x70x6xi32>, tensor<6x5x70xi32>, tensor<40x8xi32>, tensor<9x270xi32>
}
