#include "cpu/prepare/sink_transposes.h"

#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr const char* kSinks = "cresset.sinks";

TransposeOp sinking(Value v) {
  auto transpose = v.getDefiningOp<TransposeOp>();
  return transpose && transpose->hasAttr(kSinks) ? transpose : TransposeOp();
}

// What is behind transposes of one permutation: dimension d of what they make is the permutation's d-th of what they read.
struct Behind {
  ArrayRef<int64_t> permutation;
  PatternRewriter& r;

  SmallVector<int64_t> moved(ArrayRef<int64_t> of_dimensions) const {
    SmallVector<int64_t> result(permutation.size());
    for (auto [d, from] : llvm::enumerate(permutation)) result[from] = of_dimensions[d];
    return result;
  }
  SmallVector<int64_t> inverse() const { return invertPermutationVector(permutation); }
  RankedTensorType type(Value v) const { return shaped(v).clone(moved(shaped(v).getShape())); }
  // The value in the order of dimensions that the transposes read; null if it would have to be transposed.
  Value value(Value v) const {
    if (auto transpose = sinking(v); transpose && transpose.getPermutation() == permutation) return transpose.getOperand();
    if (Value same = broadcast_in_order(v, inverse(), r)) return same;
    return transposed_anyway(v);
  }
  // What somebody else makes of it, or of what it is converted from.
  Value transposed_anyway(Value v) const {
    if (auto convert = v.getDefiningOp<ConvertOp>())
      if (Value x = transposed_anyway(convert.getOperand())) return ConvertOp::create(r, v.getLoc(), type(v), x);
    auto is_so = [&](Operation* user) { return isa<TransposeOp>(user) && cast<TransposeOp>(user).getPermutation() == ArrayRef<int64_t>(inverse()); };
    return llvm::any_of(v.getUsers(), is_so) ? TransposeOp::create(r, v.getLoc(), v, inverse()) : Value();
  }
  // The operation on what is behind the operands, and transposed afterwards.
  LogicalResult redo(Operation* op, ArrayRef<Value> operands, function_ref<void(Operation*)> change = {}) const {
    if (llvm::is_contained(operands, Value())) return failure();
    IRMapping map;
    for (auto [from, to] : llvm::zip(op->getOperands(), operands)) map.map(from, to);
    Operation* again = r.clone(*op, map);
    again->getResult(0).setType(type(op->getResult(0)));
    if (change) change(again);
    r.replaceOp(op, sinking_transpose(r, again->getResult(0), permutation));
    return success();
  }
};

struct SinkTranspose final : RewritePattern {
  explicit SinkTranspose(MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& r) const override {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0) return failure();
    TransposeOp transpose;
    for (Value v : op->getOperands())
      if ((transpose = sinking(v))) break;
    if (!transpose) return failure();
    Behind behind{transpose.getPermutation(), r};
    auto all = [&] { return llvm::map_to_vector(op->getOperands(), [&](Value v) { return behind.value(v); }); };
    if (is_elementwise(op)) return behind.redo(op, all());
    if (isa<SliceOp, PadOp>(op))  // of which each array has a number for each dimension
      return behind.redo(op, all(), [&](Operation* again) {
        for (NamedAttribute attribute : op->getAttrDictionary())
          if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute.getValue())) again->setAttr(attribute.getName(), r.getDenseI64ArrayAttr(behind.moved(numbers.asArrayRef())));
      });
    if (auto concatenate = dyn_cast<ConcatenateOp>(op))
      return behind.redo(op, all(), [&](Operation* again) { cast<ConcatenateOp>(again).setDimension(uint64_t(behind.permutation[concatenate.getDimension()])); });
    return failure();
  }
};

}  // namespace

bool sinks(Value v) { return bool(sinking(v)); }

bool sinks_past(Operation* op) { return is_elementwise(op) || isa<SliceOp, PadOp, ConcatenateOp>(op); }

Value sinking_transpose(OpBuilder& b, Value v, ArrayRef<int64_t> permutation) {
  auto transpose = TransposeOp::create(b, v.getLoc(), v, permutation);
  transpose->setAttr(kSinks, b.getUnitAttr());
  return transpose;
}

void add_sinking_transposes(RewritePatternSet& rules) { rules.add<SinkTranspose>(rules.getContext()); }

}  // namespace cresset::cpu
