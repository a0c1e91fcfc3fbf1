// Products of groups that are known when they run (aten._grouped_mm): of rows, of columns, of what is summed; empty ones, single rows, rows that no group has;
// all on every kind of instructions.
// RUN: cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles CRESSET_THREADS=2 cresset-run --compare %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %s
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=baseline %s
// RUN: cresset-run --assembly --cpu=amx %s | FileCheck %s

// CHECK: tdpbf16ps

func.func @main(%a0: tensor<64x37xbf16>, %a1: tensor<4x37x48xbf16>, %a2: tensor<8x70xbf16>, %a3: tensor<8x64x70xbf16>, %a4: tensor<8x64xbf16>, %a5: tensor<3xi32>, %a6: tensor<30x70xbf16>, %a7: tensor<3x50x70xbf16>, %a8: tensor<40x50xbf16>, %a9: tensor<3x24x40xbf16>, %a10: tensor<4xi32>, %a11: tensor<4x35x40xbf16>, %a12: tensor<40x33xbf16>, %a13: tensor<3x70x33xbf16>, %a14: tensor<20x70xbf16>, %a15: tensor<100x40xbf16>, %a16: tensor<100x33xbf16>, %a17: tensor<17x40xbf16>, %a18: tensor<20x40xbf16>, %a19: tensor<70x33xbf16>, %a20: tensor<2x33x20xbf16>, %a21: tensor<70x20xbf16>, %a22: tensor<64x37xf32>, %a23: tensor<4x37x48xf32>, %a24: tensor<8x70xf32>, %a25: tensor<8x64x70xf32>, %a26: tensor<8x64xf32>, %a27: tensor<3xi32>, %a28: tensor<30x70xf32>, %a29: tensor<3x50x70xf32>, %a30: tensor<40x50xf32>, %a31: tensor<3x24x40xf32>, %a32: tensor<4xi32>, %a33: tensor<4x35x40xf32>, %a34: tensor<40x33xf32>, %a35: tensor<3x70x33xf32>, %a36: tensor<20x70xf32>, %a37: tensor<100x40xf32>, %a38: tensor<100x33xf32>, %a39: tensor<17x40xf32>, %a40: tensor<20x40xf32>) -> (tensor<64x48xbf16>, tensor<8x64xbf16>, tensor<30x50xbf16>, tensor<50x24xbf16>, tensor<35x33xbf16>, tensor<33x20xbf16>, tensor<4x40x33xbf16>, tensor<2x17x20xbf16>, tensor<70x20xbf16>, tensor<64x48xf32>, tensor<8x64xf32>, tensor<30x50xf32>, tensor<50x24xf32>, tensor<35x33xf32>, tensor<33x20xf32>, tensor<4x40x33xf32>, tensor<2x17x20xf32>) {
  %v1 = stablehlo.constant dense<[10, 10, 40, 64]> : tensor<4xi32>
  %v2 = stablehlo.composite "aten._grouped_mm" %a0, %a1, %v1 {decomposition = @rows_bf16_64x37x48_4} : (tensor<64x37xbf16>, tensor<4x37x48xbf16>, tensor<4xi32>) -> tensor<64x48xbf16>
  %v3 = stablehlo.constant dense<[0, 0, 3, 5, 5, 6, 6, 6]> : tensor<8xi32>
  %v4 = stablehlo.transpose %a3, dims = [0, 2, 1] : (tensor<8x64x70xbf16>) -> tensor<8x70x64xbf16>
  %v5 = stablehlo.composite "aten._grouped_mm" %a2, %v4, %v3 {decomposition = @rows_bf16_8x70x64_8} : (tensor<8x70xbf16>, tensor<8x70x64xbf16>, tensor<8xi32>) -> tensor<8x64xbf16>
  %v6 = stablehlo.multiply %v5, %a4 : tensor<8x64xbf16>
  %v7 = stablehlo.logistic %v6 : tensor<8x64xbf16>
  %v8 = stablehlo.constant dense<9> : tensor<3xi32>
  %v9 = stablehlo.multiply %a5, %v8 : tensor<3xi32>
  %v10 = stablehlo.constant dense<0> : tensor<i32>
  %v11 = "stablehlo.reduce_window"(%v9, %v10) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %v12 = stablehlo.constant dense<30> : tensor<3xi32>
  %v13 = stablehlo.minimum %v11, %v12 : tensor<3xi32>
  %v14 = stablehlo.transpose %a7, dims = [0, 2, 1] : (tensor<3x50x70xbf16>) -> tensor<3x70x50xbf16>
  %v15 = stablehlo.composite "aten._grouped_mm" %a6, %v14, %v13 {decomposition = @rows_bf16_30x70x50_3} : (tensor<30x70xbf16>, tensor<3x70x50xbf16>, tensor<3xi32>) -> tensor<30x50xbf16>
  %v16 = stablehlo.constant dense<[3, 3, 41]> : tensor<3xi32>
  %v17 = stablehlo.transpose %a8, dims = [1, 0] : (tensor<40x50xbf16>) -> tensor<50x40xbf16>
  %v18 = stablehlo.transpose %a9, dims = [0, 2, 1] : (tensor<3x24x40xbf16>) -> tensor<3x40x24xbf16>
  %v19 = stablehlo.composite "aten._grouped_mm" %v17, %v18, %v16 {decomposition = @rows_bf16_50x40x24_3} : (tensor<50x40xbf16>, tensor<3x40x24xbf16>, tensor<3xi32>) -> tensor<50x24xbf16>
  %v20 = stablehlo.constant dense<8> : tensor<4xi32>
  %v21 = stablehlo.multiply %a10, %v20 : tensor<4xi32>
  %v22 = stablehlo.constant dense<0> : tensor<i32>
  %v23 = "stablehlo.reduce_window"(%v21, %v22) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %v24 = stablehlo.constant dense<33> : tensor<4xi32>
  %v25 = stablehlo.minimum %v23, %v24 : tensor<4xi32>
  %v26 = stablehlo.composite "aten._grouped_mm" %a11, %a12, %v25 {decomposition = @columns_bf16_35x40x33_4} : (tensor<4x35x40xbf16>, tensor<40x33xbf16>, tensor<4xi32>) -> tensor<35x33xbf16>
  %v27 = stablehlo.constant dense<[1, 2, 20]> : tensor<3xi32>
  %v28 = stablehlo.transpose %a13, dims = [0, 2, 1] : (tensor<3x70x33xbf16>) -> tensor<3x33x70xbf16>
  %v29 = stablehlo.transpose %a14, dims = [1, 0] : (tensor<20x70xbf16>) -> tensor<70x20xbf16>
  %v30 = stablehlo.composite "aten._grouped_mm" %v28, %v29, %v27 {decomposition = @columns_bf16_33x70x20_3} : (tensor<3x33x70xbf16>, tensor<70x20xbf16>, tensor<3xi32>) -> tensor<33x20xbf16>
  %v31 = stablehlo.constant dense<[0, 31, 31, 98]> : tensor<4xi32>
  %v32 = stablehlo.transpose %a15, dims = [1, 0] : (tensor<100x40xbf16>) -> tensor<40x100xbf16>
  %v33 = stablehlo.composite "aten._grouped_mm" %v32, %a16, %v31 {decomposition = @depth_bf16_40x100x33_4} : (tensor<40x100xbf16>, tensor<100x33xbf16>, tensor<4xi32>) -> tensor<4x40x33xbf16>
  %v34 = stablehlo.constant dense<[40, 40]> : tensor<2xi32>
  %v35 = stablehlo.transpose %a18, dims = [1, 0] : (tensor<20x40xbf16>) -> tensor<40x20xbf16>
  %v36 = stablehlo.composite "aten._grouped_mm" %a17, %v35, %v34 {decomposition = @depth_bf16_17x40x20_2} : (tensor<17x40xbf16>, tensor<40x20xbf16>, tensor<2xi32>) -> tensor<2x17x20xbf16>
  %v37 = stablehlo.constant dense<[69, 70]> : tensor<2xi32>
  %v38 = stablehlo.composite "aten._grouped_mm" %a19, %a20, %v37 {decomposition = @rows_bf16_70x33x20_2} : (tensor<70x33xbf16>, tensor<2x33x20xbf16>, tensor<2xi32>) -> tensor<70x20xbf16>
  %v39 = stablehlo.multiply %v38, %a21 : tensor<70x20xbf16>
  %v40 = stablehlo.logistic %v39 : tensor<70x20xbf16>
  %v41 = stablehlo.constant dense<[10, 10, 40, 64]> : tensor<4xi32>
  %v42 = stablehlo.composite "aten._grouped_mm" %a22, %a23, %v41 {decomposition = @rows_f32_64x37x48_4} : (tensor<64x37xf32>, tensor<4x37x48xf32>, tensor<4xi32>) -> tensor<64x48xf32>
  %v43 = stablehlo.constant dense<[0, 0, 3, 5, 5, 6, 6, 6]> : tensor<8xi32>
  %v44 = stablehlo.transpose %a25, dims = [0, 2, 1] : (tensor<8x64x70xf32>) -> tensor<8x70x64xf32>
  %v45 = stablehlo.composite "aten._grouped_mm" %a24, %v44, %v43 {decomposition = @rows_f32_8x70x64_8} : (tensor<8x70xf32>, tensor<8x70x64xf32>, tensor<8xi32>) -> tensor<8x64xf32>
  %v46 = stablehlo.multiply %v45, %a26 : tensor<8x64xf32>
  %v47 = stablehlo.logistic %v46 : tensor<8x64xf32>
  %v48 = stablehlo.constant dense<9> : tensor<3xi32>
  %v49 = stablehlo.multiply %a27, %v48 : tensor<3xi32>
  %v50 = stablehlo.constant dense<0> : tensor<i32>
  %v51 = "stablehlo.reduce_window"(%v49, %v50) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %v52 = stablehlo.constant dense<30> : tensor<3xi32>
  %v53 = stablehlo.minimum %v51, %v52 : tensor<3xi32>
  %v54 = stablehlo.transpose %a29, dims = [0, 2, 1] : (tensor<3x50x70xf32>) -> tensor<3x70x50xf32>
  %v55 = stablehlo.composite "aten._grouped_mm" %a28, %v54, %v53 {decomposition = @rows_f32_30x70x50_3} : (tensor<30x70xf32>, tensor<3x70x50xf32>, tensor<3xi32>) -> tensor<30x50xf32>
  %v56 = stablehlo.constant dense<[3, 3, 41]> : tensor<3xi32>
  %v57 = stablehlo.transpose %a30, dims = [1, 0] : (tensor<40x50xf32>) -> tensor<50x40xf32>
  %v58 = stablehlo.transpose %a31, dims = [0, 2, 1] : (tensor<3x24x40xf32>) -> tensor<3x40x24xf32>
  %v59 = stablehlo.composite "aten._grouped_mm" %v57, %v58, %v56 {decomposition = @rows_f32_50x40x24_3} : (tensor<50x40xf32>, tensor<3x40x24xf32>, tensor<3xi32>) -> tensor<50x24xf32>
  %v60 = stablehlo.constant dense<8> : tensor<4xi32>
  %v61 = stablehlo.multiply %a32, %v60 : tensor<4xi32>
  %v62 = stablehlo.constant dense<0> : tensor<i32>
  %v63 = "stablehlo.reduce_window"(%v61, %v62) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %v64 = stablehlo.constant dense<33> : tensor<4xi32>
  %v65 = stablehlo.minimum %v63, %v64 : tensor<4xi32>
  %v66 = stablehlo.composite "aten._grouped_mm" %a33, %a34, %v65 {decomposition = @columns_f32_35x40x33_4} : (tensor<4x35x40xf32>, tensor<40x33xf32>, tensor<4xi32>) -> tensor<35x33xf32>
  %v67 = stablehlo.constant dense<[1, 2, 20]> : tensor<3xi32>
  %v68 = stablehlo.transpose %a35, dims = [0, 2, 1] : (tensor<3x70x33xf32>) -> tensor<3x33x70xf32>
  %v69 = stablehlo.transpose %a36, dims = [1, 0] : (tensor<20x70xf32>) -> tensor<70x20xf32>
  %v70 = stablehlo.composite "aten._grouped_mm" %v68, %v69, %v67 {decomposition = @columns_f32_33x70x20_3} : (tensor<3x33x70xf32>, tensor<70x20xf32>, tensor<3xi32>) -> tensor<33x20xf32>
  %v71 = stablehlo.constant dense<[0, 31, 31, 98]> : tensor<4xi32>
  %v72 = stablehlo.transpose %a37, dims = [1, 0] : (tensor<100x40xf32>) -> tensor<40x100xf32>
  %v73 = stablehlo.composite "aten._grouped_mm" %v72, %a38, %v71 {decomposition = @depth_f32_40x100x33_4} : (tensor<40x100xf32>, tensor<100x33xf32>, tensor<4xi32>) -> tensor<4x40x33xf32>
  %v74 = stablehlo.constant dense<[40, 40]> : tensor<2xi32>
  %v75 = stablehlo.transpose %a40, dims = [1, 0] : (tensor<20x40xf32>) -> tensor<40x20xf32>
  %v76 = stablehlo.composite "aten._grouped_mm" %a39, %v75, %v74 {decomposition = @depth_f32_17x40x20_2} : (tensor<17x40xf32>, tensor<40x20xf32>, tensor<2xi32>) -> tensor<2x17x20xf32>
  return %v2, %v7, %v15, %v19, %v26, %v30, %v33, %v36, %v40, %v42, %v47, %v55, %v59, %v66, %v70, %v73, %v76 : tensor<64x48xbf16>, tensor<8x64xbf16>, tensor<30x50xbf16>, tensor<50x24xbf16>, tensor<35x33xbf16>, tensor<33x20xbf16>, tensor<4x40x33xbf16>, tensor<2x17x20xbf16>, tensor<70x20xbf16>, tensor<64x48xf32>, tensor<8x64xf32>, tensor<30x50xf32>, tensor<50x24xf32>, tensor<35x33xf32>, tensor<33x20xf32>, tensor<4x40x33xf32>, tensor<2x17x20xf32>
}
func.func private @rows_bf16_64x37x48_4(%a: tensor<64x37xbf16>, %b: tensor<4x37x48xbf16>, %e: tensor<4xi32>) -> tensor<64x48xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x64xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x64xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x64xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %member = stablehlo.and %after, %before : tensor<4x64xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<64x37xbf16>, tensor<4x37x48xbf16>) -> tensor<64x4x48xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<64x4x48xf32>) -> tensor<4x64x48xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<4x64xi1>) -> tensor<4x64x48xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x64x48xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<4x64x48xi1>, tensor<4x64x48xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %r = stablehlo.convert %sum : (tensor<64x48xf32>) -> tensor<64x48xbf16>
  return %r : tensor<64x48xbf16>
}
func.func private @rows_bf16_8x70x64_8(%a: tensor<8x70xbf16>, %b: tensor<8x70x64xbf16>, %e: tensor<8xi32>) -> tensor<8x64xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<8xi32>) -> tensor<8x8xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<8xi32>) -> tensor<8x8xi32>
  %at = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %member = stablehlo.and %after, %before : tensor<8x8xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x70xbf16>, tensor<8x70x64xbf16>) -> tensor<8x8x64xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<8x8x64xf32>) -> tensor<8x8x64xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<8x8xi1>) -> tensor<8x8x64xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x8x64xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<8x8x64xi1>, tensor<8x8x64xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %r = stablehlo.convert %sum : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  return %r : tensor<8x64xbf16>
}
func.func private @rows_bf16_30x70x50_3(%a: tensor<30x70xbf16>, %b: tensor<3x70x50xbf16>, %e: tensor<3xi32>) -> tensor<30x50xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x30xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x30xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x30xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x30xi32>, tensor<3x30xi32>) -> tensor<3x30xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x30xi32>, tensor<3x30xi32>) -> tensor<3x30xi1>
  %member = stablehlo.and %after, %before : tensor<3x30xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<30x70xbf16>, tensor<3x70x50xbf16>) -> tensor<30x3x50xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<30x3x50xf32>) -> tensor<3x30x50xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<3x30xi1>) -> tensor<3x30x50xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x30x50xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x30x50xi1>, tensor<3x30x50xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x30x50xf32>, tensor<f32>) -> tensor<30x50xf32>
  %r = stablehlo.convert %sum : (tensor<30x50xf32>) -> tensor<30x50xbf16>
  return %r : tensor<30x50xbf16>
}
func.func private @rows_bf16_50x40x24_3(%a: tensor<50x40xbf16>, %b: tensor<3x40x24xbf16>, %e: tensor<3xi32>) -> tensor<50x24xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x50xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x50xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x50xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x50xi32>, tensor<3x50xi32>) -> tensor<3x50xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x50xi32>, tensor<3x50xi32>) -> tensor<3x50xi1>
  %member = stablehlo.and %after, %before : tensor<3x50xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<50x40xbf16>, tensor<3x40x24xbf16>) -> tensor<50x3x24xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<50x3x24xf32>) -> tensor<3x50x24xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<3x50xi1>) -> tensor<3x50x24xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x50x24xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x50x24xi1>, tensor<3x50x24xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x50x24xf32>, tensor<f32>) -> tensor<50x24xf32>
  %r = stablehlo.convert %sum : (tensor<50x24xf32>) -> tensor<50x24xbf16>
  return %r : tensor<50x24xbf16>
}
func.func private @columns_bf16_35x40x33_4(%a: tensor<4x35x40xbf16>, %b: tensor<40x33xbf16>, %e: tensor<4xi32>) -> tensor<35x33xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x33xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x33xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x33xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x33xi32>, tensor<4x33xi32>) -> tensor<4x33xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x33xi32>, tensor<4x33xi32>) -> tensor<4x33xi1>
  %member = stablehlo.and %after, %before : tensor<4x33xi1>
  %all = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<4x35x40xbf16>, tensor<40x33xbf16>) -> tensor<4x35x33xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<4x33xi1>) -> tensor<4x35x33xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x35x33xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<4x35x33xi1>, tensor<4x35x33xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x35x33xf32>, tensor<f32>) -> tensor<35x33xf32>
  %r = stablehlo.convert %sum : (tensor<35x33xf32>) -> tensor<35x33xbf16>
  return %r : tensor<35x33xbf16>
}
func.func private @columns_bf16_33x70x20_3(%a: tensor<3x33x70xbf16>, %b: tensor<70x20xbf16>, %e: tensor<3xi32>) -> tensor<33x20xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x20xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x20xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x20xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi1>
  %member = stablehlo.and %after, %before : tensor<3x20xi1>
  %all = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<3x33x70xbf16>, tensor<70x20xbf16>) -> tensor<3x33x20xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<3x20xi1>) -> tensor<3x33x20xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x33x20xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x33x20xi1>, tensor<3x33x20xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x33x20xf32>, tensor<f32>) -> tensor<33x20xf32>
  %r = stablehlo.convert %sum : (tensor<33x20xf32>) -> tensor<33x20xbf16>
  return %r : tensor<33x20xbf16>
}
func.func private @depth_bf16_40x100x33_4(%a: tensor<40x100xbf16>, %b: tensor<100x33xbf16>, %e: tensor<4xi32>) -> tensor<4x40x33xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x100xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x100xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x100xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x100xi32>, tensor<4x100xi32>) -> tensor<4x100xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x100xi32>, tensor<4x100xi32>) -> tensor<4x100xi1>
  %member = stablehlo.and %after, %before : tensor<4x100xi1>
  %noneof = stablehlo.constant dense<0.0> : tensor<bf16>
  %ag = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<40x100xbf16>) -> tensor<4x40x100xbf16>
  %am = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<4x100xi1>) -> tensor<4x40x100xi1>
  %az = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<bf16>) -> tensor<4x40x100xbf16>
  %as = stablehlo.select %am, %ag, %az : tensor<4x40x100xi1>, tensor<4x40x100xbf16>
  %bg = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<100x33xbf16>) -> tensor<4x100x33xbf16>
  %bm = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<4x100xi1>) -> tensor<4x100x33xi1>
  %bz = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<bf16>) -> tensor<4x100x33xbf16>
  %bs = stablehlo.select %bm, %bg, %bz : tensor<4x100x33xi1>, tensor<4x100x33xbf16>
  %r = stablehlo.dot_general %as, %bs, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x40x100xbf16>, tensor<4x100x33xbf16>) -> tensor<4x40x33xbf16>
  return %r : tensor<4x40x33xbf16>
}
func.func private @depth_bf16_17x40x20_2(%a: tensor<17x40xbf16>, %b: tensor<40x20xbf16>, %e: tensor<2xi32>) -> tensor<2x17x20xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<2xi32>) -> tensor<2x40xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<2xi32>) -> tensor<2x40xi32>
  %at = stablehlo.iota dim = 1 : tensor<2x40xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<2x40xi32>, tensor<2x40xi32>) -> tensor<2x40xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<2x40xi32>, tensor<2x40xi32>) -> tensor<2x40xi1>
  %member = stablehlo.and %after, %before : tensor<2x40xi1>
  %noneof = stablehlo.constant dense<0.0> : tensor<bf16>
  %ag = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<17x40xbf16>) -> tensor<2x17x40xbf16>
  %am = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<2x40xi1>) -> tensor<2x17x40xi1>
  %az = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<bf16>) -> tensor<2x17x40xbf16>
  %as = stablehlo.select %am, %ag, %az : tensor<2x17x40xi1>, tensor<2x17x40xbf16>
  %bg = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<40x20xbf16>) -> tensor<2x40x20xbf16>
  %bm = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<2x40xi1>) -> tensor<2x40x20xi1>
  %bz = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<bf16>) -> tensor<2x40x20xbf16>
  %bs = stablehlo.select %bm, %bg, %bz : tensor<2x40x20xi1>, tensor<2x40x20xbf16>
  %r = stablehlo.dot_general %as, %bs, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x17x40xbf16>, tensor<2x40x20xbf16>) -> tensor<2x17x20xbf16>
  return %r : tensor<2x17x20xbf16>
}
func.func private @rows_bf16_70x33x20_2(%a: tensor<70x33xbf16>, %b: tensor<2x33x20xbf16>, %e: tensor<2xi32>) -> tensor<70x20xbf16> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<2xi32>) -> tensor<2x70xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<2xi32>) -> tensor<2x70xi32>
  %at = stablehlo.iota dim = 1 : tensor<2x70xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<2x70xi32>, tensor<2x70xi32>) -> tensor<2x70xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<2x70xi32>, tensor<2x70xi32>) -> tensor<2x70xi1>
  %member = stablehlo.and %after, %before : tensor<2x70xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<70x33xbf16>, tensor<2x33x20xbf16>) -> tensor<70x2x20xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<70x2x20xf32>) -> tensor<2x70x20xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<2x70xi1>) -> tensor<2x70x20xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x70x20xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<2x70x20xi1>, tensor<2x70x20xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x70x20xf32>, tensor<f32>) -> tensor<70x20xf32>
  %r = stablehlo.convert %sum : (tensor<70x20xf32>) -> tensor<70x20xbf16>
  return %r : tensor<70x20xbf16>
}
func.func private @rows_f32_64x37x48_4(%a: tensor<64x37xf32>, %b: tensor<4x37x48xf32>, %e: tensor<4xi32>) -> tensor<64x48xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x64xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x64xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x64xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %member = stablehlo.and %after, %before : tensor<4x64xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<64x37xf32>, tensor<4x37x48xf32>) -> tensor<64x4x48xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<64x4x48xf32>) -> tensor<4x64x48xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<4x64xi1>) -> tensor<4x64x48xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x64x48xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<4x64x48xi1>, tensor<4x64x48xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %r = stablehlo.convert %sum : tensor<64x48xf32>
  return %r : tensor<64x48xf32>
}
func.func private @rows_f32_8x70x64_8(%a: tensor<8x70xf32>, %b: tensor<8x70x64xf32>, %e: tensor<8xi32>) -> tensor<8x64xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<8xi32>) -> tensor<8x8xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<8xi32>) -> tensor<8x8xi32>
  %at = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %member = stablehlo.and %after, %before : tensor<8x8xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x70xf32>, tensor<8x70x64xf32>) -> tensor<8x8x64xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<8x8x64xf32>) -> tensor<8x8x64xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<8x8xi1>) -> tensor<8x8x64xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x8x64xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<8x8x64xi1>, tensor<8x8x64xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %r = stablehlo.convert %sum : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
