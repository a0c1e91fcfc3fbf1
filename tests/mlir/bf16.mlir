// Attention and convolutions, with the gradients of these, in bf16: multiplied one by one, as pairs along K and in tiles.
// RUN: split-file %s %t
// RUN: cresset-run --compare %t/attention.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %t/attention.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide %t/attention.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare %t/attention.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %t/attention.mlir
// RUN: cresset-run --compare %t/convolution.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %t/convolution.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide %t/convolution.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare %t/convolution.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %t/convolution.mlir
// RUN: cresset-run --compare %t/gradients.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare %t/gradients.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=wide %t/gradients.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare %t/gradients.mlir
// RUN: env CRESSET_SCRATCH=nan CRESSET_BF16_DOT=tiles cresset-run --compare --cpu=wide %t/gradients.mlir

//--- attention.mlir
func.func @main(%arg0: tensor<1x2x45x40xbf16>, %arg1: tensor<1x2x139x40xbf16>, %arg2: tensor<1x2x139x40xbf16>) -> tensor<1x2x45x40xbf16> {
  %0:2 = stablehlo.composite "aten.scaled_dot_product_attention" %arg0, %arg1, %arg2 {composite_attributes = {dropout_p = 0.000000e+00 : f64, is_causal = false}, decomposition = @aten.scaled_dot_product_attention.impl_0, version = 1 : i32} : (tensor<1x2x45x40xbf16>, tensor<1x2x139x40xbf16>, tensor<1x2x139x40xbf16>) -> (tensor<1x2x45x40xbf16>, tensor<1x2x45xf32>)
  return %0#0 : tensor<1x2x45x40xbf16>
}
func.func private @aten.scaled_dot_product_attention.impl_0(%arg0: tensor<1x2x45x40xbf16>, %arg1: tensor<1x2x139x40xbf16>, %arg2: tensor<1x2x139x40xbf16>) -> (tensor<1x2x45x40xbf16>, tensor<1x2x45xf32>) {
  %0 = stablehlo.convert %arg1 : (tensor<1x2x139x40xbf16>) -> tensor<1x2x139x40xf32>
  %1 = stablehlo.convert %arg0 : (tensor<1x2x45x40xbf16>) -> tensor<1x2x45x40xf32>
  %2 = stablehlo.dot_general %1, %0, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x2x45x40xf32>, tensor<1x2x139x40xf32>) -> tensor<1x2x45x139xf32>
  %3 = stablehlo.constant dense<0.158113882> : tensor<1x2x45x139xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<1x2x45x139xf32>
  %5 = stablehlo.constant dense<0xFF800000> : tensor<1x2x45x139xf32>
  %6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %7 = stablehlo.reduce(%4 init: %6) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x45x139xf32>, tensor<f32>) -> tensor<1x2x45xf32>
  %8 = stablehlo.constant dense<-3.40282347E+38> : tensor<1x2x45xf32>
  %9 = stablehlo.maximum %7, %8 : tensor<1x2x45xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x2x45xf32>) -> tensor<1x2x45x139xf32>
  %11 = stablehlo.subtract %4, %10 : tensor<1x2x45x139xf32>
  %12 = stablehlo.exponential %11 : tensor<1x2x45x139xf32>
  %13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [3] : (tensor<1x2x45x139xf32>, tensor<f32>) -> tensor<1x2x45xf32>
  %15 = stablehlo.constant dense<1.000000e+00> : tensor<1x2x45xf32>
  %16 = stablehlo.constant dense<0.000000e+00> : tensor<1x2x45xf32>
  %17 = stablehlo.compare  EQ, %14, %16,  FLOAT : (tensor<1x2x45xf32>, tensor<1x2x45xf32>) -> tensor<1x2x45xi1>
  %18 = stablehlo.select %17, %15, %14 : tensor<1x2x45xi1>, tensor<1x2x45xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x2x45xf32>) -> tensor<1x2x45x139xf32>
  %20 = stablehlo.divide %12, %19 : tensor<1x2x45x139xf32>
  %21 = stablehlo.convert %arg2 : (tensor<1x2x139x40xbf16>) -> tensor<1x2x139x40xf32>
  %22 = stablehlo.dot_general %20, %21, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x2x45x139xf32>, tensor<1x2x139x40xf32>) -> tensor<1x2x45x40xf32>
  %23 = stablehlo.convert %22 : (tensor<1x2x45x40xf32>) -> tensor<1x2x45x40xbf16>
  %24 = stablehlo.log %18 : tensor<1x2x45xf32>
  %25 = stablehlo.add %24, %9 : tensor<1x2x45xf32>
  return %23, %25 : tensor<1x2x45x40xbf16>, tensor<1x2x45xf32>
}

