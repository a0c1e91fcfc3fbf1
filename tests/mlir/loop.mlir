// A loop is interpreted within a compiled program; it may use what stands outside of it.
// RUN: cresset-run --compare %s
func.func @main(%x: tensor<7xf32>, %y: tensor<7xf32>) -> (tensor<7xf32>, tensor<i64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %five = stablehlo.constant dense<5> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %start = stablehlo.add %x, %y : tensor<7xf32>
  %sum, %count = stablehlo.while(%a = %start, %i = %zero) : tensor<7xf32>, tensor<i64>
    cond {
      %more = stablehlo.compare LT, %i, %five : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i64>
      %product = stablehlo.multiply %a, %y : tensor<7xf32>
      %b = stablehlo.add %product, %x : tensor<7xf32>
      stablehlo.return %b, %next : tensor<7xf32>, tensor<i64>
    }
  %result = stablehlo.exponential %sum : tensor<7xf32>
  return %result, %count : tensor<7xf32>, tensor<i64>
}
