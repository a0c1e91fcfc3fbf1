#include "composite/raise_rows.h"

#include <cmath>
#include <random>

#include "composite/raise_scalar.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kTolerance = 1e-6, kNarrowTolerance = 4e-3, kNear = 3e-2;
constexpr int64_t kLongestRow = 1 << 16;

bool is_row_operation(Operation* op) { return is_pointwise(op) || isa<BroadcastInDimOp, ReshapeOp, SliceOp, ReduceOp>(op); }

Row random_row(int64_t n, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Row row(n);
  for (double& v : row) v = scale * normal(generator);
  return row;
}
double difference(const Row& a, const Row& b, double unit) {
  double worst = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    double d = std::fabs((a.size() == 1 ? a[0] : a[i]) - b[i]) / std::max(unit, std::fabs(b[i]));
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst;
}
double largest(const Row& row) {
  double m = 0;
  for (double v : row) m = std::max(m, std::fabs(v));
  return m;
}
double mean_of(const Row& row) {
  double sum = 0;
  for (double v : row) sum += v;
  return sum / double(row.size());
}
double mean_square(const Row& row) {
  double sum = 0;
  for (double v : row) sum += v * v;
  return sum / double(row.size());
}
double tidy(double v) {
  for (int digits = 1; digits < 7; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    if (std::fabs(std::atof(text) - v) <= 1e-6 * std::fabs(v)) return std::atof(text);
  }
  return v;
}

struct Anchor {
  ReduceOp reduce;
  Space space;
};
// Reductions of one value along dimensions that make rows.
SmallVector<Anchor> anchors(Program& program) {
  SmallVector<Anchor> all;
  for (auto op : program.block.getOps<ReduceOp>()) {
    if (op.getNumOperands() != 2 || !is_float(op->getOperand(0))) continue;
    Anchor a{op, {SmallVector<int64_t>(type_of(op->getOperand(0)).getShape()), SmallVector<int64_t>(op.getDimensions())}};
    llvm::sort(a.space.reduced);
    int64_t n = a.space.row_size();
    if (!a.space.reduced.empty() && n >= 2 && n <= kLongestRow) all.push_back(std::move(a));
  }
  return all;
}
bool is_full(const Space& space, Value v) { return is_float(v) && type_of(v).getShape() == ArrayRef<int64_t>(space.shape); }
bool is_weight(const Space& space, Value v) {
  if (!is_float(v)) return false;
  SmallVector<int64_t> sizes, wanted;
  for (int64_t d : type_of(v).getShape())
    if (d != 1) sizes.push_back(d);
  for (int64_t d : space.reduced)
    if (space.shape[d] != 1) wanted.push_back(space.shape[d]);
  return sizes == wanted;
}
bool trailing(const Space& space) { return space.reduced.back() == int64_t(space.shape.size()) - 1 && space.reduced.back() - space.reduced.front() + 1 == int64_t(space.reduced.size()); }

// Values of full shape that are computed from `from` by row operations, the last first.
SmallVector<Value> descendants(Program& program, const Space& space, ArrayRef<Value> from) {
  DenseSet<Value> seen;
  SmallVector<Value> work(from), full;
  while (!work.empty() && seen.size() < 96) {
    Value v = work.pop_back_val();
    for (Operation* user : v.getUsers()) {
      if (user->getBlock() != &program.block || user->getNumResults() != 1 || !is_row_operation(user) || !seen.insert(user->getResult(0)).second) continue;
      work.push_back(user->getResult(0));
      if (is_full(space, user->getResult(0)) && is_pointwise(user)) full.push_back(user->getResult(0));
    }
  }
  llvm::sort(full, [&](Value a, Value b) { return program.position(a) > program.position(b); });
  return full;
}

// Evaluates `v` for one row of each input.
std::optional<Row> evaluate(const Space& space, Value v, ArrayRef<std::pair<Value, Row>> inputs, SmallVector<Value>* obstacles = nullptr) {
  Evaluator e(space);
  for (auto& [value, row] : inputs) e.set(value, row);
  const Row* row = e.get(v);
  if (obstacles) *obstacles = e.obstacles();
  if (!row) return std::nullopt;
  Row result = *row;
  if (result.size() == 1 && is_full(space, v)) result.resize(space.row_size(), result[0]);
  return result;
}

