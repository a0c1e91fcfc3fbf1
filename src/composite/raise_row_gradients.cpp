#include <cmath>

#include "composite/emit.h"
#include "composite/raise_rows.h"
#include "composite/raise_scalar.h"
#include "composite/rows.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// What a gradient is looked for of: a composite of the program, or one that the program has only the gradient of.
struct Forward {
  CompositeOp op;  // or null
  Space space;
  std::string name;
  Value x, y, mean, rstd, weight, bias;  // y, mean, rstd: the composite's, or null
  double eps = 0;
  bool centres() const { return name == "aten.layer_norm"; }
  bool normalises() const { return centres() || name == "aten.rms_norm"; }
  bool is_logarithm() const { return name == "aten.log_softmax"; }
};

Row centred(const Forward& f, const Row& x) {
  double m = f.centres() ? mean_of(x) : 0;
  Row shifted;
  for (double v : x) shifted.push_back(v - m);
  return shifted;
}
double inverse_deviation(const Row& shifted, double eps) { return 1 / std::sqrt(mean_square(shifted) + eps); }

Row softmax_of(const Forward& f, const Row& x) {
  double m = x[0], sum = 0;
  for (double v : x) m = std::max(m, v);
  for (double v : x) sum += std::exp(v - m);
  Row y;
  for (double v : x) y.push_back(f.is_logarithm() ? v - m - std::log(sum) : std::exp(v - m) / sum);
  return y;
}

// dx for a gradient g of the forward's result.
Row gradient_reference(const Forward& f, const Row& g, const Row& x, const Row* weight) {
  size_t n = x.size();
  Row dx(n);
  if (f.normalises()) {
    Row c = centred(f, x), w(g);
    double r = inverse_deviation(c, f.eps), dot = 0;
    for (size_t i = 0; weight && i < n; ++i) w[i] *= (*weight)[i];
    for (size_t i = 0; i < n; ++i) dot += w[i] * c[i] * r;
    double mean = f.centres() ? mean_of(w) : 0;
    for (size_t i = 0; i < n; ++i) dx[i] = r * (w[i] - mean - c[i] * r * dot / double(n));
    return dx;
  }
  Row y = softmax_of(f, x);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += f.is_logarithm() ? g[i] : g[i] * y[i];
  for (size_t i = 0; i < n; ++i) dx[i] = f.is_logarithm() ? g[i] - std::exp(y[i]) * sum : y[i] * (g[i] - sum);
  return dx;
}

struct RowGradient {
  Value v, g, rest;  // v = gradient (+ rest)
};

class GradientSearch {
 public:
  GradientSearch(Program& program, Forward& forward) : program_(program), f_(forward) {}

  // The gradient of a composite.
  std::optional<RowGradient> find() {
    SmallVector<Value> from;
    for (Value v : {f_.x, f_.y, f_.mean, f_.rstd})
      if (v) from.push_back(v);
    for (Value v : descendants(program_, f_.space, from)) {
      if (!depends_on_sum(v)) continue;
      for (size_t width : {1, 2})
        for (auto& cut : cuts(program_, v, is_row_operation, [&](Value u) { return !is_foreign(u); }, width)) {
          if (cut.size() != width || llvm::is_contained(cut, v) || !llvm::all_of(cut, [&](Value u) { return is_full(f_.space, u) && u.getType() == v.getType(); })) continue;
          for (size_t k = 0; k < width; ++k) {
            RowGradient candidate{v, cut[k], width == 2 ? cut[1 - k] : Value()};
            if (matches(candidate) && !narrows(v, {candidate.g, candidate.rest, f_.x, f_.y, f_.mean, f_.rstd, f_.weight})) return candidate;
          }
        }
    }
    return std::nullopt;
  }

  bool matches(const RowGradient& c) {
    gradient_value_ = c.g, rest_value_ = c.rest;
    for (unsigned seed : {41u, 42u, 43u}) {
      // What is cut off shows where gradients are large, and logarithms of what is nearly 0.
      bool far = seed == 43;
      double spread = far && f_.is_logarithm() ? 20 : 1, size = far ? 1e6 : 1;
      Row x = random_row(n(), seed, spread), g = random_row(n(), seed + 2, size), weight = random_row(n(), seed + 4), rest = random_row(n(), seed + 6, size);
      auto found = value(c.v, x, g, weight, rest);
      if (!found) return false;
      Row expected = gradient_reference(f_, g, x, f_.weight ? &weight : nullptr);
      if (c.rest)
        for (int64_t i = 0; i < n(); ++i) expected[i] += rest[i];
      if (!(difference(*found, expected, 0.1 * largest(expected)) <= tolerance_of(c.v))) return false;
    }
    return true;
  }

