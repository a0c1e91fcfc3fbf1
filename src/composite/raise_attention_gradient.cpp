// The gradient of attention: two products behind the gradient of its softmax, one behind the softmax itself, one in front. Which product is whose gradient is what it computes. The gradient of the
// softmax itself, summed up, is that of a mask that is added.
#include <cmath>

#include "composite/emit.h"
#include "composite/raise_attention.h"
#include "composite/raise_scalar.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

using Place = std::array<int64_t, 4>;  // batch, head, position, column

// Places that tell views apart.
SmallVector<int64_t> some(int64_t size) { return size < 3 ? (size == 1 ? SmallVector<int64_t>{0} : SmallVector<int64_t>{1, 0}) : SmallVector<int64_t>{size - 1, 1, 0}; }

class AttentionGradient {
 public:
  AttentionGradient(Program& program, RaisedAttention& attention, CompositeOp softmax_gradient) : program_(program), a_(attention), gradient_(softmax_gradient) {
    refresh();
    const View &q = a_.operands[0], &k = a_.operands[1], &v = a_.operands[2];
    batches_ = q.sizes[0], heads_ = q.sizes[1], positions_ = q.sizes[2], keys_ = k.sizes[2], groups_ = heads_ / k.sizes[1];
    width_ = q.sizes[3], value_width_ = v.sizes[3];
    narrow_ = is_narrow(q.value) || is_narrow(gradient_->getResult(0));
  }

  // What differs from the gradient of attention, or nothing.
  std::string understand();
  void outline(RaiseReport& report);

 private:
  // A result: its formula at a place, and where it may be.
  struct Wanted {
    const char* name;
    SmallVector<int64_t> sizes;
    std::function<double(Sampler&, const Place&)> formula;
    View found;
  };

  void refresh();
  Value softmax() const { return a_.softmax->getResult(0); }
  double tolerance() const { return narrow_ ? kNarrowTolerance : kAttentionTolerance; }
  Indices place(int64_t n, int64_t i, int64_t j) const;
  int64_t in_softmax(int64_t n, int64_t i, int64_t j) const { return ravel(place(n, i, j), shape_of(softmax())); }
  double operand(Sampler& s, size_t k, const Place& at) const { return s.get(a_.operands[k].value, a_.operands[k].element(at)); }
  bool is_hidden(Sampler& s, int64_t n, int64_t i, int64_t j) const;
  void set_operands(Sampler& s, Value g) const;
  void set_weights(Sampler& s, Sampler::Field given = {}) const;
  std::string find_gradient();
  bool is_at(const View& view, const Wanted& wanted);
  bool find(Wanted& wanted, ArrayRef<Value> candidates);
  bool hides_what_is_hidden(Operation* select, Value from) const;
  SmallVector<Value> behind(Value from, bool product) const;
  void find_mask_gradient();
  DenseSet<Operation*> region() const;
  DenseSet<Value> sources() const;
  void leave_out_hidden_queries(CompositeOp made);

  Program& program_;
  RaisedAttention& a_;
  CompositeOp gradient_;  // of the softmax
  int64_t batches_, heads_, positions_, keys_, groups_, width_, value_width_;
  bool narrow_;
  View g_;
  SmallVector<Wanted, 4> wanted_;  // of queries, keys, values and, if somebody reads it, the mask
};

// The ways to see a value in these sizes: each dimension one of them, or else some merged or split.
std::vector<View> all_views(Value v, ArrayRef<int64_t> sizes) {
  std::vector<View> all;
  int64_t size = 1;
  for (int64_t d : sizes) size *= d;
  if (type_of(v).getNumElements() != size) return all;
  for (View& view : views(v, sizes.size()))
    if (view.sizes == SmallVector<int64_t>(sizes)) all.push_back(view);
  if (!all.empty() || type_of(v).getRank() > 6) return all;
  View merged{v, {}, SmallVector<int64_t>(sizes)};
  for (int64_t d = 0; d < type_of(v).getRank(); ++d) merged.permutation.push_back(d);
  do all.push_back(merged);
  while (std::next_permutation(merged.permutation.begin(), merged.permutation.end()));
  return all;
}

