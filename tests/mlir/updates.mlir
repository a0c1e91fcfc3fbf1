// Slices are written where they lie: over the array, if nobody needs it any more.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/beside.mlir && cresset-run --compare --cpu=avx2 %t/beside.mlir && cresset-run --compare --cpu=baseline %t/beside.mlir
// RUN: cresset-run --assembly %t/beside.mlir | FileCheck %t/beside.mlir
// RUN: cresset-run --compare %t/same.mlir && cresset-run --compare --cpu=avx2 %t/same.mlir && cresset-run --compare --cpu=baseline %t/same.mlir
// RUN: cresset-run --compare %t/across.mlir && cresset-run --compare --cpu=baseline %t/across.mlir
// RUN: cresset-run --compare %t/later.mlir && cresset-run --compare --cpu=baseline %t/later.mlir
// RUN: cresset-run --compare %t/returned.mlir && cresset-run --compare --cpu=baseline %t/returned.mlir
// RUN: cresset-run --compare %t/donated.mlir && cresset-run --compare --cpu=baseline %t/donated.mlir
// RUN: cresset-run --compare %t/planes.mlir && cresset-run --compare --cpu=avx2 %t/planes.mlir && cresset-run --compare --cpu=baseline %t/planes.mlir
// RUN: cresset-run --assembly %t/planes.mlir | FileCheck %t/planes.mlir
// RUN: cresset-opt --simplify %t/pairs.mlir | FileCheck %t/pairs.mlir
// RUN: cresset-run --compare %t/pairs.mlir
// RUN: cresset-opt --simplify %t/number.mlir | FileCheck %t/number.mlir
// RUN: cresset-run --compare %t/number.mlir
// RUN: cresset-run --compare %t/second.mlir && cresset-run --compare --cpu=baseline %t/second.mlir
// RUN: cresset-run --compare %t/scattered.mlir && cresset-run --compare --cpu=baseline %t/scattered.mlir
// RUN: cresset-opt --simplify %t/twice.mlir | FileCheck %t/twice.mlir
// RUN: cresset-run --compare %t/twice.mlir
// RUN: env CRESSET_CACHE_DIR= cresset-run --assembly %t/loop.mlir | FileCheck %t/loop.mlir
// RUN: cresset-run --compare %t/loop.mlir && cresset-run --compare --cpu=baseline %t/loop.mlir