// A region over x and up to two weights.
struct RowRegion {
  Space space;
  Value x, y;
  SmallVector<Value> weights;
  std::optional<Row> operator()(const Row& row, ArrayRef<Row> weight_rows, Value what = {}) const {
    SmallVector<std::pair<Value, Row>> inputs{{x, row}};
    for (auto [w, r] : llvm::zip(weights, weight_rows)) inputs.push_back({w, r});
    return evaluate(space, what ? what : y, inputs);
  }
};

// The region from x to y, if nothing but weights joins in between.
std::optional<RowRegion> region_of(const Space& space, Value x, Value y) {
  RowRegion region{space, x, y, {}};
  for (int round = 0; round < 3; ++round) {
    SmallVector<std::pair<Value, Row>> inputs{{x, random_row(space.row_size(), 1)}};
    for (Value w : region.weights) inputs.push_back({w, Row(space.row_size(), 1)});
    SmallVector<Value> obstacles;
    if (evaluate(space, y, inputs, &obstacles)) return region;
    if (obstacles.empty() || !is_weight(space, obstacles[0]) || is_full(space, obstacles[0]) || region.weights.size() == 2) return std::nullopt;
    region.weights.push_back(obstacles[0]);
  }
  return std::nullopt;
}

struct RowMatch {
  std::string name;
  double eps = 0;
  SmallVector<Value> weights;  // in the composite's order: weight, bias
  double distance = INFINITY;
};

Row softmax(const Row& x, bool logarithm) {
  double m = x[0], sum = 0;
  for (double v : x) m = std::max(m, v);
  for (double v : x) sum += std::exp(v - m);
  Row y;
  for (double v : x) y.push_back(logarithm ? v - m - std::log(sum) : std::exp(v - m) / sum);
  return y;
}
Row norm(const Row& x, bool centred, double eps, const Row* weight, const Row* bias) {
  double m = centred ? mean_of(x) : 0;
  Row y;
  for (double v : x) y.push_back(v - m);
  double r = 1 / std::sqrt(mean_square(y) + eps);
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * r * (weight ? (*weight)[i] : 1) + (bias ? (*bias)[i] : 0);
  return y;
}

// eps from a row so small that it counts: y = (x - m) / sqrt(ms + eps).
std::optional<double> recover_eps(const RowRegion& region, bool centred, ArrayRef<Row> neutral) {
  Row x = random_row(region.space.row_size(), 7, 1e-3);
  auto y = region(x, neutral);
  if (!y) return std::nullopt;
  double m = centred ? mean_of(x) : 0;
  Row shifted;
  for (double v : x) shifted.push_back(v - m);
  size_t at = 0;
  for (size_t i = 0; i < shifted.size(); ++i)
    if (std::fabs(shifted[i]) > std::fabs(shifted[at])) at = i;
  double r = (*y)[at] / shifted[at], eps = 1 / (r * r) - mean_square(shifted);
  if (!std::isfinite(eps) || r < 0 || eps > 0.1) return std::nullopt;
  // Less than this can't be told from none.
  return eps < 1e-14 ? (eps > -1e-11 ? std::optional(0.0) : std::nullopt) : std::optional(tidy(eps));
}

