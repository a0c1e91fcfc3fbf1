// The gradients of norms over channels: r (ĝ - mean(ĝ) - x̂ mean(ĝ x̂)) with ĝ = g · weight, and the sums that are the gradients of weight and bias.
#include <cmath>

#include "composite/raise_channels.h"
#include "composite/rows.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr size_t kEnds = 8;
constexpr int64_t kLargest = 1 << 17;  // elements that share statistics

int64_t size_of(Value v) { return type_of(v).getNumElements(); }
bool is_step(Operation* op) { return is_elementwise(op) || is_layout(op) || isa<ReduceOp, ConstantOp, IotaOp>(op); }

struct ChannelGradient {
  ChannelNorm norm;  // y has the gradient's shape
  Value g, dx, dweight, dbias;
};

// Values behind `from`, the last first.
SmallVector<Value> values_behind(Program& program, Value from, size_t limit, const std::function<bool(Value)>& wanted) {
  SmallVector<Value> work{from}, all;
  DenseSet<Value> seen;
  while (!work.empty() && seen.size() < limit) {
    Value v = work.pop_back_val();
    for (Operation* user : v.getUsers()) {
      if (user->getBlock() != &program.block || user->getNumResults() != 1 || !is_step(user) || !is_float(user->getResult(0)) || !seen.insert(user->getResult(0)).second) continue;
      work.push_back(user->getResult(0));
      if (wanted(user->getResult(0))) all.push_back(user->getResult(0));
    }
  }
  llvm::sort(all, [&](Value a, Value b) { return program.position(a) > program.position(b); });
  return all;
}

class ChannelGradientSearch {
 public:
  ChannelGradientSearch(Program& program, Operation* root, ChannelMemory& memory) : program_(program), root_(root), memory_(memory) {}

  std::optional<ChannelGradient> find() {
    auto ends = values_behind(program_, root_->getResult(0), 256, [](Value v) { return shape_of(v).size() >= 2; });
    for (Value v : ArrayRef<Value>(ends).take_front(kEnds)) {
      auto stop = [&](Value u) { return !reads_full(u, size_of(v)); };
      // The farthest first: the sums are of those as well.
      auto all = cuts(program_, v, is_step, stop, 2);
      for (auto& cut : llvm::reverse(all)) {
        if (cut.size() != 2 || llvm::is_contained(cut, v)) continue;
        if (!llvm::all_of(cut, [&](Value u) { return is_float(u) && size_of(u) == size_of(v) && type_of(u).getElementType() == type_of(v).getElementType(); })) continue;
        SmallVector<Value> vectors;
        SmallVector<int64_t> sums;
        if (!read(v, cut, vectors, sums) || !may_be_of_norm(sums) || sums[0] > kLargest) continue;
        size_t structure = llvm::hash_combine(structure_of(v, cut), structure_of(root_->getOperand(0), cut));
        if (memory_.misses.contains(structure)) continue;
        for (size_t k : {0, 1})
          if (auto found = match(v, cut[k], cut[1 - k], vectors, sums[0])) return found;
        memory_.misses.try_emplace(structure);
      }
    }
    return std::nullopt;
  }
  double near = INFINITY;
  ChannelNorm near_norm;

 private:
  // Whether one of the values that its steps begin with is full: what is full on the way may be a vector that was spread.
  bool reads_full(Value v, int64_t size) {
    auto [known, is_new] = memory_.from_full.insert({{v, size}, false});
    if (!is_new) return known->second;
    Operation* op = v.getDefiningOp();
    bool result = false;
    if (constant_number(v)) return false;
    if (op && is_step(op))
      for (Value operand : op->getOperands()) result |= reads_full(operand, size);
    else result = is_float(v) && size_of(v) == size;
    return memory_.from_full[{v, size}] = result;
  }

  // What the region reads besides, and how many terms its sums have.
  bool read(Value v, ArrayRef<Value> cut, SmallVector<Value>& vectors, SmallVector<int64_t>& sums) {
    SmallVector<Value> work{v};
    DenseSet<Value> seen;
    bool has_root = false;
    while (!work.empty()) {
      Value u = work.pop_back_val();
      if (llvm::is_contained(cut, u) || constant_number(u) || !seen.insert(u).second) continue;
      if (seen.size() > 192) return false;
      Operation* op = u.getDefiningOp();
      has_root |= op == root_;
      // Two roots are two norms.
      if (op && op != root_ && is_norm_root(*op)) return false;
      if (!op || !is_step(op)) {
        if (!is_float(u)) return false;
        vectors.push_back(u);
        continue;
      }
      if (int64_t size = terms_of_sum(op); size > 1) sums.push_back(size);
      work.append(op->operand_begin(), op->operand_end());
    }
    return has_root && vectors.size() <= 1;
  }

