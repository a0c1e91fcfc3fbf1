#include <cmath>

#include "composite/attention_pattern.h"
#include "composite/emit.h"
#include "composite/raise_scalar.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

// The result at some places against the formula.
std::string AttentionPattern::verify() {
  Value y = second_.getResult();
  if (!is_closed(operations_between({query_.value, key_.value, value_.value, mask_.value}, y), {query_.value, key_.value, value_.value, mask_.value})) return "it is computed from something besides";
  size_t structure = llvm::hash_combine(structure_of(y, {query_.value, key_.value, value_.value, mask_.value}), is_causal_, llvm::bit_cast<uint64_t>(scale_));
  for (const View* view : {&query_, &key_, &value_, &mask_})
    structure = llvm::hash_combine(structure, llvm::hash_combine_range(view->permutation.begin(), view->permutation.end()), llvm::hash_combine_range(view->sizes.begin(), view->sizes.end()));
  if (auto it = verified_.find(structure); it != verified_.end()) return it->second;
  return verified_[structure] = evaluate();
}

std::string AttentionPattern::evaluate() {
  Value y = second_.getResult();
  bool narrow = is_narrow(query_.value) || is_narrow(scores()) || is_narrow(first_.getResult());
  for (unsigned seed : {11u, 12u}) {
    Sampler s(seed);
    SmallVector<Value> given;
    for (Value v : {query_.value, key_.value, value_.value})
      if (!llvm::is_contained(given, v)) s.set(v, s.random(v)), given.push_back(v);
    // What is added may be computed from much, as a position bias from all layers before. Bits stay what they are: at random they could hide all keys.
    if (mask_.value && is_float(mask_.value) && !llvm::is_contained(given, mask_.value)) s.set(mask_.value, s.random(mask_.value));
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
    if (!(off <= (narrow ? kNarrowTolerance : kAttentionTolerance))) {
      std::string text;
      llvm::raw_string_ostream(text) << "off by " << llvm::format("%.2g", off);
      return text;
    }
  }
  return "";
}

// The result in the composite's layout, if the program has it.
void AttentionPattern::choose_output() {
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
      for (int64_t n : probes(batches_ * heads_))
        for (int64_t i : probes(positions_))
          for (int64_t d : probes(value_width_)) {
            int64_t at[4] = {n / heads_, n % heads_, i, d};
            auto source = path.chase(at);
            fits &= source && *source == in_operand(y, &Axis::result, n, i, 0, result_width_dim_, d);
          }
      if (fits) output_ = view;
    }
    if (isa<ConvertOp>(user) && !output_.is_value()) output_.value = v;  // the same shape
  }
}

// A select's mask as one that is added: the lowest number, in which scores vanish, so that a row without anything to attend to has equal weights here as well.
void AttentionPattern::make_added(OpBuilder& b, DenseSet<Operation*>& region) {
  Value bits = mask_.value;
  Location loc = bits.getLoc();
  if (Operation* op = bits.getDefiningOp()) b.setInsertionPointAfter(op);
  else b.setInsertionPointToStart(bits.getParentBlock());
  Emit e(b, loc);
  // In f16's lowest number scores vanish only in f16: in f32, in which kernels compute, they would show.
  Type element = type_of(operand_->op->getResult(0)).getElementType();
  auto type = RankedTensorType::get(shape_of(bits), element.isF16() ? b.getF32Type() : element);
  auto lowest = llvm::APFloat::getLargest(cast<FloatType>(type.getElementType()).getFloatSemantics(), true).convertToDouble();
  Value none = e.number(0, type), low = e.number(std::isinf(operand_->low) ? operand_->low : lowest, type);
  Value added = SelectOp::create(b, loc, bits, operand_->keeps ? none : low, operand_->keeps ? low : none);
  Value back = CompareOp::create(b, loc, added, none, operand_->keeps ? ComparisonDirection::EQ : ComparisonDirection::NE);
  bits.replaceUsesWithIf(back, [&](OpOperand& use) { return region.contains(use.getOwner()); });
  region.insert(back.getDefiningOp());
  mask_.value = added;
}

// What the dimensions of the softmax are.
SmallVector<RaisedAttention::Axis> AttentionPattern::softmax_axes() const {
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

// The composite's second result: the logarithm of each row's sum, in the order of batch, heads, positions.
Value AttentionPattern::log_sum(OpBuilder& b, Value s, Location loc) const {
  Indices first = *in_scores(0, 0, 0), next = *in_scores(0, 0, 1);
  int64_t dim = std::mismatch(first.begin(), first.end(), next.begin()).first - first.begin();
  Emit e(b, loc);
  if (is_narrow(s)) s = e.convert(s, b.getF32Type());
  Value m = e.maximum(s, {dim});
  Value lse = e.add(e.log(e.sum(e.exp(e.sub(s, e.spread(m, {dim}, s))), {dim})), m);
  SmallVector<int64_t> rest(shape_of(lse));
  View view{lse, {}, {batches_, heads_, positions_}};
  auto in_rest = [&](int64_t n, int64_t i) {
    Indices at = *in_scores(n, i, 0);
    at.erase(at.begin() + dim);
    return at;
  };
  SmallVector<std::pair<int64_t, int64_t>> strides;  // how far one step of a dimension is in the composite's order
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
  return view.make(b);
}

RaisedAttention AttentionPattern::outline(RaiseReport& report) {
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
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    returned[1] = log_sum(inside, returned[1], out.getLoc());
    inside.setInsertionPointToEnd(inside.getInsertionBlock());
  };
  raised.op = program_.outline(*find_composite("aten.scaled_dot_product_attention"), b.getDictionaryAttr(attributes), inputs, {out, scores()}, extend);
  program_.renumber();
  report.raised.push_back(place + ": aten.scaled_dot_product_attention" + raised.describe());
  return raised;
}

std::string RaisedAttention::describe() const {
  std::string text;
  llvm::raw_string_ostream(text) << (is_causal ? " is_causal" : "") << (operands.size() > 3 ? " attn_mask" : "") << " scale=" << llvm::format("%g", scale);
  return text;
}

std::optional<RaisedAttention> raise_attention_of(Program& program, DotGeneralOp second, AttentionEvaluations& verified, RaiseReport& report, std::string& error) {
  for (bool left : {true, false}) {
    AttentionPattern attention(program, second, left, verified);
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
