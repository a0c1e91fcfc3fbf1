#include "cpu/prepare/quantised.h"

#include <cmath>

#include "cpu/emit/types.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/sink_transposes.h"
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
  BlockArgument assumed = {};  // to be 0: the zero that it had

  Value all_bytes(PatternRewriter& r) { return transpose ? TransposeOp::create(r, bytes.getLoc(), bytes, transpose.getPermutation()) : bytes; }
};

// The argument that a zero is, which is 0 nearly always: PyTorch quantises weights around 0, but has a zero for each row of them all the same.
BlockArgument given_zero(const Spread& zero) {
  constexpr int64_t kMost = 1 << 16;
  Value v = zero.value;
  while (v && v.getDefiningOp() && isa<ReshapeOp, BroadcastInDimOp, TransposeOp, ConvertOp>(v.getDefiningOp())) v = v.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast_or_null<BlockArgument>(v);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  bool is_free = function && !function->hasAttr(kAssumesNothing) && !function.getArgAttr(argument.getArgNumber(), "tf.aliasing_output");
  return is_free && isa<IntegerType>(element(v)) && shaped(v).getNumElements() <= kMost ? argument : BlockArgument();
}
void note_assumption(const Quantised& q) {
  if (!q.assumed) return;
  auto function = cast<func::FuncOp>(q.assumed.getOwner()->getParentOp());
  function.setArgAttr(q.assumed.getArgNumber(), kAssumedZero, UnitAttr::get(function.getContext()));
}
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
  if (!q.bytes || !is_byte(element(q.bytes))) return std::nullopt;
  if (q.zero && (q.assumed = given_zero(*q.zero))) q.zero.reset();
  return q;
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

  // The sum of (x - its zero) (y - its zero). Zeros that are not known may be any numbers: with them it is computed in f64, exactly as well.
  static Value differences(DotGeneralOp op, PatternRewriter& r, Side& x, Side& y, int64_t terms) {
    Location loc = op.getLoc();
    auto to = [&](Value v, Type type) { return element(v) == type ? v : Value(ConvertOp::create(r, loc, shaped(v).clone(type), v)); };
    bool known = llvm::all_of(ArrayRef{&x, &y}, [](Side* side) { return !side->q.zero || whole_number(*side->q.zero); });
    Type i32 = r.getI32Type(), type = known ? i32 : Type(r.getF64Type());
    Value bytes_x = x.q.all_bytes(r), bytes_y = y.q.all_bytes(r);
    bool alike = element(bytes_x) == element(bytes_y);
    Value product = DotGeneralOp::create(r, loc, shaped(op).clone(i32), alike ? bytes_x : to(bytes_x, i32), alike ? bytes_y : to(bytes_y, i32), op.getDotDimensionNumbers(), ArrayAttr());
    Value result = to(product, type);
    // Converted in the result's shape: kernels of products have no place for what belongs to a row alone.
    auto in_type = [&](const Spread& s, const Side& side) { return to(in_result(s, side, shaped(product), r), type); };
    for (auto [side, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
      if (!side->q.zero || (known && whole_number(*side->q.zero) == 0)) continue;
      Spread sums = sum(r, to(other->q.all_bytes(r), i32), *other);
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

// A convolution of which every number is quantised, with channels as the last dimension, and nothing left of the padding: it is the input's zero.
class ConvolveQuantised final : public OpRewritePattern<ConvolutionOp> {
 public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter& r) const override {
    auto x = quantised(op.getLhs()), w = quantised(op.getRhs());
    if (!x || !w || !is_good(op) || !is_good(op, *x, *w)) return failure();
    note_assumption(*w);
    auto dims = op.getDimensionNumbers();
    Location loc = op.getLoc();
    const int64_t last = shaped(op).getRank() - 1;
    auto [image, zero] = unsigned_bytes(x->all_bytes(r), x->zero ? *whole_number(*x->zero) : 0, r);
    Value kernel = signed_bytes(w->all_bytes(r), r);
    image = to_last(image, dims.getInputBatchDimension(), dims.getInputSpatialDimensions(), dims.getInputFeatureDimension(), r);
    kernel = to_last(kernel, dims.getKernelOutputFeatureDimension(), dims.getKernelSpatialDimensions(), dims.getKernelInputFeatureDimension(), r);
    SmallVector<int64_t> padding(2 * (last - 1), 0);
    if (op.getPadding()) padding = llvm::to_vector(op.getPadding()->getValues<int64_t>());
    bool fours = !is_depthwise(op);
    image = padded(image, padding, zero, fours, r), kernel = padded(kernel, SmallVector<int64_t>(padding.size(), 0), 0, fours, r);

    SmallVector<int64_t> shape{shaped(image).getDimSize(0)};
    for (int64_t d : dims.getOutputSpatialDimensions()) shape.push_back(shaped(op).getDimSize(d));
    shape.push_back(shaped(kernel).getDimSize(0));
    auto type = RankedTensorType::get(shape, r.getI32Type());
    Value result = is_depthwise(op) ? sum_of_places(op, image, kernel, type, r) : product(op, image, kernel, type, r);
    if (zero) {
      Value sums = sum_over(r, converted(kernel, element(result), r), llvm::to_vector(llvm::seq<int64_t>(1, last + 1)));
      sums = MulOp::create(r, loc, sums, constant(shaped(sums), zero, r));
      result = SubtractOp::create(r, loc, result, BroadcastInDimOp::create(r, loc, shaped(result), sums, ArrayRef<int64_t>{last}));
    }
    result = converted(result, element(op), r);
    for (Spread* scale : {&x->scale, &w->scale}) result = MulOp::create(r, loc, result, of_features(*scale, shaped(result), r));
    SmallVector<int64_t> back(last + 1);
    back[dims.getOutputBatchDimension()] = 0, back[dims.getOutputFeatureDimension()] = last;
    for (auto [i, d] : llvm::enumerate(dims.getOutputSpatialDimensions())) back[d] = int64_t(i) + 1;
    r.replaceOp(op, sinking_transpose(r, result, back));
    return success();
  }

 private:
  static constexpr int64_t kFewestFeatures = 16, kMostTerms = 32768;
  static constexpr int64_t kMostPlaces = 32;  // of a window that is written out; sums of so many products of bytes are exact in f32

  static bool is_depthwise(ConvolutionOp op) {
    auto dims = op.getDimensionNumbers();
    int64_t channels = shaped(op.getLhs()).getDimSize(dims.getInputFeatureDimension());
    return channels > 1 && int64_t(op.getFeatureGroupCount()) == channels && shaped(op.getRhs()).getDimSize(dims.getKernelOutputFeatureDimension()) == channels;
  }

  static bool is_good(ConvolutionOp op) {
    auto ones = [](std::optional<ArrayRef<int64_t>> v) { return !v || llvm::all_of(*v, [](int64_t n) { return n == 1; }); };
    bool negative = op.getPadding() && llvm::any_of(op.getPadding()->getValues<int64_t>(), [](int64_t p) { return p < 0; });
    bool reversed = op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true);
    auto kernel = shaped(op.getRhs());
    auto dims = op.getDimensionNumbers();
    int64_t channels = kernel.getDimSize(dims.getKernelInputFeatureDimension()), features = kernel.getDimSize(dims.getKernelOutputFeatureDimension());
    return element(op).isF32() && shaped(op).getRank() >= 3 && shaped(op).getNumElements() && op.getBatchGroupCount() == 1 && ones(op.getLhsDilation()) && !negative && !reversed &&
           features >= kFewestFeatures && kernel.getNumElements() / features <= (is_depthwise(op) ? kMostPlaces : kMostTerms) &&
           (is_depthwise(op) || (op.getFeatureGroupCount() == 1 && channels >= 3));
  }
  static bool is_good(ConvolutionOp op, const Quantised& x, const Quantised& w) {
    auto is_alike = [](const Spread& s, int64_t but) {
      return !s.value || llvm::all_of(llvm::zip(s.dims, shaped(s.value).getShape()), [&](auto d) { return std::get<0>(d) == but || std::get<1>(d) == 1; });
    };
    auto zero = x.zero ? whole_number(*x.zero) : std::optional<int64_t>(0);
    int64_t lowest = is_unsigned(element(x.bytes)) ? 0 : -128;
    if (x.assumed || !zero || *zero < lowest || *zero > lowest + 255 || !is_alike(x.scale, -1)) return false;
    std::optional<int64_t> middle = is_unsigned(element(w.bytes)) ? 128 : 0;
    auto zero_of_kernel = w.zero ? whole_number(*w.zero) : std::optional<int64_t>(0);
    return zero_of_kernel == middle && is_alike(w.scale, op.getDimensionNumbers().getKernelOutputFeatureDimension());
  }
  static Value converted(Value v, Type to, PatternRewriter& r) { return element(v) == to ? v : Value(ConvertOp::create(r, v.getLoc(), shaped(v).clone(to), v)); }
  static Value constant(RankedTensorType type, int64_t number, PatternRewriter& r) {
    Type of = type.getElementType();
    auto attribute = isa<FloatType>(of) ? TypedAttr(r.getFloatAttr(of, double(number))) : TypedAttr(r.getIntegerAttr(of, number));
    return ConstantOp::create(r, r.getUnknownLoc(), cast<ElementsAttr>(Attribute(DenseElementsAttr::get(type, attribute))));
  }
  static Value moved(Value bytes, int64_t by, Type to, PatternRewriter& r) {
    Value wide = converted(bytes, r.getI32Type(), r);
    return converted(AddOp::create(r, bytes.getLoc(), wide, constant(shaped(wide), by, r)), to, r);
  }
  // In i32.
  static Value product(ConvolutionOp op, Value image, Value kernel, RankedTensorType type, PatternRewriter& r) {
    int64_t last = type.getRank() - 1;
    auto spatial = llvm::to_vector(llvm::seq<int64_t>(1, last));
    auto made = cast<ConvolutionOp>(r.clone(*op));
    made->setOperands({converted(image, r.getI32Type(), r), converted(kernel, r.getI32Type(), r)});
    made->moveBefore(op);
    made.setDimensionNumbersAttr(ConvDimensionNumbersAttr::get(r.getContext(), 0, last, spatial, last, 0, spatial, 0, last, spatial));
    made.removePaddingAttr();
    made->getResult(0).setType(type);
    return made;
  }
  // Of windows within one channel, place after place: element-wise, with vectors along the channels. In f32, of which machines multiply and add more than of i32, and exactly.
  static Value sum_of_places(ConvolutionOp op, Value image, Value kernel, RankedTensorType type, PatternRewriter& r) {
    Location loc = op.getLoc();
    type = type.clone(r.getF32Type());
    const int64_t rank = type.getRank(), features = type.getShape().back(), count = shaped(kernel).getNumElements() / features;
    auto or_one = [](std::optional<ArrayRef<int64_t>> v, size_t i) { return v ? (*v)[i] : 1; };
    // Weights [place, feature].
    Value weights = ReshapeOp::create(r, loc, RankedTensorType::get({features, count}, element(kernel)), kernel);
    weights = converted(TransposeOp::create(r, loc, weights, ArrayRef<int64_t>{1, 0}), r.getF32Type(), r);
    Value sum;
    for (int64_t place = 0; place < count; ++place) {
      SmallVector<int64_t> first(rank, 0), end{type.getDimSize(0)}, step(rank, 1);
      end.resize(rank, features);
      for (int64_t d = rank - 2, left = place; d >= 1; left /= shaped(kernel).getDimSize(d), --d) {
        first[d] = left % shaped(kernel).getDimSize(d) * or_one(op.getRhsDilation(), d - 1), step[d] = or_one(op.getWindowStrides(), d - 1);
        end[d] = first[d] + (type.getDimSize(d) - 1) * step[d] + 1;
      }
      Value seen = converted(SliceOp::create(r, loc, image, first, end, step), r.getF32Type(), r);
      Value weight = SliceOp::create(r, loc, weights, ArrayRef<int64_t>{place, 0}, ArrayRef<int64_t>{place + 1, features}, ArrayRef<int64_t>{1, 1});
      weight = ReshapeOp::create(r, loc, RankedTensorType::get({features}, r.getF32Type()), weight);
      Value term = MulOp::create(r, loc, seen, BroadcastInDimOp::create(r, loc, type, weight, ArrayRef<int64_t>{rank - 1}));
      sum = sum ? Value(AddOp::create(r, loc, sum, term)) : term;
    }
    return sum;
  }
  // Unsigned by signed bytes are what machines multiply.
  static std::pair<Value, int64_t> unsigned_bytes(Value bytes, int64_t zero, PatternRewriter& r) {
    if (is_unsigned(element(bytes))) return {bytes, zero};
    return {moved(bytes, 128, r.getIntegerType(8, false), r), zero + 128};
  }
  static Value signed_bytes(Value bytes, PatternRewriter& r) { return is_unsigned(element(bytes)) ? moved(bytes, -128, r.getI8Type(), r) : bytes; }
  static Value to_last(Value v, int64_t first, ArrayRef<int64_t> spatial, int64_t last, PatternRewriter& r) {
    SmallVector<int64_t> order{first};
    llvm::append_range(order, spatial);
    order.push_back(last);
    return TransposeOp::create(r, v.getLoc(), v, order);
  }
  // Around the image, and up to whole fours of channels.
  static Value padded(Value v, ArrayRef<int64_t> padding, int64_t number, bool fours, PatternRewriter& r) {
    int64_t rank = shaped(v).getRank();
    SmallVector<int64_t> low(rank, 0), high(rank, 0), none(rank, 0);
    for (int64_t d = 1; d + 1 < rank; ++d) low[d] = padding[2 * (d - 1)], high[d] = padding[2 * (d - 1) + 1];
    if (fours) high[rank - 1] = round_up(shaped(v).getDimSize(rank - 1), 4) - shaped(v).getDimSize(rank - 1);
    if (low == none && high == none) return v;
    auto scalar = RankedTensorType::get({}, element(v));
    Value fill = ConstantOp::create(r, v.getLoc(), cast<ElementsAttr>(Attribute(DenseElementsAttr::get(scalar, APInt(8, uint64_t(number))))));
    return PadOp::create(r, v.getLoc(), v, fill, low, high, none);
  }
  // One number, or one for each feature.
  static Value of_features(Spread& s, RankedTensorType to, PatternRewriter& r) {
    if (s.number) return ConstantOp::create(r, r.getUnknownLoc(), s.number.resizeSplat(to));
    auto from = shaped(s.value);
    int64_t count = from.getNumElements();
    SmallVector<int64_t> shape, dims;
    if (count > 1) shape.push_back(count), dims.push_back(to.getRank() - 1);
    Value flat = ReshapeOp::create(r, s.value.getLoc(), from.clone(shape), s.value);
    return BroadcastInDimOp::create(r, s.value.getLoc(), to, flat, dims);
  }
};

}  // namespace

void add_quantised_products(RewritePatternSet& rules) { rules.add<MultiplyQuantised, ConvolveQuantised>(rules.getContext()); }

}  // namespace cresset::cpu
