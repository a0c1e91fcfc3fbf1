#include "cpu/prepare/narrow_integers.h"

#include <algorithm>
#include <limits>

#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Both ends included.
struct Range {
  int64_t low, high;
  bool is_narrow() const { return low >= std::numeric_limits<int32_t>::min() && high <= std::numeric_limits<int32_t>::max(); }
};
Range around(std::initializer_list<int64_t> values) { return {std::min(values), std::max(values)}; }

// The expression of 64-bit integers in front of a value, if each number in it is known to fit 32 bits.
class NarrowExpression {
 public:
  bool covers(Value v) { return range_of(v).has_value(); }

  Value made(Value v, PatternRewriter& r) {
    if (Value known = made_.lookupOrNull(v)) return known;
    Operation* op = v.getDefiningOp();
    auto type = shaped(v).clone(r.getI32Type());
    Value result;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto values = cast<DenseIntElementsAttr>(constant.getValue()).mapValues(r.getI32Type(), [](const APInt& n) { return n.trunc(32); });
      result = ConstantOp::create(r, v.getLoc(), cast<ElementsAttr>(Attribute(values)));
    } else {
      IRMapping operands;
      for (Value x : op->getOperands()) operands.map(x, is_wide(x) ? made(x, r) : x);
      Operation* again = r.clone(*op, operands);
      again->getResult(0).setType(type);
      result = again->getResult(0);
    }
    made_.map(v, result);
    return result;
  }

 private:
  static constexpr size_t kMostOperations = 32;
  static constexpr int64_t kMostConstants = 64;

  static bool is_wide(Value v) { return element(v).isSignlessInteger(64); }

  std::optional<Range> range_of(Value v) {
    if (auto known = ranges_.find(v); known != ranges_.end()) return known->second;
    if (!v.getDefiningOp() || ranges_.size() == kMostOperations) return {};
    ranges_[v] = {};
    auto range = computed(v.getDefiningOp());
    if (range && !range->is_narrow()) range = {};
    return ranges_[v] = range;
  }

  std::optional<Range> computed(Operation* op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) return range_of_constant(constant);
    if (auto iota = dyn_cast<IotaOp>(op)) return Range{0, std::max<int64_t>(shaped(iota).getDimSize(int64_t(iota.getIotaDimension())) - 1, 0)};
    if (auto convert = dyn_cast<ConvertOp>(op)) return range_of_type(element(convert.getOperand()));
    if (isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp, NegOp, AbsOp>(op)) {
      auto x = range_of(op->getOperand(0));
      if (!x) return {};
      if (isa<NegOp>(op)) return Range{-x->high, -x->low};
      return isa<AbsOp>(op) ? Range{x->low > 0 ? x->low : x->high < 0 ? -x->high : 0, std::max(-x->low, x->high)} : *x;
    }
    if (auto select = dyn_cast<SelectOp>(op)) return both(select.getOnTrue(), select.getOnFalse(), [](Range a, Range b) { return Range{std::min(a.low, b.low), std::max(a.high, b.high)}; });
    if (op->getNumOperands() != 2) return {};
    return both(op->getOperand(0), op->getOperand(1), [op](Range a, Range b) { return combined(op, a, b); });
  }

  static std::optional<Range> combined(Operation* op, Range a, Range b) {
    if (isa<AddOp>(op)) return Range{a.low + b.low, a.high + b.high};
    if (isa<SubtractOp>(op)) return Range{a.low - b.high, a.high - b.low};
    if (isa<MulOp>(op)) return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    if (isa<MaxOp>(op)) return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
    if (isa<MinOp>(op)) return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
    if (isa<DivOp>(op) && b.low > 0) return around({0, a.low, a.high});
    if (isa<RemOp>(op) && b.low > 0) return Range{std::clamp<int64_t>(a.low, 1 - b.high, 0), std::clamp<int64_t>(a.high, 0, b.high - 1)};  // of the dividend's sign
    return {};
  }

  template <class Combine>
  std::optional<Range> both(Value a, Value b, Combine combine) {
    auto x = range_of(a), y = range_of(b);
    return x && y ? std::optional<Range>(combine(*x, *y)) : std::nullopt;
  }

  static std::optional<Range> range_of_constant(ConstantOp constant) {
    auto values = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (!values || !is_wide(constant) || values.empty() || (!values.isSplat() && values.getNumElements() > kMostConstants)) return {};
    Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (const APInt& n : values) range = {std::min(range.low, n.getSExtValue()), std::max(range.high, n.getSExtValue())};
    return range;
  }
  static std::optional<Range> range_of_type(Type type) {
    auto integer = dyn_cast<IntegerType>(type);
    if (!integer || integer.getWidth() > 32) return {};
    if (integer.getWidth() == 1) return Range{0, 1};
    int64_t size = int64_t(1) << integer.getWidth();
    return integer.isUnsigned() ? Range{0, size - 1} : Range{-size / 2, size / 2 - 1};
  }

  llvm::DenseMap<Value, std::optional<Range>> ranges_;
  IRMapping made_;
};

bool is_computed_wide(Value v) {
  return element(v).isSignlessInteger(64) && v.getDefiningOp() && !isa<ConstantOp, ConvertOp>(v.getDefiningOp());
}

Value narrow_convert(ConvertOp op, PatternRewriter& r) {
  NarrowExpression expression;
  if (!is_computed_wide(op.getOperand()) || !expression.covers(op.getOperand())) return {};
  return ConvertOp::create(r, op.getLoc(), op.getType(), expression.made(op.getOperand(), r));
}

Value narrow_compare(CompareOp op, PatternRewriter& r) {
  NarrowExpression expression;
  if (!is_computed_wide(op.getLhs()) && !is_computed_wide(op.getRhs())) return {};
  if (!element(op.getLhs()).isSignlessInteger(64) || !expression.covers(op.getLhs()) || !expression.covers(op.getRhs())) return {};
  auto again = cast<CompareOp>(r.clone(*op));
  Value operands[] = {expression.made(op.getLhs(), r), expression.made(op.getRhs(), r)};
  again->setOperands(operands);
  again->moveAfter(op);
  return again;
}

}  // namespace

void add_narrow_integers(RewritePatternSet& rules) { add_rule(rules, narrow_convert), add_rule(rules, narrow_compare); }

}  // namespace cresset::cpu