// The same view of a value farther up: other readers than the forward may have begun there.
View root_of(View view) {
  auto same = [&](const View& upper, const Path& path) {
    for (int64_t b : some(view.sizes[0]))
      for (int64_t h : some(view.sizes[1]))
        for (int64_t i : some(view.sizes[2]))
          for (int64_t d : some(view.sizes[3])) {
            auto source = path.chase(unravel(view.element({b, h, i, d}), shape_of(view.value)));
            if (!source || ravel(*source, shape_of(upper.value)) != upper.element({b, h, i, d})) return false;
          }
    return true;
  };
  for (Operation* op = view.value.getDefiningOp(); op && isa<TransposeOp, ReshapeOp>(op); op = op->getOperand(0).getDefiningOp()) {
    Value up = op->getOperand(0);
    Path path{{op->getResult(0), up}};
    std::optional<View> found;
    for (View& upper : all_views(up, view.sizes))
      if (!found && same(upper, path)) found = upper;
    if (!found) break;
    view = *found;
  }
  return view;
}

// What the views are of may have become part of other composites since; the composite's operands are what they are.
void AttentionGradient::refresh() {
  for (auto [k, view] : llvm::enumerate(a_.operands)) {
    if (k == 3 && a_.bits_keep) continue;
    Value made = a_.op->getOperand(unsigned(k));
    View own{made, {0, 1, 2, 3}, view.sizes};
    view = root_of(own);
  }
}

Indices AttentionGradient::place(int64_t n, int64_t i, int64_t j) const {
  Indices at(shape_of(softmax()).size(), 0);
  for (const auto& axis : a_.axes) {
    int64_t size = shape_of(softmax())[axis.dim];
    at[axis.dim] = axis.role == RaisedAttention::Position ? i : axis.role == RaisedAttention::Key ? j : n / axis.stride % size;
  }
  return at;
}

bool AttentionGradient::is_hidden(Sampler& s, int64_t n, int64_t i, int64_t j) const {
  if (a_.is_causal && j > i) return true;
  if (a_.operands.size() < 4) return false;
  const View& mask = a_.operands[3];
  Place full{n / heads_, n % heads_, i, j};
  for (size_t d = 0; d < 4; ++d)
    if (mask.sizes[d] == 1) full[d] = 0;
  double v = s.get(mask.value, mask.element(full));
  return a_.bits_keep ? (v != 0) != *a_.bits_keep : v <= kMasked;
}

void AttentionGradient::set_operands(Sampler& s, Value g) const {
  SmallVector<Value> given;
  for (Value v : {a_.operands[0].value, a_.operands[1].value, a_.operands[2].value, g})
    if (!llvm::is_contained(given, v)) s.set(v, s.random(v)), given.push_back(v);
}

// The weights and their gradient are random, if they are not given, and nothing where scores are hidden.
void AttentionGradient::set_weights(Sampler& s, Sampler::Field given) const {
  for (Value v : {softmax(), Value(gradient_->getResult(0))}) {
    auto field = given ? given : s.random(v);
    s.set(v, [this, field, &s](int64_t linear) {
      Indices at = unravel(linear, shape_of(softmax()));
      int64_t n = 0, i = 0, j = 0;
      for (const auto& axis : a_.axes) (axis.role == RaisedAttention::Position ? i : axis.role == RaisedAttention::Key ? j : n) += at[axis.dim] * axis.stride;
      return is_hidden(s, n, i, j) ? 0 : field(linear);
    });
  }
}

// Times a constant.
bool is_scaled(Operation* op) {
  return isa<MulOp, DivOp>(op) && (constant_number(op->getOperand(1)) || (isa<MulOp>(op) && constant_number(op->getOperand(0))));
}