RowMatch match_row(const RowRegion& region) {
  RowMatch best;
  int64_t n = region.space.row_size();
  size_t count = region.weights.size();
  auto compare = [&](const std::function<Row(const Row&, ArrayRef<Row>)>& reference) {
    double worst = 0;
    for (unsigned seed : {11u, 12u}) {
      Row x = random_row(n, seed, seed == 12 ? 3 : 1);
      SmallVector<Row> weights;
      for (size_t w = 0; w < count; ++w) weights.push_back(random_row(n, seed + 20 + unsigned(w)));
      auto found = region(x, weights);
      Row expected = reference(x, weights);
      worst = std::max(worst, found ? difference(*found, expected, 0.1 * largest(expected)) : INFINITY);
    }
    return worst;
  };
  auto take = [&](const char* name, double eps, SmallVector<Value> weights, double distance) {
    if (distance < best.distance) best = {name, eps, std::move(weights), distance};
  };
  if (count == 0) {
    take("aten.softmax", 0, {}, compare([](const Row& x, ArrayRef<Row>) { return softmax(x, false); }));
    take("aten.log_softmax", 0, {}, compare([](const Row& x, ArrayRef<Row>) { return softmax(x, true); }));
  }
  if (!trailing(region.space)) return best;
  // Which of the weights multiplies and which is added.
  for (int order = 0; order < (count == 0 ? 1 : 2); ++order) {
    int weight = count == 0 ? -1 : count == 1 ? (order == 0 ? 0 : -1) : order, bias = count == 0 ? -1 : count == 1 ? (order == 0 ? -1 : 0) : 1 - order;
    SmallVector<Row> neutral(count, Row(n, 1));
    if (bias >= 0) neutral[bias] = Row(n, 0);
    for (bool centred : {false, true}) {
      if (!centred && bias >= 0) continue;
      if (centred && weight < 0 && bias >= 0) continue;  // a bias without a weight has no place in the operator's list
      auto eps = recover_eps(region, centred, neutral);
      if (!eps) continue;
      SmallVector<Value> weights;
      if (weight >= 0) weights.push_back(region.weights[weight]);
      if (bias >= 0) weights.push_back(region.weights[bias]);
      take(centred ? "aten.layer_norm" : "aten.rms_norm", *eps, weights, compare([&](const Row& x, ArrayRef<Row> w) {
             return norm(x, centred, *eps, weight >= 0 ? &w[weight] : nullptr, bias >= 0 ? &w[bias] : nullptr);
           }));
    }
  }
  return best;
}

// The shape of a row's number with its dimensions kept.
SmallVector<int64_t> kept_shape(const Space& space) {
  SmallVector<int64_t> shape(space.shape);
  for (int64_t d : space.reduced) shape[d] = 1;
  return shape;
}

// Values above `from` that are one number of a row, with that number for a probe.
std::vector<std::pair<Value, double>> numbers_above(const RowRegion& region, const Row& row) {
  std::vector<std::pair<Value, double>> found;
  SmallVector<Value> work{region.y};
  DenseSet<Value> seen;
  int64_t rows = 1;
  for (int64_t d : kept_shape(region.space)) rows *= d;
  SmallVector<Row> ones(region.weights.size(), Row(region.space.row_size(), 1));
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (v == region.x || llvm::is_contained(region.weights, v) || !seen.insert(v).second || constant_number(v)) continue;
    Operation* op = v.getDefiningOp();
    if (!op || !is_row_operation(op)) continue;
    if (is_float(v) && type_of(v).getNumElements() == rows && !is_full(region.space, v))
      if (auto number = region(row, ones, v); number && number->size() == 1) found.push_back({v, (*number)[0]});
    work.append(op->operand_begin(), op->operand_end());
  }
  return found;
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(b); }

