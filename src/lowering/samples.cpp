#include "lowering/samples.h"

#include <algorithm>

namespace cresset::lowering {
namespace {

// Row o of the matrix holds the weights of result o.
Value matrix_of(Builder& b, const Samples& samples, int64_t in, mlir::Type element) {
  int64_t out = int64_t(samples.size());
  std::vector<double> matrix(out * in);
  for (int64_t o = 0; o < out; ++o)
    for (const Tap& tap : samples[o]) matrix[o * in + tap.index] += tap.weight;
  return b.numbers(matrix, element, {out, in});
}
// The product along a dimension, which the result has again.
Value contract(Builder& b, Value x, int64_t dim, Value matrix) {
  Value product = b.dot(x, matrix, {dim}, {1});  // the new dimension comes last
  Dims order;
  for (int64_t d = 0, next = 0; d < rank_of(x); ++d) order.push_back(d == dim ? rank_of(x) - 1 : next++);
  return b.transpose(product, order);
}

constexpr size_t kMostTaps = 8;  // more are a product with a matrix

Value along(Builder& b, Value x, int64_t dim, const Samples& samples) {
  const size_t taps = samples[0].size();
  if (taps > kMostTaps) return contract(b, x, dim, matrix_of(b, samples, shape_of(x)[dim], element_of(x)));
  Value sum;
  for (size_t k = 0; k < taps; ++k) {
    Dims index;
    std::vector<double> weights;
    for (const auto& of_result : samples) index.push_back(of_result[k].index), weights.push_back(of_result[k].weight);
    int64_t zeros = llvm::count(weights, 0.0);
    if (zeros == int64_t(samples.size()) && (sum || k + 1 < taps)) continue;
    Value v = b.take(x, b.integers(index), dim);
    if (llvm::any_of(weights, [](double w) { return w != 1; })) {
      Value weight = b.broadcast(b.numbers(weights, element_of(x), {int64_t(samples.size())}), shape_of(v), {dim}), zero = b.like(0, v);
      v = b.mul(v, weight);
      if (zeros) v = b.select(b.compare(Direction::NE, weight, zero), v, zero);  // which infinities don't reach
    }
    sum = sum ? b.add(sum, v) : v;
  }
  return sum;
}

}  // namespace

Samples transposed(const Samples& samples, int64_t in) {
  Samples result(in);
  size_t most = 1;
  for (size_t o = 0; o < samples.size(); ++o)
    for (const Tap& tap : samples[o]) {
      if (tap.weight == 0) continue;
      auto& readers = result[tap.index];
      if (readers.empty() || readers.back().index != int64_t(o)) readers.push_back({int64_t(o), 0});
      readers.back().weight += tap.weight;
      most = std::max(most, readers.size());
    }
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t last = !result[i].empty() ? result[i].back().index : i ? result[i - 1].back().index : 0;
    result[i].resize(most, {last, 0});
  }
  return result;
}

// Dimensions that shrink come first, then those that grow, and of these the last one, whose neighbours are no whole rows, before others.
Value resample(Builder& b, Value x, llvm::ArrayRef<int64_t> to, llvm::function_ref<Samples(size_t k)> samples_of) {
  const int64_t first = rank_of(x) - int64_t(to.size());
  const Dims from(shape_of(x).drop_front(first));
  for (size_t k = 0; k < to.size(); ++k)
    if (to[k] < from[k]) x = along(b, x, first + int64_t(k), samples_of(k));
  for (size_t k = to.size(); k-- > 0;)
    if (to[k] >= from[k]) x = along(b, x, first + int64_t(k), samples_of(k));
  return x;
}

}  // namespace cresset::lowering