  // eps of a norm that is known by its gradient alone: dx = rstd · g where g is orthogonal to x and to 1.
  bool recover_eps(const RowGradient& c) {
    gradient_value_ = c.g, rest_value_ = {};
    Row x = random_row(n(), 61, 1e-3), g = random_row(n(), 62), s = centred(f_, x);
    double m = f_.centres() ? mean_of(g) : 0, variance = mean_square(s), dot = 0;
    for (int64_t i = 0; i < n(); ++i) g[i] -= m, dot += g[i] * s[i];
    for (int64_t i = 0; i < n(); ++i) g[i] -= s[i] * dot / (variance * double(n()));
    auto found = value(c.v, x, g, Row(n(), 1), {});
    if (!found) return false;
    size_t at = 0;
    for (size_t i = 0; i < g.size(); ++i)
      if (std::fabs(g[i]) > std::fabs(g[at])) at = i;
    double r = (*found)[at] / g[at], eps = 1 / (r * r) - variance;
    if (!std::isfinite(eps) || r <= 0 || eps > 0.1 || eps < -1e-11) return false;
    f_.eps = eps < 1e-14 ? 0 : tidy_number(eps);
    return true;
  }

  // Sums over all rows: g · x̂, the gradient of the weight, and g, that of the bias.
  Value weight_gradient(Value g, bool of_bias) {
    if (!f_.weight || g.use_empty()) return {};
    SmallVector<int64_t> outer;
    for (int64_t d = 0; d < int64_t(f_.space.shape.size()); ++d)
      if (!f_.space.is_reduced(d)) outer.push_back(d);
    gradient_value_ = g, rest_value_ = {};
    Row x = random_row(n(), 51), gradient = random_row(n(), 52), expected = gradient, c = centred(f_, x);
    double r = inverse_deviation(c, f_.eps);
    for (int64_t i = 0; !of_bias && i < n(); ++i) expected[i] *= c[i] * r;
    for (auto op : program_.block.getOps<ReduceOp>()) {
      SmallVector<int64_t> dims(op.getDimensions());
      llvm::sort(dims);
      if (op.getNumOperands() != 2 || dims != outer || !is_full(f_.space, op->getOperand(0)) || !isa_and_nonnull<AddOp>(combiner(op.getBody()))) continue;
      auto found = value(op->getOperand(0), x, gradient, Row(n(), 1), {});
      if (found && difference(*found, expected, 0.1 * largest(expected)) <= kTolerance) return op->getResult(0);
    }
    return {};
  }

  // Whether it can be computed from the composite's operands, without the forward's own.
  bool is_closed(const RowGradient& c) {
    SmallVector<std::pair<Value, Row>> inputs{{c.g, Row(n(), 1)}};
    for (Value v : {f_.y, c.rest})
      if (v) inputs.push_back({v, Row(n(), 1)});
    return evaluate(f_.space, c.v, inputs).has_value();
  }

 private:
  int64_t n() const { return f_.space.row_size(); }
  bool is_known(Value v) const { return v == f_.x || (v && (v == f_.y || v == f_.mean || v == f_.rstd || v == f_.weight)); }

