// What rewrites of a program share.
#pragma once

#include <optional>

#include "mlir/IR/PatternMatch.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// The one number of a constant; null if it has several, or is none.
mlir::SplatElementsAttr splat(mlir::Value v);
/// The float behind such a constant, also behind a broadcast one; the byte of one.
std::optional<double> number(mlir::Value v);
std::optional<int64_t> byte(mlir::Value v);
/// The operand and the float that an operation of two combines; null without one.
template <class Op>
std::pair<mlir::Value, double> scaled_by_number(Op op) {
  if (!op) return {};
  if (auto c = number(op.getRhs())) return {op.getLhs(), *c};
  if (auto c = number(op.getLhs())) return {op.getRhs(), *c};
  return {};
}
/// What an operation with windows says of its i-th dimension; 1 where it says nothing, as all_ones of all.
inline int64_t or_one(std::optional<llvm::ArrayRef<int64_t>> v, size_t i) { return v ? (*v)[i] : 1; }
inline bool all_ones(std::optional<llvm::ArrayRef<int64_t>> v) {
  return !v || llvm::all_of(*v, [](int64_t n) { return n == 1; });
}
/// What it is a reshape of, through all of them; itself if it is none.
mlir::Value before_reshapes(mlir::Value v);
/// Zero as a constant without dimensions.
mlir::Value zero(mlir::Type element, mlir::Location loc, mlir::OpBuilder& b);
/// Itself where the order is the one it has.
mlir::Value transposed(mlir::Value v, llvm::ArrayRef<int64_t> order, mlir::OpBuilder& b);
/// Transposed likewise, what needs no transpose for it: a number, or a broadcast. Null for others.
mlir::Value broadcast_in_order(mlir::Value v, llvm::ArrayRef<int64_t> order, mlir::OpBuilder& b);
/// Whether a reducer (simple_reducer) makes of this initial value and any x just x.
bool is_neutral(mlir::Operation* reducer, mlir::Value init);
/// The sum over these dimensions, in ascending order.
mlir::Value sum_over(mlir::OpBuilder& b, mlir::Value v, llvm::ArrayRef<int64_t> dims);

/// A rule: returns the value that replaces the operation's result, or null.
template <class Op>
struct Rule final : mlir::OpRewritePattern<Op> {
  using Apply = mlir::Value (*)(Op, mlir::PatternRewriter&);
  Rule(mlir::MLIRContext* context, Apply apply) : mlir::OpRewritePattern<Op>(context), apply(apply) {}
  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter& r) const override {
    mlir::Value v = apply(op, r);
    if (!v) return mlir::failure();
    r.replaceOp(op, v);
    return mlir::success();
  }
  Apply apply;
};
template <class Op>
void add_rule(mlir::RewritePatternSet& rules, mlir::Value (*apply)(Op, mlir::PatternRewriter&)) {
  rules.add<Rule<Op>>(rules.getContext(), apply);
}

}  // namespace cresset::cpu