  std::optional<ChannelGradient> match(Value v, Value x, Value g, ArrayRef<Value> vectors, int64_t count) {
    int64_t total = size_of(v), rank = int64_t(shape_of(v).size());
    // What is read counts as given, whatever it is computed from; one of it as zero.
    SmallVector<Value> given(vectors.begin(), vectors.end());
    given.append({x, g});
    auto give = [&](Sampler& s, Value zero) {
      for (Value u : given) s.set(u, u == zero ? Sampler::Field([](int64_t) { return 0.0; }) : s.random(u));
    };
    // Without a gradient there is nothing.
    Sampler nothing(1);
    give(nothing, g);
    if (nothing.get(v, total / 2) != 0 || nothing.exhausted()) return std::nullopt;
    Sampler s(1);
    give(s, x);
    double eps = s.get(root_->getOperand(0), 0);
    if (!(eps >= -1e-12 && eps <= 0.1)) return std::nullopt;
    eps = eps < 1e-14 ? 0 : tidy_number(eps);
    for (int64_t channel : {int64_t(1), rank - 1}) {
      if (channel == rank - 1 && channel == 1 && rank > 2) continue;
      int64_t c = shape_of(v)[channel];
      auto is_vector = [&](Value u) { return size_of(u) == c && llvm::count_if(shape_of(u), [](int64_t d) { return d != 1; }) <= 1; };
      if (c < 2 || !llvm::all_of(vectors, is_vector)) continue;
      ChannelGradient found;
      found.dx = v, found.g = g;
      found.norm.x = x, found.norm.y = v, found.norm.channel = channel, found.norm.eps = eps;
      if (!vectors.empty()) found.norm.weight = vectors[0];
      int64_t per_item = total / shape_of(v)[0];
      bool plain = vectors.empty() && rank < 4;
      if (count == total / c && fits(found, ChannelNorm::Training, 0)) return found;
      if (rank > 2 && per_item % count == 0 && c % (per_item / count) == 0 && !plain && fits(found, ChannelNorm::Group, per_item / count)) return found;
      if (rank == 2) break;
    }
    return std::nullopt;
  }

  bool fits(ChannelGradient& found, ChannelNorm::Kind kind, int64_t groups) {
    found.norm.kind = kind, found.norm.groups = groups;
    double d = distance(found);
    if (d <= tolerance_of(found.dx)) {
      if (narrows(found.dx, {found.norm.x, found.g, found.norm.weight})) return false;
      find_sums(found);
      return true;
    }
    if (d < near) near = d, near_norm = found.norm;
    return false;
  }

  // Mean and reciprocal deviation of what shares them with a place.
  static std::pair<double, double> statistics(Sampler& s, const ChannelNorm& norm, ArrayRef<int64_t> at) {
    double count = 0, mean = 0, variance = 0;
    auto x = [&](ArrayRef<int64_t> place) { return s.get(norm.x, ravel(place, shape_of(norm.y))); };
    for_each_place(norm, at, [&](ArrayRef<int64_t> place) { mean += x(place), ++count; });
    mean /= count;
    for_each_place(norm, at, [&](ArrayRef<int64_t> place) { variance += std::pow(x(place) - mean, 2); });
    return {mean, 1 / std::sqrt(variance / count + norm.eps)};
  }
  static void set_inputs(Sampler& s, const ChannelGradient& found, double scale, double size = 1) {
    s.set(found.norm.x, s.random(found.norm.x, scale));
    s.set(found.g, s.random(found.g, size));
    if (found.norm.weight) s.set(found.norm.weight, s.random(found.norm.weight));
  }