void outline_norm(Program& program, const RowRegion& region, const RowMatch& match, RaiseReport& report) {
  bool centred = match.name == "aten.layer_norm";
  const Entry& entry = *find_composite(match.name);
  Row probe = random_row(region.space.row_size(), 31, 1.7);
  double m = centred ? mean_of(probe) : 0;
  Row shifted;
  for (double v : probe) shifted.push_back(v - m);
  double mean_square_eps = mean_square(shifted) + match.eps;
  Value mean, rstd;
  int how = 0;  // rstd is: 0 found, 1 the reciprocal of what was found, 2 its reciprocal root
  int best_how = 3;
  for (auto& [v, number] : numbers_above(region, probe)) {
    if (centred && close(number, m)) mean = v;
    int candidate = close(number, 1 / std::sqrt(mean_square_eps)) ? 0 : close(number, std::sqrt(mean_square_eps)) ? 1 : close(number, mean_square_eps) ? 2 : 3;
    if (candidate < best_how) rstd = v, how = best_how = candidate;
  }
  if (!rstd || (centred && !mean)) return;
  SmallVector<Value> inputs{region.x};
  inputs.append(match.weights.begin(), match.weights.end());
  SmallVector<int64_t> shape = kept_shape(region.space), sizes;
  for (int64_t d : region.space.reduced) sizes.push_back(region.space.shape[d]);
  OpBuilder b(program.module.getContext());
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("normalized_shape", b.getDenseI64ArrayAttr(sizes)), b.getNamedAttr("eps", b.getF64FloatAttr(match.eps))});
  std::string place = where(region.y);
  SmallVector<Value> outputs{region.y};
  if (centred) outputs.push_back(mean);
  outputs.push_back(rstd);
  // Statistics as the operator returns them: dimensions kept, f32 or wider.
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    Location loc = region.y.getLoc();
    for (size_t i = 1; i < returned.size(); ++i) {
      Value v = returned[i];
      if (i + 1 == returned.size() && how > 0) {
        if (how == 2) v = SqrtOp::create(inside, loc, v);
        auto one = ConstantOp::create(inside, loc, DenseElementsAttr::get(type_of(v), APFloat(cast<FloatType>(type_of(v).getElementType()).getFloatSemantics(), 1)));
        v = DivOp::create(inside, loc, one, v);
      }
      if (is_narrow(v)) v = ConvertOp::create(inside, loc, RankedTensorType::get(type_of(v).getShape(), inside.getF32Type()), v);
      if (type_of(v).getShape() != ArrayRef<int64_t>(shape)) v = ReshapeOp::create(inside, loc, RankedTensorType::get(shape, type_of(v).getElementType()), v);
      returned[i] = v;
    }
  };
  // Weights with more dimensions than the row has are reshaped in front.
  for (size_t i = 1; i < inputs.size(); ++i)
    if (type_of(inputs[i]).getShape() != ArrayRef<int64_t>(sizes)) return;
  SmallVector<Type> before;
  for (Value v : outputs) before.push_back(v.getType());
  auto composite = program.outline(entry, attributes, inputs, outputs, extend);
  // What used the statistics in another shape goes on with the composite's.
  (void)composite;
  std::string text = place + ": " + match.name;
  llvm::raw_string_ostream(text) << " eps=" << llvm::format("%g", match.eps);
  report.raised.push_back(text);
}

void outline_softmax(Program& program, const RowRegion& region, const RowMatch& match, RaiseReport& report) {
  OpBuilder b(program.module.getContext());
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("dim", b.getI64IntegerAttr(region.space.reduced[0])), b.getNamedAttr("half_to_float", b.getBoolAttr(false))});
  report.raised.push_back(where(region.y) + ": " + match.name + " dim=" + std::to_string(region.space.reduced[0]));
  program.outline(*find_composite(match.name), attributes, {region.x}, {region.y});
}

}  // namespace

void raise_rows(Program& program, RaiseReport& report) {
  // A composite found takes its reductions along, so each is looked for anew.
  DenseSet<Operation*> failed;
  for (bool found = true; found;) {
    found = false;
    for (Anchor& anchor : anchors(program)) {
      if (failed.contains(anchor.reduce)) continue;
      RowMatch best, near;
      std::optional<RowRegion> best_region, near_region;
      auto pointwise = [](Operation* op) { return is_pointwise(op); };
      SmallVector<Value> starts{anchor.reduce->getOperand(0)};
      for (auto& cut : cuts(program, starts[0], pointwise, [](Value v) { return constant_number(v).has_value(); }, 1, 24))
        if (!llvm::is_contained(starts, cut[0])) starts.push_back(cut[0]);
      SmallVector<Value> ends = descendants(program, anchor.space, {anchor.reduce->getResult(0)});
      for (Value x : starts) {
        if (!is_full(anchor.space, x)) continue;
        for (Value y : ends) {
          if (type_of(y).getElementType() != type_of(x).getElementType()) continue;
          auto region = region_of(anchor.space, x, y);
          if (!region) continue;
          RowMatch match = match_row(*region);
          bool fits = match.distance <= (is_narrow(x) ? kNarrowTolerance : kTolerance) && (anchor.space.reduced.size() == 1 || match.name.find("norm") != std::string::npos);
          SmallVector<Value> inputs{x};
          inputs.append(region->weights);
          if (fits && narrows(y, inputs)) continue;
          if (fits) {
            // The largest: the last end, and then the farthest start.
            bool larger = !best_region || program.position(y) > program.position(best_region->y) || (y == best_region->y);
            if (larger) best = match, best_region = region;
            break;
          }
          if (match.distance < near.distance) near = match, near_region = region;
        }
      }
      if (!best_region) {
        failed.insert(anchor.reduce);
        if (near_region && near.distance < kNear) {
          std::string text = where(near_region->y) + ": nearly " + near.name + ", off by ";
          llvm::raw_string_ostream(text) << llvm::format("%.2g", near.distance);
          report.missed.push_back(text);
        }
        continue;
      }
      failed.insert(anchor.reduce);
      if (best.name.find("softmax") != std::string::npos) outline_softmax(program, *best_region, best, report);
      else outline_norm(program, *best_region, best, report);
      found = true;
      break;
    }
  }
}

