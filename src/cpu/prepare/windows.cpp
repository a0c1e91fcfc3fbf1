#include "cpu/prepare/windows.h"

#include "cpu/fusion.h"
#include "cpu/prepare/rewrite.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

int64_t low_padding(ReduceWindowOp op, size_t d) { return op.getPadding() ? op.getPadding()->getValues<int64_t>()[2 * d] : 0; }
int64_t high_padding(ReduceWindowOp op, size_t d) { return op.getPadding() ? op.getPadding()->getValues<int64_t>()[2 * d + 1] : 0; }

struct ReduceWindows : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceWindowOp op, PatternRewriter& b) const override {
    constexpr int64_t kMostPlaces = 64;  // each is code of its own
    Operation* reducer = op.getInputs().size() == 1 ? simple_reducer(op.getBody().front()) : nullptr;
    if (!reducer || shaped(op.getResult(0)).getNumElements() == 0 || scanned_dimension(op)) return failure();
    if (auto reduced = as_reduction(op, b)) return b.replaceOp(op, reduced), success();
    if (product(op.getWindowDimensions()) > kMostPlaces) {
      if (!is_separable(op, reducer)) return failure();
      b.replaceOp(op, one_after_the_other(op, b));
      return success();
    }
    b.replaceOp(op, place_by_place(op, reducer, b));
    return success();
  }

 private:
  static Value as_reduction(ReduceWindowOp op, PatternRewriter& b) {
    Value input = op.getInputs()[0];
    auto shape = shaped(input).getShape(), window = op.getWindowDimensions();
    SmallVector<int64_t> dims, kept;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool is_whole = window[d] == shape[d] && or_one(op.getWindowDilations(), d) == 1, is_one = window[d] == 1 && or_one(op.getWindowStrides(), d) == 1;
      if (low_padding(op, d) || high_padding(op, d) || or_one(op.getBaseDilations(), d) != 1 || !(is_whole || is_one)) return nullptr;
      if (window[d] != 1) dims.push_back(int64_t(d));
      else kept.push_back(shape[d]);
    }
    if (dims.empty()) return nullptr;
    auto reduce = ReduceOp::create(b, op.getLoc(), RankedTensorType::get(kept, element(op.getResult(0))), op.getInputs(), op.getInitValues(), b.getDenseI64ArrayAttr(dims));
    b.cloneRegionBefore(op.getBody(), reduce.getBody(), reduce.getBody().end());
    return ReshapeOp::create(b, op.getLoc(), op.getResult(0).getType(), reduce.getResult(0));
  }

  // Whether the dimensions may be reduced one after the other: each begins with the initial value again.
  static bool is_separable(ReduceWindowOp op, Operation* reducer) {
    const bool several = llvm::count_if(op.getWindowDimensions(), [](int64_t n) { return n > 1; }) > 1;
    return several && (isa<MaxOp, MinOp>(reducer) || (isa<AddOp>(reducer) && is_neutral(reducer, op.getInitValues()[0])));
  }
  static Value one_after_the_other(ReduceWindowOp op, PatternRewriter& b) {
    auto result = cast<RankedTensorType>(op.getResult(0).getType());
    const size_t rank = size_t(result.getRank());
    Value v = op.getInputs()[0];
    for (size_t d = 0; d < rank; ++d) {
      // A window of one place may still move by more, or be padded.
      auto only = [&](int64_t n, int64_t other) {
        SmallVector<int64_t> all(rank, other);
        all[d] = n;
        return b.getDenseI64ArrayAttr(all);
      };
      SmallVector<int64_t> padding(2 * rank, 0), shape(shaped(v).getShape());
      padding[2 * d] = low_padding(op, d), padding[2 * d + 1] = high_padding(op, d), shape[d] = result.getDimSize(unsigned(d));
      auto along = ReduceWindowOp::create(b, op.getLoc(), TypeRange{result.clone(shape)}, ValueRange{v}, op.getInitValues(), only(op.getWindowDimensions()[d], 1), only(or_one(op.getWindowStrides(), d), 1),
                                          only(or_one(op.getBaseDilations(), d), 1), only(or_one(op.getWindowDilations(), d), 1),
                                          DenseIntElementsAttr::get(RankedTensorType::get({int64_t(rank), 2}, b.getI64Type()), padding));
      b.cloneRegionBefore(op.getBody(), along.getBody(), along.getBody().end());
      v = along.getResult(0);
    }
    return v;
  }

  // As the specification says: what is padded is the initial value.
  static Value place_by_place(ReduceWindowOp op, Operation* reducer, PatternRewriter& b) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    const size_t rank = size_t(type.getRank());
    SmallVector<int64_t> low, high, interior, strides;
    for (size_t d = 0; d < rank; ++d) {
      low.push_back(low_padding(op, d)), high.push_back(high_padding(op, d));
      interior.push_back(or_one(op.getBaseDilations(), d) - 1), strides.push_back(or_one(op.getWindowStrides(), d));
    }
    Value init = op.getInitValues()[0], padded = PadOp::create(b, op.getLoc(), op.getInputs()[0], init, low, high, interior), result = BroadcastInDimOp::create(b, op.getLoc(), type, init, b.getDenseI64ArrayAttr({}));
    for (int64_t i = 0, count = product(op.getWindowDimensions()); i < count; ++i) {
      int64_t rest = i;
      SmallVector<int64_t> begin(rank), end(rank);
      for (size_t d = rank; d-- > 0; rest /= op.getWindowDimensions()[d]) {
        begin[d] = rest % op.getWindowDimensions()[d] * or_one(op.getWindowDilations(), d);
        end[d] = begin[d] + (type.getDimSize(unsigned(d)) - 1) * strides[d] + 1;
      }
      Value slice = SliceOp::create(b, op.getLoc(), padded, begin, end, strides);
      OperationState combined(op.getLoc(), reducer->getName(), {result, slice}, {type});
      result = b.create(combined)->getResult(0);
    }
    return result;
  }
};

}  // namespace

std::optional<size_t> scanned_dimension(ReduceWindowOp op) {
  auto shape = shaped(op.getInputs()[0]).getShape(), window = op.getWindowDimensions();
  if (shaped(op.getResult(0)).getShape() != shape || !all_ones(op.getWindowStrides()) || !all_ones(op.getBaseDilations()) || !all_ones(op.getWindowDilations())) return std::nullopt;
  std::optional<size_t> result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (window[d] == 1 && low_padding(op, d) == 0) continue;
    if (result || window[d] != shape[d] || low_padding(op, d) != shape[d] - 1) return std::nullopt;
    result = d;
  }
  return result;
}

void add_windows(RewritePatternSet& rules) { rules.add<ReduceWindows>(rules.getContext()); }

}  // namespace cresset::cpu
