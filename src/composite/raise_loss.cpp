#include "composite/raise_loss.h"

#include <cmath>

#include "composite/emit.h"
#include "composite/raise_scalar.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kNear = 0.5;

bool is_step(Operation* op) { return is_elementwise(op) || is_layout(op) || isa<ReduceOp, GatherOp, IotaOp, ConstantOp, ConcatenateOp>(op); }

struct Loss {
  Value scores, labels, y;
  Reduction reduction = None;
  bool normalises = false;  // the scores become log probabilities on the way
  int64_t classes() const { return type_of(scores).getNumElements() / rows(); }
  int64_t rows() const { return type_of(labels).getNumElements(); }
};

// The two values that a loss is of: floats of rows, and an integer for each row.
std::optional<Loss> inputs_of(Value y) {
  Loss loss;
  loss.y = y;
  SmallVector<Value> work{y};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!seen.insert(v).second) continue;
    if (seen.size() > 160 || !isa<RankedTensorType>(v.getType())) return std::nullopt;
    Operation* op = v.getDefiningOp();
    if (op && is_step(op)) {
      work.append(op->operand_begin(), op->operand_end());
      continue;
    }
    Value& place = is_integer(v) ? loss.labels : loss.scores;
    if ((!is_integer(v) && !is_float(v)) || (place && place != v)) return std::nullopt;
    place = v;
  }
  if (!loss.scores || !loss.labels || type_of(loss.labels).getNumElements() == 0 || type_of(loss.scores).getNumElements() % loss.rows()) return std::nullopt;
  // Classes are the last dimension of the scores, whose others are the labels'.
  if (loss.classes() < 2 || shape_of(loss.scores).empty() || (shape_of(loss.scores).back() != loss.classes() && shape_of(loss.scores).size() > 1)) return std::nullopt;
  return loss;
}

// The element of one row that its label picks, in a program of random scores and labels.
struct Rows {
  Rows(const Loss& loss, unsigned seed) : loss(loss), sampler(seed) {
    sampler.set(loss.scores, sampler.random(loss.scores));
    int64_t classes = loss.classes();
    sampler.set(loss.labels, [=](int64_t at) { return double((at * 7919 + seed * 31 + 3) % classes); });
  }
  double picked(int64_t row) {
    int64_t classes = loss.classes(), label = int64_t(sampler.get(loss.labels, row));
    auto at = [&](int64_t c) { return sampler.get(loss.scores, row * classes + c); };
    if (!loss.normalises) return at(label);
    double m = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; ++c) m = std::max(m, at(c));
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(at(c) - m);
    return at(label) - m - std::log(sum);
  }
  const Loss& loss;
  Sampler sampler;
};

bool is_near(double found, double expected, const Loss& loss) {
  return std::fabs(found - expected) <= tolerance_of(loss.scores) * std::max(0.1, std::fabs(expected));
}

// A value on the way to y that is +- what is picked of each row: the rest is a sum of it, whatever the number of classes.
Value picked_rows(const Loss& loss, int& sign) {
  SmallVector<Value> work{loss.y};
  DenseSet<Value> seen;
  while (!work.empty() && seen.size() < 48) {
    Value v = work.pop_back_val();
    Operation* op = v.getDefiningOp();
    if (!op || !is_step(op) || !seen.insert(v).second) continue;
    if (v != loss.y && is_float(v) && type_of(v).getNumElements() == loss.rows() && !constant_number(v)) {
      sign = 0;
      bool fits = true;
      for (int64_t row : {int64_t(0), loss.rows() / 2, loss.rows() - 1}) {
        Rows rows(loss, 31);
        double found = rows.sampler.get(v, row), expected = rows.picked(row);
        int here = is_near(found, expected, loss) ? 1 : is_near(found, -expected, loss) ? -1 : 0;
        fits &= here != 0 && (sign == 0 || sign == here) && !rows.sampler.exhausted();
        sign = here;
      }
      if (fits) return v;
    }
    work.append(op->operand_begin(), op->operand_end());
  }
  return {};
}

// `near`: how far off the sum of all rows is.
bool matches(Loss& loss, double& near) {
  int64_t rows = loss.rows();
  if (loss.reduction == None) {
    for (unsigned seed : {41u, 42u})
      for (int64_t row : {int64_t(0), rows / 2, rows - 1}) {
        Rows r(loss, seed);
        if (!is_near(r.sampler.get(loss.y, row), -r.picked(row), loss) || r.sampler.exhausted()) return false;
      }
    return true;
  }
  int sign = 1;
  Value part = picked_rows(loss, sign);
  if (!part && rows * loss.classes() > (1 << 18)) return false;
  for (unsigned seed : {43u, 44u}) {
    Rows r(loss, seed);
    double sum = 0;
    if (part) {
      auto field = r.sampler.random(part);
      r.sampler.set(part, field);
      for (int64_t row = 0; row < rows; ++row) sum -= sign * field(row);
    } else {
      for (int64_t row = 0; row < rows; ++row) sum -= r.picked(row);
    }
    double found = r.sampler.get(loss.y, 0), expected = loss.reduction == Mean ? sum / double(rows) : sum;
    if (r.sampler.exhausted()) return false;
    if (!is_near(found, expected, loss)) {
      near = std::min(near, std::fabs(found - expected) / std::max(0.1, std::fabs(expected)));
      return false;
    }
  }
  return true;
}

