#include "composite/raise_scalar.h"

#include "composite/rows.h"

#include <cmath>
#include <map>

#include "llvm/Support/Format.h"
#include "stablehlo/chlo.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kNear = 2e-2;            // reported as a near miss

// Dense around the bends, into the tails; off the points where formulas have corners.
const Row& samples() {
  static const auto* row = [] {
    auto* r = new Row;
    for (int i = 0; i < 60; ++i) r->push_back(-7.93 + 0.2713 * i);
    for (double x : {1e-5, 1e-4, 1e-3, 0.013, 0.31, 12.3, 25.7, 60.1, 85.0}) r->push_back(x), r->push_back(-x);
    return r;
  }();
  return *row;
}
// Enough to see that a region is nothing we know.
const Row& few_samples() {
  static const auto* row = new Row{-1.37, 0.71, 2.13};
  return *row;
}
constexpr size_t kMostLeaves = 6;  // of the cone that a gradient is looked for in
// What a sigmoid or tanh gives.
const Row& results_of_bounded() {
  static const auto* row = [] {
    auto* r = new Row;
    for (int i = 0; i < 41; ++i) r->push_back(-0.97 + 0.0487 * i);
    return r;
  }();
  return *row;
}

Space space_of(Value v) { return {SmallVector<int64_t>(type_of(v).getShape()), {}}; }

// A recovered number as it was written, within f32's precision.
double tidy(double v) { return std::fabs(v) < 1e-12 ? 0 : tidy_number(v, 8, 2e-7); }

// A region of one varying input.
class ScalarRegion {
 public:
  ScalarRegion(Value output, Value input) : output_(output), input_(input), space_(space_of(output)) {}
  std::optional<Row> operator()(const Row& x) const {
    Evaluator e(space_, int64_t(x.size()));
    e.set(input_, x);
    const Row* row = e.get(output_);
    return row ? std::optional(*row) : std::nullopt;
  }
  double operator()(double x) const {
    auto [it, added] = numbers_.insert({x, NAN});  // references ask for the same few
    if (!added) return it->second;
    auto row = (*this)(Row{x});
    return it->second = row ? (*row)[0] : NAN;
  }

 private:
  Value output_, input_;
  Space space_;
  mutable std::map<double, double> numbers_;
};

struct Match {
  const Scalar* reference = nullptr;
  std::vector<double> parameters;
  double distance = INFINITY;
};

std::vector<double> recover(const Scalar& s, const Function& f) {
  std::vector<double> parameters;
  for (const auto& r : s.recover) parameters.push_back(tidy(r.solve(f)));
  return parameters;
}
// Parameters under which the reference is a function of its own, not another's special case.
bool plausible(const Scalar& s, const std::vector<double>& p) {
  for (double v : p)
    if (!std::isfinite(v)) return false;
  if (s.name == "aten.leaky_relu") return p[0] > 1e-6 && std::fabs(p[0] - 1) > 1e-4;
  if (s.name == "aten.elu") return p[0] != 0 && p[1] != 0;
  if (s.name == "aten.softplus") return p[0] > 1e-3 && p[0] < 1e3;  // beyond it is relu with something added
  if (s.name == "aten.hardtanh") return p[0] < p[1] && p[0] > -9998 && p[1] < 9998;
  return true;
}

Row values_of(const Scalar& s, const std::vector<double>& parameters, const Row& at) {
  Row values;
  for (double x : at) values.push_back(s.formula(x, parameters.data()).v);
  return values;
}
Row slopes_of(const Scalar& s, const std::vector<double>& parameters, const Row& at) {
  Row slopes;
  for (double x : at) slopes.push_back(s.formula(Dual(x, 1), parameters.data()).d);
  return slopes;
}

