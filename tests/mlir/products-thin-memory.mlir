// One row and two, by weights along K that do not fit L2: lines are added to several sums in turn, and rows that do not fit L1 meet the weights in parts. What is left of K is a line, vectors, elements.
// RUN: cresset-run --compare --tolerance=3e-5 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=avx2 %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=wide %s
// RUN: cresset-run --compare --tolerance=3e-5 --cpu=baseline %s

func.func @main(%a0: tensor<1x3175xf32>, %b0: tensor<170x3175xf32>, %a1: tensor<2x3157xf32>, %b1: tensor<171x3157xf32>, %a2: tensor<1x5003xf32>, %b2: tensor<107x5003xf32>,
    %a3: tensor<2x1097xf64>, %b3: tensor<241x1097xf64>) -> (tensor<1x170xf32>, tensor<2x171xf32>, tensor<1x107xf32>, tensor<2x241xf64>) {
  %0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [1] : (tensor<1x3175xf32>, tensor<170x3175xf32>) -> tensor<1x170xf32>
  %1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [1] : (tensor<2x3157xf32>, tensor<171x3157xf32>) -> tensor<2x171xf32>
  %2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [1] : (tensor<1x5003xf32>, tensor<107x5003xf32>) -> tensor<1x107xf32>
  %3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [1] : (tensor<2x1097xf64>, tensor<241x1097xf64>) -> tensor<2x241xf64>
  return %0, %1, %2, %3 : tensor<1x170xf32>, tensor<2x171xf32>, tensor<1x107xf32>, tensor<2x241xf64>
}