// The gradient of the result: what is multiplied with the values where the gradient of the softmax begins.
std::string AttentionGradient::find_gradient() {
  auto up = climb(gradient_->getOperand(0), [](Value v) { return v.getDefiningOp<DotGeneralOp>() != nullptr; });
  if (!up) return "there is no product in front of its softmax's gradient";
  for (Value v : ArrayRef<Value>(up->values).drop_back())
    if (Operation* op = v.getDefiningOp(); !is_layout(op) && !isa<ConvertOp>(op) && !is_scaled(op) && !is_safe_softmax(op, a_.softmax->getOperand(0)))
      return "in front of its softmax's gradient is " + op->getName().getStringRef().str();
  auto product = cast<DotGeneralOp>(up->values.back().getDefiningOp());
  Wanted g{"the result", {batches_, heads_, positions_, value_width_}, {}, {}};
  std::string error = "what is between its products is neither scale nor mask";
  for (Value side : {product.getLhs(), product.getRhs()}) {
    Path path = same_elements(side);
    // The farthest: others may read it as well.
    for (Value v : llvm::reverse(path.values)) {
      if (g_.value) break;
      for (View& view : all_views(v, g.sizes)) {
        if (g_.value && !view.is_value()) continue;
        Sampler s(61);
        set_operands(s, v);
        bool fits = true;
        for (int64_t n : some(batches_ * heads_))
          for (int64_t i : some(positions_))
            for (int64_t j : some(keys_)) {
              if (!fits) continue;
              double expected = 0, size = 0;
              for (int64_t d = 0; d < value_width_; ++d) {
                double term = s.get(v, view.element({n / heads_, n % heads_, i, d})) * operand(s, 2, {n / heads_, n % heads_ / groups_, j, d});
                expected += term, size += std::fabs(term);
              }
              fits = std::fabs(s.get(gradient_->getOperand(0), place(n, i, j)) - expected) <= tolerance() * std::max(0.1, size) && !s.exhausted();
            }
        if (fits) g_ = view;
      }
    }
  }
  return g_.value ? "" : error;
}

bool AttentionGradient::is_at(const View& view, const Wanted& wanted) {
  Sampler s(67);
  set_operands(s, g_.value);
  set_weights(s);
  for (int64_t b : some(wanted.sizes[0]))
    for (int64_t h : some(wanted.sizes[1]))
      for (int64_t i : some(wanted.sizes[2])) {
        int64_t d = (h + 2 * i + 1) % wanted.sizes[3];  // not the diagonal, which a transpose shares
        double found = s.get(view.value, view.element({b, h, i, d})), expected = wanted.formula(s, {b, h, i, d});
        if (!(std::fabs(found - expected) <= tolerance() * std::max(0.1, std::fabs(expected))) || s.exhausted()) return false;
      }
  return true;
}

// Whether a select behind the softmax, or behind its gradient, takes away what the forward's mask has hidden, and nothing else.
bool AttentionGradient::hides_what_is_hidden(Operation* select, Value from) const {
  if (is_safe_softmax(select, a_.softmax->getOperand(0))) return true;
  constexpr int64_t kMost = 1 << 14;
  int64_t size = type_of(from).getNumElements(), step = size <= kMost ? 1 : size / kMost | 1;
  Sampler s(71);
  s.skip_products();
  set_weights(s, [](int64_t) { return 1.0; });
  for (int64_t at = 0; at < size; at += step)
    if (s.get(select->getResult(0), at) != s.get(from, at)) return false;
  return true;
}