// The reference that is nearest to what the region computes; `far` are its values at far_points(), if they are known.
Match nearest(const Row& at, const Row& values, const Function& f, const std::optional<Row>& far = {}) {
  Match best;
  for (const Scalar& s : scalar_references()) {
    auto parameters = recover(s, f);
    if (!plausible(s, parameters)) continue;
    // At 0 there is nothing to round: what differs here has been added. A bound of 1e-12, by which one divides, is no relu's 0.
    double zero = s.formula(0.0, parameters.data()).v, off = std::fabs(f(0) - zero);
    double d = std::max(difference(values, values_of(s, parameters, at), 1.0), zero == 0 && off > 0 ? INFINITY : 100 * off);
    if (far && d < kNear) d = std::max(d, difference_of_finite(*far, values_of(s, parameters, far_points())));
    if (d < best.distance) best = {&s, parameters, d};
  }
  return best;
}

std::vector<Constant> attributes_of(const Match& m) {
  std::vector<Constant> all = m.reference->fixed;
  for (auto [r, v] : llvm::zip(m.reference->recover, m.parameters)) all.push_back({r.attribute, v});
  return all;
}

// 1 - sigmoid(x) is the sigmoid of -x, but it is written for the gradient's sake.
bool is_complement(Operation* op, const Match& m) { return m.reference->name == "aten.sigmoid" && isa<SubtractOp>(op); }

// One operation already.
bool is_whole(Operation* op) { return isa<CompositeOp, TanhOp, LogisticOp, chlo::ErfOp>(op); }

std::string describe(const std::vector<Constant>& attributes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Constant& c : attributes) {
    out << ' ' << c.name << '=';
    std::visit([&](const auto& v) { if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) out << v; else out << llvm::format("%g", double(v)); }, c.value);
  }
  return text;
}

// The constants between a region's input and output, for the report of a near miss.
std::string constants_in(Value output, ArrayRef<Value> inputs) {
  std::string text;
  llvm::raw_string_ostream out(text);
  DenseSet<Value> seen;
  SmallVector<Value> work{output};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (llvm::is_contained(inputs, v) || !seen.insert(v).second) continue;
    if (auto number = constant_number(v)) out << ' ' << llvm::format("%.7g", *number);
    else if (Operation* op = v.getDefiningOp()) work.append(op->operand_begin(), op->operand_end());
  }
  return text;
}

// Equal for element-wise regions that do the same to values of the same kind; sizes don't matter.
size_t structure_of(Value v, const DenseSet<Value>& known) {
  llvm::hash_code hash = 0;
  DenseMap<Value, size_t> numbers;
  SmallVector<Value> work{v};
  while (!work.empty() && numbers.size() < 256) {
    Value u = work.pop_back_val();
    auto [it, added] = numbers.insert({u, numbers.size()});
    hash = llvm::hash_combine(hash, it->second, u.getType() == v.getType(), known.contains(u));
    if (!added) continue;
    hash = llvm::hash_combine(hash, type_of(u).getElementType().getAsOpaquePointer());
    if (auto number = constant_number(u)) {
      hash = llvm::hash_combine(hash, llvm::bit_cast<uint64_t>(*number));
    } else if (Operation* op = u.getDefiningOp(); op && is_pointwise(op)) {
      hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer());
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return hash;
}

void note_miss(RaiseReport& report, const std::string& name, double distance, Value v, ArrayRef<Value> inputs) {
  std::string text = where(v) + ": nearly " + name + ", off by ";
  llvm::raw_string_ostream(text) << llvm::format("%.2g", distance) << "; its constants are" << constants_in(v, inputs);
  report.missed.push_back(text);
}

}  // namespace

std::string where(Value v) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto name = dyn_cast<NameLoc>(v.getLoc())) out << name.getName().getValue();
  else out << v.getLoc();
  if (Operation* op = v.getDefiningOp()) out << " (" << op->getName().getStringRef() << ' ' << v.getType() << ')';
  return text;
}

