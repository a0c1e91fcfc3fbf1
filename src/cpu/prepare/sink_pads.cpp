#include "cpu/prepare/sink_pads.h"

#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "interpreter/scalar.h"
#include "mlir/IR/IRMapping.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The operand of an element-wise operation that is no constant; null if it isn't the only one.
Value only_variable(Operation* op) {
  Value variable;
  for (Value v : op->getOperands()) {
    if (splat(v)) continue;
    if (variable) return {};
    variable = v;
  }
  return variable;
}

interpreter::Number number_of(SplatElementsAttr s) { return interpreter::from_attribute(s.resizeSplat(RankedTensorType::get({}, s.getElementType()))).values[0]; }

struct SinkPad final : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertOp op, PatternRewriter& r) const override {
    if (!is_byte(element(op)) || is_byte(element(op.getOperand()))) return failure();
    SmallVector<Operation*> chain{op};
    Value v = op.getOperand();
    PadOp pad;
    while (!(pad = v.getDefiningOp<PadOp>())) {
      Operation* from = v.getDefiningOp();
      if (!from || !is_elementwise(from) || !from->hasOneUse()) return failure();
      chain.push_back(from);
      if (!(v = only_variable(from))) return failure();
    }
    auto padding = splat(pad.getPaddingValue());
    if (!padding || !pad->hasOneUse()) return failure();
    Value numbers = pad.getOperand();
    interpreter::Number outside = number_of(padding);
    for (Operation* each : llvm::reverse(chain)) {
      std::optional<interpreter::Number> made = then(each, outside);
      if (!made) return failure();
      outside = *made;
    }
    for (Operation* each : llvm::reverse(chain)) numbers = again(each, numbers, r);
    auto scalar = RankedTensorType::get({}, element(op));
    Value number = ConstantOp::create(r, op.getLoc(), cast<ElementsAttr>(Attribute(DenseElementsAttr::get(scalar, interpreter::bits_of(outside, element(op))))));
    r.replaceOpWithNewOp<PadOp>(op, numbers, number, pad.getEdgePaddingLow(), pad.getEdgePaddingHigh(), pad.getInteriorPadding());
    return success();
  }

 private:
  // What the operation makes of a number in the place of its variable.
  static std::optional<interpreter::Number> then(Operation* op, interpreter::Number number) {
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return splat(v) ? number_of(splat(v)) : number; });
    return interpreter::element_of(op, operands, element(only_variable(op)), element(op->getResult(0)));
  }
  // And of other numbers.
  static Value again(Operation* op, Value numbers, PatternRewriter& r) {
    IRMapping map;
    auto like = [&](Type type) { return shaped(numbers).clone(type); };
    for (Value v : op->getOperands())
      map.map(v, splat(v) ? Value(ConstantOp::create(r, v.getLoc(), cast<ElementsAttr>(Attribute(splat(v).resizeSplat(like(element(v))))))) : numbers);
    Operation* made = r.clone(*op, map);
    made->getResult(0).setType(like(element(op->getResult(0))));
    return made->getResult(0);
  }
};

}  // namespace

void add_sinking_pads(RewritePatternSet& rules) { rules.add<SinkPad>(rules.getContext()); }

}  // namespace cresset::cpu
