#include "composite/rows.h"

#include <cmath>
#include <map>
#include <random>

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

bool is_row_operation(Operation* op) { return is_pointwise(op) || isa<BroadcastInDimOp, ReshapeOp, SliceOp, ReduceOp>(op) || is_row_product(op); }

Row random_row(int64_t n, unsigned seed, double scale) {
  // The same few rows are asked for at every place that is looked at, and drawing one takes longer than what is computed of it.
  constexpr int64_t kMostNumbers = 1 << 18;
  thread_local std::map<std::pair<int64_t, unsigned>, Row> drawn;
  if (int64_t(drawn.size()) * n >= kMostNumbers) drawn.clear();
  auto [it, is_new] = drawn.try_emplace({n, seed});
  if (is_new) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    it->second.resize(n);
    for (double& v : it->second) v = normal(generator);
  }
  Row row = it->second;
  for (double& v : row) v *= scale;
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
const Row& far_points() {
  static const auto* row = [] {
    auto* r = new Row;
    for (double x = 128; x < 3e38; x *= 16) r->push_back(x), r->push_back(-x);
    return r;
  }();
  return *row;
}
double difference_of_finite(const Row& a, const Row& b) {
  Row found, expected;
  for (size_t i = 0; i < b.size(); ++i) {
    double x = a.size() == 1 ? a[0] : a[i];
    if (std::isfinite(x) && std::isfinite(b[i])) found.push_back(x), expected.push_back(b[i]);
  }
  return difference(found, expected, 1);
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
double tidy_number(double v, int most_digits, double precision) {
  for (int digits = 1; digits <= most_digits; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    if (double rounded = std::atof(text); std::fabs(rounded - v) <= precision * std::fabs(v)) return rounded;
  }
  return v;
}

SmallVector<Anchor> anchors(Program& program) {
  SmallVector<Anchor> all;
  for (Operation& op : program.block) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!(reduce && op.getNumOperands() == 2 && is_float(op.getOperand(0))) && !is_row_product(&op)) continue;
    auto dims = reduce ? reduce.getDimensions() : cast<DotGeneralOp>(op).getDotDimensionNumbers().getLhsContractingDimensions();
    Anchor a{&op, {SmallVector<int64_t>(type_of(op.getOperand(0)).getShape()), SmallVector<int64_t>(dims)}};
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
bool is_trailing(const Space& space) { return space.reduced.back() == int64_t(space.shape.size()) - 1 && space.reduced.back() - space.reduced.front() + 1 == int64_t(space.reduced.size()); }

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

std::optional<Row> evaluate(const Space& space, Value v, ArrayRef<std::pair<Value, Row>> inputs, SmallVector<Value>* obstacles) {
  Evaluator e(space);
  for (auto& [value, row] : inputs) e.set(value, row);
  const Row* row = e.get(v);
  if (obstacles) *obstacles = e.obstacles();
  if (!row) return std::nullopt;
  Row result = *row;
  if (result.size() == 1 && is_full(space, v)) result.resize(space.row_size(), result[0]);
  return result;
}

SmallVector<int64_t> kept_shape(const Space& space) {
  SmallVector<int64_t> shape(space.shape);
  for (int64_t d : space.reduced) shape[d] = 1;
  return shape;
}

}  // namespace cresset::composite
