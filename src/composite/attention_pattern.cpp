#include "composite/attention_pattern.h"

#include <cmath>

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

bool AttentionPattern::find() {
  auto is_softmax = [](Value v) {
    auto op = v.getDefiningOp<CompositeOp>();
    return op && op.getName() == "aten.softmax";
  };
  auto up = climb(weights().value, is_softmax);
  if (!up) return false;
  to_softmax_ = *up;
  softmax_ = cast<CompositeOp>(to_softmax_.values.back().getDefiningOp());
  if (!softmax_.getCompositeAttributes().getAs<IntegerAttr>("dim")) return false;
  auto product = climb(softmax_->getOperand(0), [](Value v) { return v.getDefiningOp<DotGeneralOp>() != nullptr; });
  if (!product) return false;
  to_first_ = *product;
  first_ = cast<DotGeneralOp>(to_first_.values.back().getDefiningOp());
  return first_ != second_;
}

std::string AttentionPattern::understand() {
  if (auto e = find_axes(); !e.empty()) return e;
  if (auto e = find_masks(); !e.empty()) return e;
  // Which of two dimensions that only queries have are positions: what fits a view of the queries as they are, and the masks.
  SmallVector<std::pair<int, SmallVector<Axis>>> orders;
  std::string error;
  for (size_t order = 0; order < (free_.size() == 2 ? 2 : 1); ++order) {
    if (order == 1) std::swap(free_[0], free_[1]);
    if (error = find_operands(); error.empty()) orders.push_back({cost_, free_});
  }
  llvm::stable_sort(orders, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [cost, order] : orders) {
    free_ = order, operand_ = nullptr, is_causal_ = false, mask_ = {};
    error = find_operands();
    if (error.empty()) error = find_scale();
    if (error.empty()) error = find_mask_operand();
    if (error.empty()) error = verify();
    if (error.empty()) return "";
  }
  return error;
}

AttentionPattern::Side AttentionPattern::side(DotGeneralOp product, bool left) {
  auto dims = product.getDotDimensionNumbers();
  Side s = left ? Side{product.getLhs(), dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions(), {}}
                : Side{product.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions(), {}};
  for (int64_t d = 0; d < int64_t(shape_of(s.value).size()); ++d)
    if (!llvm::is_contained(s.batch, d) && !llvm::is_contained(s.summed, d)) s.free.push_back(d);
  return s;
}

// The one dimension of size > 1 among these: -1 if there is none, -2 if there are several.
static int only(Value v, ArrayRef<int64_t> dims) {
  int found = -1;
  for (int64_t d : dims)
    if (shape_of(v)[d] > 1) found = found == -1 ? int(d) : -2;
  return found;
}

bool is_safe_softmax(Operation* op, Value scores) {
  auto select = dyn_cast<SelectOp>(op);
  if (!select || constant_number(select.getOnTrue()) != 0.0) return false;
  Operation* hidden = select.getPred().getDefiningOp();
  while (hidden && is_layout(hidden)) hidden = hidden->getOperand(0).getDefiningOp();
  auto all = dyn_cast_or_null<ReduceOp>(hidden);
  if (!all || all.getNumOperands() != 2 || !isa_and_nonnull<AndOp>(combiner(all.getBody()))) return false;
  auto compare = all->getOperand(0).getDefiningOp<CompareOp>();
  return compare && compare.getComparisonDirection() == ComparisonDirection::EQ && compare.getLhs() == scores && constant_number(compare.getRhs()) == -INFINITY;
}

std::string AttentionPattern::find_axes() {
  for (Value v : ArrayRef<Value>(to_softmax_.values).drop_back())
    if (Operation* op = v.getDefiningOp(); !is_layout(op) && !isa<ConvertOp>(op) && !is_safe_softmax(op, softmax_->getOperand(0)))
      return "between its softmax and the second product is " + op->getName().getStringRef().str();
  if (auto e = match_weights(); !e.empty()) return e;
  if (auto e = find_keys(); !e.empty()) return e;
  return list_axes();
}

