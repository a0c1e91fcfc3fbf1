// Depthwise convolutions between transposes get their channels last, with what is computed element by element around them, where that takes away more than it adds.
// RUN: split-file %s %t
// RUN: cresset-opt --simplify %t/layer.mlir | FileCheck %s --check-prefix=LAYER
// RUN: cresset-opt --simplify %t/residual.mlir | FileCheck %s --check-prefix=RESIDUAL
// RUN: cresset-opt --simplify %t/line.mlir | FileCheck %s --check-prefix=LINE
// RUN: cresset-opt --simplify %t/products.mlir | FileCheck %s --check-prefix=PRODUCTS
// RUN: cresset-opt --simplify %t/one.mlir | FileCheck %s --check-prefix=ONE
// RUN: cresset-opt --simplify %t/shared.mlir | FileCheck %s --check-prefix=SHARED
// RUN: cresset-run --compare %t/layer.mlir
// RUN: cresset-run --compare --cpu=avx2 %t/layer.mlir
// RUN: cresset-run --compare --cpu=baseline %t/layer.mlir
// RUN: cresset-run --compare %t/residual.mlir
// RUN: cresset-run --compare %t/line.mlir
// RUN: cresset-run --compare --tolerance=5e-5 %t/products.mlir
// RUN: cresset-run --compare %t/one.mlir
// RUN: cresset-run --compare %t/shared.mlir

//--- layer.mlir
// As in the layers of a SegFormer: the transposes go through reshapes.
// LAYER-COUNT-1: transpose %arg1
// LAYER: convolution{{.*}}dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// LAYER-NOT: transpose
func.func @main(%x: tensor<2x30x20xf32>, %kernel: tensor<20x1x3x3xf32>, %bias: tensor<20xf32>) -> tensor<2x30x20xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<2x30x20xf32>) -> tensor<2x20x30xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x20x30xf32>) -> tensor<2x20x6x5xf32>
  %2 = stablehlo.convolution(%1, %kernel) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<2x20x6x5xf32>, tensor<20x1x3x3xf32>) -> tensor<2x20x6x5xf32>
  %3 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<20xf32>) -> tensor<2x20x6x5xf32>
  %4 = stablehlo.add %2, %3 : tensor<2x20x6x5xf32>
  %5 = stablehlo.reshape %4 : (tensor<2x20x6x5xf32>) -> tensor<2x20x30xf32>
  %6 = stablehlo.transpose %5, dims = [0, 2, 1] : (tensor<2x20x30xf32>) -> tensor<2x30x20xf32>
  return %6 : tensor<2x30x20xf32>
}

//--- residual.mlir
// As in the layers of a ConvNeXt: of the residual, which is an image, one transpose is left in front of all.
// RESIDUAL: transpose %arg0, dims = [0, 2, 3, 1]
// RESIDUAL: convolution{{.*}}dim_numbers = [b, 0, 1, f]
// RESIDUAL: convolution{{.*}}dim_numbers = [b, 0, 1, f]
// RESIDUAL-NOT: transpose {{.*}}tensor<1x
func.func @main(%x: tensor<1x20x6x5xf32>, %first: tensor<20x1x3x3xf32>, %second: tensor<20x1x3x3xf32>, %w: tensor<20x20xf32>) -> tensor<1x6x5x20xf32> {
  %0 = stablehlo.convolution(%x, %first) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<1x20x6x5xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x6x5xf32>
  %1 = stablehlo.transpose %0, dims = [0, 2, 3, 1] : (tensor<1x20x6x5xf32>) -> tensor<1x6x5x20xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [3] x [0] : (tensor<1x6x5x20xf32>, tensor<20x20xf32>) -> tensor<1x6x5x20xf32>
  %3 = stablehlo.transpose %2, dims = [0, 3, 1, 2] : (tensor<1x6x5x20xf32>) -> tensor<1x20x6x5xf32>
  %4 = stablehlo.add %x, %3 : tensor<1x20x6x5xf32>
  %5 = stablehlo.convolution(%4, %second) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<1x20x6x5xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x6x5xf32>
  %6 = stablehlo.transpose %5, dims = [0, 2, 3, 1] : (tensor<1x20x6x5xf32>) -> tensor<1x6x5x20xf32>
  %7 = stablehlo.transpose %4, dims = [0, 2, 3, 1] : (tensor<1x20x6x5xf32>) -> tensor<1x6x5x20xf32>
  %8 = stablehlo.add %6, %7 : tensor<1x6x5x20xf32>
  return %8 : tensor<1x6x5x20xf32>
}

