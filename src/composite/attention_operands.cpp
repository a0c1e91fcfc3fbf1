// What stands for the operands of an attention: views of what its products are computed from, the scale and the mask.
#include <cmath>
#include <numeric>

#include "composite/attention_pattern.h"
#include "composite/sampler.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

SmallVector<int64_t> probes(int64_t size) {
  SmallVector<int64_t> all{0};
  for (int64_t k : {int64_t(1), size / 2, size - 1})
    if (k > 0 && k < size && !llvm::is_contained(all, k)) all.push_back(k);
  return all;
}

// Whether the view's element is the operand's at every place.
bool AttentionPattern::agrees(const View& view, const Path& path, size_t step, int Axis::* dim, int width_dim) const {
  int64_t total = 1;
  for (const Axis& a : batch_) total *= a.size;
  if (free_.size() == 2) total *= free_[0].size;
  int64_t batches = view.sizes[0], heads = view.sizes[1], all_heads = total / batches;
  if (total % batches || all_heads % heads) return false;
  int64_t length = dim == &Axis::query || dim == &Axis::result ? (free_.empty() ? 1 : free_.back().size) : keys_.size;
  int64_t width = width_dim < 0 ? 1 : shape_of(path.values[0])[width_dim];
  if (view.sizes[2] != length || view.sizes[3] != width) return false;
  for (int64_t n : probes(total))
    for (int64_t s : probes(length))
      for (int64_t d : probes(width)) {
        Indices at = in_operand(path.values[0], dim, n, s, s, width_dim, d);
        auto source = path.chase(at, step);
        if (!source) return false;
        int64_t seen = view.element({n / all_heads, n % all_heads / (all_heads / heads), s, d});
        if (seen != ravel(*source, shape_of(view.value))) return false;
      }
  return true;
}

View AttentionPattern::plain_view(Value v, int Axis::* dim, int width_dim, int64_t batch) const {
  View view{v, {}, {}};
  int64_t heads = 1;
  for (const Axis& a : batch_) view.permutation.push_back(a.*dim), heads *= a.size;
  for (auto [k, a] : llvm::enumerate(free_))
    if (a.*dim >= 0) {
      view.permutation.push_back(a.*dim);
      if (k + 1 < free_.size()) heads *= a.size;
    }
  int64_t length = dim == &Axis::query || dim == &Axis::result ? (free_.empty() ? 1 : free_.back().size) : keys_.size;
  if (keys_.*dim >= 0) view.permutation.push_back(keys_.*dim);
  if (width_dim >= 0) view.permutation.push_back(width_dim);
  view.sizes = {batch, heads / batch, length, width_dim < 0 ? 1 : shape_of(v)[width_dim]};
  SmallVector<int64_t> all;
  for (int64_t d = 0; d < int64_t(shape_of(v).size()); ++d)
    if (!llvm::is_contained(view.permutation, d)) view.permutation.push_back(d);
  if (llvm::is_sorted(view.permutation)) llvm::sort(view.permutation);
  return view;
}

std::vector<View> AttentionPattern::views_of(const Path& path, int Axis::* dim, int width_dim, int64_t batch) const {
  std::vector<View> all;
  int passed = 0;
  for (size_t step = 0; step < path.values.size(); ++step) {
    for (View& view : views(path.values[step], 4))
      if ((batch == 0 || view.sizes[0] == batch) && agrees(view, path, step, dim, width_dim)) view.passed = passed, all.push_back(view);
    if (Operation* op = path.values[step].getDefiningOp()) passed += isa<MulOp, DivOp>(op);
  }
  int64_t total = free_.size() == 2 ? free_[0].size : 1;
  for (const Axis& a : batch_) total *= a.size;
  if (batch != 0 && total % batch == 0) all.push_back(plain_view(path.values[0], dim, width_dim, batch));
  return all;
}

