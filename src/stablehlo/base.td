// The dialect, its enumerations and attributes. Names, spellings and constraints are those of the StableHLO specification.
#ifndef CRESSET_STABLEHLO_BASE
#define CRESSET_STABLEHLO_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::mlir::stablehlo";
  let summary = "Operations of the public StableHLO specification";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class StableHLO_Enum<string name, list<string> cases>
    : I32EnumAttr<name, "", !foreach(i, !range(!size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::mlir::stablehlo";
  let genSpecializedAttr = 0;
}
class StableHLO_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<StableHLO_Dialect, info, mnemonic>;

def ComparisonDirection : StableHLO_Enum<"ComparisonDirection", ["EQ", "NE", "GE", "GT", "LE", "LT"]>;
def ComparisonType : StableHLO_Enum<"ComparisonType", ["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]>;
def Precision : StableHLO_Enum<"Precision", ["DEFAULT", "HIGH", "HIGHEST"]>;
def RngAlgorithm : StableHLO_Enum<"RngAlgorithm", ["DEFAULT", "THREE_FRY", "PHILOX"]>;
def Transpose : StableHLO_Enum<"Transpose", ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]>;
def CustomCallApiVersion : StableHLO_Enum<"CustomCallApiVersion",
    ["API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
     "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"]>;

def ComparisonDirectionAttr : StableHLO_EnumAttr<ComparisonDirection, "comparison_direction"> {
  let assemblyFormat = "$value";
}
def ComparisonTypeAttr : StableHLO_EnumAttr<ComparisonType, "comparison_type"> {
  let assemblyFormat = "$value";
}
def PrecisionAttr : StableHLO_EnumAttr<Precision, "precision">;
def RngAlgorithmAttr : StableHLO_EnumAttr<RngAlgorithm, "rng_algorithm">;
def TransposeAttr : StableHLO_EnumAttr<Transpose, "transpose">;

class StableHLO_Attr<string name, string mnemonic_> : AttrDef<StableHLO_Dialect, name> {
  let mnemonic = mnemonic_;
  let hasCustomAssemblyFormat = 1;
}
def DotDimensionNumbers : StableHLO_Attr<"DotDimensionNumbers", "dot"> {
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$lhsBatchingDimensions, ArrayRefParameter<"int64_t">:$rhsBatchingDimensions,
    ArrayRefParameter<"int64_t">:$lhsContractingDimensions, ArrayRefParameter<"int64_t">:$rhsContractingDimensions);
}
def GatherDimensionNumbers : StableHLO_Attr<"GatherDimensionNumbers", "gather"> {
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$offsetDims, ArrayRefParameter<"int64_t">:$collapsedSliceDims,
    ArrayRefParameter<"int64_t">:$operandBatchingDims, ArrayRefParameter<"int64_t">:$startIndicesBatchingDims,
    ArrayRefParameter<"int64_t">:$startIndexMap, "int64_t":$indexVectorDim);
}
def ScatterDimensionNumbers : StableHLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$updateWindowDims, ArrayRefParameter<"int64_t">:$insertedWindowDims,
    ArrayRefParameter<"int64_t">:$inputBatchingDims, ArrayRefParameter<"int64_t">:$scatterIndicesBatchingDims,
    ArrayRefParameter<"int64_t">:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
}
def ConvDimensionNumbers : StableHLO_Attr<"ConvDimensionNumbers", "conv"> {
  let parameters = (ins
    "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension, ArrayRefParameter<"int64_t">:$inputSpatialDimensions,
    "int64_t":$kernelInputFeatureDimension, "int64_t":$kernelOutputFeatureDimension,
    ArrayRefParameter<"int64_t">:$kernelSpatialDimensions,
    "int64_t":$outputBatchDimension, "int64_t":$outputFeatureDimension,
    ArrayRefParameter<"int64_t">:$outputSpatialDimensions);
}
// Which part of a custom call's results lies in the memory of which part of its operands.
def OutputOperandAlias : StableHLO_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$outputTupleIndices, "int64_t":$operandIndex, ArrayRefParameter<"int64_t">:$operandTupleIndices);
}

// Types. Shapes are ranked and static: the programs that we compile have no dynamic dimension.
class StableHLO_TensorOf<list<Type> types>
    : RankedTensorOf<types, [CPred<"::mlir::stablehlo::is_countable(::llvm::cast<::mlir::RankedTensorType>($_self))">],
                     "ranked tensor (at most 64 bits an element or part of one, at most 2^58 elements)">;
def StableHLO_Element : AnyTypeOf<[AnyFloat, AnySignlessInteger, AnyUnsignedInteger, AnyComplex]>;
def StableHLO_Tensor : StableHLO_TensorOf<[StableHLO_Element]>;
def StableHLO_FpTensor : StableHLO_TensorOf<[AnyFloat, AnyComplex]>;
def StableHLO_IntTensor : StableHLO_TensorOf<[AnySignlessInteger, AnyUnsignedInteger]>;
def StableHLO_PredTensor : StableHLO_TensorOf<[I1]>;
def StableHLO_IntScalar : 0DTensorOf<[AnySignlessInteger, AnyUnsignedInteger]>;

#endif
