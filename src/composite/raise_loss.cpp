#include "composite/raise_loss.h"

#include <algorithm>
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
    if (op && is_step(op) && !is_bounded_label(v)) {
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

// The element of one row that its label picks, in a program of random scores, and random labels if they are not given.
struct Rows {
  Rows(const Loss& loss, unsigned seed, const Sampler::Field& labels = {}) : loss(loss), sampler(seed) {
    sampler.set(loss.scores, sampler.random(loss.scores));
    sampler.set(loss.labels, labels ? labels : random_labels(seed, loss.classes()));
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

// 1 or -1 if the value has what is picked of each row, or less of it; else 0.
int sign_of(const Loss& loss, Value v, unsigned seed, const Sampler::Field& labels = {}) {
  int sign = 0;
  for (int64_t row : {int64_t(0), loss.rows() / 2, loss.rows() - 1}) {
    Rows rows(loss, seed, labels);
    double found = rows.sampler.get(v, row), expected = rows.picked(row);
    int here = is_near(found, expected, loss) ? 1 : is_near(found, -expected, loss) ? -1 : 0;
    if (here == 0 || (sign != 0 && sign != here) || rows.sampler.exhausted()) return 0;
    sign = here;
  }
  return sign;
}

// A value on the way to y that is +- what is picked of each row: the rest is a sum of it, whatever the number of classes.
Value picked_rows(const Loss& loss, int& sign) {
  SmallVector<Value> work{loss.y};
  DenseSet<Value> seen;
  while (!work.empty() && seen.size() < 48) {
    Value v = work.pop_back_val();
    Operation* op = v.getDefiningOp();
    if (!op || !is_step(op) || !seen.insert(v).second) continue;
    if (v != loss.y && is_float(v) && type_of(v).getNumElements() == loss.rows() && !constant_number(v))
      if ((sign = sign_of(loss, v, 31))) return v;
    work.append(op->operand_begin(), op->operand_end());
  }
  return {};
}

// Whether no class is left out of the numbers of rows. What is no class may be anything: a number that is picked, NaN, or 0 for all of these, as a one-hot has it. If only some are 0, a mask names them.
bool takes_all_labels(const Loss& loss, Value v, int sign, ArrayRef<int64_t> classes, ArrayRef<int64_t> others) {
  auto always = [](int64_t label) { return [=](int64_t) { return double(label); }; };
  if (!llvm::all_of(classes, [&](int64_t label) { return sign_of(loss, v, 45, always(label)) == sign; })) return false;
  auto left_out = llvm::count_if(others, [&](int64_t label) { return Rows(loss, 45, always(label)).sampler.get(v, 0) == 0; });
  return left_out == 0 || left_out == int64_t(others.size());
}

// `near`: how far off the sum of all rows is.
bool matches(Loss& loss, double& near) {
  int64_t rows = loss.rows(), classes = loss.classes();
  auto telling = telling_labels(loss.y, {loss.scores, loss.labels}, classes);
  auto middle = std::stable_partition(telling.begin(), telling.end(), [=](int64_t label) { return label >= 0 && label < classes; });
  ArrayRef<int64_t> inside(telling.begin(), middle), outside(middle, telling.end());
  if (loss.reduction == None) return sign_of(loss, loss.y, 41) == -1 && sign_of(loss, loss.y, 42) == -1 && takes_all_labels(loss, loss.y, -1, inside, outside);
  int sign = 1;
  Value part = picked_rows(loss, sign);
  if (!part && rows * classes > (1 << 18)) return false;
  // What is found, and the sum over the rows that count.
  auto sum = [&](unsigned seed, const Sampler::Field& labels, llvm::function_ref<bool(int64_t)> counts) {
    Rows r(loss, seed, labels);
    Sampler::Field field;
    if (part) r.sampler.set(part, field = r.sampler.random(part));
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row)
      if (counts(row)) sum -= part ? sign * field(row) : r.picked(row);
    double found = r.sampler.get(loss.y, 0);
    return std::pair(r.sampler.exhausted() ? NAN : found, sum);
  };
  auto all = [](int64_t) { return true; };
  double count = loss.reduction == Mean ? double(rows) : 1;
  for (unsigned seed : {43u, 44u}) {
    auto [found, of_all] = sum(seed, {}, all);
    double expected = of_all / count;
    if (!is_near(found, expected, loss)) {
      near = std::min(near, std::fabs(found - expected) / std::max(0.1, std::fabs(expected)));
      return false;
    }
  }
  if (part && !takes_all_labels(loss, part, sign, inside, outside)) return false;
  for (int64_t first = 0; first < int64_t(inside.size()); first += rows) {
    auto [found, of_all] = sum(46, [&](int64_t at) { return double(inside[size_t(first + at) % inside.size()]); }, all);
    if (!is_near(found, of_all / count, loss)) return false;
  }
  // The same of the sum: what is no class in every second row, which do not count either, or are left out.
  size_t left_out = 0;
  for (int64_t label : outside) {
    auto random = random_labels(47, classes);
    auto [found, of_others] = sum(47, [&](int64_t at) { return at % 2 ? random(at) : double(label); }, [](int64_t row) { return row % 2 == 1; });
    if (loss.reduction == Mean && is_near(found, of_others / double(rows / 2), loss)) return false;
    left_out += is_near(found, of_others / count, loss);
  }
  return left_out == 0 || left_out == outside.size();
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

bool is_bounded_label(Value v) {
  Operation* op = is_integer(v) && !constant_number(v) ? v.getDefiningOp() : nullptr;
  if (auto select = dyn_cast_or_null<SelectOp>(op)) return constant_number(select.getOnTrue()) || constant_number(select.getOnFalse());
  return op && isa<MaxOp, MinOp, ClampOp>(op);
}

Sampler::Field random_labels(unsigned seed, int64_t classes) {
  return [=](int64_t at) { return double((at * 7919 + seed * 31 + 3) % classes); };
}

SmallVector<int64_t> telling_labels(Value v, ArrayRef<Value> inputs, int64_t classes) {
  llvm::SetVector<int64_t> labels;
  for (int64_t label : {int64_t(0), int64_t(1), classes - 1, classes, int64_t(-1), int64_t(-100)}) labels.insert(label);
  DenseSet<Value> seen(inputs.begin(), inputs.end());
  SmallVector<Value> work{v};
  while (!work.empty()) {
    Value u = work.pop_back_val();
    if (!seen.insert(u).second) continue;
    if (auto number = is_integer(u) ? constant_number(u) : std::nullopt)
      for (int64_t step : {-1, 0, 1}) labels.insert(int64_t(*number) + step);
    else if (Operation* op = u.getDefiningOp()) work.append(op->operand_begin(), op->operand_end());
  }
  return labels.takeVector();
}

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
