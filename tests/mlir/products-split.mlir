// f32s multiplied as sums of three bf16s, by tiles that AMX has, or made of other instructions: every orientation, odd ends, several blocks of K, batches, an epilogue; infinities and numbers
// so small that their parts are lost, beside which nothing else may change. Sums of 700 normal products are some 26 large, and a multiply-add rounds them by 26 x sqrt(700) x 2^-24 = 4e-5. Those numbers are multiplied as f32s: sums of 600 normal products are some 24 large, rounded by 24 x sqrt(600) x 2^-24 = 3.5e-5.
// RUN: split-file %s %t
// RUN: env CRESSET_SCRATCH=nan cresset-run --compare --tolerance=4e-5 %t/products.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=4e-5 %t/products.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=4e-5 --cpu=wide %t/products.mlir
// RUN: env CRESSET_BF16_DOT=tiles CRESSET_THREADS=2 cresset-run --compare --tolerance=4e-5 --cpu=baseline %t/products.mlir
// RUN: cresset-run --compare --tolerance=3.5e-5 %t/numbers.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=3.5e-5 %t/numbers.mlir
// RUN: cresset-run --compare --tolerance=3e-4 %t/high.mlir
// RUN: env CRESSET_BF16_DOT=tiles cresset-run --compare --tolerance=3e-4 %t/high.mlir
// RUN: env CRESSET_THREADS=1 cresset-run --assembly --cpu=amx %t/high.mlir | FileCheck %s
// RUN: sed 's/contracting_dims = .1. x .0./&, precision = [HIGH, HIGH]/' %t/numbers.mlir | cresset-run --compare --tolerance=3e-4 -

// Where a precision of 16 bits is asked for, two parts make three products: of numbers that are 2^-17 off, whose sums are some 26 large, for each of four tiles, in steps that pack and in steps that do not.
// CHECK: ldtilecfg
// CHECK-COUNT-24: tdpbf16ps
// CHECK-NOT: tdpbf16ps
// CHECK: tilerelease

//--- high.mlir
func.func @main(%a: tensor<96x704xf32>, %b: tensor<96x704xf32>) -> tensor<96x96xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [HIGH, HIGH] : (tensor<96x704xf32>, tensor<96x704xf32>) -> tensor<96x96xf32>
  return %0 : tensor<96x96xf32>
}

//--- products.mlir
func.func @main(%a0: tensor<101x151xf32>, %at0: tensor<151x101xf32>, %b0: tensor<151x105xf32>, %bt0: tensor<105x151xf32>,
    %a1: tensor<130x140xf32>, %at1: tensor<140x130xf32>, %b1: tensor<140x100xf32>, %bt1: tensor<100x140xf32>,
    %a2: tensor<99x700xf32>, %at2: tensor<700x99xf32>, %b2: tensor<700x97xf32>, %bt2: tensor<97x700xf32>,
    %a3: tensor<98x128xf32>, %at3: tensor<128x98xf32>, %b3: tensor<128x96xf32>, %bt3: tensor<96x128xf32>,
    %x: tensor<3x100x135xf32>, %y: tensor<3x98x135xf32>, %bias: tensor<97xf32>, %h: tensor<100x170xbf16>, %w: tensor<170x100xf32>)
    -> (tensor<101x105xf32>, tensor<101x105xf32>, tensor<101x105xf32>, tensor<101x105xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<3x100x98xf32>, tensor<99x97xf32>, tensor<100x100xf32>) {
  %0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (tensor<101x151xf32>, tensor<151x105xf32>) -> tensor<101x105xf32>
  %1 = stablehlo.dot_general %a0, %bt0, contracting_dims = [1] x [1] : (tensor<101x151xf32>, tensor<105x151xf32>) -> tensor<101x105xf32>
  %2 = stablehlo.dot_general %at0, %b0, contracting_dims = [0] x [0] : (tensor<151x101xf32>, tensor<151x105xf32>) -> tensor<101x105xf32>
  %3 = stablehlo.dot_general %at0, %bt0, contracting_dims = [0] x [1] : (tensor<151x101xf32>, tensor<105x151xf32>) -> tensor<101x105xf32>
  %4 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [0] : (tensor<130x140xf32>, tensor<140x100xf32>) -> tensor<130x100xf32>
  %5 = stablehlo.dot_general %a1, %bt1, contracting_dims = [1] x [1] : (tensor<130x140xf32>, tensor<100x140xf32>) -> tensor<130x100xf32>
  %6 = stablehlo.dot_general %at1, %b1, contracting_dims = [0] x [0] : (tensor<140x130xf32>, tensor<140x100xf32>) -> tensor<130x100xf32>
  %7 = stablehlo.dot_general %at1, %bt1, contracting_dims = [0] x [1] : (tensor<140x130xf32>, tensor<100x140xf32>) -> tensor<130x100xf32>
  %8 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<99x700xf32>, tensor<700x97xf32>) -> tensor<99x97xf32>
  %9 = stablehlo.dot_general %a2, %bt2, contracting_dims = [1] x [1] : (tensor<99x700xf32>, tensor<97x700xf32>) -> tensor<99x97xf32>
  %10 = stablehlo.dot_general %at2, %b2, contracting_dims = [0] x [0] : (tensor<700x99xf32>, tensor<700x97xf32>) -> tensor<99x97xf32>
  %11 = stablehlo.dot_general %at2, %bt2, contracting_dims = [0] x [1] : (tensor<700x99xf32>, tensor<97x700xf32>) -> tensor<99x97xf32>
  %12 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<98x128xf32>, tensor<128x96xf32>) -> tensor<98x96xf32>
  %13 = stablehlo.dot_general %a3, %bt3, contracting_dims = [1] x [1] : (tensor<98x128xf32>, tensor<96x128xf32>) -> tensor<98x96xf32>
  %14 = stablehlo.dot_general %at3, %b3, contracting_dims = [0] x [0] : (tensor<128x98xf32>, tensor<128x96xf32>) -> tensor<98x96xf32>
  %15 = stablehlo.dot_general %at3, %bt3, contracting_dims = [0] x [1] : (tensor<128x98xf32>, tensor<96x128xf32>) -> tensor<98x96xf32>
  %16 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x100x135xf32>, tensor<3x98x135xf32>) -> tensor<3x100x98xf32>
  %17 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<97xf32>) -> tensor<99x97xf32>
  %18 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<99x700xf32>, tensor<700x97xf32>) -> tensor<99x97xf32>
  %19 = stablehlo.add %18, %17 : tensor<99x97xf32>
  %20 = stablehlo.tanh %19 : tensor<99x97xf32>
  %21 = stablehlo.convert %h : (tensor<100x170xbf16>) -> tensor<100x170xf32>
  %22 = stablehlo.dot_general %21, %w, contracting_dims = [1] x [0] : (tensor<100x170xf32>, tensor<170x100xf32>) -> tensor<100x100xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %20, %22 : tensor<101x105xf32>, tensor<101x105xf32>, tensor<101x105xf32>, tensor<101x105xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<130x100xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<99x97xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<98x96xf32>, tensor<3x100x98xf32>, tensor<99x97xf32>, tensor<100x100xf32>
}