//--- convolution.mlir
func.func @main(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<7x5x3x3xbf16>, %arg2: tensor<7xbf16>, %arg3: tensor<2x20x9x9xbf16>, %arg4: tensor<33x20x1x1xbf16>, %arg5: tensor<1x3x35x35xbf16>, %arg6: tensor<8x3x7x7xbf16>, %arg7: tensor<5x1x3x3xbf16>) -> (tensor<2x7x18x18xbf16>, tensor<2x7x9x9xbf16>, tensor<2x33x9x9xbf16>, tensor<1x8x18x18xbf16>, tensor<2x5x18x18xbf16>, tensor<2x7x18xbf16>) {
  %0 = stablehlo.composite "aten.convolution" %arg0, %arg1, %arg2 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution.impl_0, version = 1 : i32} : (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<7xbf16>) -> tensor<2x7x18x18xbf16>
  %1 = stablehlo.composite "aten.convolution" %arg0, %arg1 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, transposed = false}, decomposition = @aten.convolution.impl_1, version = 1 : i32} : (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>) -> tensor<2x7x9x9xbf16>
  %2 = stablehlo.composite "aten.convolution" %arg3, %arg4 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution.impl_2, version = 1 : i32} : (tensor<2x20x9x9xbf16>, tensor<33x20x1x1xbf16>) -> tensor<2x33x9x9xbf16>
  %3 = stablehlo.composite "aten.convolution" %arg5, %arg6 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 3, 3>, stride = array<i64: 2, 2>, transposed = false}, decomposition = @aten.convolution.impl_3, version = 1 : i32} : (tensor<1x3x35x35xbf16>, tensor<8x3x7x7xbf16>) -> tensor<1x8x18x18xbf16>
  %4 = stablehlo.composite "aten.convolution" %arg0, %arg7 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 5 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution.impl_4, version = 1 : i32} : (tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>) -> tensor<2x5x18x18xbf16>
  %5 = stablehlo.reshape %arg0 : (tensor<2x5x18x18xbf16>) -> tensor<3240xbf16>
  %6 = stablehlo.reshape %5 : (tensor<3240xbf16>) -> tensor<2x1620xbf16>
  %7 = stablehlo.slice %6 [0:2, 0:1620] : (tensor<2x1620xbf16>) -> tensor<2x1620xbf16>
  %8 = stablehlo.reshape %7 : (tensor<2x1620xbf16>) -> tensor<2x5x324xbf16>
  %9 = stablehlo.slice %8 [0:2, 0:5, 0:324] : (tensor<2x5x324xbf16>) -> tensor<2x5x324xbf16>
  %10 = stablehlo.reshape %9 : (tensor<2x5x324xbf16>) -> tensor<2x5x324x1xbf16>
  %11 = stablehlo.slice %10 [0:2, 0:5, 0:18, 0:1] : (tensor<2x5x324x1xbf16>) -> tensor<2x5x18x1xbf16>
  %12 = stablehlo.slice %11 [0:2, 0:5, 0:18, 0:1] : (tensor<2x5x18x1xbf16>) -> tensor<2x5x18x1xbf16>
  %13 = stablehlo.reshape %12 : (tensor<2x5x18x1xbf16>) -> tensor<2x5x18xbf16>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x5x18xbf16>) -> tensor<2x5x18xbf16>
  %15 = stablehlo.reshape %14 : (tensor<2x5x18xbf16>) -> tensor<2x5x1x18xbf16>
  %16 = stablehlo.reshape %arg1 : (tensor<7x5x3x3xbf16>) -> tensor<315xbf16>
  %17 = stablehlo.reshape %16 : (tensor<315xbf16>) -> tensor<7x45xbf16>
  %18 = stablehlo.slice %17 [0:7, 0:45] : (tensor<7x45xbf16>) -> tensor<7x45xbf16>
  %19 = stablehlo.reshape %18 : (tensor<7x45xbf16>) -> tensor<7x5x9xbf16>
  %20 = stablehlo.slice %19 [0:7, 0:5, 0:9] : (tensor<7x5x9xbf16>) -> tensor<7x5x9xbf16>
  %21 = stablehlo.reshape %20 : (tensor<7x5x9xbf16>) -> tensor<7x5x9x1xbf16>
  %22 = stablehlo.slice %21 [0:7, 0:5, 0:3, 0:1] : (tensor<7x5x9x1xbf16>) -> tensor<7x5x3x1xbf16>
  %23 = stablehlo.slice %22 [0:7, 0:5, 0:3, 0:1] : (tensor<7x5x3x1xbf16>) -> tensor<7x5x3x1xbf16>
  %24 = stablehlo.reshape %23 : (tensor<7x5x3x1xbf16>) -> tensor<7x5x3xbf16>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 3] : (tensor<7x5x3xbf16>) -> tensor<7x5x1x3xbf16>
  %26 = stablehlo.composite "aten.convolution" %15, %25 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 1>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution.impl_5, version = 1 : i32} : (tensor<2x5x1x18xbf16>, tensor<7x5x1x3xbf16>) -> tensor<2x7x1x18xbf16>
  %27 = stablehlo.reshape %26 : (tensor<2x7x1x18xbf16>) -> tensor<2x7x18xbf16>
  return %0, %1, %2, %3, %4, %27 : tensor<2x7x18x18xbf16>, tensor<2x7x9x9xbf16>, tensor<2x33x9x9xbf16>, tensor<1x8x18x18xbf16>, tensor<2x5x18x18xbf16>, tensor<2x7x18xbf16>
}
func.func private @aten.convolution.impl_0(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<7x5x3x3xbf16>, %arg2: tensor<7xbf16>) -> tensor<2x7x18x18xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>) -> tensor<2x7x18x18xbf16>
  %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<7xbf16>) -> tensor<2x7x18x18xbf16>
  %2 = stablehlo.add %0, %1 : tensor<2x7x18x18xbf16>
  return %2 : tensor<2x7x18x18xbf16>
}
func.func private @aten.convolution.impl_1(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<7x5x3x3xbf16>) -> tensor<2x7x9x9xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>) -> tensor<2x7x9x9xbf16>
  return %0 : tensor<2x7x9x9xbf16>
}
func.func private @aten.convolution.impl_2(%arg0: tensor<2x20x9x9xbf16>, %arg1: tensor<33x20x1x1xbf16>) -> tensor<2x33x9x9xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x20x9x9xbf16>, tensor<33x20x1x1xbf16>) -> tensor<2x33x9x9xbf16>
  return %0 : tensor<2x33x9x9xbf16>
}
func.func private @aten.convolution.impl_3(%arg0: tensor<1x3x35x35xbf16>, %arg1: tensor<8x3x7x7xbf16>) -> tensor<1x8x18x18xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[3, 3], [3, 3]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x35x35xbf16>, tensor<8x3x7x7xbf16>) -> tensor<1x8x18x18xbf16>
  return %0 : tensor<1x8x18x18xbf16>
}
func.func private @aten.convolution.impl_4(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<5x1x3x3xbf16>) -> tensor<2x5x18x18xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64} : (tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>) -> tensor<2x5x18x18xbf16>
  return %0 : tensor<2x5x18x18xbf16>
}
func.func private @aten.convolution.impl_5(%arg0: tensor<2x5x1x18xbf16>, %arg1: tensor<7x5x1x3xbf16>) -> tensor<2x7x1x18xbf16> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x1x18xbf16>, tensor<7x5x1x3xbf16>) -> tensor<2x7x1x18xbf16>
  return %0 : tensor<2x7x1x18xbf16>
}

