// The gradient of a loss of labels: (softmax(x) - onehot) · g / N in terms of the scores, -onehot · g / N in terms of log probabilities, whatever computes it.
#include <cmath>

#include "composite/emit.h"
#include "composite/raise_loss.h"
#include "composite/raise_scalar.h"
#include "composite/sampler.h"
#include "composite/view.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

int64_t size_of(Value v) { return type_of(v).getNumElements(); }
bool is_softmax(Operation* op) {
  auto composite = dyn_cast<CompositeOp>(op);
  return composite && (composite.getName() == "aten.softmax" || composite.getName() == "aten.log_softmax");
}
bool is_step(Operation* op) {
  return is_elementwise(op) || is_layout(op) || isa<ReduceOp, GatherOp, ScatterOp, IotaOp, ConstantOp, ConcatenateOp, PadOp>(op) || is_softmax(op);
}

struct LossGradient {
  Value v, scores, labels, g;  // scores: none for the gradient of log probabilities; g: one number, one for each row, or none for 1
  Reduction reduction = Mean;
  double factor = 1;  // of g besides
  int64_t rows() const { return size_of(labels); }
  int64_t classes() const { return size_of(v) / rows(); }
};

// What the value is computed from; `whole`: numbers of rows that labels have no part in are taken as they are.
std::optional<LossGradient> inputs_of(Value v, bool whole, const DenseSet<Value>& labelled) {
  LossGradient found;
  found.v = v;
  SmallVector<Value> work{v}, floats;
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value u = work.pop_back_val();
    if (!seen.insert(u).second || constant_number(u)) continue;
    if (seen.size() > 160 || !isa<RankedTensorType>(u.getType())) return std::nullopt;
    Operation* op = u.getDefiningOp();
    // Scores are read in the gradient's own type.
    bool changes = op && isa<ConvertOp>(op) && is_float(op->getOperand(0)) && is_float(u) && size_of(u) == size_of(v);
    bool step = op && is_step(op) && !changes && !is_bounded_label(u) && !(whole && is_float(u) && size_of(u) < size_of(v) && !labelled.contains(u) && size_of(u) > 1 && !isa<IotaOp>(op));
    if (step) {
      work.append(op->operand_begin(), op->operand_end());
    } else if (is_integer(u)) {
      if (found.labels) return std::nullopt;
      found.labels = u;
    } else if (is_float(u)) {
      floats.push_back(u);
    } else {
      return std::nullopt;
    }
  }
  if (!found.labels || found.rows() == 0 || size_of(v) % found.rows() || found.classes() < 2) return std::nullopt;
  if (shape_of(v).back() != found.classes()) return std::nullopt;
  for (Value u : floats) {
    Value& place = size_of(u) == size_of(v) && size_of(u) != found.rows() ? found.scores : found.g;
    if (place || u == v || (&place == &found.g && size_of(u) != 1 && size_of(u) != found.rows())) return std::nullopt;
    if (type_of(u).getElementType() != type_of(v).getElementType()) return std::nullopt;
    place = u;
  }
  return found;
}

// Whether the value is cut off at last: without a gradient that could be large it would not show.
bool is_clamped(Value v) {
  Operation* op = v.getDefiningOp();
  while (op && (is_layout(op) || isa<ConvertOp>(op))) op = op->getOperand(0).getDefiningOp();
  return op && isa<MaxOp, MinOp, ClampOp>(op);
}