// Values that may be results: one product behind `from`, or none, and what only arranges it, scales it or sums up heads.
SmallVector<Value> AttentionGradient::behind(Value from, bool product) const {
  SmallVector<Value> found;
  SmallVector<std::pair<Value, bool>> work{{from, !product}};
  DenseSet<Value> seen;
  while (!work.empty() && seen.size() < 64) {
    auto [v, multiplied] = work.pop_back_val();
    for (Operation* user : v.getUsers()) {
      if (user->getBlock() != &program_.block || user->getNumResults() != 1 || !is_float(user->getResult(0)) || seen.contains(user->getResult(0))) continue;
      bool multiplies = isa<DotGeneralOp>(user);
      bool summed = isa<ReduceOp>(user) && user->getNumOperands() == 2;
      if (!(multiplies && !multiplied) && !(summed && multiplied) && !(isa<SelectOp>(user) && !multiplied && hides_what_is_hidden(user, v)) && !is_layout(user) && !isa<ConvertOp, NegOp>(user) && !is_scaled(user)) continue;
      Value next = user->getResult(0);
      seen.insert(next);
      if (multiplied || multiplies) found.push_back(next);
      work.push_back({next, multiplied || multiplies});
    }
  }
  llvm::sort(found, [&](Value a, Value b) { return program_.position(a) < program_.position(b); });
  return found;
}

bool AttentionGradient::find(Wanted& wanted, ArrayRef<Value> candidates) {
  for (Value v : candidates)
    for (View& view : all_views(v, wanted.sizes)) {
      if (wanted.found.value && (wanted.found.is_value() || !view.is_value())) continue;
      if (is_at(view, wanted)) wanted.found = view;
    }
  return wanted.found.value != nullptr;
}

std::string AttentionGradient::understand() {
  if (gradient_.getOperand(0).getType() != gradient_->getResult(0).getType() || shape_of(gradient_->getResult(0)) != shape_of(softmax())) return "its softmax is rearranged";
  if (auto error = find_gradient(); !error.empty()) return error;
  int64_t own = heads_ / groups_;
  Value d_scores = gradient_->getResult(0);
  auto of_keys = [this](Value weights, auto other, double factor) {
    // Summed over positions, and over the heads that share the keys.
    return [this, weights, other, factor](Sampler& s, const Place& at) {
      double sum = 0;
      for (int64_t h = at[1] * groups_; h < (at[1] + 1) * groups_; ++h)
        for (int64_t i = 0; i < positions_; ++i) sum += s.get(weights, in_softmax(at[0] * heads_ + h, i, at[2])) * other(s, Place{at[0], h, i, at[3]});
      return sum * factor;
    };
  };
  wanted_.resize(3);
  wanted_[0] = {"the queries", {batches_, heads_, positions_, width_}, [=, this](Sampler& s, const Place& at) {
    double sum = 0;
    for (int64_t j = 0; j < keys_; ++j) sum += s.get(d_scores, in_softmax(at[0] * heads_ + at[1], at[2], j)) * operand(s, 1, {at[0], at[1] / groups_, j, at[3]});
    return sum * a_.scale;
  }, {}};
  wanted_[1] = {"the keys", {batches_, own, keys_, width_}, of_keys(d_scores, [this](Sampler& s, const Place& at) { return operand(s, 0, at); }, a_.scale), {}};
  wanted_[2] = {"the values", {batches_, own, keys_, value_width_}, of_keys(softmax(), [this](Sampler& s, const Place& at) { return s.get(g_.value, g_.element(at)); }, 1), {}};
  auto of_scores = behind(d_scores, true), of_weights = behind(softmax(), true);
  for (Wanted& w : wanted_)
    if (!find(w, &w == &wanted_[2] ? of_weights : of_scores)) return std::string("there is no gradient of ") + w.name;
  find_mask_gradient();
  return is_closed(region(), sources()) ? "" : "it is computed from something besides";
}

// Whether somebody multiplies it by so much, as the gradient of padding that became -1e9, that its rounding shows: the attention's gradient subtracts sums that it has added up in different orders.
bool is_magnified(Value v) {
  constexpr double kMuch = 1e3;
  SmallVector<Value> work{v};
  for (size_t i = 0; i < work.size() && i < 16; ++i)
    for (Operation* user : work[i].getUsers()) {
      auto factor = [](Value u) { return std::fabs(constant_number(u).value_or(0)); };
      if (isa<MulOp>(user) && std::max(factor(user->getOperand(0)), factor(user->getOperand(1))) >= kMuch) return true;
      if (is_layout(user) || isa<NegOp, ConvertOp, ReduceOp>(user)) work.push_back(user->getResult(0));
    }
  return false;
}