namespace {

// One forward composite whose gradient is looked for.
struct Forward {
  CompositeOp op;
  Space space;
  std::string name;
  bool normalises() const { return name == "aten.rms_norm"; }
};

// dx for a gradient g of the forward's result.
Row gradient_reference(const Forward& f, const Row& g, const Row& x, double eps, const Row* weight) {
  size_t n = x.size();
  Row dx(n);
  if (f.normalises()) {
    double r = 1 / std::sqrt(mean_square(x) + eps), dot = 0;
    for (size_t i = 0; i < n; ++i) dot += g[i] * (weight ? (*weight)[i] : 1) * x[i] * r;
    for (size_t i = 0; i < n; ++i) dx[i] = r * (g[i] * (weight ? (*weight)[i] : 1) - x[i] * r * dot / double(n));
    return dx;
  }
  bool logarithm = f.name == "aten.log_softmax";  // x is the forward's result here
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += logarithm ? g[i] : g[i] * x[i];
  for (size_t i = 0; i < n; ++i) dx[i] = logarithm ? g[i] - std::exp(x[i]) * sum : x[i] * (g[i] - sum);
  return dx;
}

struct RowGradient {
  Value v, g, rest;  // v = gradient (+ rest)
};

class GradientSearch {
 public:
  GradientSearch(Program& program, Forward forward) : program_(program), f_(std::move(forward)) {
    source_ = f_.normalises() ? f_.op->getOperand(0) : f_.op->getResult(0);
    if (f_.normalises()) {
      rstd_ = f_.op->getResult(1);
      if (f_.op->getNumOperands() > 1) weight_ = f_.op->getOperand(1);
      eps_ = cast<FloatAttr>(f_.op.getCompositeAttributes().get("eps")).getValueAsDouble();
    }
  }

  std::optional<RowGradient> find() {
    SmallVector<Value> from{source_};
    if (rstd_) from.push_back(rstd_);
    for (Value v : descendants(program_, f_.space, from)) {
      if (!depends_on_reduction(v)) continue;
      for (size_t width : {1, 2})
        for (auto& cut : cuts(program_, v, [](Operation* op) { return is_row_operation(op); }, [&](Value u) { return !is_foreign(u); }, width)) {
          if (cut.size() != width || llvm::is_contained(cut, v) || !llvm::all_of(cut, [&](Value u) { return is_full(f_.space, u) && u.getType() == v.getType(); })) continue;
          for (size_t k = 0; k < width; ++k) {
            RowGradient candidate{v, cut[k], width == 2 ? cut[1 - k] : Value()};
            if (matches(candidate) && !narrows(v, {candidate.g, candidate.rest, source_, rstd_, weight_})) return candidate;
          }
        }
    }
    return std::nullopt;
  }

