#include <cmath>

#include "composite/raise_rows.h"
#include "composite/raise_scalar.h"
#include "composite/rows.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
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
      if (found && difference(*found, expected, 0.1 * largest(expected)) <= kRowTolerance) return op->getResult(0);
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
      if (!(difference(*found, expected, 0.1 * largest(expected)) <= (is_narrow(c.v) ? kNarrowRowTolerance : kRowTolerance))) return false;
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
