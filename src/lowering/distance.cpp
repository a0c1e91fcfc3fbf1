// Distances between all pairs of two sets of vectors.
#include <cmath>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

// [..., rows, 1, width] - [..., 1, others, width]
Value differences(Builder& b, Value x, Value y, llvm::ArrayRef<int64_t> distances) {
  Dims shape(distances), dims(distances);
  shape.push_back(shape_of(x).back());
  auto side = [&](Value v, int64_t absent) {
    Dims own(shape_of(v));
    own.insert(own.begin() + (rank_of(v) + absent), 1);
    return b.broadcast(b.reshape(v, own), shape);
  };
  return b.sub(side(x, -1), side(y, -2));
}
// A number to a power that is known.
Value power(Builder& b, Value v, double p) { return p == 1 ? v : p == 2 ? b.mul(v, v) : b.pow(v, b.like(p, v)); }
Value sign_of(Builder& b, Value v) { return b.create<hlo::SignOp>(v); }

}  // namespace

Value _cdist_forward(Builder& b, Value x1, Value x2, double p, std::optional<int64_t> compute_mode) {
  int64_t rank = int64_t(b.result_shape().size());
  if (shape_of(x1).back() == 0) return b.constant(0.0, b.result_element(), b.result_shape());
  Value d = differences(b, x1, x2, b.result_shape());
  if (p == 0) return b.sum(b.convert(b.compare(Direction::NE, d, b.like(0, d)), element_of(d)), {rank});
  d = b.abs(d);
  if (std::isinf(p)) return b.maximum(d, {rank});
  Value sum = b.sum(power(b, d, p), {rank});
  return p == 1 ? sum : p == 2 ? b.sqrt(sum) : power(b, sum, 1 / p);
}

Value _cdist_backward(Builder& b, Value grad, Value x1, Value x2, double p, Value cdist) {
  int64_t rank = rank_of(cdist);
  if (p == 0 || type_of(cdist).getNumElements() == 0 || shape_of(x1).back() == 0) return b.constant(0.0, b.result_element(), b.result_shape());
  Value d = differences(b, x1, x2, shape_of(cdist)), size = b.abs(d), zero = b.like(0, d);
  auto spread = [&](Value v) { return b.spread(v, {rank}, shape_of(d)); };
  Value g = spread(grad), distance = spread(cdist), slope = b.mul(sign_of(b, d), g);
  if (std::isinf(p)) slope = b.select(b.compare(Direction::EQ, size, distance), slope, zero);
  else if (p == 2) slope = b.div(b.mul(d, g), distance);
  else if (p != 1) slope = b.mul(slope, b.div(power(b, size, p - 1), power(b, distance, p - 1)));
  Value flat = b.compare(Direction::EQ, p < 1 ? size : distance, zero);
  return b.sum(b.select(flat, zero, slope), {rank - 1});
}

}  // namespace cresset::lowering::aten