//--- gradients.mlir
func.func @main(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<7x5x3x3xbf16>, %arg2: tensor<2x7x18x18xbf16>, %arg3: tensor<2x7x9x9xbf16>, %arg4: tensor<9x5x1x1xbf16>, %arg5: tensor<2x9x18x18xbf16>, %arg6: tensor<5x1x3x3xbf16>, %arg7: tensor<2x5x18x18xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>, tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>) {
  %0:3 = stablehlo.composite "aten.convolution_backward" %arg2, %arg0, %arg1 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_mask = array<i1: true, true, false>, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution_backward.impl_0, version = 1 : i32} : (tensor<2x7x18x18xbf16>, tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>)
  %1:3 = stablehlo.composite "aten.convolution_backward" %arg3, %arg0, %arg1 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_mask = array<i1: true, true, false>, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, transposed = false}, decomposition = @aten.convolution_backward.impl_1, version = 1 : i32} : (tensor<2x7x9x9xbf16>, tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>)
  %2:3 = stablehlo.composite "aten.convolution_backward" %arg5, %arg0, %arg4 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 1 : i64, output_mask = array<i1: true, true, false>, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution_backward.impl_2, version = 1 : i32} : (tensor<2x9x18x18xbf16>, tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>, tensor<f32>)
  %3:3 = stablehlo.composite "aten.convolution_backward" %arg7, %arg0, %arg6 {composite_attributes = {dilation = array<i64: 1, 1>, groups = 5 : i64, output_mask = array<i1: true, true, false>, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, transposed = false}, decomposition = @aten.convolution_backward.impl_3, version = 1 : i32} : (tensor<2x5x18x18xbf16>, tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>, tensor<f32>)
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1, %3#0, %3#1 : tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>, tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>
}
func.func private @aten.convolution_backward.impl_0(%arg0: tensor<2x7x18x18xbf16>, %arg1: tensor<2x5x18x18xbf16>, %arg2: tensor<7x5x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>) {
  %0 = stablehlo.reshape %arg2 : (tensor<7x5x3x3xbf16>) -> tensor<1x7x5x3x3xbf16>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3, 4] : (tensor<1x7x5x3x3xbf16>) -> tensor<1x5x7x3x3xbf16>
  %2 = stablehlo.reshape %1 : (tensor<1x5x7x3x3xbf16>) -> tensor<5x7x3x3xbf16>
  %3 = stablehlo.reverse %2, dims = [2, 3] : tensor<5x7x3x3xbf16>
  %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x18x18xbf16>, tensor<5x7x3x3xbf16>) -> tensor<2x5x18x18xbf16>
  %5 = stablehlo.convolution(%arg1, %arg0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<2x7x18x18xbf16>) -> tensor<7x5x3x3xbf16>
  %6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  return %4, %5, %6 : tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>
}
func.func private @aten.convolution_backward.impl_1(%arg0: tensor<2x7x9x9xbf16>, %arg1: tensor<2x5x18x18xbf16>, %arg2: tensor<7x5x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>) {
  %0 = stablehlo.reshape %arg2 : (tensor<7x5x3x3xbf16>) -> tensor<1x7x5x3x3xbf16>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3, 4] : (tensor<1x7x5x3x3xbf16>) -> tensor<1x5x7x3x3xbf16>
  %2 = stablehlo.reshape %1 : (tensor<1x5x7x3x3xbf16>) -> tensor<5x7x3x3xbf16>
  %3 = stablehlo.reverse %2, dims = [2, 3] : tensor<5x7x3x3xbf16>
  %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x9x9xbf16>, tensor<5x7x3x3xbf16>) -> tensor<2x5x18x18xbf16>
  %5 = stablehlo.convolution(%arg1, %arg0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 0], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<2x7x9x9xbf16>) -> tensor<7x5x3x3xbf16>
  %6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  return %4, %5, %6 : tensor<2x5x18x18xbf16>, tensor<7x5x3x3xbf16>, tensor<f32>
}
func.func private @aten.convolution_backward.impl_2(%arg0: tensor<2x9x18x18xbf16>, %arg1: tensor<2x5x18x18xbf16>, %arg2: tensor<9x5x1x1xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>, tensor<f32>) {
  %0 = stablehlo.reshape %arg2 : (tensor<9x5x1x1xbf16>) -> tensor<1x9x5x1x1xbf16>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3, 4] : (tensor<1x9x5x1x1xbf16>) -> tensor<1x5x9x1x1xbf16>
  %2 = stablehlo.reshape %1 : (tensor<1x5x9x1x1xbf16>) -> tensor<5x9x1x1xbf16>
  %3 = stablehlo.reverse %2, dims = [2, 3] : tensor<5x9x1x1xbf16>
  %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x18x18xbf16>, tensor<5x9x1x1xbf16>) -> tensor<2x5x18x18xbf16>
  %5 = stablehlo.convolution(%arg1, %arg0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<2x9x18x18xbf16>) -> tensor<9x5x1x1xbf16>
  %6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  return %4, %5, %6 : tensor<2x5x18x18xbf16>, tensor<9x5x1x1xbf16>, tensor<f32>
}
func.func private @aten.convolution_backward.impl_3(%arg0: tensor<2x5x18x18xbf16>, %arg1: tensor<2x5x18x18xbf16>, %arg2: tensor<5x1x3x3xbf16>) -> (tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>, tensor<f32>) {
  %0 = stablehlo.reshape %arg2 : (tensor<5x1x3x3xbf16>) -> tensor<5x1x1x3x3xbf16>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3, 4] : (tensor<5x1x1x3x3xbf16>) -> tensor<5x1x1x3x3xbf16>
  %2 = stablehlo.reshape %1 : (tensor<5x1x1x3x3xbf16>) -> tensor<5x1x3x3xbf16>
  %3 = stablehlo.reverse %2, dims = [2, 3] : tensor<5x1x3x3xbf16>
  %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64} : (tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>) -> tensor<2x5x18x18xbf16>
  %5 = stablehlo.convolution(%arg1, %arg0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 5 : i64, feature_group_count = 1 : i64} : (tensor<2x5x18x18xbf16>, tensor<2x5x18x18xbf16>) -> tensor<5x1x3x3xbf16>
  %6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  return %4, %5, %6 : tensor<2x5x18x18xbf16>, tensor<5x1x3x3xbf16>, tensor<f32>
}