  static double distance(const ChannelGradient& found) {
    double worst = 0;
    const ChannelNorm& norm = found.norm;
    for (unsigned seed : {71u, 72u, 73u}) {
      Sampler s(seed);
      double size = seed == 73 ? 1e6 : 1;  // a large gradient, of which what is cut off shows
      set_inputs(s, found, seed == 72 ? 3 : 1, size);
      SmallVector<int64_t> at;
      for (int64_t d : shape_of(norm.y)) at.push_back(seed == 71 ? d - 1 : d / 3);
      auto [m, r] = statistics(s, norm, at);
      auto x = [&, m = m, r = r](ArrayRef<int64_t> place) { return (s.get(norm.x, ravel(place, shape_of(norm.y))) - m) * r; };
      auto g = [&](ArrayRef<int64_t> place) { return s.get(found.g, ravel(place, shape_of(norm.y))) * (norm.weight ? s.get(norm.weight, place[norm.channel]) : 1); };
      double count = 0, mean = 0, product = 0;
      for_each_place(norm, at, [&](ArrayRef<int64_t> place) { mean += g(place), product += g(place) * x(place), ++count; });
      double expected = r * (g(at) - mean / count - x(at) * product / count), actual = s.get(found.dx, at);
      double off = std::fabs(actual - expected) / std::max(0.1 * r * size, std::fabs(expected));
      worst = std::isnan(off) || s.exhausted() ? INFINITY : std::max(worst, off);
      if (worst > kNearNorm) break;
    }
    return worst;
  }

  // The sums over all places of a channel: of g x̂ and of g.
  void find_sums(ChannelGradient& found) {
    const ChannelNorm& norm = found.norm;
    int64_t c = norm.channels();
    if (size_of(found.dx) > kLargest) return;
    Sampler s(81);
    set_inputs(s, found, 1);
    SmallVector<std::pair<double, double>> expected;
    for (int64_t channel : {int64_t(0), c - 1}) {
      double dweight = 0, dbias = 0;
      for (int64_t item = 0; item < (norm.kind == ChannelNorm::Group ? shape_of(norm.y)[0] : 1); ++item) {
        SmallVector<int64_t> at(shape_of(norm.y).size(), 0);
        at[0] = item, at[norm.channel] = channel;
        auto [m, r] = statistics(s, norm, at);
        for_each_place(norm, at, [&, m = m, r = r](ArrayRef<int64_t> place) {
          if (place[norm.channel] != channel) return;
          double g = s.get(found.g, ravel(place, shape_of(norm.y)));
          dweight += g * (s.get(norm.x, ravel(place, shape_of(norm.y))) - m) * r, dbias += g;
        });
      }
      expected.push_back({dweight, dbias});
    }
    auto wanted = [&](Value v) { return size_of(v) == c && llvm::count_if(shape_of(v), [](int64_t d) { return d != 1; }) == 1 && type_of(v).getElementType() == type_of(found.dx).getElementType(); };
    auto candidates = values_behind(program_, found.g, 160, wanted);
    for (Value v : llvm::reverse(candidates)) {
      double first = s.get(v, 0), last = s.get(v, c - 1);
      auto is = [&](double a, double b) { return std::fabs(a - b) <= kTolerance * std::max(1.0, std::fabs(b)) * (is_narrow(v) ? 4e3 : 1); };
      if (s.exhausted()) return;
      if (!found.dweight && is(first, expected[0].first) && is(last, expected[1].first)) found.dweight = v;
      else if (!found.dbias && is(first, expected[0].second) && is(last, expected[1].second)) found.dbias = v;
    }
  }

  Program& program_;
  Operation* root_;
  ChannelMemory& memory_;
};

View vector_view(Value v) {
  View view{v, {}, {size_of(v)}};
  for (int64_t d = 0; d < type_of(v).getRank(); ++d) view.permutation.push_back(d);
  return view;
}

// The norm of this value in the program, for its statistics.
CompositeOp forward_of(Program& program, const ChannelNorm& norm) {
  auto source = [](Value v) {
    while (Operation* op = v.getDefiningOp()) {
      if (!isa<ReshapeOp, TransposeOp>(op)) break;
      v = op->getOperand(0);
    }
    return v;
  };
  for (auto op : program.block.getOps<CompositeOp>()) {
    if (op.getName() != norm.name() || op->getNumResults() != 3 || source(op->getOperand(0)) != source(norm.x)) continue;
    auto eps = op.getCompositeAttributes().getAs<FloatAttr>("eps");
    auto groups = op.getCompositeAttributes().getAs<IntegerAttr>("group");
    auto training = op.getCompositeAttributes().getAs<BoolAttr>("training");
    if (!eps || std::fabs(eps.getValueAsDouble() - norm.eps) > 1e-9) continue;
    if (norm.kind == ChannelNorm::Group ? groups && groups.getInt() == norm.groups : training && training.getValue()) return op;
  }
  return {};
}