  std::optional<Row> value(Value v, const Row& x, const Row& g, const Row& weight, const Row& rest) {
    Row c = centred(f_, x);
    SmallVector<std::pair<Value, Row>> inputs{{f_.x, x}, {gradient_value_, g}};
    if (rest_value_) inputs.push_back({rest_value_, rest});
    if (f_.y && !f_.normalises()) inputs.push_back({f_.y, softmax_of(f_, x)});
    if (f_.mean) inputs.push_back({f_.mean, Row{mean_of(x)}});
    if (f_.rstd) inputs.push_back({f_.rstd, Row{inverse_deviation(c, f_.eps)}});
    if (f_.weight) inputs.push_back({f_.weight, weight});
    return evaluate(f_.space, v, inputs);
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
  bool depends_on_sum(Value v) {
    SmallVector<Value> work{v};
    DenseSet<Value> seen;
    while (!work.empty() && seen.size() < 64) {
      Value u = work.pop_back_val();
      Operation* op = u.getDefiningOp();
      if (!op || is_known(u) || !seen.insert(u).second || !is_row_operation(op)) continue;
      if (isa<ReduceOp, DotGeneralOp>(op) && is_foreign(u)) return true;
      work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  Program& program_;
  Forward& f_;
  Value gradient_value_, rest_value_;
  DenseMap<Value, bool> foreign_;
};

SmallVector<int64_t> sizes_of(const Space& space) {
  SmallVector<int64_t> sizes;
  for (int64_t d : space.reduced) sizes.push_back(space.shape[d]);
  return sizes;
}

// The composite itself, where the program has its gradient alone.
void write_forward(Program& program, Forward& f) {
  OpBuilder b(program.module.getContext());
  SmallVector<NamedAttribute> attributes;
  if (f.normalises()) {
    attributes = {b.getNamedAttr("normalized_shape", b.getDenseI64ArrayAttr(sizes_of(f.space))), b.getNamedAttr("eps", b.getF64FloatAttr(f.eps))};
  } else {
    attributes = {b.getNamedAttr("dim", b.getI64IntegerAttr(f.space.reduced[0])), b.getNamedAttr("half_to_float", b.getBoolAttr(false))};
  }
  Location loc = f.x.getLoc();
  f.op = program.insert(*find_composite(f.name), b.getDictionaryAttr(attributes), {f.x}, loc, [&](OpBuilder& inside, ArrayRef<Value> arguments) -> SmallVector<Value> {
    Emit e(inside, loc);
    Type narrow = type_of(f.x).getElementType();
    ArrayRef<int64_t> dims = f.space.reduced;
    Value x = is_narrow(f.x) ? e.convert(arguments[0], inside.getF32Type()) : arguments[0];
    if (!f.normalises()) return {e.convert(e.softmax(x, dims, f.is_logarithm()), narrow)};
    auto mean = [&](Value v) {
      Value sum = e.sum(v, dims);
      return e.div(sum, e.number(double(f.space.row_size()), sum));
    };
    Value m, c = x;
    if (f.centres()) m = mean(x), c = e.sub(x, e.spread(m, dims, x));
    Value square = mean(e.mul(c, c)), rstd = e.rsqrt(e.add(square, e.number(f.eps, square)));
    SmallVector<Value> results{e.convert(e.mul(c, e.spread(rstd, dims, x)), narrow)};
    if (m) results.push_back(e.reshape(m, kept_shape(f.space)));
    results.push_back(e.reshape(rstd, kept_shape(f.space)));
    return results;
  });
  program.renumber();
  f.y = f.op->getResult(0);
  if (f.normalises()) f.mean = f.centres() ? Value(f.op->getResult(1)) : Value(), f.rstd = f.op->getResult(f.centres() ? 2 : 1);
}

// The gradient alone is v with nothing to be added to; the rest is added behind.
void separate(Program& program, const Entry& entry, DictionaryAttr attributes, SmallVector<Value> inputs, ArrayRef<Value> outputs, Value rest) {
  OpBuilder b(program.module.getContext());
  Value v = outputs[0];
  Location loc = v.getLoc();
  inputs.push_back(rest);
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>&) {
    Block* body = inside.getInsertionBlock();
    OpBuilder start(body, body->begin());
    Emit e(start, loc);
    body->getArgument(unsigned(inputs.size()) - 1).replaceAllUsesWith(e.number(0, rest));
  };
  b.setInsertionPointAfter(v.getDefiningOp());
  Operation* sum = AddOp::create(b, loc, v, rest);
  v.replaceAllUsesExcept(sum->getResult(0), sum);
  auto composite = program.outline(entry, attributes, inputs, outputs, extend);
  // The body does not read the last operand any more.
  auto body = cast<func::FuncOp>(SymbolTable::lookupSymbolIn(program.module, composite.getDecomposition()));
  body.getBody().front().eraseArgument(unsigned(inputs.size()) - 1);
  body.setType(b.getFunctionType(body.getBody().front().getArgumentTypes(), body.getResultTypes()));
  composite->eraseOperand(unsigned(inputs.size()) - 1);
}

void outline_gradient(Program& program, Forward& f, GradientSearch& search, const RowGradient& found, RaiseReport& report) {
  const Entry& entry = *find_composite(find_composite(f.name)->backward);
  OpBuilder b(program.module.getContext());
  std::string line = where(found.v) + ": " + entry.name;
  report.raised.push_back(line);
  if (!f.normalises()) {
    bool closed = f.y && search.is_closed(found);
    if (!f.y) write_forward(program, f);
    auto attributes = b.getDictionaryAttr({b.getNamedAttr("dim", b.getI64IntegerAttr(f.space.reduced[0])), b.getNamedAttr("input_dtype", TypeAttr::get(type_of(found.v).getElementType()))});
    if (closed && found.rest) return separate(program, entry, attributes, {found.g, f.y}, {found.v}, found.rest);
    if (closed) return void(program.outline(entry, attributes, {found.g, f.y}, {found.v}));
    // In terms of the input: written anew in terms of the result.
    Location loc = found.v.getLoc();
    auto composite = program.insert(entry, attributes, {found.g, f.y}, loc, [&](OpBuilder& inside, ArrayRef<Value> arguments) -> SmallVector<Value> {
      Emit e(inside, loc);
      ArrayRef<int64_t> dims = f.space.reduced;
      Value g = arguments[0], y = arguments[1];
      if (f.is_logarithm()) return {e.sub(g, e.mul(e.exp(y), e.spread(e.sum(g, dims), dims, g)))};
      return {e.mul(y, e.sub(g, e.spread(e.sum(e.mul(g, y), dims), dims, g)))};
    });
    Value result = composite->getResult(0);
    if (found.rest) {
      b.setInsertionPoint(found.v.getDefiningOp());
      result = AddOp::create(b, loc, result, found.rest);
    }
    program.replace(found.v, result);
    program.renumber();
    return;
  }
  SmallVector<Value> outputs{found.v};
  Value dw = search.weight_gradient(found.g, false), db = f.centres() ? search.weight_gradient(found.g, true) : Value();
  if (!f.rstd) write_forward(program, f);
  SmallVector<Value> inputs{found.g, f.x};
  for (Value v : {f.mean, f.rstd, f.weight, f.bias})
    if (v) inputs.push_back(v);
  for (Value v : {dw, db})
    if (v) outputs.push_back(v);
  SmallVector<bool> mask{true, bool(dw)};
  if (f.centres()) mask.push_back(bool(db));
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("normalized_shape", b.getDenseI64ArrayAttr(sizes_of(f.space))), b.getNamedAttr("output_mask", b.getDenseBoolArrayAttr(mask))});
  if (found.rest) return separate(program, entry, attributes, inputs, outputs, found.rest);
  program.outline(entry, attributes, inputs, outputs);
}

