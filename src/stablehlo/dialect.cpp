#include "stablehlo/dialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "stablehlo/assembly.h"

#include "stablehlo/dialect.cpp.inc"
#include "stablehlo/enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "stablehlo/attributes.cpp.inc"
#define GET_OP_CLASSES
#include "stablehlo/ops.cpp.inc"

namespace mlir::stablehlo {

void StableHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "stablehlo/ops.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stablehlo/attributes.cpp.inc"
      >();
}

Operation* StableHLODialect::materializeConstant(OpBuilder& b, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getType() == type ? ConstantOp::create(b, loc, elements) : nullptr;
}

bool is_countable(RankedTensorType type) {
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) element = complex.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 64) return false;
  int64_t count = 1;
  for (int64_t d : type.getShape())
    if (!ShapedType::isDynamic(d) && (llvm::MulOverflow(count, d, count) || count > int64_t(1) << 58)) return false;
  return true;
}

//===-- Builders and folds ---------------------------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::inferReturnTypes(MLIRContext*, std::optional<Location>, ValueRange, DictionaryAttr attributes,
                                           OpaqueProperties properties, RegionRange, SmallVectorImpl<Type>& types) {
  Adaptor adaptor(ValueRange{}, attributes, properties);
  types.push_back(adaptor.getValue().getType());
  return success();
}

void ConstantOp::build(OpBuilder& b, OperationState& state, Attribute value) {
  auto elements = cast<ElementsAttr>(value);
  state.addTypes(elements.getType());
  state.getOrAddProperties<Properties>().value = elements;
}

static RankedTensorType shaped(Value v) { return cast<RankedTensorType>(v.getType()); }

void ReturnOp::build(OpBuilder& b, OperationState& state) { build(b, state, ValueRange()); }

void CompareOp::build(OpBuilder& b, OperationState& state, Value lhs, Value rhs, ComparisonDirection direction) {
  Type element = shaped(lhs).getElementType();
  auto type = isa<FloatType, ComplexType>(element)                              ? ComparisonType::FLOAT
              : element.isUnsignedInteger() || element.isInteger(1)             ? ComparisonType::UNSIGNED
                                                                                : ComparisonType::SIGNED;
  build(b, state, RankedTensorType::get(shaped(lhs).getShape(), b.getI1Type()), lhs, rhs,
        ComparisonDirectionAttr::get(b.getContext(), direction), ComparisonTypeAttr::get(b.getContext(), type));
}

void TransposeOp::build(OpBuilder& b, OperationState& state, Value operand, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t d : permutation) shape.push_back(shaped(operand).getDimSize(d));
  build(b, state, RankedTensorType::get(shape, shaped(operand).getElementType()), operand,
        b.getDenseI64ArrayAttr(permutation));
}

void SliceOp::build(OpBuilder& b, OperationState& state, Value operand, ArrayRef<int64_t> start, ArrayRef<int64_t> limit,
                    ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape;
  for (auto [lo, hi, step] : llvm::zip(start, limit, strides)) shape.push_back((hi - lo + step - 1) / step);
  build(b, state, RankedTensorType::get(shape, shaped(operand).getElementType()), operand, b.getDenseI64ArrayAttr(start),
        b.getDenseI64ArrayAttr(limit), b.getDenseI64ArrayAttr(strides));
}

void PadOp::build(OpBuilder& b, OperationState& state, Value operand, Value value, ArrayRef<int64_t> low,
                  ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> shape;
  for (auto [n, lo, hi, in] : llvm::zip(shaped(operand).getShape(), low, high, interior))
    shape.push_back(lo + n + (n > 0 ? (n - 1) * in : 0) + hi);
  build(b, state, RankedTensorType::get(shape, shaped(operand).getElementType()), operand, value,
        b.getDenseI64ArrayAttr(low), b.getDenseI64ArrayAttr(high), b.getDenseI64ArrayAttr(interior));
}

void ConcatenateOp::build(OpBuilder& b, OperationState& state, ValueRange inputs, int64_t dimension) {
  SmallVector<int64_t> shape(shaped(inputs.front()).getShape());
  shape[dimension] = 0;
  for (Value v : inputs) shape[dimension] += shaped(v).getDimSize(dimension);
  build(b, state, RankedTensorType::get(shape, shaped(inputs.front()).getElementType()), inputs,
        b.getI64IntegerAttr(dimension));
}

}  // namespace mlir::stablehlo