//--- line.mlir
// As in a Mamba: what the padding adds is cut off, and of the channels a half is a gate.
// LINE: convolution{{.*}}dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = {{\[\[}}3, 0]]}
// LINE-NOT: transpose {{.*}}tensor<2x
func.func @main(%x: tensor<2x9x40xf32>, %kernel: tensor<20x1x4xf32>) -> tensor<2x9x20xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<2x9x40xf32>) -> tensor<2x40x9xf32>
  %1 = stablehlo.slice %0 [0:2, 0:20, 0:9] : (tensor<2x40x9xf32>) -> tensor<2x20x9xf32>
  %2 = stablehlo.slice %0 [0:2, 20:40, 0:9] : (tensor<2x40x9xf32>) -> tensor<2x20x9xf32>
  %3 = stablehlo.convolution(%1, %kernel) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<2x20x9xf32>, tensor<20x1x4xf32>) -> tensor<2x20x12xf32>
  %4 = stablehlo.slice %3 [0:2, 0:20, 0:9] : (tensor<2x20x12xf32>) -> tensor<2x20x9xf32>
  %5 = stablehlo.logistic %4 : tensor<2x20x9xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<2x20x9xf32>
  %7 = stablehlo.multiply %6, %2 : tensor<2x20x9xf32>
  %8 = stablehlo.transpose %7, dims = [0, 2, 1] : (tensor<2x20x9xf32>) -> tensor<2x9x20xf32>
  return %8 : tensor<2x9x20xf32>
}

//--- one.mlir
// A transpose on one side only would be one on the other.
// ONE: convolution{{.*}}dim_numbers = [b, f, 0, 1]
func.func @main(%x: tensor<1x6x5x20xf32>, %first: tensor<20x1x3x3xf32>) -> tensor<1x20x6x5xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<1x6x5x20xf32>) -> tensor<1x20x6x5xf32>
  %1 = stablehlo.convolution(%0, %first) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<1x20x6x5xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x6x5xf32>
  return %1 : tensor<1x20x6x5xf32>
}

//--- products.mlir
// As in a Conformer: convolutions of single positions are products then, also where lines are images of one row.
// PRODUCTS: dot_general %arg0
// PRODUCTS: convolution{{.*}}dim_numbers = [b, 0, 1, f]
// PRODUCTS: dot_general
// PRODUCTS-NOT: transpose {{.*}}tensor<2x
func.func @main(%x: tensor<2x9x20xf32>, %up: tensor<40x20x1xf32>, %kernel: tensor<20x1x1x5xf32>, %down: tensor<20x20x1xf32>) -> tensor<2x9x20xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<2x9x20xf32>) -> tensor<2x20x9xf32>
  %1 = stablehlo.convolution(%0, %up) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x20x9xf32>, tensor<40x20x1xf32>) -> tensor<2x40x9xf32>
  %2 = stablehlo.slice %1 [0:2, 0:20, 0:9] : (tensor<2x40x9xf32>) -> tensor<2x20x9xf32>
  %3 = stablehlo.slice %1 [0:2, 20:40, 0:9] : (tensor<2x40x9xf32>) -> tensor<2x20x9xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x20x9xf32>
  %5 = stablehlo.reshape %4 : (tensor<2x20x9xf32>) -> tensor<2x20x1x9xf32>
  %6 = stablehlo.convolution(%5, %kernel) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[0, 0], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<2x20x1x9xf32>, tensor<20x1x1x5xf32>) -> tensor<2x20x1x9xf32>
  %7 = stablehlo.reshape %6 : (tensor<2x20x1x9xf32>) -> tensor<2x20x9xf32>
  %8 = stablehlo.convolution(%7, %down) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x20x9xf32>, tensor<20x20x1xf32>) -> tensor<2x20x9xf32>
  %9 = stablehlo.transpose %8, dims = [0, 2, 1] : (tensor<2x20x9xf32>) -> tensor<2x9x20xf32>
  return %9 : tensor<2x9x20xf32>
}

//--- shared.mlir
// The image is read by a convolution of all channels, and so is the result.
// SHARED: convolution{{.*}}dim_numbers = [b, f, 0, 1]
// SHARED: convolution{{.*}}dim_numbers = [b, f, 0, 1]
func.func @main(%x: tensor<1x6x5x20xf32>, %first: tensor<20x1x3x3xf32>, %full: tensor<20x20x3x3xf32>) -> (tensor<1x6x5x20xf32>, tensor<1x20x6x5xf32>) {
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<1x6x5x20xf32>) -> tensor<1x20x6x5xf32>
  %1 = stablehlo.convolution(%0, %first) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64} : (tensor<1x20x6x5xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x6x5xf32>
  %2 = stablehlo.add %1, %0 : tensor<1x20x6x5xf32>
  %3 = stablehlo.convolution(%0, %full) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x20x6x5xf32>, tensor<20x20x3x3xf32>) -> tensor<1x20x6x5xf32>
  %4 = stablehlo.transpose %1, dims = [0, 2, 3, 1] : (tensor<1x20x6x5xf32>) -> tensor<1x6x5x20xf32>
  %5 = stablehlo.add %2, %3 : tensor<1x20x6x5xf32>
  return %4, %5 : tensor<1x6x5x20xf32>, tensor<1x20x6x5xf32>
}
