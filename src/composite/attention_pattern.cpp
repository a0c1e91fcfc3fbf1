#include "composite/attention_pattern.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

bool AttentionPattern::find() {
  auto is_softmax = [](Value v) {
    auto op = v.getDefiningOp<CompositeOp>();
    return op && op.getName() == "aten.softmax";
  };
  auto up = climb(weights(), is_softmax);
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

namespace {

// Free dimensions of one side of a product, in order.
SmallVector<int64_t> free_dims(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < int64_t(shape_of(operand).size()); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracted, d)) dims.push_back(d);
  return dims;
}
// The one dimension of size > 1 among these: -1 if there is none, -2 if there are several.
int only(Value v, ArrayRef<int64_t> dims) {
  int found = -1;
  for (int64_t d : dims)
    if (shape_of(v)[d] > 1) found = found == -1 ? int(d) : -2;
  return found;
}

}  // namespace

std::string AttentionPattern::find_axes() {
  auto n1 = first_.getDotDimensionNumbers(), n2 = second_.getDotDimensionNumbers();
  Value weights = this->weights(), values = weights_left_ ? second_.getRhs() : second_.getLhs();
  ArrayRef<int64_t> w_batch = weights_left_ ? n2.getLhsBatchingDimensions() : n2.getRhsBatchingDimensions(), v_batch = weights_left_ ? n2.getRhsBatchingDimensions() : n2.getLhsBatchingDimensions();
  ArrayRef<int64_t> w_sum = weights_left_ ? n2.getLhsContractingDimensions() : n2.getRhsContractingDimensions(), v_sum = weights_left_ ? n2.getRhsContractingDimensions() : n2.getLhsContractingDimensions();
  // The scores' dimensions: batch, free on the left, free on the right.
  auto left = free_dims(first_.getLhs(), n1.getLhsBatchingDimensions(), n1.getLhsContractingDimensions());
  auto right = free_dims(first_.getRhs(), n1.getRhsBatchingDimensions(), n1.getRhsContractingDimensions());
  size_t batch = n1.getLhsBatchingDimensions().size();
  // Each dimension of the weights is one of the scores'.
  auto trace = [&](Indices at) -> std::optional<Indices> {
    auto middle = to_softmax_.chase(at);
    return middle ? to_first_.chase(*middle) : std::nullopt;
  };
  Indices zero(shape_of(weights).size(), 0);
  auto base = trace(zero);
  if (!base) return "the weights are rearranged";
  weights_dims_.assign(shape_of(first_.getResult()).size(), -1);
  for (size_t d = 0; d < zero.size(); ++d) {
    if (shape_of(weights)[d] == 1) continue;
    Indices at(zero);
    at[d] = 1;
    auto moved = trace(at);
    int dim = -1;
    for (size_t k = 0; moved && k < moved->size(); ++k)
      if ((*moved)[k] != (*base)[k]) dim = dim == -1 && (*moved)[k] == (*base)[k] + 1 ? int(k) : -2;
    if (dim < 0 || weights_dims_[dim] >= 0 || shape_of(first_.getResult())[dim] != shape_of(weights)[d]) return "the dimensions of the weights are not those of the scores";
    weights_dims_[dim] = int(d);
  }
  for (auto [k, size] : llvm::enumerate(shape_of(first_.getResult())))
    if (size > 1 && weights_dims_[k] < 0) return "the dimensions of the weights are not those of the scores";
  // Keys are on the side of the dimension that the softmax and the second product work on.
  int summed = only(weights, w_sum);
  if (summed < 0) return "the second product sums over several dimensions";
  Indices along(zero);
  along[summed] = 1;
  int64_t softmax_dim = softmax_.getCompositeAttributes().getAs<IntegerAttr>("dim").getInt();
  if ((*to_softmax_.chase(along))[softmax_dim] == (*to_softmax_.chase(zero))[softmax_dim]) return "its softmax is over another dimension than the second product";
  int key_dim = int(std::find(weights_dims_.begin(), weights_dims_.end(), summed) - weights_dims_.begin());
  if (key_dim < int(batch)) return "the softmax is over a dimension of the batch";
  query_left_ = key_dim >= int(batch + left.size());
  Value query = query_left_ ? first_.getLhs() : first_.getRhs(), key = query_left_ ? first_.getRhs() : first_.getLhs();
  auto &query_free = query_left_ ? left : right, &key_free = query_left_ ? right : left;
  auto q_sum = query_left_ ? n1.getLhsContractingDimensions() : n1.getRhsContractingDimensions(), k_sum = query_left_ ? n1.getRhsContractingDimensions() : n1.getLhsContractingDimensions();
  query_width_ = only(query, q_sum), key_width_ = only(key, k_sum);
  if (query_width_ == -2) return "the first product sums over several dimensions";
  if (only(key, key_free) != int(key_free[key_dim - batch - (query_left_ ? left.size() : 0)])) return "the keys have several positions";
  width_ = query_width_ < 0 ? 1 : shape_of(query)[query_width_];

  // Dimensions of the second product's result, by those of its operands.
  auto w_free = free_dims(weights, w_batch, w_sum), v_free = free_dims(values, v_batch, v_sum);
  auto result_of_weights = [&](int d) {
    if (auto it = llvm::find(w_batch, int64_t(d)); it != w_batch.end()) return int(it - w_batch.begin());
    return int(w_batch.size() + (weights_left_ ? 0 : v_free.size()) + (llvm::find(w_free, int64_t(d)) - w_free.begin()));
  };
  value_width_dim_ = only(values, v_free), value_keys_ = only(values, v_sum);
  if (value_width_dim_ == -2) return "the values have several widths";
  if (value_width_dim_ >= 0) {
    result_width_dim_ = int(w_batch.size() + (weights_left_ ? w_free.size() : 0) + (llvm::find(v_free, int64_t(value_width_dim_)) - v_free.begin()));
    value_width_ = shape_of(values)[value_width_dim_];
  }
  for (size_t k = 0; k < shape_of(first_.getResult()).size(); ++k) {
    Axis axis;
    axis.size = shape_of(first_.getResult())[k];
    if (axis.size == 1) continue;
    int in_weights = weights_dims_[k];
    auto it = llvm::find(w_batch, int64_t(in_weights));
    if (it != w_batch.end()) axis.value = int(v_batch[it - w_batch.begin()]);
    if (in_weights != summed) axis.result = result_of_weights(in_weights);
    if (k < batch) {
      axis.query = int(query_left_ ? n1.getLhsBatchingDimensions()[k] : n1.getRhsBatchingDimensions()[k]);
      axis.key = int(query_left_ ? n1.getRhsBatchingDimensions()[k] : n1.getLhsBatchingDimensions()[k]);
      if (axis.value < 0) return "keys and values have other heads";
      batch_.push_back(axis);
    } else if (int(k) == key_dim) {
      axis.key = only(key, key_free), axis.value = value_keys_;
      keys_ = axis;
    } else {
      size_t at = k - batch - (query_left_ ? 0 : left.size());
      axis.query = int(query_free[at]);
      if (axis.value >= 0) return "keys and values have other heads";
      free_.push_back(axis);
    }
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
  Value weights = weights_left_ ? Value(DotGeneralOp(second_).getLhs()) : Value(DotGeneralOp(second_).getRhs());
  Indices at(shape_of(weights).size(), 0);
  for (auto [k, d] : llvm::enumerate(weights_dims_))
    if (d >= 0) at[d] = first[k];
  return at;
}
Indices AttentionPattern::in_first(int64_t n, int64_t i, int64_t j) const {
  DotGeneralOp first = first_;
  auto n1 = first.getDotDimensionNumbers();
  size_t batch = n1.getLhsBatchingDimensions().size();
  Indices at(shape_of(first.getResult()).size(), 0);
  auto place = this->place(n, i);
  auto left = free_dims(first.getLhs(), n1.getLhsBatchingDimensions(), n1.getLhsContractingDimensions());
  auto right = free_dims(first.getRhs(), n1.getRhsBatchingDimensions(), n1.getRhsContractingDimensions());
  for (size_t k = 0; k < at.size(); ++k) {
    if (k < batch) {
      int64_t d = query_left_ ? n1.getLhsBatchingDimensions()[k] : n1.getRhsBatchingDimensions()[k];
      for (auto [m, axis] : llvm::enumerate(batch_))
        if (axis.query == d) at[k] = place[m];
      continue;
    }
    bool is_left = k < batch + left.size();
    int64_t d = is_left ? left[k - batch] : right[k - batch - left.size()];
    if (is_left == query_left_) {
      for (auto [m, axis] : llvm::enumerate(free_))
        if (axis.query == d) at[k] = place[batch_.size() + m];
    } else if (d == keys_.key) {
      at[k] = j;
    }
  }
  return at;
}

}  // namespace cresset::composite