CompositeOp write_forward(Program& program, const ChannelNorm& norm, Value x) {
  OpBuilder b(program.module.getContext());
  Location loc = norm.x.getLoc();
  SmallVector<NamedAttribute> attributes{b.getNamedAttr("eps", b.getF64FloatAttr(norm.eps))};
  if (norm.kind == ChannelNorm::Group) {
    attributes.append(norm_attributes(b, norm, shape_of(x)));
  } else {
    attributes.push_back(b.getNamedAttr("momentum", b.getF64FloatAttr(0.1)));
    attributes.push_back(b.getNamedAttr("training", b.getBoolAttr(true)));
  }
  auto op = program.insert(*find_composite(norm.name()), b.getDictionaryAttr(attributes), {x}, loc, [&](OpBuilder& inside, ArrayRef<Value> a) -> SmallVector<Value> {
    Emit e(inside, loc);
    auto found = norm_statistics(e, a[0], norm);
    // Normalised in the statistics' shape of rows.
    int64_t items = shape_of(x)[0], c = shape_of(x)[1], rest = size_of(x) / items / c;
    bool group = norm.kind == ChannelNorm::Group;
    SmallVector<int64_t> dims = group ? SmallVector<int64_t>{2} : SmallVector<int64_t>{0, 2};
    Value rows = e.reshape(e.convert(a[0], type_of(found[0]).getElementType()), group ? SmallVector<int64_t>{items, norm.groups, c / norm.groups * rest} : SmallVector<int64_t>{items, c, rest});
    Value y = e.mul(e.sub(rows, e.spread(found[0], dims, rows)), e.spread(found[1], dims, rows));
    return {e.convert(e.reshape(y, shape_of(x)), type_of(x).getElementType()), found[0], found[1]};
  });
  program.renumber();
  return op;
}

void outline_gradient(Program& program, ChannelGradient& found, RaiseReport& report) {
  OpBuilder b(program.module.getContext());
  const ChannelNorm& norm = found.norm;
  SmallVector<Value> results{found.dx};
  for (Value v : {found.dweight, found.dbias})
    if (v) results.push_back(v);
  DenseSet<Value> operands{norm.x, found.g};
  if (norm.weight) operands.insert(norm.weight);
  DenseSet<Operation*> region;
  for (Value v : results)
    for (Operation* op : operations_between(operands, v)) region.insert(op);
  std::string place = where(found.dx);
  auto forward = forward_of(program, norm);
  Value g = make_operand(b, channels_first(found.g, norm.y, norm.channel), region), x = make_operand(b, channels_first(norm.x, norm.y, norm.channel), region), weight;
  if (norm.weight) weight = make_operand(b, vector_view(norm.weight), region);
  SmallVector<Value> outputs{make_result(b, channels_first(found.dx, norm.y, norm.channel))};
  for (Value v : ArrayRef<Value>(results).drop_front()) outputs.push_back(make_result(b, vector_view(v)));
  program.renumber();
  if (!forward) {
    forward = write_forward(program, norm, x);
    report.raised.push_back(place + ": " + norm.name() + norm.describe());
  }
  Value mean = forward->getResult(1), rstd = forward->getResult(2);
  SmallVector<NamedAttribute> attributes{b.getNamedAttr("output_mask", b.getDenseBoolArrayAttr({true, bool(found.dweight), bool(found.dbias)}))};
  SmallVector<Value> inputs{g, x};
  if (norm.kind == ChannelNorm::Group) {
    inputs.append({mean, rstd});
    if (weight) inputs.push_back(weight);
    attributes.append(norm_attributes(b, norm, shape_of(x)));
  } else {
    if (weight) inputs.push_back(weight);
    inputs.append({mean, rstd});
    attributes.push_back(b.getNamedAttr("eps", b.getF64FloatAttr(norm.eps)));
    attributes.push_back(b.getNamedAttr("train", b.getBoolAttr(true)));
    attributes.push_back(b.getNamedAttr("absent_operands", b.getDenseI64ArrayAttr(weight ? ArrayRef<int64_t>{3, 4} : ArrayRef<int64_t>{2, 3, 4})));  // running statistics, weight
  }
  const Entry& entry = *find_composite(find_composite(norm.name())->backward);
  program.outline(entry, b.getDictionaryAttr(attributes), inputs, outputs);
  program.renumber();
  report.raised.push_back(place + ": " + entry.name + norm.describe());
}

}  // namespace

void raise_channel_gradients(Program& program, RaiseReport& report) {
  raise_at_norm_roots<ChannelGradientSearch>(program, report, "the gradient of ", outline_gradient);
}

}  // namespace cresset::composite