// Whether several dimensions of the value become one of the view, or the reverse.
static bool merges(const View& view) {
  auto real = [](ArrayRef<int64_t> shape) { return llvm::count_if(shape, [](int64_t d) { return d > 1; }); };
  return real(shape_of(view.value)) != real(view.sizes);
}

std::string AttentionPattern::find_operands() {
  Path query_path = same_elements(query().value), key_path = same_elements(key().value), value_path = same_elements(values().value);
  Type element = type_of(second_.getResult()).getElementType();
  for (Operation* user : second_->getResult(0).getUsers())
    if (auto convert = dyn_cast<ConvertOp>(user); convert && second_->hasOneUse() && is_float(convert)) element = type_of(convert).getElementType();
  // How batch and heads part: as in the scores, or as in what one of the operands comes from.
  SmallVector<int64_t> batches;
  auto may = [&](int64_t batch) {
    if (!llvm::is_contained(batches, batch)) batches.push_back(batch);
  };
  if (shape_of(scores()).size() == 4) may(shape_of(scores())[0]);
  for (const View& v : views_of(query_path, &Axis::query, query_width_, 0)) may(v.sizes[0]);
  for (const View& v : views_of(key_path, &Axis::key, key_width_, 0)) may(v.sizes[0]);
  may(batch_.empty() ? 1 : batch_[0].size);
  int best = 1000;
  for (int64_t batch : batches) {
    auto cost = [&](const View& v) { return (v.is_value() ? 0 : merges(v) ? 4 : 2) + (type_of(v.value).getElementType() == element ? 0 : 100) - 3 * v.passed; };
    auto nearest = [&](const std::vector<View>& all, int64_t heads) {
      const View* found = nullptr;
      for (const View& v : all)
        if ((heads == 0 || v.sizes[1] == heads) && (!found || std::pair(cost(v), v.sizes[1]) < std::pair(cost(*found), found->sizes[1]))) found = &v;
      return found;
    };
    auto q_all = views_of(query_path, &Axis::query, query_width_, batch), k_all = views_of(key_path, &Axis::key, key_width_, batch);
    auto v_all = views_of(value_path, &Axis::value, value_width_dim_, batch);
    const View* q = nearest(q_all, 0);
    for (const View& k : k_all) {
      const View* v = nearest(v_all, k.sizes[1]);
      if (!q || !v || q->sizes[1] % k.sizes[1]) continue;
      // Fewer heads of keys are what was repeated.
      int total = 4 * (cost(*q) + cost(k) + cost(*v)) + (k.sizes[1] < q->sizes[1] ? -1 : 0);
      if (total < best) best = total, query_ = *q, key_ = k, value_ = *v;
    }
  }
  if (best == 1000) return "its operands do not agree";
  if (type_of(query_.value).getElementType() != type_of(key_.value).getElementType() || type_of(key_.value).getElementType() != type_of(value_.value).getElementType())
    return "its operands have several types";
  cost_ = best;
  batches_ = query_.sizes[0], heads_ = query_.sizes[1], groups_ = heads_ / key_.sizes[1], positions_ = query_.sizes[2];
  return "";
}

