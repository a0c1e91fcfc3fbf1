#include "composite/raise_library.h"

#include <cmath>

#include "composite/decompose.h"
#include "composite/raise_scalar.h"
#include "composite/rows.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kNear = 2e-2;
constexpr size_t kMostInputs = 4;

Value result_of(const Reference& r) { return func::FuncOp(r.body).getBody().front().getTerminator()->getOperand(0); }
Block::BlockArgListType inputs_of(const Reference& r) { return func::FuncOp(r.body).getBody().front().getArguments(); }

bool is_elementwise_reference(const Reference& r) {
  for (Value v : inputs_of(r))
    if (!is_float(v) || v.getType() != result_of(r).getType()) return false;
  for (Operation& op : func::FuncOp(r.body).getBody().front().without_terminator())
    if (!is_pointwise(&op) && !isa<ConstantOp>(op) && !(isa<BroadcastInDimOp, ReshapeOp, ConvertOp>(op) && constant_number(op.getResult(0)))) return false;
  return true;
}

// The inputs of a reference at points around 0 and some away from it.
std::vector<Row> samples(size_t inputs) {
  std::vector<Row> rows;
  for (size_t k = 0; k < inputs; ++k) {
    Row row = random_row(48, unsigned(81 + k), 2), away = random_row(8, unsigned(91 + k), 12);
    row.insert(row.end(), away.begin(), away.end());
    rows.push_back(row);
  }
  return rows;
}
// Each of them in turn far from it.
std::vector<Row> far_samples(size_t inputs) {
  std::vector<Row> rows;
  for (size_t k = 0; k < inputs; ++k) rows.push_back(random_row(int64_t(inputs * far_points().size()), unsigned(71 + k), 2));
  for (size_t k = 0; k < inputs; ++k) llvm::copy(far_points(), rows[k].begin() + int64_t(k * far_points().size()));
  return rows;
}

std::optional<Row> values_of(Value output, ArrayRef<Value> inputs, const std::vector<Row>& at) {
  Space space{SmallVector<int64_t>(type_of(output).getShape()), {}};
  Evaluator e(space, int64_t(at[0].size()));
  for (auto [v, row] : llvm::zip(inputs, at)) e.set(v, row);
  const Row* row = e.get(output);
  return row ? std::optional(*row) : std::nullopt;
}

double pointwise_distance(const Reference& r, Value v, ArrayRef<Value> inputs) {
  auto distance = [&](const std::vector<Row>& at, auto difference) -> double {
    auto found = values_of(v, inputs, at), expected = values_of(result_of(r), SmallVector<Value>(inputs_of(r)), at);
    if (!found || !expected) return INFINITY;
    if (expected->size() == 1) expected->resize(at[0].size(), (*expected)[0]);
    return difference(*found, *expected);
  };
  double d = distance(samples(inputs.size()), [](const Row& a, const Row& b) { return difference(a, b, 1); });
  return d <= tolerance_of(v) ? std::max(d, distance(far_samples(inputs.size()), difference_of_finite)) : d;
}

double sampled_distance(const Reference& r, Value v, ArrayRef<Value> inputs) {
  double worst = 0;
  int64_t size = type_of(v).getNumElements();
  for (unsigned seed : {1u, 2u, 3u, 4u}) {
    Sampler found(seed), expected(seed);
    for (auto [u, argument] : llvm::zip(inputs, inputs_of(r))) {
      auto field = expected.random(argument);
      found.set(u, field), expected.set(argument, field);
    }
    int64_t at = seed == 1 ? 0 : seed == 2 ? size - 1 : size / int64_t(seed);
    double a = found.get(v, at), b = expected.get(result_of(r), at);
    // Nothing else may have been read.
    if (!found.leaves().empty() || expected.leaves().size() != inputs.size() || found.exhausted() || expected.exhausted()) return INFINITY;
    double off = std::fabs(a - b) / std::max(0.1, std::fabs(b));
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
  }
  return worst;
}

size_t products_in(Block& block) { return size_t(llvm::range_size(block.getOps<DotGeneralOp>())); }

struct Found {
  SmallVector<Value> inputs;
  double distance = INFINITY;
};

