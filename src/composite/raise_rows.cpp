#include "composite/raise_rows.h"

#include <cmath>
#include <map>

#include "composite/emit.h"
#include "composite/raise_scalar.h"
#include "composite/rows.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kNear = 3e-2;

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

// Values that row operations compute from something that is neither a weight nor a number: no region that starts behind one can use it.
DenseSet<Value> foreign_values(Program& program, const Space& space) {
  auto is_foreign = [&](Value v) { return !constant_number(v) && (!is_weight(space, v) || is_full(space, v)); };
  return computed_from(program.block, is_foreign, is_row_operation);
}

// Whether the values between x and y can be one norm or softmax: nothing foreign that stands in front of x joins them, and there is one root at most. Asked before a
// region is evaluated, which would go up to the program's inputs: in a long chain of norms from each of them.
bool may_be_one(const DenseSet<Value>& foreign, const Program& program, Value x, Value y) {
  SmallVector<Value> work{y};
  DenseSet<Value> seen{x};
  int roots = 0;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!seen.insert(v).second || !foreign.contains(v)) continue;
    if (program.position(v) < program.position(x) || (is_norm_root(*v.getDefiningOp()) && ++roots > 1)) return false;
    llvm::append_range(work, v.getDefiningOp()->getOperands());
  }
  return true;
}

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
  SmallVector<unsigned> weights;  // of the region's, in the composite's order: weight, bias
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
std::optional<double> recover_eps(const RowRegion& region, bool centred, ArrayRef<Row> neutral, double scale = 1e-3) {
  Row x = random_row(region.space.row_size(), 7, scale);
  auto y = region(x, neutral);
  if (!y) return std::nullopt;
  double m = centred ? mean_of(x) : 0;
  Row shifted;
  for (double v : x) shifted.push_back(v - m);
  size_t at = 0;
  for (size_t i = 0; i < shifted.size(); ++i)
    if (std::fabs(shifted[i]) > std::fabs(shifted[at])) at = i;
  double r = (*y)[at] / shifted[at], eps = 1 / (r * r) - mean_square(shifted);
  if (!std::isfinite(eps) || r < 0 || eps > 1) return std::nullopt;
  // Beside a small one the row's own rounding counts: 1e-12, as BERT has it, needs a smaller row.
  if (eps < 1e-9 && scale > 1e-6) return recover_eps(region, centred, neutral, 1e-6);
  // Less than this can't be told from none.
  return eps < 1e-14 ? (eps > -1e-11 ? std::optional(0.0) : std::nullopt) : std::optional(tidy_number(eps));
}

RowMatch match_row(const RowRegion& region) {
  RowMatch best;
  int64_t n = region.space.row_size();
  size_t count = region.weights.size();
  struct Probe {
    unsigned seed;
    double scale = 1, shift = 0;
  };
  // A softmax does not see a shift, and its logarithm goes far: something small that was added, or a bound, shows there.
  const Probe norms[] = {{11}, {12, 3}}, softmaxes[] = {{11}, {12, 3}, {13, 1, -40}, {14, 20}};
  auto compare = [&](ArrayRef<Probe> probes, const std::function<Row(const Row&, ArrayRef<Row>)>& reference) {
    double worst = 0;
    for (auto [seed, scale, shift] : probes) {
      Row x = random_row(n, seed, scale);
      for (double& v : x) v += shift;
      SmallVector<Row> weights;
      for (size_t w = 0; w < count; ++w) weights.push_back(random_row(n, seed + 20 + unsigned(w)));
      auto found = region(x, weights);
      Row expected = reference(x, weights);
      worst = std::max(worst, found ? difference(*found, expected, 0.1 * largest(expected)) : INFINITY);
    }
    return worst;
  };
  auto take = [&](const char* name, double eps, SmallVector<unsigned> weights, double distance) {
    if (distance < best.distance) best = {name, eps, std::move(weights), distance};
  };
  if (count == 0) {
    take("aten.softmax", 0, {}, compare(softmaxes, [](const Row& x, ArrayRef<Row>) { return softmax(x, false); }));
    take("aten.log_softmax", 0, {}, compare(softmaxes, [](const Row& x, ArrayRef<Row>) { return softmax(x, true); }));
  }
  if (!is_trailing(region.space)) return best;
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
      // Without eps a row of zeros is NaN; where it is not, its length has a bound.
      if (*eps == 0 && std::isfinite((*region(Row(n, 0), neutral))[0])) continue;
      SmallVector<unsigned> weights;
      if (weight >= 0) weights.push_back(unsigned(weight));
      if (bias >= 0) weights.push_back(unsigned(bias));
      take(centred ? "aten.layer_norm" : "aten.rms_norm", *eps, weights, compare(norms, [&](const Row& x, ArrayRef<Row> w) {
             return norm(x, centred, *eps, weight >= 0 ? &w[weight] : nullptr, bias >= 0 ? &w[bias] : nullptr);
           }));
    }
  }
  return best;
}

