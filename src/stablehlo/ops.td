// Operations, in the order of families: element-wise, constants and shape, indexing, reductions, contractions, control.
// Each verifier's errors carry the constraint ids of the specification ("dot_general_c12").
#ifndef CRESSET_STABLEHLO_OPS
#define CRESSET_STABLEHLO_OPS

include "base.td"

class Op_<string mnemonic, list<Trait> traits = []> : Op<StableHLO_Dialect, mnemonic, traits>;

//===-------------------------------------------------------------------------------------------------------------===//
// Element-wise
//===-------------------------------------------------------------------------------------------------------------===//

class Elementwise<string mnemonic, list<Trait> traits = []>
    : Op_<mnemonic, !listconcat(traits, [Pure, SameOperandsAndResultShape])>;

class Unary<string mnemonic, Type type = StableHLO_Tensor, list<Trait> traits = [SameOperandsAndResultType]>
    : Elementwise<mnemonic, traits> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}
class UnaryTo<string mnemonic, Type from, Type to> : Elementwise<mnemonic> {
  let arguments = (ins from:$operand);
  let results = (outs to:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}
class Binary<string mnemonic, Type type = StableHLO_Tensor, list<Trait> traits = []>
    : Elementwise<mnemonic, !listconcat(traits, [SameOperandsAndResultType])> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))";
}

def AbsOp : Unary<"abs", StableHLO_Tensor, []>;
def CbrtOp : Unary<"cbrt", StableHLO_FpTensor>;
def CeilOp : Unary<"ceil", StableHLO_FpTensor>;
def CosineOp : Unary<"cosine", StableHLO_FpTensor>;
def CountLeadingZerosOp : Unary<"count_leading_zeros", StableHLO_IntTensor>;
def ExpOp : Unary<"exponential", StableHLO_FpTensor>;
def Expm1Op : Unary<"exponential_minus_one", StableHLO_FpTensor>;
def FloorOp : Unary<"floor", StableHLO_FpTensor>;
def LogOp : Unary<"log", StableHLO_FpTensor>;
def Log1pOp : Unary<"log_plus_one", StableHLO_FpTensor>;
def LogisticOp : Unary<"logistic", StableHLO_FpTensor>;
def NegOp : Unary<"negate">;
def NotOp : Unary<"not", StableHLO_IntTensor>;
def PopulationCountOp : Unary<"popcnt", StableHLO_IntTensor>;
def RoundOp : Unary<"round_nearest_afz", StableHLO_FpTensor>;
def RoundNearestEvenOp : Unary<"round_nearest_even", StableHLO_FpTensor>;
def RsqrtOp : Unary<"rsqrt", StableHLO_FpTensor>;
def SignOp : Unary<"sign">;
def SineOp : Unary<"sine", StableHLO_FpTensor>;
def SqrtOp : Unary<"sqrt", StableHLO_FpTensor>;
def TanOp : Unary<"tan", StableHLO_FpTensor>;
def TanhOp : Unary<"tanh", StableHLO_FpTensor>;

def IsFiniteOp : UnaryTo<"is_finite", StableHLO_FpTensor, StableHLO_PredTensor>;
def ImagOp : UnaryTo<"imag", StableHLO_FpTensor, StableHLO_FpTensor>;
def RealOp : UnaryTo<"real", StableHLO_FpTensor, StableHLO_FpTensor>;
def ConvertOp : UnaryTo<"convert", StableHLO_Tensor, StableHLO_Tensor>;

