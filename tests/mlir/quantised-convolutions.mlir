// Convolutions of what is quantised to bytes, of all kinds: signed inputs, unsigned weights, channels that are no multiple of four, lines, volumes, steps, dilated windows, windows within a channel.
// Groups stay as they are. A program that is compiled for zeros of weights that are 0 runs another one where they aren't, as here.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-run --compare --cpu=baseline %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// CHECK-NOT: too large
// CHECK-COUNT-6: largest error
// RULE: @main({{.*}}cresset.assumed_zero
// RULE: convolution{{.*}}[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]{{.*}} -> tensor<2x5x5x20xi32>
// RULE: convolution{{.*}}[b, 0, f]x[o, 0, i]->[b, 0, f]{{.*}} -> tensor<2x9x24xi32>
// RULE: convolution{{.*}}[b, 0, 1, 2, f]x[o, 0, 1, 2, i]->[b, 0, 1, 2, f]{{.*}} -> tensor<1x4x4x4x16xi32>
// RULE: convolution{{.*}}feature_group_count = 4{{.*}} -> tensor<2x16x13x13xf32>
// RULE: convolution{{.*}} -> tensor<2x13x13x20xi32>
// RULE-NOT: convolution
func.func @main(%signed: tensor<2x5x11x11xi8>, %unsigned: tensor<20x5x3x3xui8>, %line: tensor<2x8x12xui8>, %kl: tensor<24x8x4xi8>, %volume: tensor<1x4x6x6x6xui8>, %kv: tensor<16x4x3x3x3xi8>, %image: tensor<2x16x13x13xui8>, %depthwise: tensor<16x1x3x3xi8>, %grouped: tensor<16x4x3x3xi8>, %zeros: tensor<20x1x1x1xi64>, %bytes: tensor<20x16x1x1xi8>) -> (tensor<2x20x5x5xf32>, tensor<2x24x9xf32>, tensor<1x16x4x4x4xf32>, tensor<2x16x7x11xf32>, tensor<2x16x13x13xf32>, tensor<2x20x13x13xf32>) {
  // signed by unsigned bytes, whose middle is 0; five channels
  %v1 = stablehlo.convert %signed : (tensor<2x5x11x11xi8>) -> tensor<2x5x11x11xf32>
  %v2 = stablehlo.constant dense<-9.0> : tensor<2x5x11x11xf32>
  %v3 = stablehlo.subtract %v1, %v2 : tensor<2x5x11x11xf32>
  %v4 = stablehlo.constant dense<0.05> : tensor<2x5x11x11xf32>
  %v5 = stablehlo.multiply %v3, %v4 : tensor<2x5x11x11xf32>
  %v6 = stablehlo.convert %unsigned : (tensor<20x5x3x3xui8>) -> tensor<20x5x3x3xf32>
  %v7 = stablehlo.constant dense<128.0> : tensor<20x5x3x3xf32>
  %v8 = stablehlo.subtract %v6, %v7 : tensor<20x5x3x3xf32>
  %v9 = stablehlo.constant dense<0.01> : tensor<20x5x3x3xf32>
  %v10 = stablehlo.multiply %v8, %v9 : tensor<20x5x3x3xf32>
  %v11 = stablehlo.convolution(%v5, %v10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x11x11xf32>, tensor<20x5x3x3xf32>) -> tensor<2x20x5x5xf32>
  // along a line
  %v12 = stablehlo.convert %line : (tensor<2x8x12xui8>) -> tensor<2x8x12xf32>
  %v13 = stablehlo.constant dense<0.05> : tensor<2x8x12xf32>
  %v14 = stablehlo.multiply %v12, %v13 : tensor<2x8x12xf32>
  %v15 = stablehlo.convert %kl : (tensor<24x8x4xi8>) -> tensor<24x8x4xf32>
  %v16 = stablehlo.constant dense<0.01> : tensor<24x8x4xf32>
  %v17 = stablehlo.multiply %v15, %v16 : tensor<24x8x4xf32>
  %v18 = stablehlo.convolution(%v14, %v17) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[0, 0]], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x12xf32>, tensor<24x8x4xf32>) -> tensor<2x24x9xf32>
  // in a volume, without padding
  %v19 = stablehlo.convert %volume : (tensor<1x4x6x6x6xui8>) -> tensor<1x4x6x6x6xf32>
  %v20 = stablehlo.constant dense<3.0> : tensor<1x4x6x6x6xf32>
  %v21 = stablehlo.subtract %v19, %v20 : tensor<1x4x6x6x6xf32>
  %v22 = stablehlo.constant dense<0.05> : tensor<1x4x6x6x6xf32>
  %v23 = stablehlo.multiply %v21, %v22 : tensor<1x4x6x6x6xf32>
  %v24 = stablehlo.convert %kv : (tensor<16x4x3x3x3xi8>) -> tensor<16x4x3x3x3xf32>
  %v25 = stablehlo.constant dense<0.01> : tensor<16x4x3x3x3xf32>
  %v26 = stablehlo.multiply %v24, %v25 : tensor<16x4x3x3x3xf32>
  %v27 = stablehlo.convolution(%v23, %v26) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 1, 1], pad = [[0, 0], [0, 0], [0, 0]], rhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x6x6x6xf32>, tensor<16x4x3x3x3xf32>) -> tensor<1x16x4x4x4xf32>
  // within each channel, steps and dilated windows
  %v28 = stablehlo.convert %image : (tensor<2x16x13x13xui8>) -> tensor<2x16x13x13xf32>
  %v29 = stablehlo.constant dense<11.0> : tensor<2x16x13x13xf32>
  %v30 = stablehlo.subtract %v28, %v29 : tensor<2x16x13x13xf32>
  %v31 = stablehlo.constant dense<0.05> : tensor<2x16x13x13xf32>
  %v32 = stablehlo.multiply %v30, %v31 : tensor<2x16x13x13xf32>
  %v33 = stablehlo.convert %depthwise : (tensor<16x1x3x3xi8>) -> tensor<16x1x3x3xf32>
  %v34 = stablehlo.constant dense<0.01> : tensor<16x1x3x3xf32>
  %v35 = stablehlo.multiply %v33, %v34 : tensor<16x1x3x3xf32>
  %v36 = stablehlo.convolution(%v32, %v35) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[2, 2], [1, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<2x16x13x13xf32>, tensor<16x1x3x3xf32>) -> tensor<2x16x7x11xf32>
  // in groups: as they are
  %v37 = stablehlo.convert %image : (tensor<2x16x13x13xui8>) -> tensor<2x16x13x13xf32>
  %v38 = stablehlo.constant dense<11.0> : tensor<2x16x13x13xf32>
  %v39 = stablehlo.subtract %v37, %v38 : tensor<2x16x13x13xf32>
  %v40 = stablehlo.constant dense<0.05> : tensor<2x16x13x13xf32>
  %v41 = stablehlo.multiply %v39, %v40 : tensor<2x16x13x13xf32>
  %v42 = stablehlo.convert %grouped : (tensor<16x4x3x3xi8>) -> tensor<16x4x3x3xf32>
  %v43 = stablehlo.constant dense<0.01> : tensor<16x4x3x3xf32>
  %v44 = stablehlo.multiply %v42, %v43 : tensor<16x4x3x3xf32>
  %v45 = stablehlo.convolution(%v41, %v44) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x16x13x13xf32>, tensor<16x4x3x3xf32>) -> tensor<2x16x13x13xf32>
  // zeros that come as weights and are none: what is compiled on that assumption is left
  %v46 = stablehlo.convert %bytes : (tensor<20x16x1x1xi8>) -> tensor<20x16x1x1xi64>
  %v47 = stablehlo.broadcast_in_dim %zeros, dims = [0, 1, 2, 3] : (tensor<20x1x1x1xi64>) -> tensor<20x16x1x1xi64>
  %v48 = stablehlo.subtract %v46, %v47 : tensor<20x16x1x1xi64>
  %v49 = stablehlo.convert %v48 : (tensor<20x16x1x1xi64>) -> tensor<20x16x1x1xf32>
  %v50 = stablehlo.constant dense<0.01> : tensor<20x16x1x1xf32>
  %v51 = stablehlo.multiply %v49, %v50 : tensor<20x16x1x1xf32>
  %v52 = stablehlo.convert %image : (tensor<2x16x13x13xui8>) -> tensor<2x16x13x13xf32>
  %v53 = stablehlo.constant dense<11.0> : tensor<2x16x13x13xf32>
  %v54 = stablehlo.subtract %v52, %v53 : tensor<2x16x13x13xf32>
  %v55 = stablehlo.constant dense<0.05> : tensor<2x16x13x13xf32>
  %v56 = stablehlo.multiply %v54, %v55 : tensor<2x16x13x13xf32>
  %v57 = stablehlo.convolution(%v56, %v51) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x13x13xf32>, tensor<20x16x1x1xf32>) -> tensor<2x20x13x13xf32>
  return %v11, %v18, %v27, %v36, %v45, %v57 : tensor<2x20x5x5xf32>, tensor<2x24x9xf32>, tensor<1x16x4x4x4xf32>, tensor<2x16x7x11xf32>, tensor<2x16x13x13xf32>, tensor<2x20x13x13xf32>
}
