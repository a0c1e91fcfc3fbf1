#include "composite/raise_channels.h"

#include <cmath>

#include "composite/emit.h"
#include "composite/rows.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

bool is_step(Operation* op) { return is_pointwise(op) || is_layout(op) || isa<ReduceOp>(op); }
}  // namespace

int64_t terms_of_sum(Operation* op) {
  return isa<ReduceOp>(op) ? type_of(op->getOperand(0)).getNumElements() / std::max<int64_t>(1, type_of(op->getResult(0)).getNumElements()) : 1;
}

bool may_be_of_norm(ArrayRef<int64_t> terms) { return terms.size() > 1 && llvm::all_equal(terms); }

std::string ChannelNorm::describe() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (kind == Group) out << " group=" << groups;
  else out << (kind == Training ? " training" : " inference");
  out << " eps=" << llvm::format("%g", eps);
  return text;
}

void for_each_place(const ChannelNorm& norm, ArrayRef<int64_t> at, const std::function<void(ArrayRef<int64_t>)>& visit) {
  SmallVector<int64_t> low(at.size(), 0), high(shape_of(norm.y));
  int64_t size = norm.kind == ChannelNorm::Group ? norm.channels() / norm.groups : 1;
  low[norm.channel] = at[norm.channel] / size * size, high[norm.channel] = low[norm.channel] + size;
  if (norm.kind == ChannelNorm::Group) low[0] = at[0], high[0] = at[0] + 1;
  SmallVector<int64_t> place(low);
  for (bool more = true; more;) {
    visit(place);
    more = false;
    for (size_t d = place.size(); d-- > 0 && !more;) {
      if (++place[d] < high[d]) more = true;
      else place[d] = low[d];
    }
  }
}

namespace {

// How far the region is from the norm.
double distance(const ChannelNorm& norm) {
  double worst = 0;
  for (unsigned seed : {21u, 22u, 23u}) {
    Sampler s(seed);
    s.set(norm.x, s.random(norm.x, seed == 22 ? 3 : 1));
    for (Value v : {norm.weight, norm.bias, norm.mean}) if (v) s.set(v, s.random(v));
    if (norm.variance) {
      auto root = s.random(norm.variance);
      s.set(norm.variance, [=](int64_t at) { return root(at) * root(at) + 0.1; });
    }
    SmallVector<int64_t> at;
    for (int64_t d : shape_of(norm.y)) at.push_back(seed == 21 ? 0 : seed == 22 ? d - 1 : d / 2);
    int64_t c = at[norm.channel];
    double mean = 0, variance = 0, x = s.get(norm.x, ravel(at, shape_of(norm.y)));
    if (norm.kind == ChannelNorm::Inference) {
      mean = s.get(norm.mean, c), variance = s.get(norm.variance, c);
    } else {
      double count = 0;
      for_each_place(norm, at, [&](ArrayRef<int64_t> place) { mean += s.get(norm.x, ravel(place, shape_of(norm.y))), ++count; });
      mean /= count;
      for_each_place(norm, at, [&](ArrayRef<int64_t> place) { variance += std::pow(s.get(norm.x, ravel(place, shape_of(norm.y))) - mean, 2); });
      variance /= count;
    }
    double expected = (x - mean) / std::sqrt(variance + norm.eps) * (norm.weight ? s.get(norm.weight, c) : 1) + (norm.bias ? s.get(norm.bias, c) : 0);
    double found = s.get(norm.y, at), off = std::fabs(found - expected) / std::max(0.1, std::fabs(expected));
    worst = std::isnan(off) || s.exhausted() ? INFINITY : std::max(worst, off);
    if (worst > kNearNorm) break;
  }
  return worst;
}

// The search around one reciprocal root of a variance.
class ChannelSearch {
 public:
  ChannelSearch(Program& program, Operation* root, ChannelMemory& memory) : program_(program), root_(root), memory_(memory) {}

  std::optional<ChannelNorm> find() {
    std::optional<ChannelNorm> best;
    for (Value y : ends()) {
      if (best && program_.position(y) < program_.position(best->y)) break;
      for (Value x : starts(y)) {
        auto found = match(x, y);
        if (found) best = found;  // the farthest start
      }
    }
    return best;
  }
  double near = INFINITY;
  ChannelNorm near_norm;