// Regions of a model's layers are alike: each kind is evaluated once.
class RowMatcher {
 public:
  const RowMatch& operator()(const RowRegion& region) {
    SmallVector<Value> inputs{region.x};
    llvm::append_range(inputs, region.weights);
    auto [it, added] = matches_.try_emplace(llvm::hash_combine(structure_of(region.y, inputs), llvm::hash_combine_range(region.space.reduced)));
    if (added) it->second = match_row(region);
    return it->second;
  }

 private:
  DenseMap<size_t, RowMatch> matches_;
};

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

// What the region computes of a norm's statistics.
struct Statistics {
  Value mean, scale;
  enum Form { Reciprocal, Deviation, Variance, None } form = None;  // of scale; the first that there is
};
Statistics find_statistics(const RowRegion& region, const RowMatch& match) {
  bool centred = match.name == "aten.layer_norm";
  Row probe = random_row(region.space.row_size(), 31, 1.7);
  double mean = centred ? mean_of(probe) : 0;
  Row shifted;
  for (double v : probe) shifted.push_back(v - mean);
  double variance = mean_square(shifted) + match.eps;
  Statistics found;
  for (auto& [v, number] : numbers_above(region, probe)) {
    if (centred && close(number, mean)) found.mean = v;
    auto may_be = [&](Statistics::Form form, double expected) {
      if (form < found.form && close(number, expected)) found.scale = v, found.form = form;
    };
    may_be(Statistics::Reciprocal, 1 / std::sqrt(variance));
    may_be(Statistics::Deviation, std::sqrt(variance));
    may_be(Statistics::Variance, variance);
  }
  return found;
}

void outline_norm(Program& program, const RowRegion& region, const RowMatch& match, RaiseReport& report) {
  bool centred = match.name == "aten.layer_norm";
  const Entry& entry = *find_composite(match.name);
  Statistics found = find_statistics(region, match);
  SmallVector<Value> inputs{region.x};
  for (unsigned w : match.weights) inputs.push_back(region.weights[w]);
  SmallVector<int64_t> shape = kept_shape(region.space), sizes;
  for (int64_t d : region.space.reduced) sizes.push_back(region.space.shape[d]);
  OpBuilder b(program.module.getContext());
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("normalized_shape", b.getDenseI64ArrayAttr(sizes)), b.getNamedAttr("eps", b.getF64FloatAttr(match.eps))});
  std::string place = where(region.y);
  SmallVector<Value> outputs{region.y};
  // What the region does not compute in this form is computed beside it.
  bool has_statistics = found.scale && (found.mean || !centred);
  if (has_statistics && centred) outputs.push_back(found.mean);
  if (has_statistics) outputs.push_back(found.scale);
  // Statistics as the operator returns them: dimensions kept, f32 or wider.
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    Emit e(inside, region.y.getLoc());
    if (!has_statistics) {
      ArrayRef<int64_t> dims = region.space.reduced;
      Value x = inside.getInsertionBlock()->getArgument(0);
      if (is_narrow(x)) x = e.convert(x, inside.getF32Type());
      auto average = [&](Value v) {
        Value sum = e.sum(v, dims);
        return e.div(sum, e.number(double(region.space.row_size()), sum));
      };
      if (centred) {
        returned.push_back(average(x));
        x = e.sub(x, e.spread(returned.back(), dims, x));
      }
      Value square = average(e.mul(x, x));
      returned.push_back(e.rsqrt(e.add(square, e.number(match.eps, square))));
    }
    for (size_t i = 1; i < returned.size(); ++i) {
      Value v = returned[i];
      if (has_statistics && i + 1 == returned.size() && found.form != Statistics::Reciprocal) {
        if (found.form == Statistics::Variance) v = e.sqrt(v);
        v = e.div(e.number(1, v), v);
      }
      if (is_narrow(v)) v = e.convert(v, inside.getF32Type());
      returned[i] = e.reshape(v, shape);
    }
  };
  // The operator takes weights of the shape of a row.
  for (size_t i = 1; i < inputs.size(); ++i)
    if (type_of(inputs[i]).getShape() != ArrayRef<int64_t>(sizes)) return;
  program.outline(entry, attributes, inputs, outputs, extend);
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
  RowMatcher matcher;
  for (bool found = true; found;) {
    found = false;
    std::map<std::pair<SmallVector<int64_t>, SmallVector<int64_t>>, DenseSet<Value>> foreign_of;
    for (Anchor& anchor : anchors(program)) {
      if (failed.contains(anchor.reduce)) continue;
      auto [known, is_new] = foreign_of.try_emplace({anchor.space.shape, anchor.space.reduced});
      if (is_new) known->second = foreign_values(program, anchor.space);
      const DenseSet<Value>& foreign = known->second;
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
          auto region = may_be_one(foreign, program, x, y) ? region_of(anchor.space, x, y) : std::nullopt;
          if (!region) continue;
          RowMatch match = matcher(*region);
          bool fits = match.distance <= tolerance_of(x) && (anchor.space.reduced.size() == 1 || match.name.find("norm") != std::string::npos);
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

}  // namespace cresset::composite
