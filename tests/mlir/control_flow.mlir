// The regions of loops and branches are programs of their own, and may use what stands outside of them.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/loop.mlir
// RUN: cresset-run --compare %t/in_place.mlir
// RUN: cresset-run --assembly %t/in_place.mlir | FileCheck %s --check-prefix=PLACE
// RUN: cresset-run --compare %t/in_parts.mlir
// RUN: cresset-run --assembly %t/in_parts.mlir | grep '^#' | FileCheck %s --check-prefix=PARTS
// RUN: cresset-run --compare %t/old_value.mlir
// RUN: cresset-run --compare %t/no_round.mlir
// RUN: cresset-run --compare %t/constants.mlir
// RUN: cresset-run --assembly %t/constants.mlir | FileCheck %s --check-prefix=ONCE
// RUN: cresset-run --compare --tolerance=1e-2 %t/weights.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide --tolerance=1e-2 %t/weights.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=1e-2 %t/weights.mlir
// RUN: cresset-run --assembly --cpu=avx2 %t/weights.mlir | FileCheck %s --check-prefix=WEIGHTS
// RUN: cresset-run --compare %t/branches.mlir
// RUN: cresset-run --compare %t/nested.mlir
// RUN: cresset-run --compare %t/complex.mlir

//--- loop.mlir
func.func @main(%x: tensor<7xf32>, %y: tensor<7xf32>) -> (tensor<7xf32>, tensor<i64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %five = stablehlo.constant dense<5> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %start = stablehlo.add %x, %y : tensor<7xf32>
  %sum, %count = stablehlo.while(%a = %start, %i = %zero) : tensor<7xf32>, tensor<i64>
    cond {
      %more = stablehlo.compare LT, %i, %five : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i64>
      %product = stablehlo.multiply %a, %y : tensor<7xf32>
      %b = stablehlo.add %product, %x : tensor<7xf32>
      stablehlo.return %b, %next : tensor<7xf32>, tensor<i64>
    }
  %result = stablehlo.exponential %sum : tensor<7xf32>
  return %result, %count : tensor<7xf32>, tensor<i64>
}