// Each dimension of the weights is one of the scores'.
std::string AttentionPattern::match_weights() {
  constexpr auto kOther = "the dimensions of the weights are not those of the scores";
  ArrayRef<int64_t> weights = shape_of(this->weights().value), scores = shape_of(first_.getResult());
  auto trace = [&](const Indices& at) -> std::optional<Indices> {
    auto middle = to_softmax_.chase(at);
    return middle ? to_first_.chase(*middle) : std::nullopt;
  };
  Indices zero(weights.size(), 0);
  auto base = trace(zero);
  if (!base) return "the weights are rearranged";
  weights_dims_.assign(scores.size(), -1);
  for (size_t d = 0; d < weights.size(); ++d) {
    if (weights[d] == 1) continue;
    Indices at(zero);
    at[d] = 1;
    auto moved = trace(at);
    int dim = -1;
    for (size_t k = 0; moved && k < moved->size(); ++k)
      if ((*moved)[k] != (*base)[k]) dim = dim == -1 && (*moved)[k] == (*base)[k] + 1 ? int(k) : -2;
    if (dim < 0 || weights_dims_[dim] >= 0 || scores[dim] != weights[d]) return kOther;
    weights_dims_[dim] = int(d);
  }
  for (auto [size, d] : llvm::zip(scores, weights_dims_))
    if (size > 1 && d < 0) return kOther;
  return "";
}

// Keys are on the side of the dimension that the softmax and the second product work on.
std::string AttentionPattern::find_keys() {
  Side weights = this->weights(), left = side(first_, true);
  int summed = only(weights.value, weights.summed);
  if (summed < 0) return "the second product sums over several dimensions";
  Indices zero(shape_of(weights.value).size(), 0), along(zero);
  along[summed] = 1;
  int64_t softmax_dim = softmax_.getCompositeAttributes().getAs<IntegerAttr>("dim").getInt();
  if ((*to_softmax_.chase(along))[softmax_dim] == (*to_softmax_.chase(zero))[softmax_dim]) return "its softmax is over another dimension than the second product";
  key_dim_ = int(llvm::find(weights_dims_, summed) - weights_dims_.begin());
  int first_left = int(left.batch.size()), first_right = first_left + int(left.free.size());
  if (key_dim_ < first_left) return "the softmax is over a dimension of the batch";
  query_left_ = key_dim_ >= first_right;
  Side query = this->query(), key = this->key();
  query_width_ = only(query.value, query.summed), key_width_ = only(key.value, key.summed);
  if (query_width_ == -2) return "the first product sums over several dimensions";
  if (only(key.value, key.free) != int(key.free[key_dim_ - (query_left_ ? first_right : first_left)])) return "the keys have several positions";
  width_ = query_width_ < 0 ? 1 : shape_of(query.value)[query_width_];
  return "";
}

// Where the dimensions of the scores are in the products' operands and in the second one's result: batch, free on the left, free on the right.
std::string AttentionPattern::list_axes() {
  Side weights = this->weights(), values = this->values(), query = this->query(), key = this->key();
  auto place = [](ArrayRef<int64_t> dims, int64_t d) { return int(llvm::find(dims, d) - dims.begin()); };
  int batch = int(query.batch.size()), first_query = batch + (query_left_ ? 0 : int(key.free.size())), result_batch = int(weights.batch.size());
  value_width_dim_ = only(values.value, values.free), value_keys_ = only(values.value, values.summed);
  if (value_width_dim_ == -2) return "the values have several widths";
  if (value_width_dim_ >= 0) {
    result_width_dim_ = result_batch + (weights_left_ ? int(weights.free.size()) : 0) + place(values.free, value_width_dim_);
    value_width_ = shape_of(values.value)[value_width_dim_];
  }
  for (int k = 0; k < int(weights_dims_.size()); ++k) {
    Axis axis;
    axis.size = shape_of(first_.getResult())[k];
    if (axis.size == 1) continue;
    int in_weights = weights_dims_[k], in_batch = place(weights.batch, in_weights);
    bool is_batch = in_batch < result_batch;
    if (is_batch) axis.value = int(values.batch[in_batch]);
    if (k != key_dim_) axis.result = is_batch ? in_batch : result_batch + (weights_left_ ? 0 : int(values.free.size())) + place(weights.free, in_weights);
    if (k == key_dim_) {
      axis.key = only(key.value, key.free), axis.value = value_keys_;
      keys_ = axis;
      continue;
    }
    if (k < batch) axis.query = int(query.batch[k]), axis.key = int(key.batch[k]);
    else axis.query = int(query.free[k - first_query]);
    if ((k < batch) != (axis.value >= 0)) return "keys and values have other heads";
    (k < batch ? batch_ : free_).push_back(axis);
  }
  if (free_.size() > 2) return "the queries have several positions";
  return "";
}

