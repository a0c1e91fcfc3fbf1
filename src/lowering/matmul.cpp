// Matrix products.
#include "generated/lowerings.h"
#include "lowering/elementwise.h"

namespace cresset::lowering::aten {
namespace {

// beta·self + alpha·product, as the CPU does: nothing is read of self when beta is 0. The product is not rounded before.
Value plus_scaled(Builder& b, Value self, Value product, const Scalar& beta, const Scalar& alpha) {
  if (b.is(beta, 0)) return elementwise(b, [&](Value p) { return scaled(b, p, alpha); }, product);
  return elementwise(b, [&](Value s, Value p) { return b.add(scaled(b, s, beta), scaled(b, p, alpha)); }, self, product);
}

// All dimensions but the last as one, also where the last is 0.
Value rows(Builder& b, Value v, int64_t columns) {
  return rank_of(v) == 2 ? v : b.reshape(v, {mlir::ShapedType::getNumElements(shape_of(v).drop_back()), columns});
}

}  // namespace

Value mm(Builder& b, Value self, Value mat2) { return b.matmul(self, mat2); }
// dot_general wants operands of one type: a mixed pair is widened, which costs kernels that multiply bytes nothing.
Value _int_mm(Builder& b, Value self, Value mat2) {
  mlir::Type wide = b.result_element();
  if (element_of(self) != element_of(mat2)) self = b.convert(self, wide), mat2 = b.convert(mat2, wide);
  return b.matmul(self, mat2, false, false, wide);
}
Value bmm(Builder& b, Value self, Value mat2) { return b.matmul(self, mat2); }
// Each component from the next two: self₁·other₂ - self₂·other₁, rounded as the CPU does.
Value linalg_cross(Builder& b, Value self, Value other, int64_t dim) {
  dim = wrap(dim, rank_of(self));
  auto following = [&](Value v, int64_t by) { return b.concatenate({b.slice(v, dim, by, 3), b.slice(v, dim, 0, by)}, dim); };
  self = b.to_result(self), other = b.to_result(other);
  return b.sub(b.mul(following(self, 1), following(other, 2)), b.mul(following(self, 2), following(other, 1)));
}
// Of matrices whose leading dimensions are broadcast.
Value linalg_solve_triangular(Builder& b, Value self, Value B, bool upper, bool left, bool unitriangular) {
  const auto& result = b.node.types()[0].sizes;
  auto systems = [&](Value v) {
    Dims shape(result.begin(), result.end());
    std::copy_n(shape_of(v).end() - 2, 2, shape.end() - 2);
    return b.broadcast(v, shape);
  };
  return b.triangular_solve(systems(self), systems(B), left, !upper, unitriangular);
}
Value mv(Builder& b, Value self, Value vec) { return b.dot(self, vec, {1}, {0}); }
Value dot(Builder& b, Value self, Value tensor) { return b.dot(self, tensor, {0}, {0}); }
Value vdot(Builder& b, Value self, Value other) { return dot(b, self, other); }  // of real numbers
Value addmm(Builder& b, Value self, Value mat1, Value mat2, Scalar beta, Scalar alpha) { return plus_scaled(b, self, b.matmul(mat1, mat2, false, false, compute_type(b)), beta, alpha); }
Value baddbmm(Builder& b, Value self, Value batch1, Value batch2, Scalar beta, Scalar alpha) {
  return plus_scaled(b, self, b.matmul(batch1, batch2, false, false, compute_type(b)), beta, alpha);
}
Value addmv(Builder& b, Value self, Value mat, Value vec, Scalar beta, Scalar alpha) { return plus_scaled(b, self, b.dot(mat, vec, {1}, {0}, {}, {}, compute_type(b)), beta, alpha); }

// Groups that end at offs, of the rows of self, the columns of mat2, or of what is summed; without any it is bmm. As text it multiplies with every group and takes what belongs to it.
Value _grouped_mm(Builder& b, Value self, Value mat2, Value offs, Value bias, std::optional<at::ScalarType> out_dtype) {
  if (!offs) return b.matmul(self, mat2);
  int64_t groups = shape_of(offs)[0], rows = shape_of(self)[rank_of(self) - 2], depth = shape_of(self).back(), columns = shape_of(mat2).back();
  if (groups == 0) return b.to_result(b.constant(0, b.result_element()));
  // [groups, size]: whether this is a place of that group
  auto members = [&](int64_t size) {
    Value ends = b.broadcast(offs, {groups, size}, {0}), at = b.iota(1, {groups, size}, element_of(offs));
    Value begins = b.broadcast(b.slice(b.pad(offs, 0, {1}, {0}), 0, 0, groups), {groups, size}, {0});
    return b.logical_and(b.compare(Direction::GE, at, begins), b.compare(Direction::LT, at, ends));
  };
  auto of_members = [&](Value v, llvm::ArrayRef<int64_t> dims, int64_t size) { return b.select(b.broadcast(members(size), shape_of(v), dims), v, b.like(0, v)); };
  if (rank_of(self) == 2 && rank_of(mat2) == 2) {
    Value x = of_members(b.broadcast(self, {groups, rows, depth}), {0, 2}, depth), y = of_members(b.broadcast(mat2, {groups, depth, columns}), {0, 1}, depth);
    return b.matmul(x, y);
  }
  bool of_rows = rank_of(self) == 2;
  Value products = of_rows ? b.dot(self, mat2, {1}, {1}, {}, {}, compute_type(b)) : b.dot(self, mat2, {2}, {0}, {}, {}, compute_type(b));
  Value all = of_rows ? b.transpose(products, {1, 0, 2}) : products;  // [groups, rows, columns]
  return b.convert(b.sum(of_members(all, {0, of_rows ? 1 : 2}, of_rows ? rows : columns), {0}), b.result_element());
}

// A weight of one dimension is one row whose dimension is missing in the result.
Value linear(Builder& b, Value input, Value weight, Value bias) {
  int64_t in = shape_of(weight).back(), out = rank_of(weight) == 2 ? shape_of(weight)[0] : 1;
  mlir::Type element = bias ? compute_type(b) : b.result_element();
  Value product = b.reshape(b.matmul(rows(b, input, in), b.reshape(weight, {out, in}), false, true, element), b.result_shape());
  return bias ? elementwise(b, [&](Value p, Value v) { return b.add(p, v); }, product, bias) : product;
}
Values linear_backward(Builder& b, Value self, Value grad_output, Value weight, const std::vector<bool>& output_mask) {
  int64_t in = shape_of(weight).back(), out = rank_of(weight) == 2 ? shape_of(weight)[0] : 1;
  Value g = rank_of(weight) == 2 ? rows(b, grad_output, out) : b.reshape(grad_output, {type_of(grad_output).getNumElements(), 1});
  Values results(3);
  if (output_mask[0]) results[0] = b.reshape(b.matmul(g, b.reshape(weight, {out, in})), b.result_shape(0));
  if (output_mask[1]) results[1] = b.reshape(b.matmul(g, rows(b, self, in), true, false), b.result_shape(1));
  if (output_mask[2]) results[2] = b.as_result(b.sum(b.upcast(g), {0}), 2);
  return results;
}

}  // namespace cresset::lowering::aten
