// Matrix products.
#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

// beta·self + alpha·product, as the CPU does: nothing is read of self when beta is 0.
Value plus_scaled(Builder& b, Value self, Value product, const Scalar& beta, const Scalar& alpha) {
  if (b.is(beta, 0)) return elementwise(b, [&](Value p) { return scaled(b, p, alpha); }, product);
  return elementwise(b, [&](Value s, Value p) { return b.add(scaled(b, s, beta), scaled(b, p, alpha)); }, self, product);
}

}  // namespace

Value mm(Builder& b, Value self, Value mat2) { return b.matmul(self, mat2); }
Value bmm(Builder& b, Value self, Value mat2) { return b.matmul(self, mat2); }
Value mv(Builder& b, Value self, Value vec) { return b.dot(self, vec, {1}, {0}); }
Value dot(Builder& b, Value self, Value tensor) { return b.dot(self, tensor, {0}, {0}); }
Value addmm(Builder& b, Value self, Value mat1, Value mat2, Scalar beta, Scalar alpha) { return plus_scaled(b, self, b.matmul(mat1, mat2), beta, alpha); }
Value baddbmm(Builder& b, Value self, Value batch1, Value batch2, Scalar beta, Scalar alpha) {
  return plus_scaled(b, self, b.matmul(batch1, batch2), beta, alpha);
}
Value addmv(Builder& b, Value self, Value mat, Value vec, Scalar beta, Scalar alpha) { return plus_scaled(b, self, b.dot(mat, vec, {1}, {0}), beta, alpha); }

}  // namespace cresset::lowering::aten
