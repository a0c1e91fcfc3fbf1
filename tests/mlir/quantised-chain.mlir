// Convolutions of what is quantised to bytes: channels become the last dimension, padding is the input's zero, and transposes sink until they meet: none is left between two convolutions, at a sum
// with what went past one, in front of a pool. Quantised results are written where they are summed up, not where they are padded.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// RUN: cresset-run --assembly %s | FileCheck %s --check-prefix=KERNELS
// RUN: cresset-run --assembly --cpu=avx512 %s | FileCheck %s --check-prefix=FOURS
// CHECK: largest error
// CHECK-NOT: too large
// RULE-LABEL: func.func @main
// RULE: stablehlo.pad {{.*}} -> tensor<2x16x15x15xui8>
// RULE: transpose {{.*}} dims = [0, 2, 3, 1] : (tensor<2x16x15x15xui8>) -> tensor<2x15x15x16xui8>
// RULE: transpose %arg1
// RULE: convolution{{.*}}[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]{{.*}} -> tensor<2x13x13x32xi32>
// RULE: transpose %arg4
// RULE-NOT: transpose
// RULE: convolution{{.*}}[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]{{.*}} -> tensor<2x13x13x32xi32>
// RULE-NOT: transpose
// RULE: slice {{.*}} -> tensor<2x6x6x32xf32>
// RULE: transpose {{.*}} dims = [0, 3, 1, 2]
// KERNELS: # convolution {{.*}} -> ui8[2x13x13x32]: {{.*}}round_nearest_even
// KERNELS: # convolution {{.*}} -> ui8[2x13x13x32]: {{.*}}round_nearest_even
// FOURS: # convolution
// FOURS: vpdpbusd
// FOURS: # convolution
// FOURS: vpdpbusd
func.func @main(%x: tensor<2x16x13x13xui8>, %w: tensor<32x16x3x3xi8>, %s: tensor<32x1x1x1xf32>, %b: tensor<32xf32>, %v: tensor<32x32x3x3xi8>) -> (tensor<2x32x6x6xf32>) {
  // x: 0 is 7. A scale for each feature.
  %v1 = stablehlo.convert %x : (tensor<2x16x13x13xui8>) -> tensor<2x16x13x13xf32>
  %v2 = stablehlo.constant dense<7.0> : tensor<2x16x13x13xf32>
  %v3 = stablehlo.subtract %v1, %v2 : tensor<2x16x13x13xf32>
  %v4 = stablehlo.constant dense<0.02> : tensor<2x16x13x13xf32>
  %v5 = stablehlo.multiply %v3, %v4 : tensor<2x16x13x13xf32>
  %v6 = stablehlo.convert %w : (tensor<32x16x3x3xi8>) -> tensor<32x16x3x3xf32>
  %v7 = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2, 3] : (tensor<32x1x1x1xf32>) -> tensor<32x16x3x3xf32>
  %v8 = stablehlo.multiply %v6, %v7 : tensor<32x16x3x3xf32>
  %v9 = stablehlo.convolution(%v5, %v8) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x13x13xf32>, tensor<32x16x3x3xf32>) -> tensor<2x32x13x13xf32>
  %v10 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<2x32x13x13xf32>
  %v11 = stablehlo.add %v9, %v10 : tensor<2x32x13x13xf32>
  %v12 = stablehlo.constant dense<0.0> : tensor<2x32x13x13xf32>
  %v13 = stablehlo.maximum %v11, %v12 : tensor<2x32x13x13xf32>
  %v14 = stablehlo.constant dense<0.05> : tensor<2x32x13x13xf32>
  %v15 = stablehlo.multiply %v13, %v14 : tensor<2x32x13x13xf32>
  %v16 = stablehlo.round_nearest_even %v15 : tensor<2x32x13x13xf32>
  %v17 = stablehlo.constant dense<0.0> : tensor<2x32x13x13xf32>
  %v18 = stablehlo.maximum %v16, %v17 : tensor<2x32x13x13xf32>
  %v19 = stablehlo.constant dense<255.0> : tensor<2x32x13x13xf32>
  %v20 = stablehlo.minimum %v18, %v19 : tensor<2x32x13x13xf32>
  %v21 = stablehlo.convert %v20 : (tensor<2x32x13x13xf32>) -> tensor<2x32x13x13xi64>
  %v22 = stablehlo.convert %v21 : (tensor<2x32x13x13xi64>) -> tensor<2x32x13x13xui8>
  %v23 = stablehlo.convert %v22 : (tensor<2x32x13x13xui8>) -> tensor<2x32x13x13xf32>
  %v24 = stablehlo.constant dense<0.05> : tensor<2x32x13x13xf32>
  %v25 = stablehlo.multiply %v23, %v24 : tensor<2x32x13x13xf32>
  %v26 = stablehlo.convert %v : (tensor<32x32x3x3xi8>) -> tensor<32x32x3x3xf32>
  %v27 = stablehlo.constant dense<0.01> : tensor<32x32x3x3xf32>
  %v28 = stablehlo.multiply %v26, %v27 : tensor<32x32x3x3xf32>
  %v29 = stablehlo.convolution(%v25, %v28) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x32x13x13xf32>, tensor<32x32x3x3xf32>) -> tensor<2x32x13x13xf32>
  // and what went past the second one
  %v30 = stablehlo.add %v29, %v25 : tensor<2x32x13x13xf32>
  %v31 = stablehlo.constant dense<1.0> : tensor<2x32x13x13xf32>
  %v32 = stablehlo.multiply %v30, %v31 : tensor<2x32x13x13xf32>
  %v33 = stablehlo.round_nearest_even %v32 : tensor<2x32x13x13xf32>
  %v34 = stablehlo.constant dense<3.0> : tensor<2x32x13x13xf32>
  %v35 = stablehlo.add %v33, %v34 : tensor<2x32x13x13xf32>
  %v36 = stablehlo.constant dense<0.0> : tensor<2x32x13x13xf32>
  %v37 = stablehlo.maximum %v35, %v36 : tensor<2x32x13x13xf32>
  %v38 = stablehlo.constant dense<255.0> : tensor<2x32x13x13xf32>
  %v39 = stablehlo.minimum %v37, %v38 : tensor<2x32x13x13xf32>
  %v40 = stablehlo.convert %v39 : (tensor<2x32x13x13xf32>) -> tensor<2x32x13x13xi64>
  %v41 = stablehlo.convert %v40 : (tensor<2x32x13x13xi64>) -> tensor<2x32x13x13xui8>
  %v42 = stablehlo.convert %v41 : (tensor<2x32x13x13xui8>) -> tensor<2x32x13x13xf32>
  %v43 = stablehlo.constant dense<3.0> : tensor<2x32x13x13xf32>
  %v44 = stablehlo.subtract %v42, %v43 : tensor<2x32x13x13xf32>
  %v45 = stablehlo.constant dense<1.0> : tensor<2x32x13x13xf32>
  %v46 = stablehlo.multiply %v44, %v45 : tensor<2x32x13x13xf32>
  // the largest of each four
  %v47 = stablehlo.slice %v46 [0:2, 0:32, 0:11:2, 0:11:2] : (tensor<2x32x13x13xf32>) -> tensor<2x32x6x6xf32>
  %v48 = stablehlo.slice %v46 [0:2, 0:32, 0:11:2, 1:12:2] : (tensor<2x32x13x13xf32>) -> tensor<2x32x6x6xf32>
  %v49 = stablehlo.slice %v46 [0:2, 0:32, 1:12:2, 0:11:2] : (tensor<2x32x13x13xf32>) -> tensor<2x32x6x6xf32>
  %v50 = stablehlo.slice %v46 [0:2, 0:32, 1:12:2, 1:12:2] : (tensor<2x32x13x13xf32>) -> tensor<2x32x6x6xf32>
  %v51 = stablehlo.maximum %v47, %v48 : tensor<2x32x6x6xf32>
  %v52 = stablehlo.maximum %v51, %v49 : tensor<2x32x6x6xf32>
  %v53 = stablehlo.maximum %v52, %v50 : tensor<2x32x6x6xf32>
  return %v53 : tensor<2x32x6x6xf32>
}