// Whether it is that gradient; finds the reduction and the factor.
bool matches(LossGradient& found) {
  int64_t rows = found.rows(), classes = found.classes();
  double tolerance = tolerance_of(found.v);
  std::optional<double> factor;
  // `rescaled`: whether a row has another factor.
  auto fits = [&](unsigned seed, double scale, const Sampler::Field& labels, bool* rescaled = nullptr) {
    Sampler s(seed);
    if (found.scores) s.set(found.scores, s.random(found.scores));
    if (found.g) s.set(found.g, s.random(found.g, scale));
    s.set(found.labels, labels);
    for (int64_t row : {int64_t(0), rows / 2, rows - 1}) {
      int64_t label = int64_t(s.get(found.labels, row));
      if (label < 0 || label >= classes) continue;
      double g = found.g ? s.get(found.g, size_of(found.g) == 1 ? 0 : row) : 1, m = -INFINITY, sum = 0;
      auto score = [&](int64_t c) { return s.get(found.scores, row * classes + c); };
      if (found.scores) {
        for (int64_t c = 0; c < classes; ++c) m = std::max(m, score(c));
        for (int64_t c = 0; c < classes; ++c) sum += std::exp(score(c) - m);
      }
      SmallVector<double, 3> factors;
      for (int64_t c : {label, (label + 1) % classes, (label + classes / 2 + 1) % classes}) {
        double expected = g * ((found.scores ? std::exp(score(c) - m) / sum : 0) - (c == label ? 1 : 0)), actual = s.get(found.v, row * classes + c);
        if (!factor) factor = actual / expected;
        if (s.exhausted() || !std::isfinite(*factor) || *factor == 0) return false;
        if (rescaled) {
          if (expected != 0) factors.push_back(actual / *factor / expected);
        } else if (!(std::fabs(actual / *factor - expected) <= tolerance * std::max(0.1 * scale, std::fabs(expected)))) {
          return false;
        }
      }
      auto near = [&](double a, double b) { return std::fabs(a - b) <= tolerance * std::fabs(b); };
      if (rescaled) *rescaled |= llvm::all_of(factors, [&](double f) { return near(f, factors[0]); }) && !near(factors[0], 1);
    }
    return true;
  };
  constexpr double kLarge = 1e6;  // what is cut off shows
  if (!found.g && is_clamped(found.v)) return false;
  if (!fits(51, 1, random_labels(51, classes)) || !fits(52, 1, random_labels(52, classes)) || !fits(53, found.g ? kLarge : 1, random_labels(53, classes))) return false;
  SmallVector<Value> inputs{found.labels};
  for (Value v : {found.scores, found.g})
    if (v) inputs.push_back(v);
  for (int64_t label : telling_labels(found.v, inputs, classes)) {
    if (label >= 0 && label < classes) {
      if (!fits(54, 1, [=](int64_t) { return double(label); })) return false;
      continue;
    }
    // Half of the rows with what is no class: the others' factor stays, or they are not counted. A scatter may write to the next row.
    auto random = random_labels(55, classes);
    bool rescaled = false;
    for (int64_t half : {0, 1})
      if (!fits(55, 1, [&](int64_t at) { return at % 2 == half ? double(label) : random(at); }, &rescaled) || rescaled) return false;
  }
  auto is = [&](double x) { return std::fabs(*factor - x) <= tolerance * x; };
  bool each = found.g && size_of(found.g) == rows && rows > 1;
  if (each || (rows == 1 && found.g && shape_of(found.g).size() > 0)) found.reduction = None, found.factor = is(1) ? 1 : *factor;
  else if (is(1) && rows > 1) found.reduction = Sum, found.factor = 1;
  else found.reduction = Mean, found.factor = is(1.0 / double(rows)) ? 1 : *factor * double(rows);
  return true;
}

Value plain(OpBuilder& b, Value v, SmallVector<int64_t> sizes) {
  View view{v, {}, std::move(sizes)};
  for (int64_t d = 0; d < type_of(v).getRank(); ++d) view.permutation.push_back(d);
  return view.make(b);
}

// The program's log_softmax of these scores, in two dimensions, or a new one.
Value log_probabilities(Program& program, OpBuilder& b, const LossGradient& found, RaiseReport& report) {
  SmallVector<int64_t> sizes{found.rows(), found.classes()};
  auto source = [](Value v) {
    while (auto reshape = v.getDefiningOp<ReshapeOp>()) v = reshape.getOperand();
    return v;
  };
  for (auto op : program.block.getOps<CompositeOp>()) {
    auto dim = op.getCompositeAttributes().getAs<IntegerAttr>("dim");
    if (op.getName() != "aten.log_softmax" || source(op->getOperand(0)) != source(found.scores) || size_of(op->getResult(0)) != size_of(found.v)) continue;
    if (dim && dim.getInt() == int64_t(shape_of(op->getResult(0)).size()) - 1 && shape_of(op->getResult(0)).back() == found.classes()) return plain(b, op->getResult(0), sizes);
  }
  Location loc = found.v.getLoc();
  Value scores = plain(b, found.scores, sizes);
  program.renumber();
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("dim", b.getI64IntegerAttr(1)), b.getNamedAttr("half_to_float", b.getBoolAttr(false))});
  auto log = program.insert(*find_composite("aten.log_softmax"), attributes, {scores}, loc,
                            [&](OpBuilder& inside, ArrayRef<Value> arguments) -> SmallVector<Value> { return {Emit(inside, loc).softmax(arguments[0], {1}, true)}; });
  report.raised.push_back(where(found.v) + ": aten.log_softmax dim=1");
  return log->getResult(0);
}

// nll_loss in the program with these labels, if there is one.
CompositeOp forward_of(Program& program, Value labels, int64_t rows) {
  for (auto op : program.block.getOps<CompositeOp>()) {
    if (op.getName() != "aten.nll_loss" || op->getNumOperands() != 2) continue;
    Value own = op->getOperand(1);
    while (own != labels && own.getDefiningOp<ReshapeOp>()) own = own.getDefiningOp<ReshapeOp>().getOperand();
    if (own == labels && size_of(own) == rows) return op;
  }
  return {};
}