// The inputs under which `v` is what the reference computes, as far up as they are.
Found match(Program& program, const Reference& r, Value v, bool pointwise) {
  size_t n = inputs_of(r).size();
  Found best;
  DenseSet<Type> types;
  for (Value u : inputs_of(r)) types.insert(u.getType());
  auto stop = [](Value u) { return constant_number(u).has_value(); };
  // A value of an input's type may be one: first everything is looked through, then nothing of such a type.
  for (bool through : {true, false}) {
    auto step = [&](Operation* op) {
      if (pointwise) return is_pointwise(op);
      return op->getNumResults() == 1 && (is_elementwise(op) || is_layout(op) || isa<ReduceOp, DotGeneralOp, ConstantOp, IotaOp, GatherOp, ConcatenateOp>(op)) &&
             (through || op == v.getDefiningOp() || !types.contains(op->getResult(0).getType()));
    };
    if (pointwise && !through) break;
    for (auto& cut : cuts(program, v, step, stop, n)) {
      if (cut.size() != n || llvm::is_contained(cut, v)) continue;
      SmallVector<int> order;
      for (size_t k = 0; k < n; ++k) order.push_back(int(k));
      do {
        SmallVector<Value> inputs;
        for (int k : order) inputs.push_back(cut[k]);
        bool fits = true;
        for (auto [u, argument] : llvm::zip(inputs, inputs_of(r))) fits &= pointwise ? u.getType() == v.getType() : u.getType() == argument.getType();
        if (!fits) continue;
        double d = pointwise ? pointwise_distance(r, v, inputs) : sampled_distance(r, v, inputs);
        bool takes = d <= tolerance_of(v);
        // The farthest that fits.
        if (takes ? !narrows(v, inputs) : d < best.distance) best = {inputs, d};
      } while (std::next_permutation(order.begin(), order.end()));
    }
    if (best.distance <= tolerance_of(v)) break;
  }
  return best;
}

}  // namespace

std::vector<Reference> read_library(ModuleOp library) {
  std::vector<Reference> references;
  // Built-in composites and calls inside are looked through.
  if (failed(decompose(library, [](CompositeOp op) { return find_composite(op.getName()) != nullptr; }, Reach::Everywhere))) return references;
  SymbolTable symbols(library);
  auto take = [&](StringRef name, uint32_t version, DictionaryAttr attributes, func::FuncOp body) {
    if (!body || body.isDeclaration() || !llvm::hasSingleElement(body.getBody()) || body.getNumResults() != 1 || body.getNumArguments() == 0 || body.getNumArguments() > kMostInputs) return;
    for (Type type : body.getArgumentTypes())
      if (!isa<RankedTensorType>(type)) return;
    references.push_back({name.str(), version, attributes, body});
  };
  for (auto function : library.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isDeclaration()) continue;
    bool whole = true;
    function.walk([&](CompositeOp op) {
      whole = false;
      take(op.getName(), op.getVersion(), op.getCompositeAttributes(), symbols.lookup<func::FuncOp>(op.getDecomposition()));
    });
    if (whole && function.getName().contains('.')) take(function.getName(), 1, DictionaryAttr::get(library.getContext()), function);
  }
  return references;
}

void raise_references(Program& program, ArrayRef<Reference> references, RaiseReport& report) {
  for (const Reference& r : references) {
    bool pointwise = is_elementwise_reference(r);
    size_t products = products_in(func::FuncOp(r.body).getBody().front());
    if (!pointwise && products > products_in(program.block)) continue;
    SmallVector<Operation*> candidates;
    for (Operation& op : llvm::reverse(program.block))
      if (op.getNumResults() == 1 && is_float(op.getResult(0)) && (pointwise ? is_pointwise(&op) : op.getResult(0).getType() == result_of(r).getType())) candidates.push_back(&op);
    DenseSet<Operation*> alive;
    for (Operation& op : program.block) alive.insert(&op);
    for (Operation* op : candidates) {
      if (!alive.contains(op)) continue;
      Value v = op->getResult(0);
      Found found = match(program, r, v, pointwise);
      std::string text = where(v) + ": ";
      if (!(found.distance <= tolerance_of(v))) {
        if (found.distance < kNear) {
          llvm::raw_string_ostream(text) << "nearly " << r.name << ", off by " << llvm::format("%.2g", found.distance);
          report.missed.push_back(text);
        }
        continue;
      }
      report.raised.push_back(text + r.name);
      Entry entry;
      entry.name = r.name, entry.version = int(r.version);
      program.outline(entry, r.attributes, found.inputs, {v});
      program.renumber();
      alive.clear();
      for (Operation& left : program.block) alive.insert(&left);
    }
  }
}

}  // namespace cresset::composite
