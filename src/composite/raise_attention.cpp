#include "composite/raise_attention.h"

#include <cmath>

#include "composite/emit.h"
#include "composite/raise_scalar.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kTolerance = 1e-5, kNarrowTolerance = 4e-3;
constexpr double kMasked = -1e4;  // what is added, or put in place, at the least

ArrayRef<int64_t> shape_of(Value v) { return type_of(v).getShape(); }

// One dimension of size > 1 of the scores (the first product's result), and where it is in what it is computed from. -1: nowhere.
struct Axis {
  int64_t size = 1;
  int query = -1, key = -1, value = -1, result = -1;  // dimensions of the products' operands and of the second one's result
};

// What was added to the scores, or put in their place.
struct Mask {
  Operation* op;
  Value value;       // added, or an i1
  bool keeps;        // an i1: where it is true the scores stay
  size_t step;       // how far up the path from the softmax
  double low = 0;    // what takes the place of scores
};

// softmax(scale · q kᵀ + mask) v, as it is written.
class Attention {
 public:
  // `verified`: what came of structures that were evaluated already, as in another layer.
  Attention(Program& program, DotGeneralOp second, bool weights_left, AttentionEvaluations& verified)
      : program_(program), second_(second), weights_left_(weights_left), verified_(verified) {}

  // Whether there is a softmax with a product above it; then what differs from attention, or nothing.
  bool find();
  std::string understand();
  RaisedAttention outline(RaiseReport& report);

 private:
  Value weights() { return weights_left_ ? second_.getLhs() : second_.getRhs(); }
  std::string find_axes();
  std::string find_masks();
  std::string find_operands();
  std::string find_scale();
  std::string find_mask_operand();
  std::string verify();
  std::string evaluate();
  void make_added(OpBuilder& b, DenseSet<Operation*>& region);
  void choose_output();
  SmallVector<RaisedAttention::Axis> softmax_axes() const;

  int64_t heads_of_keys() const { return key_.sizes[1]; }
  // The axes' values for head-and-batch number n and position i.
  SmallVector<int64_t> place(int64_t n, int64_t i) const;
  Indices in_first(int64_t n, int64_t i, int64_t j) const;             // of the scores
  Indices in_weights(int64_t n, int64_t i, int64_t j) const;           // of the second product's operand
  Value scores() const { return to_first_.values[start_]; }
  std::optional<Indices> in_scores(int64_t n, int64_t i, int64_t j) const {
    auto at = to_softmax_.chase(in_weights(n, i, j));
    return at ? to_first_.chase(*at, start_) : std::nullopt;
  }
  Indices in_operand(Value v, int Axis::* dim, int64_t n, int64_t i, int64_t j, int width, int64_t d) const;
  std::vector<View> views_of(const Path& path, int Axis::* dim, int width_dim, int64_t batch) const;
  View plain_view(Value v, int Axis::* dim, int width_dim, int64_t batch) const;
  bool agrees(const View& view, const Path& path, size_t step, int Axis::* dim, int width_dim) const;

  Program& program_;
  DotGeneralOp first_, second_;
  bool weights_left_, query_left_ = true;
  AttentionEvaluations& verified_;
  CompositeOp softmax_;
  Path to_softmax_, to_first_;  // from the second product's operand, and from the softmax's
  SmallVector<Axis> batch_, free_;  // free_: of the queries only; the last is the position
  Axis keys_;
  int64_t batches_ = 1, heads_ = 1, groups_ = 1, positions_ = 1, width_ = 1, value_width_ = 1;
  int query_width_ = -1, key_width_ = -1, value_width_dim_ = -1, result_width_dim_ = -1, value_keys_ = -1;
  SmallVector<int> weights_dims_;  // of the weights, for each dimension of the scores
  View query_, key_, value_, mask_, output_;
  SmallVector<Mask> masks_;
  const Mask* operand_ = nullptr;
  bool is_causal_ = false;
  size_t start_ = 0;  // where on the way from the softmax the scores are
  double scale_ = 1;
  int cost_ = 0;  // of bringing the operands into the composite's layout
};