def AddOp : Binary<"add", StableHLO_Tensor, [Commutative]>;
def AndOp : Binary<"and", StableHLO_IntTensor, [Commutative]>;
def Atan2Op : Binary<"atan2", StableHLO_FpTensor>;
def DivOp : Binary<"divide">;
def MaxOp : Binary<"maximum", StableHLO_Tensor, [Commutative]>;
def MinOp : Binary<"minimum", StableHLO_Tensor, [Commutative]>;
def MulOp : Binary<"multiply", StableHLO_Tensor, [Commutative]>;
def OrOp : Binary<"or", StableHLO_IntTensor, [Commutative]>;
def PowOp : Binary<"power">;
def RemOp : Binary<"remainder">;
def ShiftLeftOp : Binary<"shift_left", StableHLO_IntTensor>;
def ShiftRightArithmeticOp : Binary<"shift_right_arithmetic", StableHLO_IntTensor>;
def ShiftRightLogicalOp : Binary<"shift_right_logical", StableHLO_IntTensor>;
def SubtractOp : Binary<"subtract">;
def XorOp : Binary<"xor", StableHLO_IntTensor, [Commutative]>;

def ComplexOp : Elementwise<"complex"> {
  let arguments = (ins StableHLO_FpTensor:$lhs, StableHLO_FpTensor:$rhs);
  let results = (outs StableHLO_FpTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def CompareOp : Elementwise<"compare", [SameTypeOperands]> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       ComparisonDirectionAttr:$comparison_direction, OptionalAttr<ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_PredTensor:$result);
  let builders = [OpBuilder<(ins "Value":$lhs, "Value":$rhs, "ComparisonDirection":$direction)>];
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
}

def SelectOp : Op_<"select", [Pure, AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let arguments = (ins StableHLO_PredTensor:$pred, StableHLO_Tensor:$on_true, StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` custom<SelectOpType>(type($pred), type($on_true), type($on_false), type($result))";
}

def ClampOp : Op_<"clamp", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let arguments = (ins StableHLO_Tensor:$min, StableHLO_Tensor:$operand, StableHLO_Tensor:$max);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict
    `:` custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
}

def ReducePrecisionOp : Elementwise<"reduce_precision", [SameOperandsAndResultType]> {
  let arguments = (ins StableHLO_FpTensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs StableHLO_FpTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
    attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($output))
  }];
}

//===-------------------------------------------------------------------------------------------------------------===//
// Constants and shape
//===-------------------------------------------------------------------------------------------------------------===//

def ConstantOp : Op_<"constant", [ConstantLike, Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$output);
  let builders = [OpBuilder<(ins "Attribute":$value)>];
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def IotaOp : Op_<"iota", [Pure]> {
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_Tensor:$output);
  let hasVerifier = 1;
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}

class ShapeChange<string mnemonic> : Op_<mnemonic, [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def ReshapeOp : ShapeChange<"reshape">;
def BitcastConvertOp : ShapeChange<"bitcast_convert">;

def BroadcastInDimOp : Op_<"broadcast_in_dim", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)";
}
def TransposeOp : Op_<"transpose", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Value":$operand, "ArrayRef<int64_t>":$permutation)>];
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}
def ReverseOp : Op_<"reverse", [Pure, SameOperandsAndResultType]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}
def SliceOp : Op_<"slice", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Value":$operand, "ArrayRef<int64_t>":$start, "ArrayRef<int64_t>":$limit,
                                 "ArrayRef<int64_t>":$strides)>];
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
    attr-dict `:` functional-type(operands, results)
  }];
}
def PadOp : Op_<"pad", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Value":$operand, "Value":$value, "ArrayRef<int64_t>":$low, "ArrayRef<int64_t>":$high,
                                 "ArrayRef<int64_t>":$interior)>];
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
    `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}
def ConcatenateOp : Op_<"concatenate", [Pure]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "ValueRange":$inputs, "int64_t":$dimension)>];
  let assemblyFormat = "custom<OperandsThenAttribute>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

//===-------------------------------------------------------------------------------------------------------------===//
// Indexing
//===-------------------------------------------------------------------------------------------------------------===//

