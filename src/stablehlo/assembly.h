// The pretty text forms that the operations' `assemblyFormat` names as custom directives.
#pragma once

#include "stablehlo/dialect.h"

namespace mlir::stablehlo {

// `: tensor<f32>` when all types agree, otherwise a function type.
ParseResult parseSameTypes(OpAsmParser& parser, ArrayRef<Type*> operands, Type& result);
void printSameTypes(OpAsmPrinter& printer, TypeRange operands, Type result);

template <class... T>
ParseResult parseSameOperandsAndResultType(OpAsmParser& parser, T&... types) {
  SmallVector<Type*> all{&types...};
  Type* result = all.pop_back_val();
  return parseSameTypes(parser, all, *result);
}
template <class... T>
void printSameOperandsAndResultType(OpAsmPrinter& printer, Operation*, T... types) {
  SmallVector<Type> all{types...};
  Type result = all.pop_back_val();
  printSameTypes(printer, all, result);
}

ParseResult parseSelectOpType(OpAsmParser&, Type& pred, Type& on_true, Type& on_false, Type& result);
void printSelectOpType(OpAsmPrinter&, Operation*, Type pred, Type on_true, Type on_false, Type result);
ParseResult parseExponentMantissa(AsmParser&, IntegerAttr& exponent, IntegerAttr& mantissa);
void printExponentMantissa(AsmPrinter&, Operation*, IntegerAttr exponent, IntegerAttr mantissa);
ParseResult parseSliceRanges(OpAsmParser&, DenseI64ArrayAttr& start, DenseI64ArrayAttr& limit, DenseI64ArrayAttr& strides);
void printSliceRanges(OpAsmPrinter&, Operation*, ArrayRef<int64_t> start, ArrayRef<int64_t> limit, ArrayRef<int64_t> strides);
ParseResult parseDotDimensionNumbers(AsmParser&, DotDimensionNumbersAttr&);
void printDotDimensionNumbers(AsmPrinter&, Operation*, DotDimensionNumbersAttr);
ParseResult parsePrecisionConfig(OpAsmParser&, ArrayAttr&);
void printPrecisionConfig(OpAsmPrinter&, Operation*, ArrayAttr);
ParseResult parseConvolutionDimensions(AsmParser&, ConvDimensionNumbersAttr&);
void printConvolutionDimensions(AsmPrinter&, Operation*, ConvDimensionNumbersAttr);
void printConvolutionDimensions(AsmPrinter&, ConvDimensionNumbersAttr);
ParseResult parseWindowAttributes(OpAsmParser&, DenseI64ArrayAttr& strides, DenseIntElementsAttr& padding,
                                  DenseI64ArrayAttr& lhs_dilation, DenseI64ArrayAttr& rhs_dilation, DenseBoolArrayAttr& reversal);
void printWindowAttributes(OpAsmPrinter&, Operation*, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                           DenseI64ArrayAttr lhs_dilation, DenseI64ArrayAttr rhs_dilation, DenseBoolArrayAttr reversal);
ParseResult parseCallTarget(AsmParser&, StringAttr&);
void printCallTarget(AsmPrinter&, Operation*, StringAttr);
// Operands, each with its comma, before a keyword: `%a, %b, dim = 0`.
ParseResult parseOperandsThenAttribute(OpAsmParser&, SmallVectorImpl<OpAsmParser::UnresolvedOperand>&);
void printOperandsThenAttribute(OpAsmPrinter&, Operation*, OperandRange);
ParseResult parsePairwiseTypes(OpAsmParser&, SmallVectorImpl<Type>& operands, SmallVectorImpl<Type>& results);
void printPairwiseTypes(OpAsmPrinter&, Operation*, TypeRange operands, TypeRange results);

}  // namespace mlir::stablehlo
