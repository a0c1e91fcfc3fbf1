// Products of what is quantised to bytes are products of the bytes: with zeros that are known, or come with the weights, or are none; of transposed weights; in batches. Of one side alone, its scale
// comes afterwards. Scales that vary along what is summed stay where they are.
// RUN: cresset-run --compare %s | FileCheck %s
// RUN: cresset-run --compare --cpu=avx2 %s | FileCheck %s
// RUN: cresset-opt --simplify %s | FileCheck %s --check-prefix=RULE
// CHECK-NOT: too large
// CHECK-COUNT-8: largest error
// RULE-LABEL: func.func @main
// RULE-NOT: dot_general
// RULE: dot_general {{.*}}(tensor<20x70xi32>, tensor<30x70xi32>) -> tensor<20x30xi32>
// RULE-NOT: dot_general {{.*}}(tensor<20x70xi32>
// RULE: dot_general {{.*}}(tensor<20x70xi8>, tensor<70x30xi8>) -> tensor<20x30xi32>
// RULE: dot_general {{.*}}(tensor<3x20x70xi32>, tensor<3x70x30xi32>) -> tensor<3x20x30xi32>
// RULE: dot_general {{.*}}(tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
// RULE: multiply {{.*}} tensor<20x30xf32>
// RULE: multiply {{.*}} tensor<30x70xf32>
// RULE: dot_general {{.*}}(tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
// RULE: dot_general {{.*}}(tensor<20x70xi8>, tensor<30x70xi8>) -> tensor<20x30xi32>
// RULE: dot_general {{.*}}(tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
// RULE-NOT: dot_general
func.func @main(%x: tensor<20x70xui8>, %w: tensor<30x70xi8>, %z: tensor<30x1xi64>, %s: tensor<30x1xf32>, %a: tensor<20x70xi8>, %row: tensor<20xf32>, %p: tensor<3x20x70xui8>, %q: tensor<3x70x30xui8>,
                %f: tensor<20x70xf32>, %depth: tensor<70xf32>) -> (tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<3x20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>)
    attributes {cresset.assumes_nothing} {
  // x: known zero and scale
  %x0 = stablehlo.convert %x : (tensor<20x70xui8>) -> tensor<20x70xf32>
  %x1 = stablehlo.constant dense<1.3e+02> : tensor<20x70xf32>
  %x2 = stablehlo.subtract %x0, %x1 : tensor<20x70xf32>
  %x3 = stablehlo.constant dense<0.0314> : tensor<20x70xf32>
  %xq = stablehlo.multiply %x2, %x3 : tensor<20x70xf32>
  // w: a zero and a scale for each column, in integers
  %w0 = stablehlo.convert %w : (tensor<30x70xi8>) -> tensor<30x70xi64>
  %w1 = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (tensor<30x1xi64>) -> tensor<30x70xi64>
  %w2 = stablehlo.subtract %w0, %w1 : tensor<30x70xi64>
  %w3 = stablehlo.convert %w2 : (tensor<30x70xi64>) -> tensor<30x70xf32>
  %w4 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<30x1xf32>) -> tensor<30x70xf32>
  %wq = stablehlo.multiply %w4, %w3 : tensor<30x70xf32>
  %0 = stablehlo.dot_general %xq, %wq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  // the same around 0
  %v0 = stablehlo.convert %w : (tensor<30x70xi8>) -> tensor<30x70xf32>
  %vq = stablehlo.multiply %v0, %w4 : tensor<30x70xf32>
  %1 = stablehlo.dot_general %xq, %vq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  // a scale for each row, transposed weights
  %a0 = stablehlo.convert %a : (tensor<20x70xi8>) -> tensor<20x70xf32>
  %a1 = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<20xf32>) -> tensor<20x70xf32>
  %aq = stablehlo.multiply %a0, %a1 : tensor<20x70xf32>
  %vt = stablehlo.transpose %vq, dims = [1, 0] : (tensor<30x70xf32>) -> tensor<70x30xf32>
  %2 = stablehlo.dot_general %aq, %vt, contracting_dims = [1] x [0] : (tensor<20x70xf32>, tensor<70x30xf32>) -> tensor<20x30xf32>
  // batches, zeros on both sides
  %p0 = stablehlo.convert %p : (tensor<3x20x70xui8>) -> tensor<3x20x70xf32>
  %p1 = stablehlo.constant dense<1.0e+02> : tensor<3x20x70xf32>
  %p2 = stablehlo.subtract %p0, %p1 : tensor<3x20x70xf32>
  %p3 = stablehlo.constant dense<0.02> : tensor<3x20x70xf32>
  %pq = stablehlo.multiply %p2, %p3 : tensor<3x20x70xf32>
  %q0 = stablehlo.convert %q : (tensor<3x70x30xui8>) -> tensor<3x70x30xf32>
  %q1 = stablehlo.constant dense<7.0e+01> : tensor<3x70x30xf32>
  %q2 = stablehlo.subtract %q0, %q1 : tensor<3x70x30xf32>
  %q3 = stablehlo.constant dense<0.05> : tensor<3x70x30xf32>
  %qq = stablehlo.multiply %q2, %q3 : tensor<3x70x30xf32>
  %3 = stablehlo.dot_general %pq, %qq, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x20x70xf32>, tensor<3x70x30xf32>) -> tensor<3x20x30xf32>
  // weights alone
  %4 = stablehlo.dot_general %f, %vq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  // a scale that varies along what is summed
  %d0 = stablehlo.broadcast_in_dim %depth, dims = [1] : (tensor<70xf32>) -> tensor<30x70xf32>
  %dq = stablehlo.multiply %v0, %d0 : tensor<30x70xf32>
  %5 = stablehlo.dot_general %f, %dq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  %6 = stablehlo.dot_general %aq, %vq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  // a zero of weights alone
  %7 = stablehlo.dot_general %f, %wq, contracting_dims = [1] x [1] : (tensor<20x70xf32>, tensor<30x70xf32>) -> tensor<20x30xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<3x20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xf32>
}