static bool is_maximum(Value v) {
  for (int k = 0; k < 6; ++k) {
    Operation* op = v.getDefiningOp();
    if (!op || op->getNumOperands() == 0) return false;
    if (auto reduce = dyn_cast<ReduceOp>(op)) return isa<MaxOp>(reduce.getBody().front().front());
    v = op->getOperand(isa<MaxOp>(op) && constant_number(op->getOperand(0)) ? 1 : 0);
  }
  return false;
}

std::string AttentionPattern::find_masks() {
  for (size_t k = 0; k + 1 < to_first_.values.size(); ++k) {
    Operation* op = to_first_.values[k].getDefiningOp();
    Value next = to_first_.values[k + 1];
    if (is_layout(op) || isa<ConvertOp>(op)) continue;
    auto other = [&] { return op->getOperand(op->getOperand(0) == next ? 1 : 0); };
    if (isa<MulOp>(op) && constant_number(other())) continue;
    if (isa<DivOp>(op) && op->getOperand(0) == next && constant_number(other())) continue;
    if (isa<MaxOp>(op)) {
      auto low = constant_number(other());
      if (low && *low <= kMasked) continue;
    }
    if (auto select = dyn_cast<SelectOp>(op)) {
      bool keeps = op->getOperand(1) == next;
      auto low = constant_number(op->getOperand(keeps ? 2 : 1));
      if (!low || !(*low <= kMasked)) return "its mask puts something else than a large negative number in place of scores";
      masks_.push_back({op, op->getOperand(0), keeps, k, *low});
      continue;
    }
    if (isa<AddOp>(op)) {
      masks_.push_back({op, other(), true, k});
      continue;
    }
    if (isa<SubtractOp>(op) && masks_.empty() && op->getOperand(0) == next && is_maximum(op->getOperand(1))) {
      // The softmax's own shift, in front of it because dimensions of size 1 were moved in between.
      start_ = k + 1;
      continue;
    }
    return "between its products is " + op->getName().getStringRef().str() + ", which is neither scale nor mask";
  }
  return "";
}

SmallVector<int64_t> AttentionPattern::place(int64_t n, int64_t i) const {
  SmallVector<int64_t> at(batch_.size() + free_.size(), 0);
  size_t last = free_.size();
  if (last > 0) at[batch_.size() + last - 1] = i;
  if (last > 1) at[batch_.size()] = n % free_[0].size, n /= free_[0].size;
  for (size_t k = batch_.size(); k-- > 0;) at[k] = n % batch_[k].size, n /= batch_[k].size;
  return at;
}
Indices AttentionPattern::in_operand(Value v, int Axis::* dim, int64_t n, int64_t i, int64_t j, int width, int64_t d) const {
  Indices at(shape_of(v).size(), 0);
  auto place = this->place(n, i);
  for (auto [k, axis] : llvm::enumerate(batch_)) at[axis.*dim] = place[k];
  for (auto [k, axis] : llvm::enumerate(free_))
    if (axis.*dim >= 0) at[axis.*dim] = place[batch_.size() + k];
  if (keys_.*dim >= 0) at[keys_.*dim] = j;
  if (width >= 0) at[width] = d;
  return at;
}
Indices AttentionPattern::in_weights(int64_t n, int64_t i, int64_t j) const {
  auto first = in_first(n, i, j);
  Indices at(shape_of(weights().value).size(), 0);
  for (auto [k, d] : llvm::enumerate(weights_dims_))
    if (d >= 0) at[d] = first[k];
  return at;
}
Indices AttentionPattern::in_first(int64_t n, int64_t i, int64_t j) const {
  Side query = this->query(), key = this->key();
  size_t batch = query.batch.size(), first_query = batch + (query_left_ ? 0 : key.free.size()), first_key = batch + (query_left_ ? query.free.size() : 0);
  Indices at(batch + query.free.size() + key.free.size(), 0);
  auto place = this->place(n, i);
  for (auto [k, d] : llvm::enumerate(query.batch))
    for (auto [m, axis] : llvm::enumerate(batch_))
      if (axis.query == d) at[k] = place[m];
  for (auto [k, d] : llvm::enumerate(query.free))
    for (auto [m, axis] : llvm::enumerate(free_))
      if (axis.query == d) at[first_query + k] = place[batch_.size() + m];
  for (auto [k, d] : llvm::enumerate(key.free))
    if (d == keys_.key) at[first_key + k] = j;
  return at;
}

}  // namespace cresset::composite