std::string AttentionPattern::find_scale() {
  // The factors on the way from the operands, and the scores as a function of the product.
  auto factor = [](Value from, Value to) {
    Sampler sampler(1);
    sampler.set(to, [](int64_t) { return 1.0; });
    return sampler.get(from, 0);
  };
  double inside = factor(query().value, query_.value) * factor(key().value, key_.value);
  if (factor(values().value, value_.value) != 1) return "the values are scaled";
  double product = 0;
  Sampler sampler(2);
  sampler.skip_products();  // a position bias may be one
  sampler.vary(first_.getResult(), [&](int64_t) { return product; });
  std::optional<double> slope;
  int64_t total = batches_ * heads_;
  for (int64_t n : probes(total))
    for (int64_t i : probes(positions_))
      for (int64_t j : probes(keys_.size)) {
        auto at = in_scores(n, i, j);
        if (!at) return "the weights are rearranged";
        double s[3];
        for (int k = 0; k < 3; ++k) product = k == 2 ? -2.5 : k, sampler.forget(), s[k] = sampler.get(scores(), *at);
        if (s[0] == -INFINITY || s[0] <= kMasked) continue;  // masked
        double here = s[1] - s[0];
        if (std::fabs(s[2] - s[0] + 2.5 * here) > 1e-6 * std::max(1.0, std::fabs(here))) return "its scores are not linear in the product";
        if (slope && std::fabs(*slope - here) > 1e-6 * std::fabs(here)) return "its scale is not the same everywhere";
        slope = here;
      }
  if (!slope || !(*slope * inside > 0)) return "its scale could not be recovered";
  scale_ = *slope * inside;
  double usual = 1 / std::sqrt(double(width_));
  if (std::fabs(scale_ - usual) <= 1e-6 * usual) scale_ = usual;
  else
    for (int digits = 1; digits < 8; ++digits) {
      char text[32];
      std::snprintf(text, sizeof text, "%.*g", digits, scale_);
      if (std::fabs(std::atof(text) - scale_) <= 1e-6 * scale_) { scale_ = std::atof(text); break; }
    }
  return "";
}

std::string AttentionPattern::find_mask_operand() {
  bool is_finite = false;  // what hides later positions
  for (const Mask& mask : masks_) {
    double most = -INFINITY;
    MaskKind kind = kind_of(mask, most);
    if (kind == MaskKind::OffByOne) return "its causal mask is off by one";
    if (kind == MaskKind::Causal) is_causal_ = true, is_finite |= most != -INFINITY;
    if (kind != MaskKind::Operand) continue;
    if (operand_) return "it has several masks";
    operand_ = &mask;
    find_mask_view(mask);
    if (!mask_.value) return "its mask has no place";
    if (is_scaled(mask)) return "its mask is scaled";
  }
  // A query that sees no key but those that the other mask hides has some of the later ones as well.
  return operand_ && is_finite ? "it has several masks" : "";
}

// Near the diagonal everywhere, and at the ends; what seems to be nothing or causal then at all places, or at as many as one can wait for. `most`: of what hides.
AttentionPattern::MaskKind AttentionPattern::kind_of(const Mask& mask, double& most) const {
  // Its value at a place: 0, or what is added.
  Sampler sampler(3);
  sampler.skip_products();
  auto at = [&](int64_t n, int64_t i, int64_t j) {
    auto place = above_softmax(n, i, j, mask.step);
    if (!place) return double(NAN);
    double v = sampler.get(mask.value, shape_of(mask.value).empty() ? 0 : ravel(*place, shape_of(mask.value)));
    if (!isa<SelectOp>(mask.op)) return v;
    return (v != 0) == mask.keeps ? 0.0 : mask.low;
  };
  bool nothing = true, causal = true, above = true, below = true;  // the last two: one position too many is seen, or one too few
  for (int64_t n : probes(batches_ * heads_))
    for (int64_t i = 0; i < positions_; i += n == 0 ? 1 : std::max<int64_t>(1, positions_ / 7)) {
      SmallVector<int64_t> js = probes(keys_.size);
      for (int64_t j = i - 2; j <= i + 3; ++j)
        if (j >= 0 && j < keys_.size) js.push_back(j);
      for (int64_t j : js) {
        double v = at(n, i, j);
        bool masked = v <= kMasked;
        if (masked) most = std::max(most, v);
        if (v != 0) nothing = false;
        if (!(v == 0 || masked)) causal = above = below = false;
        causal &= masked == (j > i), above &= masked == (j > i + 1), below &= masked == (j > i - 1);
      }
      if (!sampler.leaves().empty() && !causal && !nothing) return MaskKind::Operand;
    }
  if (!sampler.leaves().empty()) return MaskKind::Operand;
  if (nothing || causal) {
    constexpr int64_t kMost = 1 << 18, kBlock = 1 << 12;
    int64_t total = batches_ * heads_ * positions_ * keys_.size, step = std::max<int64_t>(1, total / kMost);
    while (std::gcd(step, total) != 1) ++step;
    // Layers have the same mask.
    size_t structure = llvm::hash_combine(structure_of(mask.value, {}), mask.op->getName().getAsOpaquePointer(), mask.keeps, llvm::bit_cast<uint64_t>(mask.low), batches_ * heads_, positions_, keys_.size, nothing);
    for (int64_t n : probes(batches_ * heads_))
      for (int64_t i : probes(positions_))
        for (int64_t j : probes(keys_.size))
          if (auto place = above_softmax(n, i, j, mask.step)) structure = llvm::hash_combine(structure, llvm::hash_combine_range(place->begin(), place->end()));
    auto [known, is_new] = verified_.try_emplace(structure);
    for (int64_t k = 0, at_place = 0; is_new && known->second.empty() && k < total; k += step, ++at_place) {
      if (at_place % kBlock == 0) sampler = Sampler(3), sampler.skip_products();
      int64_t j = k % keys_.size, i = k / keys_.size % positions_;
      double v = at(k / keys_.size / positions_, i, j);
      if (!(v == 0 || v <= kMasked) || (v != 0) != (!nothing && j > i)) known->second = "it is hidden elsewhere";
    }
    if (known->second.empty()) return nothing ? MaskKind::None : MaskKind::Causal;
    return MaskKind::Operand;
  }
  return (above || below) && positions_ == keys_.size && positions_ > 2 ? MaskKind::OffByOne : MaskKind::Operand;
}