// The rows of a loop are written where they belong; the last one begins where it still fits. Two values change places.
// PLACE: # update f32[5x3x19]
//--- in_place.mlir
func.func @main(%x: tensor<1x3x19xf32>, %y: tensor<1x3x19xf32>, %rows: tensor<5x3x19xf32>) -> (tensor<5x3x19xf32>, tensor<1x3x19xf32>, tensor<1x3x19xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i, %all, %a, %b = stablehlo.while(%i0 = %zero, %all0 = %rows, %a0 = %x, %b0 = %y) : tensor<i32>, tensor<5x3x19xf32>, tensor<1x3x19xf32>, tensor<1x3x19xf32>
    cond {
      %more = stablehlo.compare LT, %i0, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %before = stablehlo.dynamic_slice %all0, %i0, %zero, %zero, sizes = [1, 3, 19] : (tensor<5x3x19xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x19xf32>
      %sum = stablehlo.add %a0, %before : tensor<1x3x19xf32>
      %row = stablehlo.cosine %sum : tensor<1x3x19xf32>
      %all1 = stablehlo.dynamic_update_slice %all0, %row, %i0, %zero, %zero : (tensor<5x3x19xf32>, tensor<1x3x19xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x3x19xf32>
      stablehlo.return %next, %all1, %b0, %a0 : tensor<i32>, tensor<5x3x19xf32>, tensor<1x3x19xf32>, tensor<1x3x19xf32>
    }
  return %all, %a, %b : tensor<5x3x19xf32>, tensor<1x3x19xf32>, tensor<1x3x19xf32>
}

// Two parts of a row are written to one buffer. The second loop is the first one, whose sums nobody needs.
// PARTS: compare
// PARTS-COUNT-1: sine
// PARTS-NOT: sine
// PARTS-COUNT-2: # update f32[3x8]
// PARTS-NOT: update
//--- in_parts.mlir
func.func @main(%x: tensor<1x4xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %i, %a, %rows, %sums = stablehlo.while(%i0 = %zero, %a0 = %x, %rows0 = %none, %sums0 = %none) : tensor<i32>, tensor<1x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>
    cond {
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %a1 = stablehlo.sine %a0 : tensor<1x4xf32>
      %twice = stablehlo.add %a1, %a1 : tensor<1x4xf32>
      %half = stablehlo.dynamic_update_slice %rows0, %a1, %i0, %zero : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      %rows1 = stablehlo.dynamic_update_slice %half, %twice, %i0, %four : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      %sums1 = stablehlo.dynamic_update_slice %sums0, %twice, %i0, %four : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      stablehlo.return %next, %a1, %rows1, %sums1 : tensor<i32>, tensor<1x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>
    }
  %j, %b, %others, %totals = stablehlo.while(%i0 = %zero, %a0 = %x, %rows0 = %none, %sums0 = %none) : tensor<i32>, tensor<1x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>
    cond {
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %a1 = stablehlo.sine %a0 : tensor<1x4xf32>
      %twice = stablehlo.add %a1, %a1 : tensor<1x4xf32>
      %half = stablehlo.dynamic_update_slice %rows0, %a1, %i0, %zero : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      %rows1 = stablehlo.dynamic_update_slice %half, %twice, %i0, %four : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      %sums1 = stablehlo.dynamic_update_slice %sums0, %twice, %i0, %four : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      stablehlo.return %next, %a1, %rows1, %sums1 : tensor<i32>, tensor<1x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>
    }
  %both = stablehlo.multiply %rows, %others : tensor<3x8xf32>
  return %rows, %both : tensor<3x8xf32>, tensor<3x8xf32>
}

// What is overwritten in part is wanted as it was: as a result, and after the new one is read.
//--- old_value.mlir
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<1xf32>
  %i, %new, %old, %sums = stablehlo.while(%i0 = %zero, %new0 = %x, %old0 = %x, %sums0 = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %new1 = stablehlo.dynamic_update_slice %new0, %half, %i0 : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
      %reversed = stablehlo.reverse %new1, dims = [0] : tensor<4xf32>
      %sum = stablehlo.add %reversed, %new0 : tensor<4xf32>
      stablehlo.return %next, %new1, %new0, %sum : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
  return %new, %old, %sums : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//--- no_round.mlir
func.func @main(%x: tensor<7xf32>, %y: tensor<2x3xf32>) -> (tensor<7xf32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a, %b = stablehlo.while(%a0 = %x, %b0 = %y) : tensor<7xf32>, tensor<2x3xf32>
    cond {
      %more = stablehlo.compare LT, %zero, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %a1 = stablehlo.negate %a0 : tensor<7xf32>
      %one = stablehlo.constant dense<1.0> : tensor<1x1xf32>
      %b1 = stablehlo.dynamic_update_slice %b0, %one, %zero, %zero : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
      stablehlo.return %a1, %b1 : tensor<7xf32>, tensor<2x3xf32>
    }
  return %a, %b : tensor<7xf32>, tensor<2x3xf32>
}

// The scaled weights are computed once, before the loop; what a round leaves as it is, is none of the loop's values.
// ONCE: # dot f32[2x8] f32[8x8] -> f32[2x8]
// ONCE-NOT: multiply
// ONCE: # rows -> f32[8x8]: multiply
//--- constants.mlir
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<8x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %i, %a, %weights = stablehlo.while(%i0 = %zero, %a0 = %x, %w0 = %w) : tensor<i32>, tensor<2x8xf32>, tensor<8x8xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i0, %one : tensor<i32>
      %scalar = stablehlo.constant dense<0.5> : tensor<f32>
      %half = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
      %scaled = stablehlo.multiply %w0, %half : tensor<8x8xf32>
      %a1 = stablehlo.dot_general %a0, %scaled, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
      stablehlo.return %next, %a1, %w0 : tensor<i32>, tensor<2x8xf32>, tensor<8x8xf32>
    }
  return %a, %weights : tensor<2x8xf32>, tensor<8x8xf32>
}

// What a round multiplies by is packed in the first one only: the kernels ask how far that is (1: to be packed there, 2: complete). Of what is
// bf16 the last place may differ, 2^-4 here before it is made small.
// WEIGHTS: # dot f32[32x128] f32[160x128]
// WEIGHTS: cmpq $2, %
// WEIGHTS: # dot bf16[32x160] bf16[128x160]
// WEIGHTS: cmpq $2, %
//--- weights.mlir
func.func @main(%x: tensor<32x128xf32>, %w: tensor<160x128xf32>, %v: tensor<128x160xbf16>) -> tensor<32x128xf32> {
  %small = stablehlo.constant dense<0.01> : tensor<32x128xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i, %result = stablehlo.while(%i0 = %zero, %x0 = %x) : tensor<i32>, tensor<32x128xf32>
    cond {
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %y = stablehlo.dot_general %x0, %w, contracting_dims = [1] x [1] : (tensor<32x128xf32>, tensor<160x128xf32>) -> tensor<32x160xf32>
      %t = stablehlo.tanh %y : tensor<32x160xf32>
      %h = stablehlo.convert %t : (tensor<32x160xf32>) -> tensor<32x160xbf16>
      %z = stablehlo.dot_general %h, %v, contracting_dims = [1] x [1] : (tensor<32x160xbf16>, tensor<128x160xbf16>) -> tensor<32x128xbf16>
      %f = stablehlo.convert %z : (tensor<32x128xbf16>) -> tensor<32x128xf32>
      %s = stablehlo.multiply %f, %small : tensor<32x128xf32>
      stablehlo.return %next, %s : tensor<i32>, tensor<32x128xf32>
    }
  return %result : tensor<32x128xf32>
}

//--- branches.mlir
func.func @main(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<f32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<9> : tensor<i32>
  %below = stablehlo.constant dense<-1> : tensor<i32>
  %picked = "stablehlo.case"(%one) ({
    stablehlo.return %x : tensor<3x3xf32>
  }, {
    %product = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    stablehlo.return %product : tensor<3x3xf32>
  }) : (tensor<i32>) -> tensor<3x3xf32>
  %last = "stablehlo.case"(%many) ({
    stablehlo.return %x : tensor<3x3xf32>
  }, {
    stablehlo.return %y : tensor<3x3xf32>
  }) : (tensor<i32>) -> tensor<3x3xf32>
  %also_last = "stablehlo.case"(%below) ({
    stablehlo.return %x : tensor<3x3xf32>
  }, {
    stablehlo.return %y : tensor<3x3xf32>
  }) : (tensor<i32>) -> tensor<3x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.reduce(%x init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<f32>
  %positive = stablehlo.compare GT, %all, %none : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %same, %number = "stablehlo.if"(%positive) ({
    %sum = stablehlo.add %x, %y : tensor<3x3xf32>
    stablehlo.return %sum, %all : tensor<3x3xf32>, tensor<f32>
  }, {
    %opposite = stablehlo.negate %all : tensor<f32>
    stablehlo.return %y, %opposite : tensor<3x3xf32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<3x3xf32>, tensor<f32>)
  return %picked, %last, %also_last, %same, %number : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<f32>
}

// A loop in a loop, with a composite that has a kernel of its own, and a branch.
//--- nested.mlir
func.func @main(%x: tensor<1x2x8x4xf32>) -> (tensor<1x2x8x4xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %a, %i = stablehlo.while(%a0 = %x, %i0 = %zero) : tensor<1x2x8x4xf32>, tensor<i32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i0, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %b, %j = stablehlo.while(%b0 = %a0, %j0 = %zero) : tensor<1x2x8x4xf32>, tensor<i32>
        cond {
          %more = stablehlo.compare LT, %j0, %i0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %further = stablehlo.add %j0, %one : tensor<i32>
          %c = func.call @step(%b0, %x) : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
          stablehlo.return %c, %further : tensor<1x2x8x4xf32>, tensor<i32>
        }
      %is_first = stablehlo.compare EQ, %i0, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %d = "stablehlo.if"(%is_first) ({
        %e = stablehlo.tanh %b : tensor<1x2x8x4xf32>
        stablehlo.return %e : tensor<1x2x8x4xf32>
      }, {
        stablehlo.return %b : tensor<1x2x8x4xf32>
      }) : (tensor<i1>) -> tensor<1x2x8x4xf32>
      stablehlo.return %d, %next : tensor<1x2x8x4xf32>, tensor<i32>
    }
  return %a, %i : tensor<1x2x8x4xf32>, tensor<i32>
}
func.func private @step(%x: tensor<1x2x8x4xf32>, %y: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %z = stablehlo.composite "user.mean" %x, %y {decomposition = @mean} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %z : tensor<1x2x8x4xf32>
}
func.func private @mean(%x: tensor<1x2x8x4xf32>, %y: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<1x2x8x4xf32>
  %sum = stablehlo.add %x, %y : tensor<1x2x8x4xf32>
  %mean = stablehlo.multiply %sum, %half : tensor<1x2x8x4xf32>
  return %mean : tensor<1x2x8x4xf32>
}

// What the compiler does not take within a region is interpreted.
//--- complex.mlir
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %a, %i = stablehlo.while(%a0 = %x, %i0 = %zero) : tensor<3xf32>, tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i0, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i0, %one : tensor<i32>
      %z = "stablehlo.complex"(%a0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
      %b = "stablehlo.abs"(%z) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
      stablehlo.return %b, %next : tensor<3xf32>, tensor<i32>
    }
  return %a : tensor<3xf32>
}
