#include "cpu/prepare/quantised.h"

#include "cpu/emit/types.h"
#include "cpu/prepare/quantised_operand.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Of both operands, or of one.
class MultiplyQuantised final : public OpRewritePattern<DotGeneralOp> {
 public:
  MultiplyQuantised(MLIRContext* context, bool one_operand) : OpRewritePattern(context), one_operand_(one_operand) {}

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
    bool is_good() const { return !varies(q.scale) && (!q.zero || !varies(*q.zero)); }
  };

  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter& r) const override {
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
    if ((!qx && !qy) || one_operand_ == (qx && qy)) return failure();
    if (qx) x.q = *qx;
    if (qy) y.q = *qy;
    if ((qx && !x.is_good()) || (qy && !y.is_good())) return failure();
    if (!qx || !qy) return scale_afterwards(op, r, qx ? x : y);
    if (terms > std::numeric_limits<int32_t>::max() / (x.q.reach() * y.q.reach())) return failure();
    note_assumption(x.q), note_assumption(y.q);
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
    note_assumption(side.q);
    Value floats = ConvertOp::create(r, op.getLoc(), shaped(side.operand), side.q.all_bytes(r));
    bool is_left = side.operand == op.getLhs();
    Value product = DotGeneralOp::create(r, op.getLoc(), op.getType(), is_left ? floats : op.getLhs(), is_left ? op.getRhs() : floats, op.getDotDimensionNumbers(), op.getPrecisionConfigAttr());
    r.replaceOp(op, scaled(product, side, r));
    return success();
  }

  // The sum of (x - its zero) (y - its zero). A number is taken away from the left bytes where the product reads them. Zeros that are not known may be any numbers: with them it is
  // computed in f64, exactly as well.
  static Value differences(DotGeneralOp op, PatternRewriter& r, Side& x, Side& y, int64_t terms) {
    Location loc = op.getLoc();
    auto to = [&](Value v, Type type) { return converted(v, type, r); };
    Type i32 = r.getI32Type();
    Value left = x.q.all_bytes(r), right = y.q.all_bytes(r);
    auto left_zero = x.q.zero ? whole_number(*x.q.zero) : std::optional<int64_t>(0);
    if (left_zero) left = *left_zero ? less(left, *left_zero, r) : left, x.q.zero.reset();
    bool known = left_zero && (!y.q.zero || whole_number(*y.q.zero)), alike = element(left) == element(right);
    Type type = known ? i32 : Type(r.getF64Type());
    Value product = DotGeneralOp::create(r, loc, shaped(op).clone(i32), alike ? left : to(left, i32), alike ? right : to(right, i32), op.getDotDimensionNumbers(), ArrayAttr());
    Value result = to(product, type);
    // Converted in the result's shape: kernels of products have no place for what belongs to a row alone.
    auto in_type = [&](const Spread& s, const Side& side) { return to(in_result(s, side, shaped(product), r), type); };
    for (auto [side, other, factor] : {std::tuple(&x, &y, right), std::tuple(&y, &x, left)}) {
      if (!side->q.zero || (known && whole_number(*side->q.zero) == 0)) continue;
      Spread sums = sum(r, to(factor, i32), *other);
      result = SubtractOp::create(r, loc, result, MulOp::create(r, loc, in_type(*side->q.zero, *side), in_type(sums, *other)));
    }
    if (x.q.zero && y.q.zero) {
      Value zeros = MulOp::create(r, loc, in_type(*x.q.zero, x), in_type(*y.q.zero, y));
      result = AddOp::create(r, loc, result, MulOp::create(r, loc, constant(shaped(result), terms, r), zeros));
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

  bool one_operand_;
};

}  // namespace

void add_quantised_products(RewritePatternSet& rules) { rules.add<MultiplyQuantised>(rules.getContext(), false); }
void add_products_of_one_quantised(RewritePatternSet& rules) { rules.add<MultiplyQuantised>(rules.getContext(), true); }

}  // namespace cresset::cpu
