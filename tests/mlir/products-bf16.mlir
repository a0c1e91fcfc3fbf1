// Pairs along K, also with an odd end, as AVX512-BF16 multiplies them.
// RUN: cresset-run --compare %s
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare %s
// RUN: env CRESSET_BF16_DOT=pairs cresset-run --compare --cpu=baseline %s

func.func @main(%a: tensor<37x51xbf16>, %at: tensor<51x37xbf16>, %b: tensor<51x41xbf16>, %bt: tensor<41x51xbf16>)
    -> (tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<37x51xbf16>, tensor<51x41xbf16>) -> tensor<37x41xbf16>
  %1 = stablehlo.dot_general %a, %bt, contracting_dims = [1] x [1] : (tensor<37x51xbf16>, tensor<41x51xbf16>) -> tensor<37x41xbf16>
  %2 = stablehlo.dot_general %at, %b, contracting_dims = [0] x [0] : (tensor<51x37xbf16>, tensor<51x41xbf16>) -> tensor<37x41xbf16>
  %3 = stablehlo.dot_general %at, %bt, contracting_dims = [0] x [1] : (tensor<51x37xbf16>, tensor<41x51xbf16>) -> tensor<37x41xbf16>
  return %0, %1, %2, %3 : tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>, tensor<37x41xbf16>
}
