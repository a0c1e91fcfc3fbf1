// EXPECT: aten.group_norm group=2 eps=1e-05; aten.group_norm_backward group=2 eps=1e-05
module {
  func.func @main(%arg0: tensor<2x6x5x4xf32>, %arg1: tensor<2x6x5x4xf32>, %arg2: tensor<1x6x1x1xf32>, %arg3: tensor<1x6x1x1xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<2x6x5x4xf32>) -> tensor<2x2x60xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %3 = stablehlo.constant dense<6.000000e+01> : tensor<2x2xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x2xf32>
    %5 = stablehlo.reshape %4 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<2x2x60xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%0 init: %8) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %10 = stablehlo.constant dense<0.0166666675> : tensor<2x2xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<2x2xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x60xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<2x2x60xf32>
    %14 = stablehlo.multiply %13, %13 : tensor<2x2x60xf32>
    %15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%14 init: %15) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %17 = stablehlo.constant dense<6.000000e+01> : tensor<2x2xf32>
    %18 = stablehlo.divide %16, %17 : tensor<2x2xf32>
    %19 = stablehlo.reshape %18 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %20 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %21 = stablehlo.convert %20 : (tensor<f64>) -> tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<2x2x1xf32>
    %23 = stablehlo.add %19, %22 : tensor<2x2x1xf32>
    %24 = stablehlo.sqrt %23 : tensor<2x2x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %26 = stablehlo.divide %7, %25 : tensor<2x2x60xf32>
    %27 = stablehlo.reshape %26 : (tensor<2x2x60xf32>) -> tensor<2x6x5x4xf32>
    %28 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %29 = stablehlo.multiply %27, %28 : tensor<2x6x5x4xf32>
    %30 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %31 = stablehlo.add %29, %30 : tensor<2x6x5x4xf32>
    %32 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 3] : (tensor<1x6x1x1xf32>) -> tensor<2x6x5x4xf32>
    %33 = stablehlo.multiply %arg0, %32 : tensor<2x6x5x4xf32>
    %34 = stablehlo.reshape %33 : (tensor<2x6x5x4xf32>) -> tensor<2x2x60xf32>
    %35 = stablehlo.negate %34 : tensor<2x2x60xf32>
    %36 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %37 = stablehlo.divide %26, %36 : tensor<2x2x60xf32>
    %38 = stablehlo.multiply %35, %37 : tensor<2x2x60xf32>
    %39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %41 = stablehlo.reshape %40 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %42 = stablehlo.constant dense<2.000000e+00> : tensor<2x2x1xf32>
    %43 = stablehlo.multiply %24, %42 : tensor<2x2x1xf32>
    %44 = stablehlo.divide %41, %43 : tensor<2x2x1xf32>
    %45 = stablehlo.constant dense<0.0333333351> : tensor<2x2x1xf32>
    %46 = stablehlo.multiply %44, %45 : tensor<2x2x1xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %48 = stablehlo.multiply %47, %7 : tensor<2x2x60xf32>
    %49 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x60xf32>
    %50 = stablehlo.divide %34, %49 : tensor<2x2x60xf32>
    %51 = stablehlo.add %48, %50 : tensor<2x2x60xf32>
    %52 = stablehlo.negate %50 : tensor<2x2x60xf32>
    %53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%52 init: %53) applies stablehlo.add across dimensions = [2] : (tensor<2x2x60xf32>, tensor<f32>) -> tensor<2x2xf32>
    %55 = stablehlo.reshape %54 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %56 = stablehlo.reshape %55 : (tensor<2x2x1xf32>) -> tensor<4xf32>
    %57 = stablehlo.reshape %56 : (tensor<4xf32>) -> tensor<2x2xf32>
    %58 = stablehlo.slice %57 [0:2, 0:2] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %59 = stablehlo.reshape %58 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %60 = stablehlo.slice %59 [0:2, 0:2, 0:1] : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %61 = stablehlo.slice %60 [0:2, 0:2, 0:1] : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %62 = stablehlo.reshape %61 : (tensor<2x2x1xf32>) -> tensor<2x2xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x60xf32>
    %64 = stablehlo.constant dense<6.000000e+01> : tensor<2x2x60xf32>
    %65 = stablehlo.divide %63, %64 : tensor<2x2x60xf32>
    %66 = stablehlo.add %51, %65 : tensor<2x2x60xf32>
    %67 = stablehlo.reshape %66 : (tensor<2x2x60xf32>) -> tensor<2x6x5x4xf32>
    %68 = stablehlo.multiply %arg0, %27 : tensor<2x6x5x4xf32>
    %69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.reduce(%68 init: %69) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %71 = stablehlo.reshape %70 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %72 = stablehlo.reshape %71 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    %73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %74 = stablehlo.reduce(%arg0 init: %73) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<6xf32>
    %75 = stablehlo.reshape %74 : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    %76 = stablehlo.reshape %75 : (tensor<1x6x1x1xf32>) -> tensor<6xf32>
    return %31, %67, %72, %76 : tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>
  }
}