 private:
  // Full values computed from the root, the last first.
  SmallVector<Value> ends() {
    SmallVector<Value> work{root_->getResult(0)}, all;
    DenseSet<Value> seen;
    while (!work.empty() && seen.size() < 64) {
      Value v = work.pop_back_val();
      for (Operation* user : v.getUsers()) {
        if (user->getBlock() != &program_.block || !is_step(user) || isa<ReduceOp>(user) || is_norm_root(*user) || !is_float(user->getResult(0)) || !seen.insert(user->getResult(0)).second) continue;
        work.push_back(user->getResult(0));
        if (shape_of(user->getResult(0)).size() >= 2) all.push_back(user->getResult(0));
      }
    }
    llvm::sort(all, [&](Value a, Value b) { return program_.position(a) > program_.position(b); });
    if (all.size() > 16) all.erase(all.begin(), all.end() - 16);
    return all;
  }

  bool depends_on_full(Value v, int64_t size) {
    auto [known, is_new] = memory_.from_full.insert({{v, size}, false});
    if (!is_new) return known->second;
    Operation* op = v.getDefiningOp();
    bool result = is_float(v) && type_of(v).getNumElements() == size && !constant_number(v);
    // A vector that is spread has the size, but is none.
    if (result && op && isa<BroadcastInDimOp>(op) && type_of(op->getOperand(0)).getNumElements() != size) result = depends_on_full(op->getOperand(0), size);
    else if (result && op && is_pointwise(op)) result = llvm::any_of(op->getOperands(), [&](Value u) { return depends_on_full(u, size); });
    else if (!result && op && is_step(op))
      for (Value operand : op->getOperands()) result |= depends_on_full(operand, size);
    return memory_.from_full[{v, size}] = result;
  }

  SmallVector<Value> starts(Value y) {
    int64_t size = type_of(y).getNumElements();
    SmallVector<Value> all;
    for (auto& cut : cuts(program_, y, is_step, [&](Value u) { return !depends_on_full(u, size); }, 1))
      if (cut[0] != y && type_of(cut[0]).getElementType() == type_of(y).getElementType() && type_of(cut[0]).getNumElements() == size) all.push_back(cut[0]);
    return all;
  }

  // Vectors that the region reads, and how many terms its sums have.
  bool read(Value x, Value y, SmallVector<Value>& vectors, SmallVector<int64_t>& sums) {
    SmallVector<Value> work{y};
    DenseSet<Value> seen;
    bool has_root = false;
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (v == x || constant_number(v) || !seen.insert(v).second) continue;
      if (seen.size() > 128) return false;
      Operation* op = v.getDefiningOp();
      has_root |= op == root_;
      // Two roots are two norms.
      if (op && op != root_ && is_norm_root(*op)) return false;
      if (!op || !is_step(op)) {
        if (!is_float(v)) return false;
        vectors.push_back(v);
        continue;
      }
      if (isa<ReduceOp>(op)) {
        if (!is_float(op->getOperand(0))) return false;
        if (int64_t size = terms_of_sum(op); size > 1) sums.push_back(size);
      }
      work.append(op->operand_begin(), op->operand_end());
    }
    return has_root && vectors.size() <= 4;
  }

  std::optional<ChannelNorm> match(Value x, Value y) {
    SmallVector<Value> vectors;
    SmallVector<int64_t> sums;
    if (!read(x, y, vectors, sums)) return std::nullopt;
    SmallVector<Value> inputs{x};
    llvm::append_range(inputs, vectors);
    size_t structure = llvm::hash_combine(structure_of(y, inputs), structure_of(root_->getOperand(0), inputs));
    if (auto miss = memory_.misses.find(structure); miss != memory_.misses.end()) {
      note_near(miss->second.distance, miss->second.norm, y);
      return std::nullopt;
    }
    ChannelMemory::Miss nearest;
    for (ChannelNorm& norm : candidates(x, y, vectors, sums)) {
      if (!(norm.eps >= -1e-12 && norm.eps <= 0.1)) continue;
      norm.eps = norm.eps < 1e-14 ? 0 : tidy_number(norm.eps);
      double d = distance(norm);
      if (d <= tolerance_of(norm.x)) return norm;
      if (d < nearest.distance) nearest = {d, norm};
    }
    memory_.misses[structure] = nearest;
    note_near(nearest.distance, nearest.norm, y);
    return std::nullopt;
  }

