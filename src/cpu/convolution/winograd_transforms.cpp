#include "cpu/convolution/winograd_transforms.h"

#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;

std::vector<IRs> WinogradTransforms::both_ways(const std::vector<IRs>& square, Line line) {
  std::vector<IRs> columns, result;
  for (size_t x = 0; x < square[0].size(); ++x) {
    IRs column;
    for (const IRs& row : square) column.push_back(row[x]);
    columns.push_back((this->*line)(column));
  }
  for (size_t y = 0; y < columns[0].size(); ++y) {
    IRs row;
    for (const IRs& column : columns) row.push_back(column[y]);
    result.push_back((this->*line)(row));
  }
  return result;
}

IR WinogradTransforms::plus(IR sum, double c, IR x) { return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {x, llvm::ConstantFP::get(x->getType(), c), sum}); }

IRs WinogradTransforms::input_line(ArrayRef<IR> d) {
  if (size_ == 2) return {minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]), minus(d[1], d[3])};
  IR even = plus(d[4], -4, d[2]), odd = plus(d[3], -4, d[1]), even_2 = minus(d[4], d[2]), odd_2 = minus(d[3], d[1]);
  return {plus(plus(d[4], -5, d[2]), 4, d[0]), plus(even, odd), minus(even, odd), plus(even_2, 2, odd_2), plus(even_2, -2, odd_2), plus(plus(d[5], -5, d[3]), 4, d[1])};
}
IRs WinogradTransforms::kernel_line(ArrayRef<IR> g) {
  if (size_ == 2) {
    IR outer = times(0.5, plus(g[0], g[2])), inner = times(0.5, g[1]);
    return {g[0], plus(outer, inner), minus(outer, inner), g[2]};
  }
  IR outer = times(-1. / 6, plus(g[0], g[2])), inner = times(-1. / 6, g[1]), outer_2 = plus(times(1. / 24, g[0]), 1. / 6, g[2]), inner_2 = times(1. / 12, g[1]);
  return {times(0.25, g[0]), plus(outer, inner), minus(outer, inner), plus(outer_2, inner_2), minus(outer_2, inner_2), g[2]};
}
IRs WinogradTransforms::output_line(ArrayRef<IR> m) {
  if (size_ == 2) return {plus(plus(m[0], m[1]), m[2]), minus(minus(m[1], m[2]), m[3])};
  IR even = plus(m[1], m[2]), odd = minus(m[1], m[2]), even_2 = plus(m[3], m[4]), odd_2 = minus(m[3], m[4]);
  return {plus(plus(m[0], even), even_2), plus(odd, 2, odd_2), plus(even, 4, even_2), plus(plus(m[5], odd), 8, odd_2)};
}

IRs WinogradTransforms::gradient_line(ArrayRef<IR> g) {
  if (size_ == 2) {
    IR even = times(0.5, g[0]), odd = times(0.5, g[1]);
    return {g[0], plus(even, odd), minus(even, odd), g[1]};
  }
  IR even = times(-1. / 6, plus(g[0], g[2])), odd = times(-1. / 6, plus(g[1], g[3])), even_2 = plus(times(1. / 24, g[0]), 1. / 6, g[2]), odd_2 = plus(times(1. / 12, g[1]), 1. / 3, g[3]);
  return {times(0.25, g[0]), plus(even, odd), minus(even, odd), plus(even_2, odd_2), minus(even_2, odd_2), g[3]};
}
IRs WinogradTransforms::window_line(ArrayRef<IR> m) {
  IR even = plus(m[1], m[2]), odd = minus(m[1], m[2]);
  if (size_ == 2) return {plus(m[0], even), odd, minus(even, m[3])};
  IR even_2 = plus(m[3], m[4]), odd_2 = minus(m[3], m[4]);
  return {plus(plus(m[0], even), even_2), plus(odd, 2, odd_2), plus(plus(m[5], even), 4, even_2)};
}

}  // namespace cresset::cpu
