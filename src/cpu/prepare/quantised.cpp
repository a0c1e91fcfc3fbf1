#include "cpu/prepare/quantised.h"

#include <cmath>

#include "cpu/emit/types.h"
#include "cpu/prepare/rewrite.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// A value that is the same along some dimensions of an operand: `value`, whose dimensions are these of it; or a number.
struct Spread {
  Value value;
  SplatElementsAttr number;
  SmallVector<int64_t> dims;
};
std::optional<Spread> spread_of(Value v) {
  if (auto broadcast = v.getDefiningOp<BroadcastInDimOp>()) return Spread{broadcast.getOperand(), {}, SmallVector<int64_t>(broadcast.getBroadcastDimensions())};
  auto number = splat(v);
  return number ? std::optional(Spread{{}, number, {}}) : std::nullopt;
}
// The number, if it is a whole one that a byte or the negative of one may be, so that sums of its products stay within i32.
std::optional<int64_t> whole_number(const Spread& s) {
  if (!s.number) return std::nullopt;
  bool is_float = isa<FloatType>(s.number.getElementType());
  double n = is_float ? s.number.getSplatValue<APFloat>().convertToDouble() : double(s.number.getSplatValue<APInt>().getSExtValue());
  return n == std::trunc(n) && std::abs(n) <= 255 ? std::optional(int64_t(n)) : std::nullopt;
}

// (bytes - zero) * scale. The bytes may have to be transposed.
struct Quantised {
  Value bytes;
  TransposeOp transpose;
  std::optional<Spread> zero;
  Spread scale;
};
std::optional<Quantised> quantised(Value v) {
  if (auto transpose = v.getDefiningOp<TransposeOp>()) {
    auto q = quantised(transpose.getOperand());
    if (!q || q->transpose) return std::nullopt;
    q->transpose = transpose;
    SmallVector<int64_t> place(transpose.getPermutation().size());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation())) place[from] = to;
    for (int64_t& d : q->scale.dims) d = place[d];
    if (q->zero)
      for (int64_t& d : q->zero->dims) d = place[d];
    return q;
  }
  auto multiply = v.getDefiningOp<MulOp>();
  if (!multiply || !element(v).isF32()) return std::nullopt;
  Quantised q;
  Value difference = multiply.getLhs();
  auto scale = spread_of(multiply.getRhs());
  if (!scale) scale = spread_of(multiply.getLhs()), difference = multiply.getRhs();
  if (!scale) return std::nullopt;
  q.scale = *scale;
  auto subtracted = [&](Value v) {  // in floats, or in integers before the conversion to these
    auto subtract = v.getDefiningOp<SubtractOp>();
    if (!subtract) return v;
    q.zero = spread_of(subtract.getRhs());
    return q.zero ? subtract.getLhs() : v;
  };
  auto converted = [](Value v) {
    auto convert = v.getDefiningOp<ConvertOp>();
    return convert ? convert.getOperand() : Value();
  };
  q.bytes = converted(subtracted(difference));
  if (q.bytes && !q.zero && isa<IntegerType>(element(q.bytes)) && element(q.bytes).getIntOrFloatBitWidth() >= 32) q.bytes = converted(subtracted(q.bytes));
  return q.bytes && is_byte(element(q.bytes)) ? std::optional(q) : std::nullopt;
}