// Equal for values that are computed alike by row operations.
size_t row_structure(const Space& space, Value v) {
  llvm::hash_code hash = llvm::hash_combine(space.shape.size(), llvm::hash_combine_range(space.reduced.begin(), space.reduced.end()), space.row_size());
  DenseMap<Value, size_t> numbers;
  SmallVector<Value> work{v};
  while (!work.empty() && numbers.size() < 256) {
    Value u = work.pop_back_val();
    auto [it, added] = numbers.insert({u, numbers.size()});
    hash = llvm::hash_combine(hash, it->second, u.getType() == v.getType());
    if (!added) continue;
    if (auto number = constant_number(u)) {
      hash = llvm::hash_combine(hash, llvm::bit_cast<uint64_t>(*number));
    } else if (Operation* op = u.getDefiningOp(); op && is_row_operation(op)) {
      hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer());
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return hash;
}

// Whether no more is summed up between the cut and v than by one gradient with its forward: chains of norms, as optimizers have for each parameter, would be evaluated from all of their beginnings.
bool may_be_of_one_forward(Value v, ArrayRef<Value> cut) {
  constexpr size_t kMostSums = 8;  // a layer norm has two, its gradient two to four
  size_t sums = 0, roots = 0;
  SmallVector<Value> work{v};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value u = work.pop_back_val();
    Operation* op = u.getDefiningOp();
    if (!op || llvm::is_contained(cut, u) || !seen.insert(u).second) continue;
    sums += isa<ReduceOp, DotGeneralOp>(op), roots += is_norm_root(*op);
    if (sums > kMostSums || roots > 1) return false;
    work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

// Gradients of what the program does not compute itself, as in a module that is a gradient alone: from two full values and a weight.
bool find_alone(Program& program, Anchor& anchor, DenseSet<size_t>& fruitless, RaiseReport& report) {
  constexpr size_t kEnds = 6;
  auto ends = descendants(program, anchor.space, {anchor.reduce->getResult(0)});
  for (Value v : ArrayRef<Value>(ends).take_front(kEnds)) {
    size_t structure = row_structure(anchor.space, v);
    if (fruitless.contains(structure)) continue;
    for (auto& cut : cuts(program, v, is_row_operation, [](Value u) { return constant_number(u).has_value(); }, 3)) {
      SmallVector<Value> full, weights;
      for (Value u : cut) (is_full(anchor.space, u) && u.getType() == v.getType() ? full : weights).push_back(u);
      if (full.size() != 2 || weights.size() > 1 || llvm::is_contained(full, v) || (!weights.empty() && !is_weight(anchor.space, weights[0])) || !may_be_of_one_forward(v, cut)) continue;
      // Without a gradient there is nothing.
      for (size_t k : {0, 1}) {
        SmallVector<std::pair<Value, Row>> inputs{{full[k], Row{0}}, {full[1 - k], random_row(anchor.space.row_size(), 71)}};
        if (!weights.empty()) inputs.push_back({weights[0], random_row(anchor.space.row_size(), 72)});
        auto nothing = evaluate(anchor.space, v, inputs);
        if (!nothing || largest(*nothing) != 0) continue;
        for (const char* name : {"aten.softmax", "aten.log_softmax", "aten.rms_norm", "aten.layer_norm"}) {
          Forward f;
          f.space = anchor.space, f.name = name, f.x = full[1 - k];
          if (!weights.empty()) f.weight = weights[0];
          if (f.normalises() ? !is_trailing(f.space) : f.weight || f.space.reduced.size() != 1) continue;
          if (f.weight && type_of(f.weight).getShape() != ArrayRef<int64_t>(sizes_of(f.space))) continue;
          GradientSearch search(program, f);
          RowGradient candidate{v, full[k], {}};
          if ((f.normalises() && !search.recover_eps(candidate)) || !search.matches(candidate) || narrows(v, {full[0], full[1], f.weight})) continue;
          outline_gradient(program, f, search, candidate, report);
          return true;
        }
      }
    }
    fruitless.insert(structure);
  }
  return false;
}

}  // namespace

void raise_row_gradients(Program& program, RaiseReport& report) {
  SmallVector<Forward> forwards;
  SmallVector<CompositeOp> composites(program.block.getOps<CompositeOp>());
  for (auto op : llvm::reverse(composites)) {
    Forward f;
    f.op = op, f.name = op.getName().str();
    if (!f.normalises() && f.name != "aten.softmax" && f.name != "aten.log_softmax") continue;
    if (op->getNumOperands() == 0 || op->getNumResults() == 0) continue;  // somebody else's, of that name
    f.x = op->getOperand(0), f.y = op->getResult(0);
    if (!is_float(f.x)) continue;
    f.space.shape.assign(type_of(f.x).getShape().begin(), type_of(f.x).getShape().end());
    if (f.normalises()) {
      auto sizes = op.getCompositeAttributes().getAs<DenseI64ArrayAttr>("normalized_shape");
      auto eps = op.getCompositeAttributes().getAs<FloatAttr>("eps");
      if (!sizes || !eps || op->getNumResults() != (f.centres() ? 3u : 2u)) continue;
      int64_t rank = int64_t(f.space.shape.size());
      for (int64_t d = rank - int64_t(sizes.size()); d < rank; ++d) f.space.reduced.push_back(d);
      f.eps = eps.getValueAsDouble();
      if (f.centres()) f.mean = op->getResult(1);
      f.rstd = op->getResult(f.centres() ? 2 : 1);
      if (op->getNumOperands() > 1) f.weight = op->getOperand(1);
      if (op->getNumOperands() > 2) f.bias = op->getOperand(2);
    } else {
      auto dim = op.getCompositeAttributes().getAs<IntegerAttr>("dim");
      if (!dim || f.space.shape.empty()) continue;
      f.space.reduced = {dim.getInt()};
    }
    if (f.space.row_size() >= 2 && f.space.row_size() <= kLongestRow) forwards.push_back(std::move(f));
  }
  // A composite that only a gradient read may go with it.
  DenseSet<Operation*> alive(composites.begin(), composites.end());
  for (Forward& f : forwards) {
    if (!alive.contains(f.op)) continue;
    GradientSearch search(program, f);
    auto found = search.find();
    if (!found) continue;
    outline_gradient(program, f, search, *found, report);
    alive.clear();
    for (auto op : program.block.getOps<CompositeOp>()) alive.insert(op);
  }
  DenseSet<size_t> fruitless;
  for (bool found = true; found;) {
    found = false;
    for (Anchor& anchor : anchors(program))
      if ((found = find_alone(program, anchor, fruitless, report))) break;
  }
}

}  // namespace cresset::composite