void raise_scalars(Program& program, RaiseReport& report) {
  SmallVector<Operation*> candidates;
  for (Operation& op : llvm::reverse(program.block))
    if (is_pointwise(&op) && is_float(op.getResult(0)) && !is_whole(&op)) candidates.push_back(&op);
  DenseSet<Operation*> gone;
  DenseSet<size_t> fruitless;
  auto walk = [](Operation* op) { return is_pointwise(op); };
  auto no_stop = [](Value v) { return constant_number(v).has_value(); };
  for (Operation* op : candidates) {
    if (gone.contains(op)) continue;
    Value v = op->getResult(0), best_input;
    size_t structure = structure_of(v, {});
    if (fruitless.contains(structure)) continue;
    Match best;
    std::pair<double, Value> near{INFINITY, {}};
    std::string near_name;
    for (auto& cut : cuts(program, v, walk, no_stop, 1)) {
      Value x = cut[0];
      if (x == v || x.getType() != v.getType()) continue;
      ScalarRegion region(v, x);
      auto f = [&](double at) { return region(at); };
      auto few = region(few_samples());
      if (!few || few->size() == 1 || nearest(few_samples(), *few, f).distance > kNear) continue;
      auto values = region(samples());
      Match match = nearest(samples(), *values, f, region(far_points()));
      double tolerance = tolerance_of(x);
      if (match.distance <= tolerance && !is_complement(op, match) && !narrows(v, {x})) best = match, best_input = x;  // the farthest wins
      else if (match.distance > tolerance && match.distance < near.first) near = {match.distance, x}, near_name = match.reference->name;
    }
    if (!best.reference) {
      if (near.first < kNear && !isa<ConvertOp>(op)) note_miss(report, near_name, near.first, v, {near.second});
      else fruitless.insert(structure);
      continue;
    }
    const Entry& entry = *find_composite(best.reference->name);
    auto attributes = attributes_of(best);
    report.raised.push_back(where(v) + ": " + entry.name + describe(attributes));
    program.outline(entry, program.attributes(attributes), {best_input}, {v});
    // What is erased must not be looked at again.
    DenseSet<Operation*> alive;
    for (Operation& left : program.block) alive.insert(&left);
    for (Operation* c : candidates)
      if (!alive.contains(c)) gone.insert(c);
  }
}