bool outline_gradient(Program& program, LossGradient& found, RaiseReport& report) {
  OpBuilder b(program.module.getContext());
  Location loc = found.v.getLoc();
  int64_t rows = found.rows(), classes = found.classes();
  auto forward = forward_of(program, found.labels, rows);
  if (!found.scores && !forward) return false;  // of log probabilities that the program does not have
  std::string place = where(found.v);
  Value log = found.scores ? log_probabilities(program, b, found, report) : forward->getOperand(0);
  if (shape_of(log) != ArrayRef<int64_t>({rows, classes}) || type_of(log).getElementType() != type_of(found.v).getElementType()) return false;
  auto number = RankedTensorType::get({}, type_of(found.v).getElementType());
  b.setInsertionPoint(found.v.getDefiningOp());
  Emit e(b, loc);
  Value labels = e.reshape(found.labels, {rows}), g = found.g ? e.reshape(found.g, found.reduction == None ? SmallVector<int64_t>{rows} : SmallVector<int64_t>{}) : e.number(1, number);
  if (found.factor != 1) g = e.mul(g, e.number(found.factor, g));
  Value total = forward && found.reduction != None && forward->getResult(1).getType() == number ? forward->getResult(1) : e.number(found.reduction == None ? 0 : double(rows), number);
  program.renumber();
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("absent_operands", b.getDenseI64ArrayAttr({3})), b.getNamedAttr("ignore_index", b.getI64IntegerAttr(-100)), b.getNamedAttr("reduction", b.getI64IntegerAttr(int64_t(found.reduction)))});
  auto gradient = program.insert(*find_composite("aten.nll_loss_backward"), attributes, {g, log, labels, total}, loc, [&](OpBuilder& inside, ArrayRef<Value> a) -> SmallVector<Value> {
    Emit e(inside, loc);
    Value each = e.negate(found.reduction == Mean ? e.div(a[0], a[3]) : a[0]);
    Type integer = type_of(a[2]).getElementType();
    Value number = IotaOp::create(inside, loc, RankedTensorType::get({rows, classes}, integer), 1);
    Value label = BroadcastInDimOp::create(inside, loc, RankedTensorType::get({rows, classes}, integer), a[2], SmallVector<int64_t>{0});
    Value hot = CompareOp::create(inside, loc, number, label, ComparisonDirection::EQ);
    Value spread = BroadcastInDimOp::create(inside, loc, a[1].getType(), each, found.reduction == None ? SmallVector<int64_t>{0} : SmallVector<int64_t>{});
    return {SelectOp::create(inside, loc, hot, spread, e.number(0, a[1]))};
  });
  report.raised.push_back(place + ": aten.nll_loss_backward reduction=" + std::to_string(int(found.reduction)));
  Value result = gradient->getResult(0);
  program.renumber();
  if (found.scores) {
    auto softmax = b.getDictionaryAttr({b.getNamedAttr("dim", b.getI64IntegerAttr(1)), b.getNamedAttr("input_dtype", TypeAttr::get(number.getElementType()))});
    result = program.insert(*find_composite("aten.log_softmax_backward"), softmax, {result, log}, loc, [&](OpBuilder& inside, ArrayRef<Value> a) -> SmallVector<Value> {
      Emit e(inside, loc);
      return {e.sub(a[0], e.mul(e.exp(a[1]), e.spread(e.sum(a[0], {1}), {1}, a[0])))};
    })->getResult(0);
    report.raised.push_back(place + ": aten.log_softmax_backward");
  }
  b.setInsertionPoint(found.v.getDefiningOp());
  program.replace(found.v, Emit(b, loc).reshape(result, shape_of(found.v)));
  program.renumber();
  return true;
}

}  // namespace

void raise_loss_gradients(Program& program, RaiseReport& report) {
  SmallVector<Value> candidates;
  DenseSet<Value> labelled = computed_from(program.block, is_integer, is_step);
  for (Operation& op : program.block)
    for (Value v : op.getResults())
      if (labelled.contains(v) && is_float(v) && shape_of(v).size() > 0 && shape_of(v).back() > 1) candidates.push_back(v);
  if (candidates.size() > 128) candidates.erase(candidates.begin(), candidates.end() - 128);
  DenseSet<Operation*> alive;
  for (Operation& op : program.block) alive.insert(&op);
  SmallVector<Operation*> defining;
  for (Value v : candidates) defining.push_back(v.getDefiningOp());
  for (Operation* op : llvm::reverse(defining)) {
    if (!alive.contains(op)) continue;
    for (bool whole : {false, true}) {
      auto found = inputs_of(op->getResult(0), whole, labelled);
      if (!found || !matches(*found)) continue;
      if (!outline_gradient(program, *found, report)) break;
      alive.clear();
      for (Operation& op : program.block) alive.insert(&op);
      break;
    }
  }
}

}  // namespace cresset::composite