//--- beside.mlir
// What is read is another part, as in circular padding.
// CHECK: # rows -> f32[3x5x20]: cosine
// CHECK: # update f32[3x5x20] f32[3x5x2] {{.*}}-> f32[3x5x20]: slice
// CHECK-NOT: {{^}}# rows
func.func @main(%x: tensor<3x5x20xf32>) -> tensor<3x5x20xf32> {
  %begin = stablehlo.constant dense<0> : tensor<i64>
  %end = stablehlo.constant dense<18> : tensor<i64>
  %0 = stablehlo.cosine %x : tensor<3x5x20xf32>
  %1 = stablehlo.slice %0 [0:3, 0:5, 16:18] : (tensor<3x5x20xf32>) -> tensor<3x5x2xf32>
  %2 = stablehlo.dynamic_update_slice %0, %1, %begin, %begin, %begin : (tensor<3x5x20xf32>, tensor<3x5x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x5x20xf32>
  %3 = stablehlo.slice %2 [0:3, 0:5, 2:4] : (tensor<3x5x20xf32>) -> tensor<3x5x2xf32>
  %4 = stablehlo.dynamic_update_slice %2, %3, %begin, %begin, %end : (tensor<3x5x20xf32>, tensor<3x5x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x5x20xf32>
  return %4 : tensor<3x5x20xf32>
}

//--- same.mlir
// What is read is what is written, and the rest of the sum another part.
func.func @main(%x: tensor<3x8x20xf32>) -> tensor<3x8x20xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %at = stablehlo.constant dense<2> : tensor<i64>
  %0 = stablehlo.cosine %x : tensor<3x8x20xf32>
  %1 = stablehlo.slice %0 [0:3, 2:3, 0:20] : (tensor<3x8x20xf32>) -> tensor<3x1x20xf32>
  %2 = stablehlo.slice %0 [0:3, 1:2, 0:20] : (tensor<3x8x20xf32>) -> tensor<3x1x20xf32>
  %3 = stablehlo.reshape %1 : (tensor<3x1x20xf32>) -> tensor<3x20xf32>
  %4 = stablehlo.reshape %2 : (tensor<3x1x20xf32>) -> tensor<3x20xf32>
  %5 = stablehlo.add %3, %4 : tensor<3x20xf32>
  %6 = stablehlo.reshape %5 : (tensor<3x20xf32>) -> tensor<3x1x20xf32>
  %7 = stablehlo.dynamic_update_slice %0, %6, %zero, %at, %zero : (tensor<3x8x20xf32>, tensor<3x1x20xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x20xf32>
  return %7 : tensor<3x8x20xf32>
}

//--- across.mlir
// Elements are read after their places have been written, unless the array is copied: moved by one, transposed, or of another part that overlaps.
func.func @main(%x: tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0 = stablehlo.cosine %x : tensor<6x6xf32>
  %1 = stablehlo.slice %0 [0:5, 0:6] : (tensor<6x6xf32>) -> tensor<5x6xf32>
  %2 = stablehlo.dynamic_update_slice %0, %1, %one, %zero : (tensor<6x6xf32>, tensor<5x6xf32>, tensor<i64>, tensor<i64>) -> tensor<6x6xf32>
  %3 = stablehlo.sine %x : tensor<6x6xf32>
  %4 = stablehlo.slice %3 [1:6, 1:6] : (tensor<6x6xf32>) -> tensor<5x5xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %6 = stablehlo.dynamic_update_slice %3, %5, %one, %one : (tensor<6x6xf32>, tensor<5x5xf32>, tensor<i64>, tensor<i64>) -> tensor<6x6xf32>
  %7 = stablehlo.negate %x : tensor<6x6xf32>
  %8 = stablehlo.slice %7 [1:6:2, 0:6] : (tensor<6x6xf32>) -> tensor<3x6xf32>
  %9 = stablehlo.dynamic_update_slice %7, %8, %one, %zero : (tensor<6x6xf32>, tensor<3x6xf32>, tensor<i64>, tensor<i64>) -> tensor<6x6xf32>
  return %2, %6, %9 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
}

//--- later.mlir
// The array is read once more after the update, and so is one between two of them.
func.func @main(%x: tensor<6x16xf32>, %y: tensor<1x16xf32>) -> (tensor<6x16xf32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.cosine %x : tensor<6x16xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %two, %zero : (tensor<6x16xf32>, tensor<1x16xf32>, tensor<i64>, tensor<i64>) -> tensor<6x16xf32>
  %2 = stablehlo.dynamic_update_slice %1, %y, %zero, %zero : (tensor<6x16xf32>, tensor<1x16xf32>, tensor<i64>, tensor<i64>) -> tensor<6x16xf32>
  %3 = stablehlo.reduce(%0 init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x16xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.reduce(%1 init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x16xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3, %4 : tensor<6x16xf32>, tensor<f32>, tensor<f32>
}

//--- returned.mlir
func.func @main(%x: tensor<6x16xf32>, %y: tensor<1x16xf32>) -> (tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %0 = stablehlo.cosine %x : tensor<6x16xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %two, %zero : (tensor<6x16xf32>, tensor<1x16xf32>, tensor<i64>, tensor<i64>) -> tensor<6x16xf32>
  %2 = stablehlo.dynamic_update_slice %1, %y, %zero, %zero : (tensor<6x16xf32>, tensor<1x16xf32>, tensor<i64>, tensor<i64>) -> tensor<6x16xf32>
  return %0, %1, %2 : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>
}

//--- donated.mlir
// The array goes to where an input lies that the kernel which makes it still reads, and is updated there.
func.func @main(%x: tensor<6x16xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<1x16xf32>) -> (tensor<6x16xf32>, tensor<16x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.cosine %x : tensor<6x16xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %zero, %zero : (tensor<6x16xf32>, tensor<1x16xf32>, tensor<i64>, tensor<i64>) -> tensor<6x16xf32>
  %2 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x16xf32>) -> tensor<16x6xf32>
  return %1, %2 : tensor<6x16xf32>, tensor<16x6xf32>
}

//--- planes.mlir
// Dimensions that are one run of memory are one row: of seven by seven elements no vector is lost.
// CHECK: # update f32[2x6x7x7] f32[2x3x7x7]
// CHECK: vmovups
// CHECK: # concatenate -> f32[2x8x7x7]: slice, multiply, concatenate
// CHECK: vmulps
// CHECK: # rows -> f32[2x3x7x7]: slice, multiply
// CHECK: vmulps
func.func @main(%x: tensor<2x6x7x7xf32>, %y: tensor<2x3x7x7xf32>) -> (tensor<2x6x7x7xf32>, tensor<2x8x7x7xf32>, tensor<2x3x7x7xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %x, %y, %zero, %two, %zero, %zero : (tensor<2x6x7x7xf32>, tensor<2x3x7x7xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.slice %x [0:2, 1:3, 0:7, 0:7] : (tensor<2x6x7x7xf32>) -> tensor<2x2x7x7xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<2x2x7x7xf32>
  %3 = stablehlo.concatenate %2, %x, dim = 1 : (tensor<2x2x7x7xf32>, tensor<2x6x7x7xf32>) -> tensor<2x8x7x7xf32>
  %4 = stablehlo.slice %x [0:2, 3:6, 0:7, 0:7] : (tensor<2x6x7x7xf32>) -> tensor<2x3x7x7xf32>
  %5 = stablehlo.multiply %4, %y : tensor<2x3x7x7xf32>
  return %0, %3, %5 : tensor<2x6x7x7xf32>, tensor<2x8x7x7xf32>, tensor<2x3x7x7xf32>
}

//--- pairs.mlir
// Every second element, and then the others: they are interleaved, and nothing is left of what was there.
// CHECK: %[[PAIRS:.*]] = stablehlo.concatenate %arg1, %arg2, dim = 2
// CHECK-NEXT: return %[[PAIRS]]
func.func @main(%x: tensor<3x8x2xf32>, %even: tensor<3x8x1xf32>, %odd: tensor<3x8x1xf32>) -> tensor<3x8x2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %x, %even, %zero, %zero, %zero : (tensor<3x8x2xf32>, tensor<3x8x1xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x2xf32>
  %1 = stablehlo.dynamic_update_slice %0, %odd, %zero, %zero, %one : (tensor<3x8x2xf32>, tensor<3x8x1xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x2xf32>
  return %1 : tensor<3x8x2xf32>
}

//--- number.mlir
// Starts are moved to where the slice lies within the array.
// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [1, 1], high = [0, 1], interior = [0, 0]
func.func @main(%x: tensor<4x5xf32>) -> tensor<5x7xf32> {
  %beyond = stablehlo.constant dense<7> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0 = stablehlo.constant dense<1.5> : tensor<5x7xf32>
  %1 = stablehlo.dynamic_update_slice %0, %x, %beyond, %one : (tensor<5x7xf32>, tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}

//--- second.mlir
// One of each few neighbours: of the array, which most of it stays, rows of the slice are written some elements apart.
func.func @main(%x: tensor<3x5x1x7x1xf32>) -> tensor<3x5x2x7x3xf32> {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.constant dense<1.5> : tensor<3x5x2x7x3xf32>
  %1 = stablehlo.dynamic_update_slice %0, %x, %zero, %zero, %one, %zero, %one : (tensor<3x5x2x7x3xf32>, tensor<3x5x1x7x1xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x5x2x7x3xf32>
  return %1 : tensor<3x5x2x7x3xf32>
}

//--- scattered.mlir
// So are scatters: into an array that dies with it, one that is read later, one that the updates are made of, and one that is returned as well.
func.func @main(%x: tensor<6x16xf32>, %i: tensor<3x1xi64>) -> (tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>) {
  %rows = stablehlo.slice %x [0:3, 0:16] : (tensor<6x16xf32>) -> tensor<3x16xf32>
  %dies = stablehlo.cosine %x : tensor<6x16xf32>
  %0 = "stablehlo.scatter"(%dies, %i, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x16xf32>, tensor<3x1xi64>, tensor<3x16xf32>) -> tensor<6x16xf32>
  %later = stablehlo.sine %x : tensor<6x16xf32>
  %1 = "stablehlo.scatter"(%later, %i, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<6x16xf32>, tensor<3x1xi64>, tensor<3x16xf32>) -> tensor<6x16xf32>
  %product = stablehlo.multiply %later, %1 : tensor<6x16xf32>
  %own = stablehlo.tanh %x : tensor<6x16xf32>
  %reversed = stablehlo.reverse %own, dims = [0] : tensor<6x16xf32>
  %part = stablehlo.slice %reversed [0:3, 0:16] : (tensor<6x16xf32>) -> tensor<3x16xf32>
  %2 = "stablehlo.scatter"(%own, %i, %part) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<6x16xf32>, tensor<3x1xi64>, tensor<3x16xf32>) -> tensor<6x16xf32>
  %kept = stablehlo.abs %x : tensor<6x16xf32>
  %3 = "stablehlo.scatter"(%kept, %i, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x16xf32>, tensor<3x1xi64>, tensor<3x16xf32>) -> tensor<6x16xf32>
  return %0, %product, %2, %kept, %3 : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>
}

//--- twice.mlir
// As x[1:4] += 1 does it: added in place, and assigned to where it lies.
// CHECK: %[[U:.*]] = stablehlo.add
// CHECK-NEXT: %[[X:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %[[U]]
// CHECK-NOT: dynamic_update_slice
// CHECK: stablehlo.slice %[[U]] [1:2]
// CHECK: stablehlo.slice %[[X]] [3:5]
func.func @main(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<1xf32>, tensor<2xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %ones = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.slice %x [1:4] : (tensor<9xf32>) -> tensor<3xf32>
  %1 = stablehlo.add %0, %ones : tensor<3xf32>
  %2 = stablehlo.dynamic_update_slice %x, %0, %one : (tensor<9xf32>, tensor<3xf32>, tensor<i64>) -> tensor<9xf32>
  %3 = stablehlo.dynamic_update_slice %2, %1, %one : (tensor<9xf32>, tensor<3xf32>, tensor<i64>) -> tensor<9xf32>
  %4 = stablehlo.slice %3 [1:4] : (tensor<9xf32>) -> tensor<3xf32>
  %5 = stablehlo.dynamic_update_slice %3, %4, %one : (tensor<9xf32>, tensor<3xf32>, tensor<i64>) -> tensor<9xf32>
  %6 = stablehlo.slice %5 [2:3] : (tensor<9xf32>) -> tensor<1xf32>
  %7 = stablehlo.slice %5 [3:5] : (tensor<9xf32>) -> tensor<2xf32>
  return %5, %6, %7 : tensor<9xf32>, tensor<1xf32>, tensor<2xf32>
}

//--- loop.mlir
// Each step reads one row and writes the one before it.
// CHECK-NOT: # rows
// CHECK-COUNT-7: # update {{.*}}: slice, sine
func.func @main(%x0: tensor<9x20xf32>) -> tensor<9x20xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %i1 = stablehlo.constant dense<1> : tensor<i64>
  %s1 = stablehlo.slice %x0 [2:3, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u1 = stablehlo.sine %s1 : tensor<1x20xf32>
  %x1 = stablehlo.dynamic_update_slice %x0, %u1, %i1, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i2 = stablehlo.constant dense<2> : tensor<i64>
  %s2 = stablehlo.slice %x1 [3:4, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u2 = stablehlo.sine %s2 : tensor<1x20xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %u2, %i2, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i3 = stablehlo.constant dense<3> : tensor<i64>
  %s3 = stablehlo.slice %x2 [4:5, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u3 = stablehlo.sine %s3 : tensor<1x20xf32>
  %x3 = stablehlo.dynamic_update_slice %x2, %u3, %i3, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i4 = stablehlo.constant dense<4> : tensor<i64>
  %s4 = stablehlo.slice %x3 [5:6, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u4 = stablehlo.sine %s4 : tensor<1x20xf32>
  %x4 = stablehlo.dynamic_update_slice %x3, %u4, %i4, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i5 = stablehlo.constant dense<5> : tensor<i64>
  %s5 = stablehlo.slice %x4 [6:7, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u5 = stablehlo.sine %s5 : tensor<1x20xf32>
  %x5 = stablehlo.dynamic_update_slice %x4, %u5, %i5, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i6 = stablehlo.constant dense<6> : tensor<i64>
  %s6 = stablehlo.slice %x5 [7:8, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u6 = stablehlo.sine %s6 : tensor<1x20xf32>
  %x6 = stablehlo.dynamic_update_slice %x5, %u6, %i6, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  %i7 = stablehlo.constant dense<7> : tensor<i64>
  %s7 = stablehlo.slice %x6 [8:9, 0:20] : (tensor<9x20xf32>) -> tensor<1x20xf32>
  %u7 = stablehlo.sine %s7 : tensor<1x20xf32>
  %x7 = stablehlo.dynamic_update_slice %x6, %u7, %i7, %zero : (tensor<9x20xf32>, tensor<1x20xf32>, tensor<i64>, tensor<i64>) -> tensor<9x20xf32>
  return %x7 : tensor<9x20xf32>
}