bool Attention::find() {
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

std::string Attention::understand() {
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

std::string Attention::find_axes() {
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

bool is_maximum(Value v) {
  for (int k = 0; k < 6; ++k) {
    Operation* op = v.getDefiningOp();
    if (!op || op->getNumOperands() == 0) return false;
    if (auto reduce = dyn_cast<ReduceOp>(op)) return isa<MaxOp>(reduce.getBody().front().front());
    v = op->getOperand(isa<MaxOp>(op) && constant_number(op->getOperand(0)) ? 1 : 0);
  }
  return false;
}

std::string Attention::find_masks() {
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

SmallVector<int64_t> Attention::place(int64_t n, int64_t i) const {
  SmallVector<int64_t> at(batch_.size() + free_.size(), 0);
  size_t last = free_.size();
  if (last > 0) at[batch_.size() + last - 1] = i;
  if (last > 1) at[batch_.size()] = n % free_[0].size, n /= free_[0].size;
  for (size_t k = batch_.size(); k-- > 0;) at[k] = n % batch_[k].size, n /= batch_[k].size;
  return at;
}
Indices Attention::in_operand(Value v, int Axis::* dim, int64_t n, int64_t i, int64_t j, int width, int64_t d) const {
  Indices at(shape_of(v).size(), 0);
  auto place = this->place(n, i);
  for (auto [k, axis] : llvm::enumerate(batch_)) at[axis.*dim] = place[k];
  for (auto [k, axis] : llvm::enumerate(free_))
    if (axis.*dim >= 0) at[axis.*dim] = place[batch_.size() + k];
  if (keys_.*dim >= 0) at[keys_.*dim] = j;
  if (width >= 0) at[width] = d;
  return at;
}
Indices Attention::in_weights(int64_t n, int64_t i, int64_t j) const {
  auto first = in_first(n, i, j);
  Value weights = weights_left_ ? Value(DotGeneralOp(second_).getLhs()) : Value(DotGeneralOp(second_).getRhs());
  Indices at(shape_of(weights).size(), 0);
  for (auto [k, d] : llvm::enumerate(weights_dims_))
    if (d >= 0) at[d] = first[k];
  return at;
}
Indices Attention::in_first(int64_t n, int64_t i, int64_t j) const {
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

// Places that tell views apart.
SmallVector<int64_t> some(int64_t size) {
  SmallVector<int64_t> all{0};
  for (int64_t k : {int64_t(1), size / 2, size - 1})
    if (k > 0 && k < size && !llvm::is_contained(all, k)) all.push_back(k);
  return all;
}

// Whether the view's element is the operand's at every place.
bool Attention::agrees(const View& view, const Path& path, size_t step, int Axis::* dim, int width_dim) const {
  int64_t total = 1;
  for (const Axis& a : batch_) total *= a.size;
  if (free_.size() == 2) total *= free_[0].size;
  int64_t batches = view.sizes[0], heads = view.sizes[1], all_heads = total / batches;
  if (total % batches || all_heads % heads) return false;
  int64_t length = dim == &Axis::query || dim == &Axis::result ? (free_.empty() ? 1 : free_.back().size) : keys_.size;
  int64_t width = width_dim < 0 ? 1 : shape_of(path.values[0])[width_dim];
  if (view.sizes[2] != length || view.sizes[3] != width) return false;
  for (int64_t n : some(total))
    for (int64_t s : some(length))
      for (int64_t d : some(width)) {
        Indices at = in_operand(path.values[0], dim, n, s, s, width_dim, d);
        auto source = path.chase(at, step);
        if (!source) return false;
        int64_t seen = view.element({n / all_heads, n % all_heads / (all_heads / heads), s, d});
        if (seen != ravel(*source, shape_of(view.value))) return false;
      }
  return true;
}

View Attention::plain_view(Value v, int Axis::* dim, int width_dim, int64_t batch) const {
  View view{v, {}, {}};
  int64_t heads = 1;
  for (const Axis& a : batch_) view.permutation.push_back(a.*dim), heads *= a.size;
  for (auto [k, a] : llvm::enumerate(free_))
    if (a.*dim >= 0) {
      view.permutation.push_back(a.*dim);
      if (k + 1 < free_.size()) heads *= a.size;
    }
  int64_t length = dim == &Axis::query || dim == &Axis::result ? (free_.empty() ? 1 : free_.back().size) : keys_.size;
  if (keys_.*dim >= 0) view.permutation.push_back(keys_.*dim);
  if (width_dim >= 0) view.permutation.push_back(width_dim);
  view.sizes = {batch, heads / batch, length, width_dim < 0 ? 1 : shape_of(v)[width_dim]};
  SmallVector<int64_t> all;
  for (int64_t d = 0; d < int64_t(shape_of(v).size()); ++d)
    if (!llvm::is_contained(view.permutation, d)) view.permutation.push_back(d);
  if (llvm::is_sorted(view.permutation)) llvm::sort(view.permutation);
  return view;
}

std::vector<View> Attention::views_of(const Path& path, int Axis::* dim, int width_dim, int64_t batch) const {
  std::vector<View> all;
  int passed = 0;
  for (size_t step = 0; step < path.values.size(); ++step) {
    for (View& view : views(path.values[step], 4))
      if ((batch == 0 || view.sizes[0] == batch) && agrees(view, path, step, dim, width_dim)) view.passed = passed, all.push_back(view);
    if (Operation* op = path.values[step].getDefiningOp()) passed += isa<MulOp, DivOp>(op);
  }
  int64_t total = free_.size() == 2 ? free_[0].size : 1;
  for (const Axis& a : batch_) total *= a.size;
  if (batch != 0 && total % batch == 0) all.push_back(plain_view(path.values[0], dim, width_dim, batch));
  return all;
}

// Whether several dimensions of the value become one of the view, or the reverse.
bool merges(const View& view) {
  auto real = [](ArrayRef<int64_t> shape) { return llvm::count_if(shape, [](int64_t d) { return d > 1; }); };
  return real(shape_of(view.value)) != real(view.sizes);
}

std::string Attention::find_operands() {
  Value query = query_left_ ? first_.getLhs() : first_.getRhs(), key = query_left_ ? first_.getRhs() : first_.getLhs();
  Value values = weights_left_ ? second_.getRhs() : second_.getLhs();
  Path query_path = same_elements(query), key_path = same_elements(key), value_path = same_elements(values);
  Type element = type_of(second_.getResult()).getElementType();
  for (Operation* user : second_->getResult(0).getUsers())
    if (auto convert = dyn_cast<ConvertOp>(user); convert && second_->hasOneUse() && is_float(convert)) element = type_of(convert).getElementType();
  // How batch and heads part: as in the scores, or as in what one of the operands comes from.
  SmallVector<int64_t> batches;
  auto may = [&](int64_t batch) {
    if (!llvm::is_contained(batches, batch)) batches.push_back(batch);
  };
  if (shape_of(scores()).size() == 4) may(shape_of(scores())[0]);
  for (const View& v : views_of(query_path, &Axis::query, query_width_, 0)) may(v.sizes[0]);
  for (const View& v : views_of(key_path, &Axis::key, key_width_, 0)) may(v.sizes[0]);
  may(batch_.empty() ? 1 : batch_[0].size);
  int best = 1000;
  for (int64_t batch : batches) {
    auto cost = [&](const View& v) { return (v.is_value() ? 0 : merges(v) ? 4 : 2) + (type_of(v.value).getElementType() == element ? 0 : 100) - 3 * v.passed; };
    auto nearest = [&](const std::vector<View>& all, int64_t heads) {
      const View* found = nullptr;
      for (const View& v : all)
        if ((heads == 0 || v.sizes[1] == heads) && (!found || std::pair(cost(v), v.sizes[1]) < std::pair(cost(*found), found->sizes[1]))) found = &v;
      return found;
    };
    auto q_all = views_of(query_path, &Axis::query, query_width_, batch), k_all = views_of(key_path, &Axis::key, key_width_, batch);
    auto v_all = views_of(value_path, &Axis::value, value_width_dim_, batch);
    const View* q = nearest(q_all, 0);
    for (const View& k : k_all) {
      const View* v = nearest(v_all, k.sizes[1]);
      if (!q || !v || q->sizes[1] % k.sizes[1]) continue;
      // Fewer heads of keys are what was repeated.
      int total = 4 * (cost(*q) + cost(k) + cost(*v)) + (k.sizes[1] < q->sizes[1] ? -1 : 0);
      if (total < best) best = total, query_ = *q, key_ = k, value_ = *v;
    }
  }
  if (best == 1000) return "its operands do not agree";
  if (type_of(query_.value).getElementType() != type_of(key_.value).getElementType() || type_of(key_.value).getElementType() != type_of(value_.value).getElementType())
    return "its operands have several types";
  cost_ = best;
  batches_ = query_.sizes[0], heads_ = query_.sizes[1], groups_ = heads_ / key_.sizes[1], positions_ = query_.sizes[2];
  return "";
}

std::string Attention::find_scale() {
  // The factors on the way from the operands, and the scores as a function of the product.
  auto factor = [](Value from, Value to) {
    Sampler sampler(1);
    sampler.set(to, [](int64_t) { return 1.0; });
    return sampler.get(from, 0);
  };
  double inside = factor(query_left_ ? first_.getLhs() : first_.getRhs(), query_.value) * factor(query_left_ ? first_.getRhs() : first_.getLhs(), key_.value);
  if (factor(weights_left_ ? second_.getRhs() : second_.getLhs(), value_.value) != 1) return "the values are scaled";
  double product = 0;
  Sampler sampler(2);
  sampler.set(first_.getResult(), [&](int64_t) { return product; });
  std::optional<double> slope;
  int64_t total = batches_ * heads_;
  for (int64_t n : some(total))
    for (int64_t i : some(positions_))
      for (int64_t j : some(keys_.size)) {
        auto at = in_scores(n, i, j);
        if (!at) return "the weights are rearranged";
        double s[3];
        for (int k = 0; k < 3; ++k) product = k == 2 ? -2.5 : k, sampler.forget(), s[k] = sampler.get(scores(), *at);
        if (s[0] == -INFINITY || s[0] <= kMasked) continue;  // masked
        double here = s[1] - s[0];
        if (std::fabs(s[2] - s[0] + 2.5 * here) > 1e-6 * std::max(1.0, std::fabs(here))) return "its scores are not linear in the product";
        if (slope && std::fabs(*slope - here) > 1e-6 * std::fabs(here)) return "its scale is not the same everywhere";
        slope = here;
      }
  if (!slope || !(*slope * inside > 0)) return "its scale could not be recovered";
  scale_ = *slope * inside;
  double usual = 1 / std::sqrt(double(width_));
  if (std::fabs(scale_ - usual) <= 1e-6 * usual) scale_ = usual;
  else
    for (int digits = 1; digits < 8; ++digits) {
      char text[32];
      std::snprintf(text, sizeof text, "%.*g", digits, scale_);
      if (std::fabs(std::atof(text) - scale_) <= 1e-6 * scale_) { scale_ = std::atof(text); break; }
    }
  return "";
}

std::string Attention::find_mask_operand() {
  for (const Mask& mask : masks_) {
    // Its value at a place: 0, or what is added.
    Sampler sampler(3);
    auto at = [&](int64_t n, int64_t i, int64_t j) {
      auto middle = to_softmax_.chase(in_weights(n, i, j));
      auto place = middle ? to_first_.chase(*middle, mask.step) : std::nullopt;
      if (!place) return double(NAN);
      double v = sampler.get(mask.value, shape_of(mask.value).empty() ? 0 : ravel(*place, shape_of(mask.value)));
      if (!isa<SelectOp>(mask.op)) return v;
      return (v != 0) == mask.keeps ? 0.0 : mask.low;
    };
    // Near the diagonal everywhere, and at the ends.
    bool nothing = true, causal = true;
    int shifted = 0;  // 1: one position too many is seen, -1: one too few
    bool above = true, below = true;
    for (int64_t n : some(batches_ * heads_))
      for (int64_t i = 0; i < positions_; i += n == 0 ? 1 : std::max<int64_t>(1, positions_ / 7)) {
        SmallVector<int64_t> js = some(keys_.size);
        for (int64_t j = i - 2; j <= i + 3; ++j)
          if (j >= 0 && j < keys_.size) js.push_back(j);
        for (int64_t j : js) {
          double v = at(n, i, j);
          bool masked = v <= kMasked;
          if (v != 0) nothing = false;
          if (!(v == 0 || masked)) causal = above = below = false;
          causal &= masked == (j > i), above &= masked == (j > i + 1), below &= masked == (j > i - 1);
        }
        if (!sampler.leaves().empty() && !causal && !nothing) break;
      }
    bool known = sampler.leaves().empty();
    if (known && nothing) continue;
    if (known && causal) {
      is_causal_ = true;
      continue;
    }
    shifted = above ? 1 : below ? -1 : 0;
    if (known && shifted && positions_ == keys_.size && positions_ > 2) return "its causal mask is off by one";
    if (operand_) return "it has several masks";
    operand_ = &mask;
    // The value that is spread over the scores.
    bool found = false;
    Path path = same_elements(mask.value);
    for (size_t step = 0; step < path.values.size() && !found; ++step) {
      if (step > 0 && !is_layout(path.values[step - 1].getDefiningOp())) break;
      for (View& view : views(path.values[step], 4)) {
        int64_t full[4] = {batches_, heads_, positions_, keys_.size};
        bool fits = true;
        for (int r = 0; r < 4; ++r) fits &= view.sizes[r] == 1 || view.sizes[r] == full[r];
        for (int64_t b : some(batches_))
          for (int64_t h : some(heads_))
            for (int64_t i : some(positions_))
              for (int64_t j : some(keys_.size)) {
                if (!fits) continue;
                auto middle = to_softmax_.chase(in_weights(b * heads_ + h, i, j));
                auto top = middle ? to_first_.chase(*middle, mask.step) : std::nullopt;
                auto source = top ? path.chase(*top, step) : std::nullopt;
                int64_t where[4] = {view.sizes[0] == 1 ? 0 : b, view.sizes[1] == 1 ? 0 : h, view.sizes[2] == 1 ? 0 : i, view.sizes[3] == 1 ? 0 : j};
                fits = source && view.element(where) == ravel(*source, shape_of(view.value));
              }
        if (!fits) continue;
        // The smallest, and among its views the one that is the value.
        if (!found || view.is_value()) mask_ = view;
        found = true;
      }
      if (found && step + 1 < path.values.size() && isa<BroadcastInDimOp>(path.values[step].getDefiningOp())) found = false, operand_ = &mask;
      else if (found) break;
    }
    if (!mask_.value) return "its mask has no place";
    // A mask that is added before the scale is scaled itself.
    Sampler scaled(4);
    scaled.set(first_.getResult(), [](int64_t) { return 0.0; });
    scaled.set(mask.value, [&](int64_t) { return isa<SelectOp>(mask.op) ? double(mask.keeps) : 1.0; });
    auto origin_place = in_scores(0, positions_ - 1, 0);
    double seen = origin_place ? scaled.get(scores(), *origin_place) : NAN;
    if (!isa<SelectOp>(mask.op) && std::fabs(seen - 1) > 1e-6) return "its mask is scaled";
  }
  return "";
}

// The result at some places against the formula.
std::string Attention::verify() {
  Value y = second_.getResult();
  size_t structure = llvm::hash_combine(structure_of(y, {query_.value, key_.value, value_.value, mask_.value}), is_causal_, llvm::bit_cast<uint64_t>(scale_));
  for (const View* view : {&query_, &key_, &value_, &mask_})
    structure = llvm::hash_combine(structure, llvm::hash_combine_range(view->permutation.begin(), view->permutation.end()), llvm::hash_combine_range(view->sizes.begin(), view->sizes.end()));
  if (auto it = verified_.find(structure); it != verified_.end()) return it->second;
  return verified_[structure] = evaluate();
}

std::string Attention::evaluate() {
  Value y = second_.getResult();
  bool narrow = is_narrow(query_.value) || is_narrow(scores()) || is_narrow(first_.getResult());
  for (unsigned seed : {11u, 12u}) {
    Sampler s(seed);
    SmallVector<Value> given;
    for (Value v : {query_.value, key_.value, value_.value})
      if (!llvm::is_contained(given, v)) s.set(v, s.random(v)), given.push_back(v);
    int64_t n = seed == 11 ? 0 : batches_ * heads_ - 1, i = seed == 11 ? std::min<int64_t>(positions_ - 1, 2) : positions_ - 1;
    int64_t d = seed == 11 ? 0 : value_width_ - 1;
    int64_t b = n / heads_, h = n % heads_;
    double found = s.get(y, in_operand(y, &Axis::result, n, i, 0, result_width_dim_, d));
    SmallVector<double> scores;
    double m = -INFINITY, sum = 0, expected = 0;
    for (int64_t j = 0; j < keys_.size; ++j) {
      double dot = 0;
      for (int64_t c = 0; c < width_; ++c)
        dot += s.get(query_.value, query_.element({b, h, i, c})) * s.get(key_.value, key_.element({b, h / groups_, j, c}));
      double score = dot * scale_;
      if (is_causal_ && j > i) score = -INFINITY;
      if (operand_) {
        int64_t at[4] = {mask_.sizes[0] == 1 ? 0 : b, mask_.sizes[1] == 1 ? 0 : h, mask_.sizes[2] == 1 ? 0 : i, mask_.sizes[3] == 1 ? 0 : j};
        double v = s.get(mask_.value, mask_.element(at));
        if (!isa<SelectOp>(operand_->op)) score += v;
        else if ((v != 0) != operand_->keeps) score = -1e30;
      }
      scores.push_back(score);
      m = std::max(m, score);
    }
    for (double score : scores) sum += std::exp(score - m);
    for (int64_t j = 0; j < keys_.size; ++j) expected += std::exp(scores[j] - m) / sum * s.get(value_.value, value_.element({b, h / groups_, j, d}));
    if (s.exhausted()) return "it is too large to be evaluated";
    double off = std::fabs(found - expected) / std::max(0.1, std::fabs(expected));
    if (!(off <= (narrow ? kNarrowTolerance : kTolerance))) {
      std::string text;
      llvm::raw_string_ostream(text) << "off by " << llvm::format("%.2g", off);
      return text;
    }
  }
  return "";
}

// The result in the composite's layout, if the program has it.
void Attention::choose_output() {
  Value y = second_.getResult();
  Path path{{y}};  // downwards
  output_ = plain_view(y, &Axis::result, result_width_dim_, batches_);
  Type element = type_of(query_.value).getElementType();
  Value v = y;
  for (int k = 0; k < 16 && v.hasOneUse(); ++k) {
    Operation* user = *v.user_begin();
    if (user->getBlock() != &program_.block || user->getNumResults() != 1 || !(is_layout(user) || isa<ConvertOp>(user)) || !is_float(user->getResult(0))) break;
    v = user->getResult(0);
    if (type_of(v).getElementType() != type_of(y).getElementType() && type_of(v).getElementType() != element) break;
    if (type_of(v).getNumElements() != type_of(y).getNumElements()) break;
    path.values.insert(path.values.begin(), v);
    bool better = !output_.is_value() || type_of(output_.value).getElementType() != element;
    if (!better) break;
    for (View& view : views(v, 4)) {
      if (!view.is_value() || view.sizes[0] != batches_ || view.sizes[1] != heads_ || view.sizes[2] != positions_ || view.sizes[3] != value_width_) continue;
      bool fits = true;
      for (int64_t n : some(batches_ * heads_))
        for (int64_t i : some(positions_))
          for (int64_t d : some(value_width_)) {
            int64_t at[4] = {n / heads_, n % heads_, i, d};
            auto source = path.chase(at);
            fits &= source && *source == in_operand(y, &Axis::result, n, i, 0, result_width_dim_, d);
          }
      if (fits) output_ = view;
    }
    if (isa<ConvertOp>(user) && !output_.is_value()) output_.value = v;  // the same shape
  }
}

// A select's mask as one that is added: what takes the place of scores is so low that adding it is the same, in a row without anything to attend to as well.
void Attention::make_added(OpBuilder& b, DenseSet<Operation*>& region) {
  Value bits = mask_.value;
  Location loc = bits.getLoc();
  if (Operation* op = bits.getDefiningOp()) b.setInsertionPointAfter(op);
  else b.setInsertionPointToStart(bits.getParentBlock());
  Emit e(b, loc);
  auto type = RankedTensorType::get(shape_of(bits), type_of(operand_->op->getResult(0)).getElementType());
  Value none = e.number(0, type), low = e.number(operand_->low, type);
  Value added = SelectOp::create(b, loc, bits, operand_->keeps ? none : low, operand_->keeps ? low : none);
  Value back = CompareOp::create(b, loc, added, none, operand_->keeps ? ComparisonDirection::EQ : ComparisonDirection::NE);
  bits.replaceUsesWithIf(back, [&](OpOperand& use) { return region.contains(use.getOwner()); });
  region.insert(back.getDefiningOp());
  mask_.value = added;
}

// What the dimensions of the softmax are.
SmallVector<RaisedAttention::Axis> Attention::softmax_axes() const {
  SmallVector<RaisedAttention::Axis> axes;
  Indices origin = *to_softmax_.chase(in_weights(0, 0, 0));
  auto add = [&](std::optional<Indices> moved, RaisedAttention::Role role) {
    for (size_t d = 0; moved && d < origin.size(); ++d)
      if ((*moved)[d] != origin[d]) axes.push_back({int64_t(d), role, 1});
  };
  // Heads and batch may be one dimension of the product and several of the softmax, or the reverse.
  for (int64_t n = 1; n < batches_ * heads_; ++n) {
    auto moved = to_softmax_.chase(in_weights(n, 0, 0));
    int64_t dim = -1;
    for (size_t d = 0; moved && d < origin.size(); ++d)
      if (int64_t steps = (*moved)[d] - origin[d]; steps != 0) dim = dim == -1 && steps == 1 ? int64_t(d) : -2;
    if (dim >= 0) axes.push_back({dim, RaisedAttention::Outer, n});
  }
  if (positions_ > 1) add(to_softmax_.chase(in_weights(0, 1, 0)), RaisedAttention::Position);
  if (keys_.size > 1) add(to_softmax_.chase(in_weights(0, 0, 1)), RaisedAttention::Key);
  return axes;
}

RaisedAttention Attention::outline(RaiseReport& report) {
  choose_output();
  RaisedAttention raised;
  raised.softmax = softmax_, raised.axes = softmax_axes(), raised.scale = scale_, raised.is_causal = is_causal_;
  if (operand_) raised.bits_keep = isa<SelectOp>(operand_->op) ? std::optional(operand_->keeps) : std::nullopt;
  raised.operands = {query_, key_, value_};
  if (operand_) raised.operands.push_back(mask_);
  OpBuilder b(program_.module.getContext());
  // Operands in the composite's layout; the operations read them through the reverse.
  auto region = operations_between({query_.value, key_.value, value_.value, mask_.value}, output_.value);
  SmallVector<Value> inputs;
  for (const View* view : {&query_, &key_, &value_}) inputs.push_back(make_operand(b, *view, region));
  if (operand_) {
    if (isa<SelectOp>(operand_->op)) make_added(b, region);
    inputs.push_back(make_operand(b, mask_, region));
  }
  std::string place = where(output_.value);
  Value out = make_result(b, output_);
  program_.renumber();
  SmallVector<NamedAttribute> attributes{b.getNamedAttr("dropout_p", b.getF64FloatAttr(0)), b.getNamedAttr("is_causal", b.getBoolAttr(is_causal_)),
                                         b.getNamedAttr("scale", b.getF64FloatAttr(scale_))};
  // The second result: the logarithm of each row's sum.
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    Location loc = out.getLoc();
    Value s = returned[1];
    Indices first = *in_scores(0, 0, 0), next = *in_scores(0, 0, 1);
    int64_t dim = std::mismatch(first.begin(), first.end(), next.begin()).first - first.begin();
    Emit e(inside, loc);
    if (is_narrow(s)) s = e.convert(s, inside.getF32Type());
    Value m = e.maximum(s, {dim});
    Value lse = e.add(e.log(e.sum(e.exp(e.sub(s, e.spread(m, {dim}, s))), {dim})), m);
    SmallVector<int64_t> rest(shape_of(lse));
    // In the order of batch, heads, positions.
    View view{lse, {}, {batches_, heads_, positions_}};
    auto in_rest = [&](int64_t n, int64_t i) {
      Indices at = *in_scores(n, i, 0);
      at.erase(at.begin() + dim);
      return at;
    };
    SmallVector<std::pair<int64_t, int64_t>> strides;  // how far one step of a dimension is in the composite's order
    Indices zero = in_rest(0, 0);
    SmallVector<int64_t> far(rest.size(), 0);
    for (int64_t n = 0; n < batches_ * heads_; ++n)
      for (int64_t i : {int64_t(0), int64_t(1)}) {
        if (i >= positions_) continue;
        Indices at = in_rest(n, i);
        for (size_t d = 0; d < rest.size(); ++d)
          if (at[d] == 1 && far[d] == 0) far[d] = n * positions_ + i;
      }
    for (size_t d = 0; d < rest.size(); ++d) strides.push_back({rest[d] == 1 ? 0 : -far[d], int64_t(d)});
    llvm::sort(strides);
    SmallVector<int64_t> ones;
    for (auto [stride, d] : strides) (stride == 0 ? ones : view.permutation).push_back(d);
    view.permutation.append(ones);
    returned[1] = view.make(inside);
    inside.setInsertionPointToEnd(inside.getInsertionBlock());
  };
  raised.op = program_.outline(*find_composite("aten.scaled_dot_product_attention"), b.getDictionaryAttr(attributes), inputs, {out, scores()}, extend);
  program_.renumber();
  report.raised.push_back(place + ": aten.scaled_dot_product_attention" + raised.describe());
  return raised;
}

}  // namespace

std::string RaisedAttention::describe() const {
  std::string text;
  llvm::raw_string_ostream(text) << (is_causal ? " is_causal" : "") << (operands.size() > 3 ? " attn_mask" : "") << " scale=" << llvm::format("%g", scale);
  return text;
}

std::optional<RaisedAttention> raise_attention_of(Program& program, DotGeneralOp second, AttentionEvaluations& verified, RaiseReport& report, std::string& error) {
  for (bool left : {true, false}) {
    Attention attention(program, second, left, verified);
    if (!attention.find()) continue;
    error = attention.understand();
    if (error.empty()) return attention.outline(report);
  }
  return std::nullopt;
}

void raise_attention(Program& program, Attentions& all, RaiseReport& report) {
  DenseSet<Operation*> seen;
  for (bool found = true; found;) {
    found = false;
    for (auto product : program.block.getOps<DotGeneralOp>()) {
      if (!is_float(product) || !seen.insert(product).second) continue;
      std::string error;
      if (auto raised = raise_attention_of(program, product, all.evaluations, report, error)) {
        // What its gradient may be known by, if it is still there.
        if (llvm::any_of(program.block, [&](Operation& op) { return &op == raised->softmax; })) all.raised.push_back(std::move(*raised));
        found = true;
        break;
      }
      if (!error.empty()) all.missed.emplace_back(product, where(product) + ": nearly aten.scaled_dot_product_attention: " + error);
    }
  }
}

}  // namespace cresset::composite