func.func private @rows_f32_30x70x50_3(%a: tensor<30x70xf32>, %b: tensor<3x70x50xf32>, %e: tensor<3xi32>) -> tensor<30x50xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x30xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x30xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x30xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x30xi32>, tensor<3x30xi32>) -> tensor<3x30xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x30xi32>, tensor<3x30xi32>) -> tensor<3x30xi1>
  %member = stablehlo.and %after, %before : tensor<3x30xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<30x70xf32>, tensor<3x70x50xf32>) -> tensor<30x3x50xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<30x3x50xf32>) -> tensor<3x30x50xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<3x30xi1>) -> tensor<3x30x50xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x30x50xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x30x50xi1>, tensor<3x30x50xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x30x50xf32>, tensor<f32>) -> tensor<30x50xf32>
  %r = stablehlo.convert %sum : tensor<30x50xf32>
  return %r : tensor<30x50xf32>
}
func.func private @rows_f32_50x40x24_3(%a: tensor<50x40xf32>, %b: tensor<3x40x24xf32>, %e: tensor<3xi32>) -> tensor<50x24xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x50xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x50xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x50xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x50xi32>, tensor<3x50xi32>) -> tensor<3x50xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x50xi32>, tensor<3x50xi32>) -> tensor<3x50xi1>
  %member = stablehlo.and %after, %before : tensor<3x50xi1>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<50x40xf32>, tensor<3x40x24xf32>) -> tensor<50x3x24xf32>
  %all = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<50x3x24xf32>) -> tensor<3x50x24xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<3x50xi1>) -> tensor<3x50x24xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x50x24xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x50x24xi1>, tensor<3x50x24xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x50x24xf32>, tensor<f32>) -> tensor<50x24xf32>
  %r = stablehlo.convert %sum : tensor<50x24xf32>
  return %r : tensor<50x24xf32>
}
func.func private @columns_f32_35x40x33_4(%a: tensor<4x35x40xf32>, %b: tensor<40x33xf32>, %e: tensor<4xi32>) -> tensor<35x33xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x33xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x33xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x33xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x33xi32>, tensor<4x33xi32>) -> tensor<4x33xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x33xi32>, tensor<4x33xi32>) -> tensor<4x33xi1>
  %member = stablehlo.and %after, %before : tensor<4x33xi1>
  %all = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<4x35x40xf32>, tensor<40x33xf32>) -> tensor<4x35x33xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<4x33xi1>) -> tensor<4x35x33xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x35x33xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<4x35x33xi1>, tensor<4x35x33xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x35x33xf32>, tensor<f32>) -> tensor<35x33xf32>
  %r = stablehlo.convert %sum : tensor<35x33xf32>
  return %r : tensor<35x33xf32>
}
func.func private @columns_f32_33x70x20_3(%a: tensor<3x33x70xf32>, %b: tensor<70x20xf32>, %e: tensor<3xi32>) -> tensor<33x20xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xi32>) -> tensor<3x20xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<3xi32>) -> tensor<3x20xi32>
  %at = stablehlo.iota dim = 1 : tensor<3x20xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi1>
  %member = stablehlo.and %after, %before : tensor<3x20xi1>
  %all = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<3x33x70xf32>, tensor<70x20xf32>) -> tensor<3x33x20xf32>
  %mask = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<3x20xi1>) -> tensor<3x33x20xi1>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x33x20xf32>
  %own = stablehlo.select %mask, %all, %zeros : tensor<3x33x20xi1>, tensor<3x33x20xf32>
  %sum = stablehlo.reduce(%own init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x33x20xf32>, tensor<f32>) -> tensor<33x20xf32>
  %r = stablehlo.convert %sum : tensor<33x20xf32>
  return %r : tensor<33x20xf32>
}
func.func private @depth_f32_40x100x33_4(%a: tensor<40x100xf32>, %b: tensor<100x33xf32>, %e: tensor<4xi32>) -> tensor<4x40x33xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xi32>) -> tensor<4x100xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<4xi32>) -> tensor<4x100xi32>
  %at = stablehlo.iota dim = 1 : tensor<4x100xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<4x100xi32>, tensor<4x100xi32>) -> tensor<4x100xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<4x100xi32>, tensor<4x100xi32>) -> tensor<4x100xi1>
  %member = stablehlo.and %after, %before : tensor<4x100xi1>
  %noneof = stablehlo.constant dense<0.0> : tensor<f32>
  %ag = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<40x100xf32>) -> tensor<4x40x100xf32>
  %am = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<4x100xi1>) -> tensor<4x40x100xi1>
  %az = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<f32>) -> tensor<4x40x100xf32>
  %as = stablehlo.select %am, %ag, %az : tensor<4x40x100xi1>, tensor<4x40x100xf32>
  %bg = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<100x33xf32>) -> tensor<4x100x33xf32>
  %bm = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<4x100xi1>) -> tensor<4x100x33xi1>
  %bz = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<f32>) -> tensor<4x100x33xf32>
  %bs = stablehlo.select %bm, %bg, %bz : tensor<4x100x33xi1>, tensor<4x100x33xf32>
  %r = stablehlo.dot_general %as, %bs, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x40x100xf32>, tensor<4x100x33xf32>) -> tensor<4x40x33xf32>
  return %r : tensor<4x40x33xf32>
}
func.func private @depth_f32_17x40x20_2(%a: tensor<17x40xf32>, %b: tensor<40x20xf32>, %e: tensor<2xi32>) -> tensor<2x17x20xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shifted = stablehlo.pad %e, %none, low = [1], high = [-1], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %ends = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<2xi32>) -> tensor<2x40xi32>
  %begins = stablehlo.broadcast_in_dim %shifted, dims = [0] : (tensor<2xi32>) -> tensor<2x40xi32>
  %at = stablehlo.iota dim = 1 : tensor<2x40xi32>
  %after = stablehlo.compare GE, %at, %begins : (tensor<2x40xi32>, tensor<2x40xi32>) -> tensor<2x40xi1>
  %before = stablehlo.compare LT, %at, %ends : (tensor<2x40xi32>, tensor<2x40xi32>) -> tensor<2x40xi1>
  %member = stablehlo.and %after, %before : tensor<2x40xi1>
  %noneof = stablehlo.constant dense<0.0> : tensor<f32>
  %ag = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<17x40xf32>) -> tensor<2x17x40xf32>
  %am = stablehlo.broadcast_in_dim %member, dims = [0, 2] : (tensor<2x40xi1>) -> tensor<2x17x40xi1>
  %az = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<f32>) -> tensor<2x17x40xf32>
  %as = stablehlo.select %am, %ag, %az : tensor<2x17x40xi1>, tensor<2x17x40xf32>
  %bg = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<40x20xf32>) -> tensor<2x40x20xf32>
  %bm = stablehlo.broadcast_in_dim %member, dims = [0, 1] : (tensor<2x40xi1>) -> tensor<2x40x20xi1>
  %bz = stablehlo.broadcast_in_dim %noneof, dims = [] : (tensor<f32>) -> tensor<2x40x20xf32>
  %bs = stablehlo.select %bm, %bg, %bz : tensor<2x40x20xi1>, tensor<2x40x20xf32>
  %r = stablehlo.dot_general %as, %bs, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x17x40xf32>, tensor<2x40x20xf32>) -> tensor<2x17x20xf32>
  return %r : tensor<2x17x20xf32>
}
