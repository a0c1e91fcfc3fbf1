// Rows of a table, of which bags are summed, averaged or the greatest taken. A bag ends where the next one begins.
#include <mlir/IR/Matchers.h>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

enum Mode { kSum, kMean, kMax };

// Integers first, first + step, ...
struct Ramp {
  int64_t first, step;
};
std::optional<Ramp> ramp_of(Value v) {
  if (auto splat = mlir::DenseIntElementsAttr(); matchPattern(v, mlir::m_Constant(&splat)))
    return splat.isSplat() ? std::optional<Ramp>({splat.getSplatValue<llvm::APInt>().getSExtValue(), 0}) : std::nullopt;
  mlir::Operation* op = v.getDefiningOp();
  if (llvm::isa_and_nonnull<hlo::IotaOp>(op)) return rank_of(v) == 1 ? std::optional<Ramp>({0, 1}) : std::nullopt;
  if (llvm::isa_and_nonnull<hlo::ConvertOp, hlo::BroadcastInDimOp>(op)) {
    auto from = ramp_of(op->getOperand(0));
    return from && (from->step == 0 || rank_of(op->getOperand(0)) == rank_of(v)) ? from : std::nullopt;
  }
  if (!llvm::isa_and_nonnull<hlo::AddOp, hlo::MulOp>(op)) return std::nullopt;
  auto x = ramp_of(op->getOperand(0)), y = ramp_of(op->getOperand(1));
  if (!x || !y) return std::nullopt;
  if (llvm::isa<hlo::AddOp>(op)) return Ramp{x->first + y->first, x->step + y->step};
  if (x->step) std::swap(x, y);
  return x->step ? std::nullopt : std::optional<Ramp>({x->first * y->first, x->first * y->step});
}

class Bags {
 public:
  Bags(Builder& b, Value indices, Value offsets, int64_t count, int64_t padding_idx) : b_(b), count_(count), items_(shape_of(indices)[0]) {
    if (padding_idx >= 0) kept_ = b.compare(Direction::NE, indices, b.constant(c10::Scalar(padding_idx), element_of(indices), {items_}));
    auto ramp = ramp_of(offsets);
    if (ramp && ramp->first == 0 && count > 0 && ramp->step * count == items_) each_ = ramp->step;
    else if (count > 0) bag_ = b.sub(b.places_in(b.slice(offsets, 0, 0, count), b.iota(0, {items_}, i64()), true), b.constant(c10::Scalar(1), i64(), {items_}));
  }

  /// The bag of each item; -1 of one before the first.
  Value bag() const { return bag_ ? bag_ : each_ ? b_.div(b_.iota(0, {items_}, i64()), b_.constant(c10::Scalar(each_), i64(), {items_})) : b_.constant(c10::Scalar(-1), i64(), {items_}); }
  /// What the bags have, for each item.
  Value spread(Value v) const {
    Dims shape(shape_of(v));
    shape[0] = items_;
    if (!each_) return count_ ? b_.take(v, b_.max(bag_, b_.like(0, bag_)), 0) : b_.constant(0.0, element_of(v), shape);
    Dims by_bag(shape);
    by_bag[0] = each_, by_bag.insert(by_bag.begin(), count_);
    return b_.reshape(b_.spread(v, {1}, by_bag), shape);
  }
  /// Items that count for nothing, replaced.
  Value kept(Value v, Value otherwise) const { return kept_ ? b_.select(b_.broadcast(kept_, shape_of(v), {0}), v, otherwise) : v; }
  Value sum(Value v) const {
    return fold(kept(v, b_.like(0, v)), b_.constant(0.0, element_of(v)), [](Builder& b, Value x, Value y) { return b.add(x, y); });
  }
  Value fold(Value v, Value init, llvm::function_ref<Value(Builder&, Value, Value)> combine) const {
    Dims shape(shape_of(v));
    if (each_) {
      shape[0] = each_;
      shape.insert(shape.begin(), count_);
      return b_.reduce(b_.reshape(v, shape), {1}, init, combine);
    }
    shape[0] = count_;
    Value start = b_.broadcast(init, shape, {});
    return count_ && items_ ? b_.scatter_slices(start, 0, bag_, v, [&](Value x, Value y) { return combine(b_, x, y); }) : start;
  }
  /// How many items each has.
  Value sizes(mlir::Type element) const { return sum(b_.constant(1.0, element, {items_})); }

 private:
  mlir::Type i64() const { return b_.ops.getI64Type(); }

  Builder& b_;
  Value bag_, kept_;
  int64_t count_, items_, each_ = 0;  // of bags, of all their items, of those of each where that is the same
};