  // The norms that it may be.
  SmallVector<ChannelNorm> candidates(Value x, Value y, ArrayRef<Value> vectors, ArrayRef<int64_t> sums) {
    SmallVector<ChannelNorm> all;
    int64_t rank = int64_t(shape_of(y).size());
    SmallVector<int64_t> channels{1};
    if (rank > 2) channels.push_back(rank - 1);
    for (int64_t channel : channels) {
      int64_t c = shape_of(y)[channel];
      auto is_vector = [&](Value v) { return type_of(v).getNumElements() == c && llvm::count_if(shape_of(v), [](int64_t d) { return d != 1; }) <= 1; };
      if (c < 2 || !llvm::all_of(vectors, is_vector) || (x.getType() != y.getType() && channel != 1)) continue;
      ChannelNorm norm;
      norm.x = x, norm.y = y, norm.channel = channel;
      if (sums.empty()) add_with_given_statistics(norm, vectors, all);
      else if (may_be_of_norm(sums)) add_with_own_statistics(norm, vectors, sums[0], all);
    }
    return all;
  }
  void add_with_given_statistics(ChannelNorm norm, ArrayRef<Value> vectors, SmallVector<ChannelNorm>& all) {
    // The variance is what the root is of.
    Value variance;
    if (auto path = climb(root_->getOperand(0), [&](Value v) { return llvm::is_contained(vectors, v); })) variance = path->values.back();
    if (!variance || (vectors.size() != 4 && vectors.size() != 2)) return;
    Sampler s(1);
    s.set(variance, [](int64_t) { return 0.0; });
    norm.variance = variance, norm.eps = s.get(root_->getOperand(0), 0);
    SmallVector<Value> others;
    for (Value v : vectors) if (v != variance) others.push_back(v);
    SmallVector<int> order;
    for (size_t k = 0; k < others.size(); ++k) order.push_back(int(k));
    do {
      norm.mean = others[order[0]];
      if (others.size() == 3) norm.weight = others[order[1]], norm.bias = others[order[2]];
      all.push_back(norm);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  // `count` elements share a mean.
  void add_with_own_statistics(ChannelNorm norm, ArrayRef<Value> vectors, int64_t count, SmallVector<ChannelNorm>& all) {
    if (vectors.size() > 2) return;
    Sampler s(1);
    s.set(norm.x, [](int64_t) { return 0.0; });
    norm.eps = s.get(root_->getOperand(0), 0);
    int64_t rank = int64_t(shape_of(norm.y).size()), total = type_of(norm.y).getNumElements(), per_item = total / shape_of(norm.y)[0], c = norm.channels();
    for (int flip = 0; flip < (vectors.size() == 2 ? 2 : 1); ++flip) {
      if (!vectors.empty()) norm.weight = vectors[flip];
      if (vectors.size() == 2) norm.bias = vectors[1 - flip];
      if (count == total / c) norm.kind = ChannelNorm::Training, all.push_back(norm);
      // Over the last dimensions without a weight of channels it is a layer norm.
      bool plain = vectors.empty() && rank < 4;
      if (rank > 2 && per_item % count == 0 && c % (per_item / count) == 0 && !plain) norm.kind = ChannelNorm::Group, norm.groups = per_item / count, all.push_back(norm);
    }
  }

  void note_near(double distance, const ChannelNorm& norm, Value y) {
    if (distance < near) near = distance, near_norm = norm, near_norm.y = y;
  }

  Program& program_;
  Operation* root_;
  ChannelMemory& memory_;
};

}  // namespace

// `v` in y's shape, channels in dimension 1.
View channels_first(Value v, Value y, int64_t channel) {
  if (v.getType() != y.getType()) {
    View view{v, {}, SmallVector<int64_t>(shape_of(y))};
    for (int64_t d = 0; d < int64_t(shape_of(v).size()); ++d) view.permutation.push_back(d);
    return view;
  }
  View view{v, {0, channel}, {}};
  for (int64_t d = 1; d < int64_t(shape_of(v).size()); ++d)
    if (d != channel) view.permutation.push_back(d);
  for (int64_t d : view.permutation) view.sizes.push_back(shape_of(v)[d]);
  return view;
}

// Mean and reciprocal deviation of x, channels in dimension 1, as the operator returns them.
SmallVector<Value> norm_statistics(Emit& e, Value x, const ChannelNorm& norm) {
  int64_t items = shape_of(x)[0], c = shape_of(x)[1], size = type_of(x).getNumElements() / items / c;
  bool group = norm.kind == ChannelNorm::Group;
  if (is_narrow(x)) x = e.convert(x, Float32Type::get(x.getContext()));
  SmallVector<int64_t> dims{2};
  if (group) x = e.reshape(x, {items, norm.groups, c / norm.groups * size});
  else x = e.reshape(x, {items, c, size}), dims = {0, 2};
  auto mean = [&](Value v) {
    Value sum = e.sum(v, dims);
    return e.div(sum, e.number(group ? double(c / norm.groups * size) : double(items * size), sum));
  };
  Value m = mean(x), shifted = e.sub(x, e.spread(m, dims, x)), square = mean(e.mul(shifted, shifted));
  return {m, e.rsqrt(e.add(square, e.number(norm.eps, square)))};
}

SmallVector<NamedAttribute> norm_attributes(OpBuilder& b, const ChannelNorm& norm, ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t d : shape.drop_front(2)) size *= d;
  SmallVector<NamedAttribute> attributes;
  const std::pair<const char*, int64_t> numbers[] = {{"N", shape[0]}, {"C", shape[1]}, {"HxW", size}, {"group", norm.groups}};
  for (auto [name, number] : numbers) attributes.push_back(b.getNamedAttr(name, b.getI64IntegerAttr(number)));
  return attributes;
}