// The value that is spread over the scores: the smallest, and among its views the one that is the value.
void AttentionPattern::find_mask_view(const Mask& mask) {
  Path path = same_elements(mask.value);
  for (size_t step = 0; step < path.values.size(); ++step) {
    if (step > 0 && !is_layout(path.values[step - 1].getDefiningOp())) break;
    bool found = false;
    for (View& view : views(path.values[step], 4)) {
      if (!is_mask(view, mask, path, step)) continue;
      if (!found || view.is_value()) mask_ = view;
      found = true;
    }
    bool is_spread = step + 1 < path.values.size() && isa<BroadcastInDimOp>(path.values[step].getDefiningOp());
    if (found && !is_spread) break;
  }
}
bool AttentionPattern::is_mask(const View& view, const Mask& mask, const Path& path, size_t step) const {
  int64_t full[4] = {batches_, heads_, positions_, keys_.size};
  for (int r = 0; r < 4; ++r)
    if (view.sizes[r] != 1 && view.sizes[r] != full[r]) return false;
  for (int64_t b : probes(batches_))
    for (int64_t h : probes(heads_))
      for (int64_t i : probes(positions_))
        for (int64_t j : probes(keys_.size)) {
          auto top = above_softmax(b * heads_ + h, i, j, mask.step);
          auto source = top ? path.chase(*top, step) : std::nullopt;
          int64_t where[4] = {view.sizes[0] == 1 ? 0 : b, view.sizes[1] == 1 ? 0 : h, view.sizes[2] == 1 ? 0 : i, view.sizes[3] == 1 ? 0 : j};
          if (!source || view.element(where) != ravel(*source, shape_of(view.value))) return false;
        }
  return true;
}

// A mask that is added before the scale is scaled itself.
bool AttentionPattern::is_scaled(const Mask& mask) const {
  if (isa<SelectOp>(mask.op)) return false;
  Sampler sampler(4);
  sampler.set(DotGeneralOp(first_).getResult(), [](int64_t) { return 0.0; });
  sampler.set(mask.value, [](int64_t) { return 1.0; });
  auto place = in_scores(0, positions_ - 1, 0);
  return std::fabs((place ? sampler.get(scores(), *place) : NAN) - 1) > 1e-6;
}

}  // namespace cresset::composite