  // The gradient of the weight: g · x · rstd summed over all rows.
  Value weight_gradient(Value g) {
    if (!weight_) return {};
    SmallVector<int64_t> outer;
    for (int64_t d = 0; d < int64_t(f_.space.shape.size()); ++d)
      if (!f_.space.is_reduced(d)) outer.push_back(d);
    for (auto op : program_.block.getOps<ReduceOp>()) {
      SmallVector<int64_t> dims(op.getDimensions());
      llvm::sort(dims);
      if (op.getNumOperands() != 2 || dims != outer || !is_full(f_.space, op->getOperand(0)) || !isa<AddOp>(op.getBody().front().front())) continue;
      Row x = random_row(n(), 51), gradient = random_row(n(), 52), expected;
      auto found = value(op->getOperand(0), x, gradient, Row(n(), 1), {});
      double r = 1 / std::sqrt(mean_square(x) + eps_);
      for (int64_t i = 0; i < n(); ++i) expected.push_back(gradient[i] * x[i] * r);
      gradient_value_ = g;
      found = value(op->getOperand(0), x, gradient, Row(n(), 1), {});
      if (found && difference(*found, expected, 0.1 * largest(expected)) <= kTolerance) return op->getResult(0);
    }
    return {};
  }

  Value source() const { return source_; }
  Value rstd() const { return rstd_; }
  Value weight() const { return weight_; }

 private:
  int64_t n() const { return f_.space.row_size(); }
  bool is_known(Value v) const { return v == source_ || v == rstd_ || v == weight_; }

  std::optional<Row> value(Value v, const Row& x, const Row& g, const Row& weight, const Row& rest) {
    SmallVector<std::pair<Value, Row>> inputs{{source_, x}, {gradient_value_, g}};
    if (rest_value_) inputs.push_back({rest_value_, rest});
    if (rstd_) inputs.push_back({rstd_, Row{1 / std::sqrt(mean_square(x) + eps_)}});
    if (weight_) inputs.push_back({weight_, weight});
    return evaluate(f_.space, v, inputs);
  }

  bool matches(const RowGradient& c) {
    gradient_value_ = c.g, rest_value_ = c.rest;
    for (unsigned seed : {41u, 42u}) {
      Row x = random_row(n(), seed), g = random_row(n(), seed + 2), weight = random_row(n(), seed + 4), rest = random_row(n(), seed + 6);
      auto found = value(c.v, x, g, weight, rest);
      if (!found) return false;
      Row expected = gradient_reference(f_, g, x, eps_, weight_ ? &weight : nullptr);
      if (c.rest)
        for (int64_t i = 0; i < n(); ++i) expected[i] += rest[i];
      if (!(difference(*found, expected, 0.1 * largest(expected)) <= (is_narrow(c.v) ? kNarrowTolerance : kTolerance))) return false;
    }
    rest_value_ = {};
    return true;
  }