// A result beyond the first: PyTorch says that it is empty where its own kernels don't need it, or has one more element where they do.
Value sized(Builder& b, Value v, size_t result) {
  Dims shape = b.result_shape(result);
  if (int64_t more = shape[0] - shape_of(v)[0]; more && rank_of(v) == 1) {
    if (shape[0] == 0) return b.constant(0.0, b.result_element(result), shape);
    v = b.pad(v, 0, {0}, {more});
  }
  return b.convert(v, b.result_element(result));
}
Value over_columns(Builder& b, Value v, Value like) { return b.broadcast(v, shape_of(like), {0}); }
// By the sizes of the bags: rows of sums as means, and rows of which those of empty bags are zero.
Value divided(Builder& b, Value rows, Value sizes) { return b.div(rows, over_columns(b, b.max(sizes, b.like(1, sizes)), rows)); }
Value zero_if_empty(Builder& b, Value rows, Value sizes) { return b.select(over_columns(b, b.compare(Direction::GT, sizes, b.like(0, sizes)), rows), rows, b.like(0, rows)); }

Values pooled(Builder& b, Value weight, Value indices, Value offsets, int64_t mode, Value per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  int64_t count = shape_of(offsets)[0] - include_last_offset;
  Bags bags(b, indices, offsets, count, padding_idx);
  Value rows = b.upcast(b.take(weight, indices, 0)), sizes = bags.sizes(element_of(rows));
  auto results = [&](Value pooled, Value from) { return Values{b.convert(pooled, b.result_element()), sized(b, bags.bag(), 1), sized(b, sizes, 2), sized(b, from, 3)}; };
  if (mode == kMax) {
    Value lowest = b.lowest(element_of(rows)), all = bags.kept(rows, b.broadcast(lowest, shape_of(rows), {}));
    Value greatest = bags.fold(all, lowest, [](Builder& b, Value x, Value y) { return b.max(x, y); });
    // The first of equal ones, or of those that are no numbers.
    Value largest = b.logical_or(b.compare(Direction::EQ, all, bags.spread(greatest)), b.compare(Direction::NE, all, all));
    Value item = b.iota(0, shape_of(rows), b.ops.getI64Type()), none = b.constant(c10::Scalar(shape_of(rows)[0]), b.ops.getI64Type());
    Value first = bags.fold(b.select(largest, item, b.broadcast(none, shape_of(rows), {})), none, [](Builder& b, Value x, Value y) { return b.min(x, y); });
    Value from = shape_of(rows)[0] ? b.take(indices, b.min(first, b.constant(c10::Scalar(shape_of(rows)[0] - 1), b.ops.getI64Type(), shape_of(first))), 0) : first;
    return results(zero_if_empty(b, greatest, sizes), zero_if_empty(b, from, sizes));
  }
  if (per_sample_weights) rows = b.mul(rows, over_columns(b, b.convert(per_sample_weights, element_of(rows)), rows));
  Value sum = bags.sum(rows);
  if (mode == kMean) sum = divided(b, sum, sizes);
  return results(sum, sizes);
}

}  // namespace

Values _embedding_bag(Builder& b, Value weight, Value indices, Value offsets, bool scale_grad_by_freq, int64_t mode, bool sparse, Value per_sample_weights,
                      bool include_last_offset, int64_t padding_idx) {
  return pooled(b, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
}
Values _embedding_bag_forward_only(Builder& b, Value weight, Value indices, Value offsets, bool scale_grad_by_freq, int64_t mode, bool sparse, Value per_sample_weights,
                                   bool include_last_offset, int64_t padding_idx) {
  return pooled(b, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
}
Value _embedding_bag_backward(Builder& b, Value grad, Value indices, Value offsets, Value offset2bag, Value bag_size, Value maximum_indices, int64_t num_weights,
                              bool scale_grad_by_freq, int64_t mode, bool sparse, Value per_sample_weights, int64_t padding_idx) {
  Value g = b.upcast(grad);
  Bags bags(b, indices, offsets, shape_of(grad)[0], padding_idx);
  Value sizes = bags.sizes(element_of(g));
  if (mode == kMax) {
    g = zero_if_empty(b, g, sizes);
    return b.convert(scatter_add(b, b.constant(0.0, element_of(g), {num_weights, shape_of(g)[1]}), 0, maximum_indices, g), b.result_element());
  }
  if (mode == kMean) g = divided(b, g, sizes);
  g = bags.spread(g);
  if (per_sample_weights) g = b.mul(g, over_columns(b, b.convert(per_sample_weights, element_of(g)), g));
  return embedding_dense_backward(b, g, indices, num_weights, padding_idx, scale_grad_by_freq);
}
Value _embedding_bag_per_sample_weights_backward(Builder& b, Value grad, Value weight, Value indices, Value offsets, Value offset2bag, int64_t mode, int64_t padding_idx) {
  Bags bags(b, indices, offsets, shape_of(grad)[0], padding_idx);
  Value products = b.mul(bags.spread(b.upcast(grad)), b.upcast(b.take(weight, indices, 0)));
  return b.convert(b.sum(bags.kept(products, b.like(0, products)), {1}), b.result_element());
}

}  // namespace cresset::lowering::aten