namespace {

// slope(x) of the gradient g · slope(x) at each sample, if v is linear in g.
std::optional<Row> slope_of(Value v, Value g, Value x, const Row& at) {
  Space space = space_of(v);
  auto evaluate = [&](double gradient) -> std::optional<Row> {
    Evaluator e(space, int64_t(at.size()));
    e.set(x, at);
    e.set(g, Row(at.size(), gradient));
    const Row* row = e.get(v);
    return row ? std::optional(*row) : std::nullopt;
  };
  // Without a gradient there is nothing: this rules most regions out.
  auto none = evaluate(0);
  if (!none || !llvm::all_of(*none, [](double d) { return std::fabs(d) <= 1e-9; })) return std::nullopt;
  auto one = evaluate(1);
  if (!one || one->size() != at.size()) return std::nullopt;
  for (double gradient : {-2.5, 1e6}) {
    auto other = evaluate(gradient);
    for (size_t i = 0; i < at.size(); ++i) {
      double scale = std::max(1.0, std::fabs((*one)[i])) * std::max(1.0, gradient);
      if (!other || !(std::fabs((other->size() == 1 ? (*other)[0] : (*other)[i]) - gradient * (*one)[i]) <= 1e-6 * scale)) return std::nullopt;
    }
  }
  return one;
}

// Whether these are nearly some gradient's factors at the few samples; those with parameters can't be told from so few.
bool could_be_slope(const Row& few) {
  if (largest(few) > 10) return false;
  for (const Scalar& s : scalar_references()) {
    if (!s.recover.empty()) {
      // Constant below 0, or above it: leaky_relu, hardtanh; elu and softplus approach a constant.
      if (few[1] == few[2] || std::fabs(few[0]) < 1.5) return true;
      continue;
    }
    if (difference(few, slopes_of(s, {}, few_samples()), 1.0) < kNear) return true;
  }
  for (const Entry& e : catalogue()) {
    if (!e.slope) continue;
    Row expected;
    for (double at : few_samples()) expected.push_back(e.slope(at));
    if (difference(few, expected, 1.0) < kNear) return true;
  }
  return false;
}

struct GradientMatch {
  const Entry* entry = nullptr;
  std::vector<Constant> attributes;
  double distance = INFINITY;
  Value gradient = {}, x = {};
};

// f itself is not known, so parameters are recovered from the slope's integral: the forward's formulas evaluated by their attributes' candidates.
GradientMatch nearest_gradient(Value v, Value g, Value x) {
  GradientMatch best;
  bool has_forward = llvm::any_of(x.getUsers(), [](Operation* user) { return isa<CompositeOp>(user) && cast<CompositeOp>(user).getName() == "aten.softplus"; });
  // Most products are no gradient at all.
  auto few = slope_of(v, g, x, few_samples());
  if (!few || !could_be_slope(*few)) return best;
  auto slope = slope_of(v, g, x, samples()), far = slope_of(v, g, x, far_points());
  if (!slope) return best;
  auto slope_at = [&](double at) {
    auto row = slope_of(v, g, x, Row{at});
    return row ? (*row)[0] : NAN;
  };
  for (const Scalar& s : scalar_references()) {
    // g · sigmoid(x) is the gradient of a softplus, and any gate.
    if (s.name == "aten.softplus" && !has_forward) continue;
    const Entry& forward = *find_composite(s.name);
    const Entry* backward = forward.backward.empty() ? nullptr : find_composite(forward.backward);
    if (!backward || backward->slope) continue;
    Match match{&s, {}, INFINITY};
    // The forward's values where the formulas for its parameters ask: those of the reference with the slope's own parameter.
    if (s.name == "aten.leaky_relu") match.parameters = {tidy(slope_at(-1.0))};
    else if (s.name == "aten.elu") match.parameters = {tidy(slope_at(1.0)), tidy(slope_at(-1.0) / std::exp(-1.0) / slope_at(1.0))};
    else if (s.name == "aten.softplus") match.parameters = {tidy(std::log(slope_at(0.5) / (1 - slope_at(0.5))) / 0.5)};
    else if (s.name == "aten.hardtanh") {
      if (!llvm::all_of(*slope, [](double d) { return std::fabs(d) < kNear || std::fabs(d - 1) < kNear; })) continue;
      // The ends of the interval where the slope is 1.
      auto end = [&](double inside, double outside) {
        for (int i = 0; i < 60; ++i) (slope_at((inside + outside) / 2) > 0.5 ? inside : outside) = (inside + outside) / 2;
        return tidy(inside);
      };
      double middle = slope_at(0.01) > 0.5 ? 0.01 : slope_at(-0.01) > 0.5 ? -0.01 : 0.5;
      match.parameters = {end(middle, -9999), end(middle, 9999)};
    }
    if (!plausible(s, match.parameters)) continue;
    double d = difference(*slope, slopes_of(s, match.parameters, samples()), 1.0);
    if (far && d < kNear) d = std::max(d, difference_of_finite(*far, slopes_of(s, match.parameters, far_points())));
    if (d >= best.distance) continue;
    best = {backward, backward->name == "aten.threshold_backward" ? std::vector<Constant>{} : attributes_of(match), d};
    best.attributes.insert(best.attributes.end(), backward->fixed.begin(), backward->fixed.end());
  }
  if (auto bounded = slope_of(v, g, x, results_of_bounded()))
    for (const Entry& e : catalogue()) {
      if (!e.slope) continue;
      Row expected;
      for (double y : results_of_bounded()) expected.push_back(e.slope(y));
      double d = difference(*bounded, expected, 1.0);
      if (d < best.distance) best = {&e, e.fixed, d};
    }
  return best;
}

// The values that one is made of by pointwise operations, the nearest first.
struct Cone {
  Value v;
  DenseSet<Value> values;
  SmallVector<Value> inputs;  // what a formula might be one of
  size_t leaves = 0;
};
Cone cone_of(Value v, const DenseSet<Value>& known) {
  Cone cone{v, {}, {}};
  SmallVector<Value> work{v};
  for (size_t next = 0; next < work.size() && cone.values.size() < 200; ++next) {
    Value u = work[next];
    if (constant_number(u) || !cone.values.insert(u).second) continue;
    Operation* op = u.getDefiningOp();
    bool leaf = !op || !is_pointwise(op);
    cone.leaves += leaf;
    if (u != v && is_float(u) && u.getType() == v.getType() && (leaf || known.contains(u) || is_whole(op))) cone.inputs.push_back(u);
    if (!leaf) work.append(op->operand_begin(), op->operand_end());
  }
  return cone;
}

// Looks for the gradient that the cone's value is, of some of its inputs.
class GradientSearch {
 public:
  GradientSearch(const Program& program, const Cone& cone) : program_(program), cone_(cone) {
    for (Value x : cone.inputs) look_from(x);
  }
  GradientMatch best, miss;  // of those that fit, and the nearest of those that don't

