// Sorting, and what is taken of sorted lines.
#include "generated/lowerings.h"
#include "lowering/builder.h"

namespace cresset::lowering::aten {
namespace {

// NaN is larger than any number.
Values sorted(Builder& b, Value self, int64_t dim, bool descending) {
  mlir::Type element = element_of(self);
  Value positions = b.iota(dim, shape_of(self), i64_of(b));
  auto op = b.create<hlo::SortOp>(mlir::TypeRange{self.getType(), positions.getType()}, mlir::ValueRange{self, positions}, b.ops.getI64IntegerAttr(dim), b.ops.getBoolAttr(true));
  mlir::OpBuilder::InsertionGuard guard(b.ops);
  auto* block = b.ops.createBlock(&op.getComparator());
  mlir::Type x = mlir::RankedTensorType::get({}, element), i = mlir::RankedTensorType::get({}, i64_of(b));
  block->addArguments({x, x, i, i}, {b.loc, b.loc, b.loc, b.loc});
  Value p = block->getArgument(0), q = block->getArgument(1);
  if (descending) std::swap(p, q);
  Value before = b.compare(Direction::LT, p, q);
  if (mlir::isa<mlir::FloatType>(element))
    before = b.logical_or(before, b.logical_and(b.compare(Direction::EQ, p, p), b.compare(Direction::NE, q, q)));
  b.create<hlo::ReturnOp>(mlir::ValueRange{before});
  return {op.getResult(0), op.getResult(1)};
}

using Taken = llvm::function_ref<Values(Builder&, Value line, int64_t dim)>;  // of the lines along a dimension: values, and where they were

Values at_place(Builder& b, const Values& sorted, int64_t dim, int64_t k) { return {b.slice(sorted[0], dim, k, k + 1), b.slice(sorted[1], dim, k, k + 1)}; }

// The lower one of the two in the middle; of a line with nan that, and where the first one was.
Values middle(Builder& b, Value self, int64_t dim) {
  int64_t n = shape_of(self)[dim];
  Values line = sorted(b, self, dim, false), number = at_place(b, line, dim, (n - 1) / 2);
  if (!is_floating(self)) return number;
  Value last = b.slice(line[0], dim, n - 1, n), has_nan = b.compare(Direction::NE, last, last);
  Value positions = b.iota(dim, shape_of(self), i64_of(b)), nan = b.compare(Direction::NE, self, self);
  Value first = b.minimum(b.select(nan, positions, b.like(double(n), positions)), {dim});
  return {b.select(has_nan, last, number[0]), b.select(has_nan, b.unsqueeze(first, dim), number[1])};
}
// Of the numbers that are not nan; nan where there are none.
Values middle_of_numbers(Builder& b, Value self, int64_t dim) {
  if (!is_floating(self)) return middle(b, self, dim);
  Values line = sorted(b, self, dim, false);
  Value numbers = b.sum(b.convert(b.compare(Direction::EQ, self, self), i64_of(b)), {dim});
  Value place = b.unsqueeze(b.div(b.max(b.add(numbers, -1), b.like(0, numbers)), b.like(2, numbers)), dim);
  return {b.take_along(line[0], place, dim), b.take_along(line[1], place, dim)};
}

Values along(Builder& b, Value self, int64_t dim, Taken taken) {
  if (rank_of(self) == 0) return {self, b.constant(0.0, i64_of(b))};
  Values result = taken(b, self, wrap(dim, rank_of(self)));
  return {b.as_result(result[0], 0), b.as_result(result[1], 1)};
}
Value of_all(Builder& b, Value self, Taken taken) { return b.as_result(taken(b, b.reshape(self, {type_of(self).getNumElements()}), 0)[0]); }

}  // namespace

Values sort_stable(Builder& b, Value self, std::optional<bool> stable, int64_t dim, bool descending) {
  return along(b, self, dim, [&](Builder& b, Value line, int64_t dim) { return sorted(b, line, dim, descending); });
}
Values topk(Builder& b, Value self, int64_t k, int64_t dim, bool largest, bool is_sorted) {
  return along(b, self, dim, [&](Builder& b, Value line, int64_t dim) {
    Values all = sorted(b, line, dim, largest);
    return Values{b.slice(all[0], dim, 0, k), b.slice(all[1], dim, 0, k)};
  });
}
Values kthvalue(Builder& b, Value self, int64_t k, int64_t dim, bool keepdim) {
  return along(b, self, dim, [&](Builder& b, Value line, int64_t dim) { return at_place(b, sorted(b, line, dim, false), dim, k - 1); });
}
Value median(Builder& b, Value self) { return of_all(b, self, middle); }
Values median_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return along(b, self, dim, middle); }
Value nanmedian(Builder& b, Value self) { return of_all(b, self, middle_of_numbers); }
Values nanmedian_dim(Builder& b, Value self, int64_t dim, bool keepdim) { return along(b, self, dim, middle_of_numbers); }

}  // namespace cresset::lowering::aten