// What reads the gradient of the scores beside the products: a bias is learnt, summed up where it is repeated.
void AttentionGradient::find_mask_gradient() {
  if (a_.operands.size() < 4 || a_.bits_keep) return;
  Value d_scores = gradient_->getResult(0);
  Place full{batches_, heads_, positions_, keys_};
  SmallVector<int64_t> sizes = a_.operands[3].sizes;
  Wanted mask{"the mask", sizes, [=, this](Sampler& s, const Place& at) {
    double sum = 0;
    Place end;
    for (size_t d = 0; d < 4; ++d) end[d] = sizes[d] == full[d] ? at[d] + 1 : full[d];
    for (int64_t b = at[0]; b < end[0]; ++b)
      for (int64_t h = at[1]; h < end[1]; ++h)
        for (int64_t i = at[2]; i < end[2]; ++i)
          for (int64_t j = at[3]; j < end[3]; ++j) sum += s.get(d_scores, in_softmax(b * heads_ + h, i, j));
    return sum;
  }, {}};
  SmallVector<Value> candidates{d_scores};
  llvm::append_range(candidates, behind(d_scores, false));
  if (!find(mask, candidates) || is_magnified(mask.found.value)) return;
  auto inside = region();
  if (llvm::any_of(mask.found.value.getUsers(), [&](Operation* user) { return !inside.contains(user); })) wanted_.push_back(mask);
}

// What computes the results.
DenseSet<Operation*> AttentionGradient::region() const {
  DenseSet<Value> stop = sources();
  DenseSet<Operation*> found;
  for (const Wanted& w : wanted_)
    for (Operation* op : operations_between(stop, w.found.value)) found.insert(op);
  return found;
}

DenseSet<Value> AttentionGradient::sources() const {
  DenseSet<Value> all{g_.value};
  for (const View& view : a_.operands) all.insert(view.value);
  for (Value v : a_.op->getOperands()) all.insert(v);
  for (Value v : a_.op->getResults()) all.insert(v);
  return all;
}

void AttentionGradient::outline(RaiseReport& report) {
  OpBuilder b(program_.module.getContext());
  DenseSet<Operation*> region = this->region();
  // The forward's operands: what reads their source reads them through the view's reverse.
  for (auto [k, view] : llvm::enumerate(a_.operands)) {
    Value made = a_.op->getOperand(unsigned(k)), source = view.value;
    if (made == source) continue;
    if (Operation* op = made.getDefiningOp()) b.setInsertionPointAfter(op);
    else b.setInsertionPointToStart(&program_.block);
    Value back;
    if (k == 3 && a_.bits_keep) {
      View bits = view;
      Value none = ConstantOp::create(b, made.getLoc(), DenseElementsAttr::get(type_of(made), b.getFloatAttr(type_of(made).getElementType(), 0)));
      back = bits.undo(b, CompareOp::create(b, made.getLoc(), made, none, *a_.bits_keep ? ComparisonDirection::EQ : ComparisonDirection::NE));
    } else {
      back = view.undo(b, made);
    }
    // What is on the way to the operand stays there, and is repeated for others.
    SmallVector<Operation*> way;
    for (Value v = made; v != source && !(k == 3 && a_.bits_keep); v = way.back()->getOperand(0)) way.push_back(v.getDefiningOp());
    auto redirect = [&](Value from, Value to) { from.replaceUsesWithIf(to, [&](OpOperand& use) { return region.contains(use.getOwner()) && !llvm::is_contained(way, use.getOwner()); }); };
    redirect(source, back);
    for (Operation* op : llvm::reverse(way)) {
      if (op->getResult(0) == made) break;
      Operation* again = b.clone(*op);
      again->setOperand(0, back);
      back = again->getResult(0);
      redirect(op->getResult(0), back);
    }
  }
  // Operands in the operator's order: the gradient, query, key, value, result, logarithms of sums, mask.
  SmallVector<Value> inputs{make_operand(b, g_, region)}, outputs;
  for (unsigned k = 0; k < 3; ++k) inputs.push_back(a_.op->getOperand(k));
  inputs.append(a_.op->result_begin(), a_.op->result_end());
  if (a_.operands.size() > 3) inputs.push_back(a_.op->getOperand(3));
  std::string place = where(wanted_[0].found.value);
  for (const Wanted& w : wanted_) outputs.push_back(make_result(b, w.found));
  program_.renumber();
  const Entry& entry = *find_composite("aten.scaled_dot_product_attention_backward");
  CompositeOp made = program_.outline(entry, a_.op.getCompositeAttributes(), inputs, outputs);
  if (a_.bits_keep) leave_out_hidden_queries(made);
  program_.renumber();
  report.raised.push_back(place + ": " + entry.name + a_.describe());
}