namespace {

void outline_norm(Program& program, ChannelNorm& norm, RaiseReport& report) {
  OpBuilder b(program.module.getContext());
  SmallVector<Value> operands{norm.x}, inputs;
  for (Value v : {norm.weight, norm.bias, norm.mean, norm.variance})
    if (v) operands.push_back(v);
  auto region = operations_between(DenseSet<Value>(operands.begin(), operands.end()), norm.y);
  std::string place = where(norm.y);
  inputs.push_back(make_operand(b, channels_first(norm.x, norm.y, norm.channel), region));
  for (Value v : ArrayRef<Value>(operands).drop_front()) inputs.push_back(make_operand(b, views(v, 1)[0], region));
  Value out = make_result(b, channels_first(norm.y, norm.y, norm.channel));
  program.renumber();
  SmallVector<NamedAttribute> attributes{b.getNamedAttr("eps", b.getF64FloatAttr(norm.eps))};
  if (norm.kind == ChannelNorm::Group) {
    attributes.append(norm_attributes(b, norm, shape_of(out)));
  } else {
    attributes.push_back(b.getNamedAttr("momentum", b.getF64FloatAttr(0.1)));
    attributes.push_back(b.getNamedAttr("training", b.getBoolAttr(norm.kind == ChannelNorm::Training)));
    if (norm.mean && !norm.weight) attributes.push_back(b.getNamedAttr("absent_operands", b.getDenseI64ArrayAttr({1, 2})));  // weight and bias
  }
  // The statistics, as the operator returns them.
  auto extend = [&](OpBuilder& inside, SmallVectorImpl<Value>& returned) {
    Emit e(inside, out.getLoc());
    if (norm.kind == ChannelNorm::Inference) {
      auto none = RankedTensorType::get({0}, inside.getF32Type());
      for (int k = 0; k < 2; ++k) returned.push_back(ConstantOp::create(inside, out.getLoc(), DenseElementsAttr::get(none, ArrayRef<float>{})));
      return;
    }
    for (Value v : norm_statistics(e, inside.getInsertionBlock()->getArgument(0), norm)) returned.push_back(v);
  };
  program.outline(*find_composite(norm.name()), b.getDictionaryAttr(attributes), inputs, {out}, extend);
  program.renumber();
  report.raised.push_back(place + ": " + norm.name() + norm.describe());
}

}  // namespace

void raise_channels(Program& program, RaiseReport& report) {
  raise_at_norm_roots<ChannelSearch>(program, report, "", outline_norm);
}

}  // namespace cresset::composite