def DynamicSliceOp : Op_<"dynamic_slice", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_IntScalar>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenAttribute>($start_indices) `sizes` `=` $slice_sizes attr-dict `:` functional-type(operands, results)
  }];
}
def DynamicUpdateSliceOp : Op_<"dynamic_update_slice", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update, Variadic<StableHLO_IntScalar>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def GatherOp : Op_<"gather", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
                       GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
}
def ScatterOp : Op_<"scatter", [RecursiveMemoryEffects, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_IntTensor:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates, ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def SortOp : Op_<"sort", [RecursiveMemoryEffects, SameOperandsAndResultShape]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DefaultValuedAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

//===-------------------------------------------------------------------------------------------------------------===//
// Reductions and windows
//===-------------------------------------------------------------------------------------------------------------===//

def ReduceOp : Op_<"reduce", [RecursiveMemoryEffects, SameVariadicOperandSize,
                              SingleBlockImplicitTerminator<"ReturnOp">]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}
def ReduceWindowOp : Op_<"reduce_window", [RecursiveMemoryEffects, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations, OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def SelectAndScatterOp : Op_<"select_and_scatter", [RecursiveMemoryEffects]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$source, StableHLO_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs StableHLO_Tensor);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

//===-------------------------------------------------------------------------------------------------------------===//
// Contractions
//===-------------------------------------------------------------------------------------------------------------===//

def PrecisionConfigAttr : TypedArrayAttrBase<PrecisionAttr, "precision of each operand">;

def DotGeneralOp : Op_<"dot_general", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<PrecisionConfigAttr>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers)
    `` custom<PrecisionConfig>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
}
def ConvolutionOp : Op_<"convolution", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal, ConvDimensionNumbers:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<PrecisionConfigAttr>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
    `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}`
    attr-dict `:` functional-type(operands, results)
  }];
}

def TriangularSolveOp : Op_<"triangular_solve", [Pure]> {
  let arguments = (ins StableHLO_FpTensor:$a, StableHLO_FpTensor:$b, BoolAttr:$left_side, BoolAttr:$lower, BoolAttr:$unit_diagonal,
                       TransposeAttr:$transpose_a);
  let results = (outs StableHLO_FpTensor:$result);
  let hasVerifier = 1;
}

//===-------------------------------------------------------------------------------------------------------------===//
// Composites, calls and control
//===-------------------------------------------------------------------------------------------------------------===//

def CompositeOp : Op_<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StrAttr:$name,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition, DefaultValuedAttr<I32Attr, "0">:$version);
  let results = (outs Variadic<StableHLO_Tensor>);
  let assemblyFormat = "$name $inputs attr-dict `:` functional-type(operands, results)";
}
def CustomCallOp : Op_<"custom_call", [MemoryEffects<[MemWrite]>]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StrAttr:$call_target_name,
                       OptionalAttr<BoolAttr>:$has_side_effect, OptionalAttr<AnyAttr>:$backend_config,
                       OptionalAttr<I32Attr>:$api_version, OptionalAttr<ArrayAttr>:$called_computations,
                       OptionalAttr<ArrayAttr>:$operand_layouts, OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<ArrayAttr>:$output_operand_aliases);
  let results = (outs Variadic<StableHLO_Tensor>);
  let assemblyFormat = "custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)";
}
def OptimizationBarrierOp : Op_<"optimization_barrier", [Pure]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
  let assemblyFormat = "attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result))):(`(` `)`)?";
}
def RngBitGeneratorOp : Op_<"rng_bit_generator", [Pure]> {
  let arguments = (ins RngAlgorithmAttr:$rng_algorithm, StableHLO_IntTensor:$initial_state);
  let results = (outs StableHLO_IntTensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = "$initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)";
}
def IfOp : Op_<"if", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let arguments = (ins 0DTensorOf<[I1]>:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasRegionVerifier = 1;
}
def CaseOp : Op_<"case", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let arguments = (ins 0DTensorOf<[I32]>:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def WhileOp : Op_<"while", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def ReturnOp : Op_<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$results);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

#endif
