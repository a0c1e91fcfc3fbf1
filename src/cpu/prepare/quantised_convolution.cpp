#include "cpu/convolution/convolution.h"
#include "cpu/emit/types.h"
#include "cpu/prepare/channels_last.h"
#include "cpu/prepare/quantised.h"
#include "cpu/prepare/quantised_operand.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/simplify_convolution.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// A convolution of which every number is quantised, with channels as the last dimension, and, but within channels, nothing left of the padding: it is the input's zero.
class ConvolveQuantised final : public OpRewritePattern<ConvolutionOp> {
 public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter& r) const override {
    auto x = quantised(op.getLhs()), w = quantised(op.getRhs());
    if (!x || !w || !is_good(op) || !is_good(op, *x, *w)) return failure();
    note_assumption(*w);
    auto dims = op.getDimensionNumbers();
    Location loc = op.getLoc();
    auto [image, zero] = unsigned_bytes(x->all_bytes(r), x->zero ? *whole_number(*x->zero) : 0, r);
    Value kernel = signed_bytes(w->all_bytes(r), r);
    auto padding = padding_of(op);
    SmallVector<int64_t> none(padding.size(), 0);
    if (!is_depthwise(op)) {
      image = padded(image, dims.getInputSpatialDimensions(), padding, dims.getInputFeatureDimension(), zero, r);
      kernel = padded(kernel, dims.getKernelSpatialDimensions(), none, dims.getKernelInputFeatureDimension(), 0, r);
    }
    image = image_with_channels_last(op, image, r), kernel = (is_depthwise(op) ? kernel_with_places_first : kernel_with_channels_last)(op, kernel, r);
    Value result = is_depthwise(op) ? product_within_channels(op, image, kernel, zero, r) : product(op, zero ? less(image, zero, r) : converted(image, r.getI32Type(), r), kernel, r);
    result = converted(result, element(op), r);
    for (Spread* scale : {&x->scale, &w->scale}) result = MulOp::create(r, loc, result, of_features(*scale, shaped(result), r));
    r.replaceOp(op, as_result_of(op, result, r));
    return success();
  }

 private:
  static constexpr int64_t kFewestFeatures = 16, kMostTerms = 32768;
  static constexpr int64_t kMostPlaces = 512;  // of a window within a channel: sums of so many products of bytes are exact in f32

  static bool is_good(ConvolutionOp op) {
    bool negative = llvm::any_of(padding_of(op), [](int64_t p) { return p < 0; });
    auto kernel = shaped(op.getRhs());
    auto dims = op.getDimensionNumbers();
    int64_t channels = kernel.getDimSize(dims.getKernelInputFeatureDimension()), features = kernel.getDimSize(dims.getKernelOutputFeatureDimension());
    return element(op).isF32() && shaped(op).getRank() >= 3 && shaped(op).getNumElements() && is_plain(op) && !negative &&
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
  static Value moved(Value bytes, int64_t by, Type to, PatternRewriter& r) {
    Value wide = converted(bytes, r.getI32Type(), r);
    return converted(AddOp::create(r, bytes.getLoc(), wide, constant(shaped(wide), by, r)), to, r);
  }
  // In i32.
  static Value product(ConvolutionOp op, Value image, Value kernel, PatternRewriter& r) {
    kernel = converted(kernel, r.getI32Type(), r);
    auto made = convolution_with_channels_last(op, image, kernel, r.getI32Type(), r);
    made.removePaddingAttr();  // the image has it
    return made;
  }
  // Of windows within one channel: vectors lie along these, by weights [place, 1, feature]. In f32, of which machines multiply and add more than of i32, and exactly.
  static Value product_within_channels(ConvolutionOp op, Value image, Value kernel, int64_t zero, PatternRewriter& r) {
    kernel = converted(kernel, r.getF32Type(), r), image = converted(image, r.getF32Type(), r);
    if (zero) image = SubtractOp::create(r, op.getLoc(), image, constant(shaped(image), zero, r));
    return depthwise_with_channels_last(op, image, kernel, r.getF32Type(), r);
  }
  // Unsigned by signed bytes are what machines multiply.
  static std::pair<Value, int64_t> unsigned_bytes(Value bytes, int64_t zero, PatternRewriter& r) {
    if (is_unsigned(element(bytes))) return {bytes, zero};
    return {moved(bytes, 128, r.getIntegerType(8, false), r), zero + 128};
  }
  static Value signed_bytes(Value bytes, PatternRewriter& r) { return is_unsigned(element(bytes)) ? moved(bytes, -128, r.getI8Type(), r) : bytes; }
  // Around the image, and up to whole fours of channels.
  static Value padded(Value v, ArrayRef<int64_t> spatial, ArrayRef<int64_t> padding, int64_t channel, int64_t number, PatternRewriter& r) {
    SmallVector<int64_t> low(shaped(v).getRank(), 0), high(low), none(low);
    for (auto [i, d] : llvm::enumerate(spatial)) low[d] = padding[2 * i], high[d] = padding[2 * i + 1];
    high[channel] = round_up(shaped(v).getDimSize(channel), 4) - shaped(v).getDimSize(channel);
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

void add_quantised_convolutions(RewritePatternSet& rules) { rules.add<ConvolveQuantised>(rules.getContext()); }

}  // namespace cresset::cpu