 private:
  void look_from(Value x) {
    Value v = cone_.v;
    foreign_.clear();
    if (!is_foreign(v, x)) return;
    size_t tried = 0;
    for (auto& cut : cuts(program_, v, is_pointwise, [&](Value u) { return !is_foreign(u, x); }, 1)) {
      Value g = cut[0];
      if (g == v || g == x || g.getType() != v.getType() || ++tried > 6) continue;
      GradientMatch match = nearest_gradient(v, g, x);
      match.gradient = g, match.x = x;
      if (!(match.distance <= tolerance_of(x))) {
        if (match.distance < miss.distance) miss = match;
        continue;
      }
      if (narrows(v, {g, x})) break;
      // The nearest gradient: what is farther is a product of it, unless the factor belongs to a formula without parameters.
      if (!best.entry || program_.position(g) > program_.position(best.gradient) || (best.x == x && match.attributes.empty())) best = match;
      if (match.entry->name != "aten.hardtanh_backward") break;
    }
  }
  // What depends on x alone is looked through; what else there is must pass through one value, the gradient.
  bool is_foreign(Value u, Value x) {
    if (u == x || constant_number(u)) return false;
    if (auto it = foreign_.find(u); it != foreign_.end()) return it->second;
    Operation* op = u.getDefiningOp();
    foreign_[u] = false;
    bool result = !op || !is_pointwise(op) || !cone_.values.contains(u);  // what is farther away than the cone goes is no part of a formula
    if (!result)
      for (Value operand : op->getOperands()) result |= is_foreign(operand, x);
    return foreign_[u] = result;
  }

  const Program& program_;
  const Cone& cone_;
  DenseMap<Value, bool> foreign_;  // of one x
};

}  // namespace

void raise_scalar_gradients(Program& program, RaiseReport& report) {
  SmallVector<Operation*> candidates;
  for (Operation& op : llvm::reverse(program.block))
    if (is_pointwise(&op) && is_float(op.getResult(0)) && isa<MulOp, AddOp, SelectOp, DivOp, SubtractOp, ConvertOp, NegOp>(op)) candidates.push_back(&op);
  // What forward composites were made of or read, and what the block reads.
  DenseSet<Value> known;
  for (auto composite : program.block.getOps<CompositeOp>())
    for (Value v : composite->getOperands()) known.insert(v);
  DenseSet<Operation*> gone;
  DenseSet<size_t> fruitless;
  for (Operation* candidate : candidates) {
    if (gone.contains(candidate)) continue;
    Value v = candidate->getResult(0);
    Cone cone = cone_of(v, known);
    // An optimizer's update rather than a gradient; or what has been looked at for another parameter or layer.
    if (cone.leaves > kMostLeaves) continue;
    size_t structure = structure_of(v, known);
    if (fruitless.contains(structure)) continue;
    GradientSearch search(program, cone);
    const GradientMatch &best = search.best, &miss = search.miss;
    if (!best.entry) {
      if (miss.distance < kNear) note_miss(report, miss.entry->name, miss.distance, v, {miss.gradient, miss.x});
      else fruitless.insert(structure);
      continue;
    }
    report.raised.push_back(where(v) + ": " + best.entry->name + describe(best.attributes));
    program.outline(*best.entry, program.attributes(best.attributes), {best.gradient, best.x}, {v});
    DenseSet<Operation*> alive;
    for (Operation& left : program.block) alive.insert(&left);
    for (Operation* c : candidates)
      if (!alive.contains(c)) gone.insert(c);
  }
}

}  // namespace cresset::composite