// The picked elements as a gather.
Value pick(Emit& e, OpBuilder& b, Location loc, Value scores, Value labels) {
  int64_t rows = shape_of(scores)[0];
  auto column = RankedTensorType::get({rows, 1}, type_of(labels).getElementType());
  Value number = IotaOp::create(b, loc, column, 0), places = ConcatenateOp::create(b, loc, ValueRange{number, e.reshape(labels, {rows, 1})}, 1);
  auto dims = GatherDimensionNumbersAttr::get(b.getContext(), {}, {0, 1}, {}, {}, {0, 1}, 1);
  return GatherOp::create(b, loc, RankedTensorType::get({rows}, type_of(scores).getElementType()), scores, places, dims, b.getDenseI64ArrayAttr({1, 1}), b.getBoolAttr(false));
}

void outline_loss(Program& program, Loss& loss, RaiseReport& report) {
  OpBuilder b(program.module.getContext());
  int64_t rows = loss.rows(), classes = loss.classes();
  auto plain = [](Value v, SmallVector<int64_t> sizes) {
    View view{v, {}, std::move(sizes)};
    for (int64_t d = 0; d < int64_t(shape_of(v).size()); ++d) view.permutation.push_back(d);
    return view;
  };
  auto region = operations_between({loss.scores, loss.labels}, loss.y);
  std::string place = where(loss.y);
  Value scores, labels = make_operand(b, plain(loss.labels, {rows}), region);
  Value out = make_result(b, plain(loss.y, loss.reduction == None ? SmallVector<int64_t>{rows} : SmallVector<int64_t>{}));
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("ignore_index", b.getI64IntegerAttr(-100)), b.getNamedAttr("reduction", b.getI64IntegerAttr(int64_t(loss.reduction)))});
  const Entry& entry = *find_composite("aten.nll_loss");
  Location loc = out.getLoc();
  // The second result: the labels' total weight.
  auto total = [&](OpBuilder& inside) {
    auto type = RankedTensorType::get({}, type_of(loss.scores).getElementType());
    APFloat number(loss.reduction == None ? 0.0 : double(rows));
    bool lost;
    number.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return ConstantOp::create(inside, loc, DenseElementsAttr::get(type, number)).getResult();
  };
  if (!loss.normalises) {
    scores = make_operand(b, plain(loss.scores, {rows, classes}), region);
    program.renumber();
    program.outline(entry, attributes, {scores, labels}, {out}, [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) { returned.push_back(total(inside)); });
  } else {
    scores = plain(loss.scores, {rows, classes}).make(b);
    program.renumber();
    auto softmax = b.getDictionaryAttr({b.getNamedAttr("dim", b.getI64IntegerAttr(1)), b.getNamedAttr("half_to_float", b.getBoolAttr(false))});
    auto log = program.insert(*find_composite("aten.log_softmax"), softmax, {scores}, loc, [&](OpBuilder& inside, ArrayRef<Value> arguments) -> SmallVector<Value> {
      return {Emit(inside, loc).softmax(arguments[0], {1}, true)};
    });
    program.renumber();
    report.raised.push_back(place + ": aten.log_softmax dim=1");
    auto composite = program.insert(entry, attributes, {log->getResult(0), labels}, loc, [&](OpBuilder& inside, ArrayRef<Value> arguments) -> SmallVector<Value> {
      Emit e(inside, loc);
      Value y = e.negate(pick(e, inside, loc, arguments[0], arguments[1]));
      if (loss.reduction != None) y = e.sum(y, {0});
      if (loss.reduction == Mean) y = e.div(y, e.number(double(rows), y));
      return {y, total(inside)};
    });
    program.replace(out, composite->getResult(0));
  }
  program.renumber();
  report.raised.push_back(place + ": aten.nll_loss reduction=" + std::to_string(int(loss.reduction)));
}

}  // namespace

void raise_losses(Program& program, RaiseReport& report) {
  // Values that depend on floats and on labels; the last first.
  SmallVector<Operation*> candidates;
  DenseSet<Value> labelled = computed_from(program.block, is_integer, is_step), floats = computed_from(program.block, is_float, is_step);
  for (Operation& op : program.block)
    if (op.getNumResults() == 1 && labelled.contains(op.getResult(0)) && floats.contains(op.getResult(0)) && is_float(op.getResult(0))) candidates.push_back(&op);
  if (candidates.size() > 256) candidates.erase(candidates.begin(), candidates.end() - 256);
  DenseSet<Operation*> alive;
  for (Operation& op : program.block) alive.insert(&op);
  DenseSet<Value> reported;
  for (Operation* candidate : llvm::reverse(candidates)) {
    if (!alive.contains(candidate)) continue;
    Value y = candidate->getResult(0);
    auto loss = inputs_of(y);
    if (!loss) continue;
    int64_t size = type_of(y).getNumElements();
    if (size != 1 && size != loss->rows()) continue;
    bool found = false;
    double near = INFINITY;
    for (bool normalises : {false, true}) {
      for (Reduction reduction : {Mean, Sum, None}) {
        if ((reduction == None) != (size == loss->rows() && (size != 1 || shape_of(y).size() > 0))) continue;
        loss->normalises = normalises, loss->reduction = reduction;
        if ((found = matches(*loss, near))) break;
      }
      if (found) break;
    }
    if (!found && near < kNear && size == 1 && reported.insert(loss->labels).second) {
      std::string text = where(y) + ": nearly aten.nll_loss, off by ";
      llvm::raw_string_ostream(text) << llvm::format("%.2g", near) << ": it may smooth labels, ignore or weight some of them";
      report.missed.push_back(text);
    }
    if (!found) continue;
    reported.insert(loss->labels);
    outline_loss(program, *loss, report);
    alive.clear();
    for (Operation& op : program.block) alive.insert(&op);
  }
}

}  // namespace cresset::composite