// Where a select hides all keys from a query, no gradient passes through it, but through a mask that is added one does: such a query is 0, and so is its gradient.
void AttentionGradient::leave_out_hidden_queries(CompositeOp made) {
  constexpr unsigned kQuery = 1, kMask = 6;
  Value query = made.getOperand(kQuery), mask = made.getOperand(kMask), gradient = made.getResult(0);
  OpBuilder b(made);
  Emit before(b, made.getLoc());
  Value most = before.maximum(mask, {3});
  Value sees = CompareOp::create(b, made.getLoc(), most, before.number(0, most), ComparisonDirection::EQ);
  auto bits = RankedTensorType::get(shape_of(query), b.getI1Type());
  auto seen = [&](OpBuilder& b, Value v) -> Value {
    Value everywhere = BroadcastInDimOp::create(b, made.getLoc(), bits, sees, ArrayRef<int64_t>{0, 1, 2});
    return SelectOp::create(b, made.getLoc(), everywhere, v, Emit(b, made.getLoc()).number(0, v));
  };
  made->setOperand(kQuery, seen(b, query));
  b.setInsertionPointAfter(made);
  Value left = seen(b, gradient);
  gradient.replaceAllUsesExcept(left, left.getDefiningOp());
}

// The forward's second product, where the program has the gradient alone: the gradient of the softmax begins with values that its weights would be multiplied with.
DotGeneralOp write_product(Program& program, CompositeOp gradient) {
  auto up = climb(gradient->getOperand(0), [](Value v) { return v.getDefiningOp<DotGeneralOp>() != nullptr; });
  auto dim = gradient.getCompositeAttributes().getAs<IntegerAttr>("dim");
  if (!up || !dim) return {};
  Value weights = gradient->getOperand(1);
  auto product = cast<DotGeneralOp>(up->values.back().getDefiningOp());
  auto n = product.getDotDimensionNumbers();
  size_t batch = n.getLhsBatchingDimensions().size();
  int64_t left = type_of(product.getLhs()).getRank() - int64_t(batch) - int64_t(n.getLhsContractingDimensions().size());
  // Of the product's result, for each dimension of the weights.
  Indices zero(shape_of(weights).size(), 0);
  auto origin = up->chase(zero);
  if (!origin) return {};
  SmallVector<int64_t> dims(zero.size(), -1);
  for (size_t d = 0; d < zero.size(); ++d) {
    if (shape_of(weights)[d] == 1) continue;
    Indices at(zero);
    at[d] = 1;
    auto moved = up->chase(at);
    for (size_t k = 0; moved && k < moved->size(); ++k)
      if ((*moved)[k] != (*origin)[k]) dims[d] = int64_t(k);
    if (dims[d] < 0) return {};
  }
  int64_t key = dims[dim.getInt()];
  if (key < int64_t(batch)) return {};
  bool on_left = key < int64_t(batch) + left;
  Value values = on_left ? product.getLhs() : product.getRhs();
  auto v_batch = on_left ? n.getLhsBatchingDimensions() : n.getRhsBatchingDimensions(), v_sum = on_left ? n.getLhsContractingDimensions() : n.getRhsContractingDimensions();
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < type_of(values).getRank(); ++d)
    if (!llvm::is_contained(v_batch, d) && !llvm::is_contained(v_sum, d)) free.push_back(d);
  SmallVector<int64_t> w_batching, v_batching;
  for (size_t k = 0; k < batch; ++k) {
    auto it = llvm::find(dims, int64_t(k));
    if (it == dims.end()) continue;  // of size 1
    w_batching.push_back(it - dims.begin()), v_batching.push_back(v_batch[k]);
  }
  int64_t v_key = free[size_t(key - int64_t(batch) - (on_left ? 0 : left))];
  SmallVector<int64_t> shape;
  for (int64_t d : w_batching) shape.push_back(shape_of(weights)[d]);
  for (int64_t d = 0; d < type_of(weights).getRank(); ++d)
    if (!llvm::is_contained(w_batching, d) && d != dim.getInt()) shape.push_back(shape_of(weights)[d]);
  for (int64_t d = 0; d < type_of(values).getRank(); ++d)
    if (!llvm::is_contained(v_batching, d) && d != v_key) shape.push_back(shape_of(values)[d]);
  OpBuilder b(gradient);
  Location loc = gradient.getLoc();
  Type element = type_of(values).getElementType();
  if (type_of(weights).getElementType() != element) weights = ConvertOp::create(b, loc, RankedTensorType::get(shape_of(weights), element), weights);
  auto numbers = DotDimensionNumbersAttr::get(b.getContext(), w_batching, v_batching, {dim.getInt()}, {v_key});
  auto made = DotGeneralOp::create(b, loc, RankedTensorType::get(shape, element), weights, values, numbers, product.getPrecisionConfigAttr());
  program.renumber();
  return made;
}

}  // namespace