//--- numbers.mlir
func.func @main(%a: tensor<100x600xf32>, %b: tensor<600x98xf32>) -> (tensor<100x98xf32>, tensor<100x98xf32>, tensor<100x98xf32>, tensor<100x98xf32>) {
  %infinity = stablehlo.constant dense<0x7F800000> : tensor<1x1xf32>
  %5 = stablehlo.constant dense<5> : tensor<i32>
  %550 = stablehlo.constant dense<550> : tensor<i32>
  // One row, one column, and both in the second block of K.
  %1 = stablehlo.dynamic_update_slice %a, %infinity, %5, %5 : (tensor<100x600xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<100x600xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<100x600xf32>, tensor<600x98xf32>) -> tensor<100x98xf32>
  %3 = stablehlo.dynamic_update_slice %b, %infinity, %550, %5 : (tensor<600x98xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<600x98xf32>
  %4 = stablehlo.dot_general %a, %3, contracting_dims = [1] x [0] : (tensor<100x600xf32>, tensor<600x98xf32>) -> tensor<100x98xf32>
  // Numbers of about 2^-116, by some of 2^116: their results are not small.
  %tiny = stablehlo.constant dense<1.0e-35> : tensor<100x600xf32>
  %huge = stablehlo.constant dense<1.0e+35> : tensor<600x98xf32>
  %6 = stablehlo.multiply %a, %tiny : tensor<100x600xf32>
  %7 = stablehlo.multiply %b, %huge : tensor<600x98xf32>
  %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0] : (tensor<100x600xf32>, tensor<600x98xf32>) -> tensor<100x98xf32>
  // The largest finite numbers have parts.
  %large = stablehlo.constant dense<0x7F7FFFFF> : tensor<1x1xf32>
  %9 = stablehlo.dynamic_update_slice %a, %large, %5, %5 : (tensor<100x600xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<100x600xf32>
  %10 = stablehlo.constant dense<1.0e-30> : tensor<600x98xf32>
  %11 = stablehlo.multiply %b, %10 : tensor<600x98xf32>
  %12 = stablehlo.dot_general %9, %11, contracting_dims = [1] x [0] : (tensor<100x600xf32>, tensor<600x98xf32>) -> tensor<100x98xf32>
  return %2, %4, %8, %12 : tensor<100x98xf32>, tensor<100x98xf32>, tensor<100x98xf32>, tensor<100x98xf32>
}