struct MultiplyQuantised final : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;

  // One side of a product: its dimensions, and where they are in the result.
  struct Side {
    Value operand;
    ArrayRef<int64_t> batch, summed;
    SmallVector<int64_t> place;  // of each dimension; -1 if it is summed
    Quantised q;

    bool is_summed(int64_t d) const { return llvm::is_contained(summed, d); }
    bool varies(const Spread& s) const {
      return s.value && llvm::any_of(llvm::zip(s.dims, shaped(s.value).getShape()), [&](auto d) { return is_summed(std::get<0>(d)) && std::get<1>(d) != 1; });
    }
    Value bytes(PatternRewriter& r) { return q.transpose ? TransposeOp::create(r, q.bytes.getLoc(), q.bytes, q.transpose.getPermutation()) : q.bytes; }
    bool is_good() const { return !varies(q.scale) && (!q.zero || !varies(*q.zero)); }
  };

  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter& r) const override {
    constexpr int64_t kMostTerms = 32768;  // of 255 * 255 each
    if (!element(op).isF32()) return failure();
    auto dims = op.getDotDimensionNumbers();
    Side x{op.getLhs(), dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions(), {}, {}};
    Side y{op.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions(), {}, {}};
    int64_t free = x.batch.size(), terms = 1;
    for (Side* side : {&x, &y})
      for (int64_t d = 0; d < shaped(side->operand).getRank(); ++d) {
        auto* batch = llvm::find(side->batch, d);
        side->place.push_back(side->is_summed(d) ? -1 : batch != side->batch.end() ? batch - side->batch.begin() : free++);
      }
    for (int64_t d : x.summed) terms *= shaped(x.operand).getDimSize(d);
    auto qx = quantised(x.operand), qy = quantised(y.operand);
    if (!qx && !qy) return failure();
    if (qx) x.q = *qx;
    if (qy) y.q = *qy;
    if ((qx && !x.is_good()) || (qy && !y.is_good())) return failure();
    if (!qx || !qy) return scale_afterwards(op, r, qx ? x : y);
    if (terms > kMostTerms) return failure();
    r.replaceOp(op, scaled(scaled(differences(op, r, x, y, terms), x, r), y, r));
    return success();
  }

 private:
  static Value in_result(Spread s, const Side& side, RankedTensorType to, PatternRewriter& r) {
    if (s.number) return ConstantOp::create(r, side.operand.getLoc(), s.number.resizeSplat(to.clone(s.number.getElementType())));
    SmallVector<int64_t> shape, dims;
    for (auto [d, size] : llvm::zip(s.dims, shaped(s.value).getShape()))
      if (!side.is_summed(d)) shape.push_back(size), dims.push_back(side.place[d]);
    Type type = element(s.value);
    Value v = s.value;
    if (shape.size() != s.dims.size()) v = ReshapeOp::create(r, v.getLoc(), RankedTensorType::get(shape, type), v);
    return BroadcastInDimOp::create(r, v.getLoc(), to.clone(type), v, dims);
  }
  static Value scaled(Value v, const Side& side, PatternRewriter& r) { return MulOp::create(r, v.getLoc(), v, in_result(side.q.scale, side, shaped(v), r)); }

  // Of one operand that is quantised, around 0, the scale alone: its bytes become floats where they are read.
  static LogicalResult scale_afterwards(DotGeneralOp op, PatternRewriter& r, Side& side) {
    if (side.q.zero) return failure();
    Value floats = ConvertOp::create(r, op.getLoc(), shaped(side.operand), side.bytes(r));
    bool is_left = side.operand == op.getLhs();
    Value product = DotGeneralOp::create(r, op.getLoc(), op.getType(), is_left ? floats : op.getLhs(), is_left ? op.getRhs() : floats, op.getDotDimensionNumbers(), op.getPrecisionConfigAttr());
    r.replaceOp(op, scaled(product, side, r));
    return success();
  }

  // The sum of (x - its zero) (y - its zero). Zeros that are not known may be any numbers: with them it is computed in f64, exactly as well.
  static Value differences(DotGeneralOp op, PatternRewriter& r, Side& x, Side& y, int64_t terms) {
    Location loc = op.getLoc();
    auto to = [&](Value v, Type type) { return element(v) == type ? v : Value(ConvertOp::create(r, loc, shaped(v).clone(type), v)); };
    bool known = llvm::all_of(ArrayRef{&x, &y}, [](Side* side) { return !side->q.zero || whole_number(*side->q.zero); });
    Type i32 = r.getI32Type(), type = known ? i32 : Type(r.getF64Type());
    Value bytes_x = x.bytes(r), bytes_y = y.bytes(r);
    bool alike = element(bytes_x) == element(bytes_y);
    Value product = DotGeneralOp::create(r, loc, shaped(op).clone(i32), alike ? bytes_x : to(bytes_x, i32), alike ? bytes_y : to(bytes_y, i32), op.getDotDimensionNumbers(), ArrayAttr());
    Value result = to(product, type);
    // Converted in the result's shape: kernels of products have no place for what belongs to a row alone.
    auto in_type = [&](const Spread& s, const Side& side) { return to(in_result(s, side, shaped(product), r), type); };
    for (auto [side, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
      if (!side->q.zero || (known && whole_number(*side->q.zero) == 0)) continue;
      Spread sums = sum(r, to(other->bytes(r), i32), *other);
      result = SubtractOp::create(r, loc, result, MulOp::create(r, loc, in_type(*side->q.zero, *side), in_type(sums, *other)));
    }
    if (x.q.zero && y.q.zero) {
      auto attribute = isa<FloatType>(type) ? TypedAttr(r.getFloatAttr(type, double(terms))) : TypedAttr(r.getIntegerAttr(type, terms));
      Value count = ConstantOp::create(r, loc, cast<ElementsAttr>(DenseElementsAttr::get(shaped(result), attribute)));
      result = AddOp::create(r, loc, result, MulOp::create(r, loc, count, MulOp::create(r, loc, in_type(*x.q.zero, x), in_type(*y.q.zero, y))));
    }
    return to(result, r.getF32Type());
  }
  // Over what the product sums.
  static Spread sum(PatternRewriter& r, Value v, const Side& side) {
    Spread result;
    for (int64_t d = 0; d < shaped(v).getRank(); ++d)
      if (!side.is_summed(d)) result.dims.push_back(d);
    SmallVector<int64_t> summed(side.summed);
    llvm::sort(summed);
    result.value = sum_over(r, v, summed);
    return result;
  }
};

}  // namespace

void add_quantised_products(RewritePatternSet& rules) { rules.add<MultiplyQuantised>(rules.getContext()); }

}  // namespace cresset::cpu