void raise_attention_gradients(Program& program, Attentions& attentions, RaiseReport& report) {
  SmallVector<CompositeOp> gradients;
  for (auto op : program.block.getOps<CompositeOp>())
    if (op.getName() == "aten.softmax_backward") gradients.push_back(op);
  for (CompositeOp gradient : gradients) {
    auto up = climb(gradient->getOperand(1), [](Value v) {
      auto op = v.getDefiningOp<CompositeOp>();
      return op && op.getName() == "aten.softmax";
    });
    if (!up) continue;
    Operation* softmax = up->values.back().getDefiningOp();
    auto known = llvm::find_if(attentions.raised, [&](const RaisedAttention& a) { return a.softmax == softmax; });
    std::optional<RaisedAttention> written;
    RaiseReport forward;
    if (known == attentions.raised.end()) {
      auto product = write_product(program, gradient);
      if (!product) continue;
      std::string error;
      written = raise_attention_of(program, product, attentions.evaluations, forward, error);
      if (!written) {
        program.remove(product);
        if (!error.empty()) report.missed.push_back(where(gradient->getResult(0)) + ": nearly aten.scaled_dot_product_attention_backward: " + error);
        continue;
      }
    }
    RaisedAttention& attention = written ? *written : *known;
    std::string place = where(gradient->getResult(0));
    AttentionGradient search(program, attention, gradient);
    if (auto error = search.understand(); !error.empty()) {
      report.missed.push_back(place + ": nearly aten.scaled_dot_product_attention_backward: " + error);
      if (written) program.remove(attention.op);
      continue;
    }
    report.raised.insert(report.raised.end(), forward.raised.begin(), forward.raised.end());
    search.outline(report);
  }
  DenseSet<Operation*> left;
  for (Operation& op : program.block) left.insert(&op);
  for (auto& [op, line] : attentions.missed)
    if (left.contains(op)) report.missed.push_back(line);
}

}  // namespace cresset::composite
