// Products by a B that runs along K, whose last rows leave most of a vector empty: 1 to 7 of them are dot products. K in parts (halves of 2000 are no whole vectors), rows of B beyond squares, a batch, a bias; sums round as in products-linear.mlir.
// RUN: cresset-run --compare --tolerance=9e-5 %s
// RUN: cresset-run --compare --tolerance=9e-5 --cpu=wide %s
// RUN: env CRESSET_GUARD=end CRESSET_SCRATCH=nan cresset-run --compare --tolerance=9e-5 %s

func.func @main(
    %a0: tensor<49x2050xf32>, %b0: tensor<70x2050xf32>,
    %a1: tensor<197x768xf32>, %b1: tensor<259x768xf32>,
    %a2: tensor<50x200xf32>, %b2: tensor<130x200xf32>,
    %a3: tensor<55x195xf32>, %b3: tensor<72x195xf32>,
    %a4: tensor<257x1030xf32>, %b4: tensor<259x1030xf32>,
    %a5: tensor<2x36x192xf32>, %b5: tensor<2x64x192xf32>,
    %a6: tensor<119x256xf32>, %b6: tensor<96x256xf32>,
    %a7: tensor<33x193xf32>, %b7: tensor<100x193xf32>,
    %a8: tensor<50x2000xf32>, %b8: tensor<70x2000xf32>, %c: tensor<259xf32>) -> (
    tensor<49x70xf32>, tensor<197x259xf32>, tensor<50x130xf32>, tensor<55x72xf32>, tensor<257x259xf32>, tensor<2x36x64xf32>, tensor<119x96xf32>, tensor<33x100xf32>, tensor<50x70xf32>) {
  %y0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [1] : (tensor<49x2050xf32>, tensor<70x2050xf32>) -> tensor<49x70xf32>
  %y1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [1] : (tensor<197x768xf32>, tensor<259x768xf32>) -> tensor<197x259xf32>
  %y2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [1] : (tensor<50x200xf32>, tensor<130x200xf32>) -> tensor<50x130xf32>
  %y3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [1] : (tensor<55x195xf32>, tensor<72x195xf32>) -> tensor<55x72xf32>
  %y4 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [1] : (tensor<257x1030xf32>, tensor<259x1030xf32>) -> tensor<257x259xf32>
  %y5 = stablehlo.dot_general %a5, %b5, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x36x192xf32>, tensor<2x64x192xf32>) -> tensor<2x36x64xf32>
  %y6 = stablehlo.dot_general %a6, %b6, contracting_dims = [1] x [1] : (tensor<119x256xf32>, tensor<96x256xf32>) -> tensor<119x96xf32>
  %y7 = stablehlo.dot_general %a7, %b7, contracting_dims = [1] x [1] : (tensor<33x193xf32>, tensor<100x193xf32>) -> tensor<33x100xf32>
  %y8 = stablehlo.dot_general %a8, %b8, contracting_dims = [1] x [1] : (tensor<50x2000xf32>, tensor<70x2000xf32>) -> tensor<50x70xf32>
  %bias = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<259xf32>) -> tensor<197x259xf32>
  %z1 = stablehlo.add %y1, %bias : tensor<197x259xf32>
  return %y0, %z1, %y2, %y3, %y4, %y5, %y6, %y7, %y8 : tensor<49x70xf32>, tensor<197x259xf32>, tensor<50x130xf32>, tensor<55x72xf32>, tensor<257x259xf32>, tensor<2x36x64xf32>, tensor<119x96xf32>, tensor<33x100xf32>, tensor<50x70xf32>
}