  // Whether something other than what the forward knows goes into it.
  bool is_foreign(Value u) {
    if (is_known(u) || constant_number(u)) return false;
    if (auto it = foreign_.find(u); it != foreign_.end()) return it->second;
    Operation* op = u.getDefiningOp();
    foreign_[u] = false;
    bool result = !op || !is_row_operation(op);
    if (!result)
      for (Value operand : op->getOperands()) result |= is_foreign(operand);
    return foreign_[u] = result;
  }
  bool depends_on_reduction(Value v) {
    SmallVector<Value> work{v};
    DenseSet<Value> seen;
    while (!work.empty() && seen.size() < 64) {
      Value u = work.pop_back_val();
      Operation* op = u.getDefiningOp();
      if (!op || is_known(u) || !seen.insert(u).second || !is_row_operation(op)) continue;
      if (isa<ReduceOp>(op)) return true;
      work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  Program& program_;
  Forward f_;
  Value source_, rstd_, weight_, gradient_value_, rest_value_;
  double eps_ = 0;
  DenseMap<Value, bool> foreign_;
};

void outline_gradient(Program& program, Forward f, GradientSearch& search, const RowGradient& found, RaiseReport& report) {
  const Entry& entry = *find_composite(find_composite(f.name)->backward);
  OpBuilder b(program.module.getContext());
  SmallVector<Value> inputs{found.g, search.source()}, outputs{found.v};
  SmallVector<NamedAttribute> attributes;
  if (f.normalises()) {
    inputs.push_back(search.rstd());
    if (search.weight()) inputs.push_back(search.weight());
    Value dw = search.weight_gradient(found.g);
    if (dw) outputs.push_back(dw);
    attributes.push_back(b.getNamedAttr("normalized_shape", f.op.getCompositeAttributes().get("normalized_shape")));
    attributes.push_back(b.getNamedAttr("output_mask", b.getDenseBoolArrayAttr({true, bool(dw)})));
  } else {
    attributes.push_back(b.getNamedAttr("dim", f.op.getCompositeAttributes().get("dim")));
    attributes.push_back(b.getNamedAttr("input_dtype", TypeAttr::get(type_of(found.v).getElementType())));
  }
  report.raised.push_back(where(found.v) + ": " + entry.name);
  if (!found.rest) {
    program.outline(entry, b.getDictionaryAttr(attributes), inputs, outputs);
    return;
  }
  // The gradient alone is v with nothing to be added to.
  Operation* last = found.v.getDefiningOp();
  Location loc = found.v.getLoc();
  inputs.push_back(found.rest);
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    Block* body = inside.getInsertionBlock();
    Value rest = body->getArgument(unsigned(inputs.size()) - 1);
    auto type = type_of(rest);
    OpBuilder start(body, body->begin());
    Value zero = ConstantOp::create(start, loc, DenseElementsAttr::get(type, APFloat::getZero(cast<FloatType>(type.getElementType()).getFloatSemantics())));
    rest.replaceAllUsesWith(zero);
  };
  b.setInsertionPointAfter(last);
  // A copy of v stands for the gradient alone.
  Value v = found.v;
  Operation* sum = AddOp::create(b, loc, v, found.rest);
  v.replaceAllUsesExcept(sum->getResult(0), sum);
  auto composite = program.outline(entry, b.getDictionaryAttr(attributes), inputs, outputs, extend);
  // The body does not read the last operand any more.
  auto body = cast<func::FuncOp>(SymbolTable::lookupSymbolIn(program.module, composite.getDecomposition()));
  body.getBody().front().eraseArgument(unsigned(inputs.size()) - 1);
  SmallVector<Type> types(body.getArgumentTypes().drop_back());
  body.setType(b.getFunctionType(body.getBody().front().getArgumentTypes(), body.getResultTypes()));
  composite->eraseOperand(unsigned(inputs.size()) - 1);
}

}  // namespace

void raise_row_gradients(Program& program, RaiseReport& report) {
  SmallVector<Forward> forwards;
  SmallVector<CompositeOp> composites(program.block.getOps<CompositeOp>());
  for (auto op : llvm::reverse(composites)) {
    std::string name = op.getName().str();
    if (name != "aten.rms_norm" && name != "aten.softmax" && name != "aten.log_softmax") continue;
    if (!is_float(op->getOperand(0))) continue;
    Forward f{op, {SmallVector<int64_t>(type_of(op->getOperand(0)).getShape()), {}}, name};
    if (f.normalises()) {
      auto sizes = op.getCompositeAttributes().getAs<DenseI64ArrayAttr>("normalized_shape");
      if (!sizes || !op.getCompositeAttributes().getAs<FloatAttr>("eps") || op->getNumResults() != 2) continue;
      int64_t rank = int64_t(f.space.shape.size());
      for (int64_t d = rank - int64_t(sizes.size()); d < rank; ++d) f.space.reduced.push_back(d);
    } else {
      auto dim = op.getCompositeAttributes().getAs<IntegerAttr>("dim");
      if (!dim || f.space.shape.empty()) continue;
      f.space.reduced = {dim.getInt()};
    }
    if (f.space.row_size() >= 2 && f.space.row_size() <= kLongestRow) forwards.push_back(std::move(f));
  }
  for (Forward& f : forwards) {
    GradientSearch search(program, f);
    if (auto found = search.find()) outline_gradient(program, f, search, *found, report);
  }
}

}  // namespace cresset::composite
