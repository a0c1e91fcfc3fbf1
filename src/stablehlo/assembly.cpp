#include "stablehlo/assembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

namespace mlir::stablehlo {
namespace {

ParseResult parse_ints(AsmParser& p, SmallVectorImpl<int64_t>& values) {
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                   [&]() -> ParseResult { return p.parseInteger(values.emplace_back()); });
}
void print_ints(AsmPrinter& p, ArrayRef<int64_t> values) {
  p << '[';
  llvm::interleaveComma(values, p);
  p << ']';
}

// `<name = [1, 2], other = 3>`: fields in any order, empty lists and zero left out.
struct Field {
  StringRef name;
  SmallVector<int64_t>* list = nullptr;
  int64_t* number = nullptr;
};
ParseResult parse_fields(AsmParser& p, ArrayRef<Field> fields) {
  if (p.parseLess()) return failure();
  if (succeeded(p.parseOptionalGreater())) return success();
  auto one = [&]() -> ParseResult {
    StringRef name;
    auto loc = p.getCurrentLocation();
    if (p.parseKeyword(&name) || p.parseEqual()) return failure();
    for (const Field& f : fields)
      if (f.name == name) return f.list ? parse_ints(p, *f.list) : ParseResult(p.parseInteger(*f.number));
    return p.emitError(loc) << "unknown field '" << name << "'";
  };
  if (p.parseCommaSeparatedList(one)) return failure();
  return p.parseGreater();
}
void print_fields(AsmPrinter& p, ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists,
                  std::optional<int64_t> index_vector_dim = {}) {
  p << '<';
  bool first = true;
  auto separator = [&]() -> AsmPrinter& {
    if (!first) p << ", ";
    first = false;
    return p;
  };
  for (auto& [name, values] : lists)
    if (!values.empty()) {
      separator() << name << " = ";
      print_ints(p, values);
    }
  if (index_vector_dim && *index_vector_dim) separator() << "index_vector_dim = " << *index_vector_dim;
  p << '>';
}

}  // namespace

//===-- Attributes -----------------------------------------------------------------------------------------------===//

Attribute DotDimensionNumbersAttr::parse(AsmParser& p, Type) {
  SmallVector<int64_t> lb, rb, lc, rc;
  if (parse_fields(p, {{"lhs_batching_dimensions", &lb},
                       {"rhs_batching_dimensions", &rb},
                       {"lhs_contracting_dimensions", &lc},
                       {"rhs_contracting_dimensions", &rc}}))
    return {};
  return get(p.getContext(), lb, rb, lc, rc);
}
void DotDimensionNumbersAttr::print(AsmPrinter& p) const {
  print_fields(p, {{"lhs_batching_dimensions", getLhsBatchingDimensions()},
                   {"rhs_batching_dimensions", getRhsBatchingDimensions()},
                   {"lhs_contracting_dimensions", getLhsContractingDimensions()},
                   {"rhs_contracting_dimensions", getRhsContractingDimensions()}});
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser& p, Type) {
  SmallVector<int64_t> offset, collapsed, operand_batching, start_batching, map;
  int64_t vector_dim = 0;
  if (parse_fields(p, {{"offset_dims", &offset},
                       {"collapsed_slice_dims", &collapsed},
                       {"operand_batching_dims", &operand_batching},
                       {"start_indices_batching_dims", &start_batching},
                       {"start_index_map", &map},
                       {"index_vector_dim", nullptr, &vector_dim}}))
    return {};
  return get(p.getContext(), offset, collapsed, operand_batching, start_batching, map, vector_dim);
}
void GatherDimensionNumbersAttr::print(AsmPrinter& p) const {
  print_fields(p,
               {{"offset_dims", getOffsetDims()},
                {"collapsed_slice_dims", getCollapsedSliceDims()},
                {"operand_batching_dims", getOperandBatchingDims()},
                {"start_indices_batching_dims", getStartIndicesBatchingDims()},
                {"start_index_map", getStartIndexMap()}},
               getIndexVectorDim());
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser& p, Type) {
  SmallVector<int64_t> window, inserted, input_batching, indices_batching, map;
  int64_t vector_dim = 0;
  if (parse_fields(p, {{"update_window_dims", &window},
                       {"inserted_window_dims", &inserted},
                       {"input_batching_dims", &input_batching},
                       {"scatter_indices_batching_dims", &indices_batching},
                       {"scatter_dims_to_operand_dims", &map},
                       {"index_vector_dim", nullptr, &vector_dim}}))
    return {};
  return get(p.getContext(), window, inserted, input_batching, indices_batching, map, vector_dim);
}
void ScatterDimensionNumbersAttr::print(AsmPrinter& p) const {
  print_fields(p,
               {{"update_window_dims", getUpdateWindowDims()},
                {"inserted_window_dims", getInsertedWindowDims()},
                {"input_batching_dims", getInputBatchingDims()},
                {"scatter_indices_batching_dims", getScatterIndicesBatchingDims()},
                {"scatter_dims_to_operand_dims", getScatterDimsToOperandDims()}},
               getIndexVectorDim());
}

Attribute OutputOperandAliasAttr::parse(AsmParser& p, Type) {
  SmallVector<int64_t> output, operand_part;
  int64_t operand = 0;
  if (parse_fields(p, {{"output_tuple_indices", &output}, {"operand_index", nullptr, &operand}, {"operand_tuple_indices", &operand_part}})) return {};
  return get(p.getContext(), output, operand, operand_part);
}
void OutputOperandAliasAttr::print(AsmPrinter& p) const {  // all fields: other parsers want them
  p << "<output_tuple_indices = ";
  print_ints(p, getOutputTupleIndices());
  p << ", operand_index = " << getOperandIndex() << ", operand_tuple_indices = ";
  print_ints(p, getOperandTupleIndices());
  p << '>';
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser& p, Type) {
  ConvDimensionNumbersAttr result;
  if (p.parseLess() || parseConvolutionDimensions(p, result) || p.parseGreater()) return {};
  return result;
}
void ConvDimensionNumbersAttr::print(AsmPrinter& p) const {
  p << '<';
  printConvolutionDimensions(p, *this);
  p << '>';
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

ParseResult parseSameTypes(OpAsmParser& p, ArrayRef<Type*> operands, Type& result) {
  auto loc = p.getCurrentLocation();
  Type type;
  if (p.parseType(type)) return failure();
  if (auto function = dyn_cast<FunctionType>(type)) {
    if (function.getNumInputs() != operands.size() || function.getNumResults() != 1)
      return p.emitError(loc) << "expected a function type with " << operands.size() << " inputs and one result";
    for (auto [operand, input] : llvm::zip(operands, function.getInputs())) *operand = input;
    result = function.getResult(0);
    return success();
  }
  for (Type* operand : operands) *operand = type;
  result = type;
  return success();
}
void printSameTypes(OpAsmPrinter& p, TypeRange operands, Type result) {
  if (llvm::all_of(operands, [&](Type t) { return t == result; })) {
    p << result;
  } else {
    p.printFunctionalType(operands, TypeRange(result));
  }
}

ParseResult parseSelectOpType(OpAsmParser& p, Type& pred, Type& on_true, Type& on_false, Type& result) {
  auto loc = p.getCurrentLocation();
  SmallVector<Type> types;
  if (p.parseTypeList(types)) return failure();
  if (types.size() == 2) {
    pred = types[0];
    on_true = on_false = result = types[1];
    return success();
  }
  auto function = types.size() == 1 ? dyn_cast<FunctionType>(types[0]) : FunctionType();
  if (!function || function.getNumInputs() != 3 || function.getNumResults() != 1)
    return p.emitError(loc) << "expected two types or a function type with three inputs and one result";
  pred = function.getInput(0);
  on_true = function.getInput(1);
  on_false = function.getInput(2);
  result = function.getResult(0);
  return success();
}
void printSelectOpType(OpAsmPrinter& p, Operation*, Type pred, Type on_true, Type on_false, Type result) {
  if (on_true == result && on_false == result) {
    p << pred << ", " << result;
  } else {
    p.printFunctionalType(TypeRange{pred, on_true, on_false}, TypeRange(result));
  }
}

ParseResult parsePairwiseTypes(OpAsmParser& p, SmallVectorImpl<Type>& operands, SmallVectorImpl<Type>& results) {
  if (p.parseTypeList(operands)) return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}
void printPairwiseTypes(OpAsmPrinter& p, Operation*, TypeRange operands, TypeRange) { llvm::interleaveComma(operands, p); }

//===-- Directives -----------------------------------------------------------------------------------------------===//

ParseResult parseExponentMantissa(AsmParser& p, IntegerAttr& exponent, IntegerAttr& mantissa) {
  auto loc = p.getCurrentLocation();
  StringRef text;
  if (p.parseKeyword(&text)) return failure();
  unsigned e = 0, m = 0;
  if (!text.consume_front("e") || text.consumeInteger(10, e) || !text.consume_front("m") || text.getAsInteger(10, m))
    return p.emitError(loc) << "expected exponent and mantissa bits such as e5m10";
  exponent = p.getBuilder().getI32IntegerAttr(e);
  mantissa = p.getBuilder().getI32IntegerAttr(m);
  return success();
}
void printExponentMantissa(AsmPrinter& p, Operation*, IntegerAttr exponent, IntegerAttr mantissa) {
  p << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseSliceRanges(OpAsmParser& p, DenseI64ArrayAttr& start, DenseI64ArrayAttr& limit, DenseI64ArrayAttr& strides) {
  SmallVector<int64_t> lo, hi, step;
  auto one = [&]() -> ParseResult {
    if (p.parseInteger(lo.emplace_back()) || p.parseColon() || p.parseInteger(hi.emplace_back())) return failure();
    step.push_back(1);
    return succeeded(p.parseOptionalColon()) ? ParseResult(p.parseInteger(step.back())) : success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one)) return failure();
  start = p.getBuilder().getDenseI64ArrayAttr(lo);
  limit = p.getBuilder().getDenseI64ArrayAttr(hi);
  strides = p.getBuilder().getDenseI64ArrayAttr(step);
  return success();
}
void printSliceRanges(OpAsmPrinter& p, Operation*, ArrayRef<int64_t> start, ArrayRef<int64_t> limit, ArrayRef<int64_t> strides) {
  p << '[';
  llvm::interleaveComma(llvm::zip(start, limit, strides), p, [&](auto range) {
    auto [lo, hi, step] = range;
    p << lo << ':' << hi;
    if (step != 1) p << ':' << step;
  });
  p << ']';
}

ParseResult parseDotDimensionNumbers(AsmParser& p, DotDimensionNumbersAttr& dims) {
  SmallVector<int64_t> lb, rb, lc, rc;
  auto pair = [&](SmallVectorImpl<int64_t>& lhs, SmallVectorImpl<int64_t>& rhs) -> ParseResult {
    return failure(p.parseEqual() || parse_ints(p, lhs) || p.parseKeyword("x") || parse_ints(p, rhs));
  };
  if (succeeded(p.parseOptionalKeyword("batching_dims")))
    if (pair(lb, rb) || p.parseComma()) return failure();
  if (p.parseKeyword("contracting_dims") || pair(lc, rc)) return failure();
  dims = DotDimensionNumbersAttr::get(p.getContext(), lb, rb, lc, rc);
  return success();
}
void printDotDimensionNumbers(AsmPrinter& p, Operation*, DotDimensionNumbersAttr dims) {
  auto pair = [&](StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    p << name << " = ";
    print_ints(p, lhs);
    p << " x ";
    print_ints(p, rhs);
  };
  if (!dims.getLhsBatchingDimensions().empty()) {
    pair("batching_dims", dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions());
    p << ", ";
  }
  pair("contracting_dims", dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions());
}

// `algorithm = <lhs_precision_type = bf16, …>`, as JAX writes it where a product of bf16 is accumulated in f32. What one product with f32 accumulation does is what any
// dot_general here does, so it needs no attribute; other algorithms (several products for more precision) are refused.
ParseResult parse_dot_algorithm(OpAsmParser& p) {
  auto loc = p.getCurrentLocation();
  if (p.parseEqual() || p.parseLess()) return failure();
  auto one = [&]() -> ParseResult {
    StringRef key, word;
    int64_t number;
    if (p.parseKeyword(&key) || p.parseEqual()) return failure();
    if (succeeded(p.parseOptionalKeyword(&word, {"true", "false"}))) return success();
    if (auto parsed = p.parseOptionalInteger(number); parsed.has_value())
      return failed(*parsed) || number != 1 ? ParseResult(p.emitError(loc) << "a dot algorithm with " << key << " = " << number << " is not supported") : success();
    Type type;
    if (p.parseType(type)) return failure();
    if (key == "accumulation_type" && !type.isF32() && !type.isF64()) return p.emitError(loc) << "a dot algorithm that accumulates in " << type << " is not supported";
    return success();
  };
  if (p.parseCommaSeparatedList(one)) return failure();
  return p.parseGreater();
}

ParseResult parsePrecisionConfig(OpAsmParser& p, ArrayAttr& config) {
  if (failed(p.parseOptionalComma())) return success();
  if (succeeded(p.parseOptionalKeyword("algorithm"))) return parse_dot_algorithm(p);
  SmallVector<Attribute> all;
  auto one = [&]() -> ParseResult {
    auto loc = p.getCurrentLocation();
    StringRef name;
    if (p.parseKeyword(&name)) return failure();
    auto value = symbolizePrecision(name);
    if (!value) return p.emitError(loc) << "unknown precision '" << name << "'";
    all.push_back(PrecisionAttr::get(p.getContext(), *value));
    return success();
  };
  if (p.parseKeyword("precision") || p.parseEqual() || p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return failure();
  config = p.getBuilder().getArrayAttr(all);
  if (failed(p.parseOptionalComma())) return success();
  return failure(p.parseKeyword("algorithm") || parse_dot_algorithm(p));
}
void printPrecisionConfig(OpAsmPrinter& p, Operation*, ArrayAttr config) {
  if (!config) return;
  p << ", precision = [";
  llvm::interleaveComma(config, p, [&](Attribute a) { p << stringifyPrecision(cast<PrecisionAttr>(a).getValue()); });
  p << ']';
}

// `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`
ParseResult parseConvolutionDimensions(AsmParser& p, ConvDimensionNumbersAttr& result) {
  auto side = [&](StringRef first, StringRef second, int64_t& first_dim, int64_t& second_dim,
                  SmallVector<int64_t>& spatial) -> ParseResult {
    first_dim = second_dim = -1;
    int64_t position = 0;
    auto loc = p.getCurrentLocation();
    auto one = [&]() -> ParseResult {
      int64_t number;
      StringRef name;
      if (auto parsed = p.parseOptionalInteger(number); parsed.has_value()) {
        if (failed(*parsed) || number < 0 || number > 16) return failure();
        if (int64_t(spatial.size()) <= number) spatial.resize(number + 1, -1);
        spatial[number] = position++;
        return success();
      }
      if (p.parseKeyword(&name)) return failure();
      if (name == first) return first_dim = position++, success();
      if (name == second) return second_dim = position++, success();
      return p.emitError(p.getCurrentLocation()) << "unexpected dimension '" << name << "'";
    };
    if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one)) return failure();
    if (first_dim < 0 || second_dim < 0 || llvm::is_contained(spatial, -1) || position != int64_t(spatial.size()) + 2)
      return p.emitError(loc) << "expected dimensions " << first << ", " << second << " and 0, 1, ... each once";
    return success();
  };
  int64_t b, f, i, o, ob, of;
  SmallVector<int64_t> input, kernel, output;
  if (side("b", "f", b, f, input) || p.parseKeyword("x") || side("i", "o", i, o, kernel) || p.parseArrow() ||
      side("b", "f", ob, of, output))
    return failure();
  result = ConvDimensionNumbersAttr::get(p.getContext(), b, f, input, i, o, kernel, ob, of, output);
  return success();
}
void printConvolutionDimensions(AsmPrinter& p, ConvDimensionNumbersAttr dims) {
  auto side = [&](StringRef first, int64_t first_dim, StringRef second, int64_t second_dim, ArrayRef<int64_t> spatial) {
    SmallVector<std::string> names(spatial.size() + 2);
    names[first_dim] = first;
    names[second_dim] = second;
    for (auto [k, d] : llvm::enumerate(spatial)) names[d] = std::to_string(k);
    p << '[';
    llvm::interleaveComma(names, p);
    p << ']';
  };
  side("b", dims.getInputBatchDimension(), "f", dims.getInputFeatureDimension(), dims.getInputSpatialDimensions());
  p << 'x';
  side("i", dims.getKernelInputFeatureDimension(), "o", dims.getKernelOutputFeatureDimension(),
       dims.getKernelSpatialDimensions());
  p << "->";
  side("b", dims.getOutputBatchDimension(), "f", dims.getOutputFeatureDimension(), dims.getOutputSpatialDimensions());
}
void printConvolutionDimensions(AsmPrinter& p, Operation*, ConvDimensionNumbersAttr dims) {
  printConvolutionDimensions(p, dims);
}

ParseResult parseWindowAttributes(OpAsmParser& p, DenseI64ArrayAttr& strides, DenseIntElementsAttr& padding,
                                  DenseI64ArrayAttr& lhs_dilation, DenseI64ArrayAttr& rhs_dilation,
                                  DenseBoolArrayAttr& reversal) {
  StringRef name;
  while (succeeded(p.parseOptionalKeyword(&name))) {
    auto loc = p.getCurrentLocation();
    if (p.parseEqual()) return failure();
    if (name == "pad") {
      SmallVector<int64_t> flat;
      auto pair = [&]() -> ParseResult {
        size_t before = flat.size();
        if (parse_ints(p, flat)) return failure();
        return flat.size() == before + 2 ? success() : ParseResult(p.emitError(loc) << "expected two numbers for each dimension's padding");
      };
      if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, pair)) return failure();
      auto type = RankedTensorType::get({int64_t(flat.size() / 2), 2}, p.getBuilder().getI64Type());
      padding = DenseIntElementsAttr::get(type, flat);
    } else {
      SmallVector<int64_t> values;
      auto one = [&]() -> ParseResult {
        if (succeeded(p.parseOptionalKeyword("true"))) return values.push_back(1), success();
        if (succeeded(p.parseOptionalKeyword("false"))) return values.push_back(0), success();
        return p.parseInteger(values.emplace_back());
      };
      if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one)) return failure();
      auto attribute = p.getBuilder().getDenseI64ArrayAttr(values);
      if (name == "stride") strides = attribute;
      else if (name == "lhs_dilate") lhs_dilation = attribute;
      else if (name == "rhs_dilate") rhs_dilation = attribute;
      else if (name == "reverse") reversal = p.getBuilder().getDenseBoolArrayAttr(SmallVector<bool>(values.begin(), values.end()));
      else return p.emitError(loc) << "unknown window attribute '" << name << "'";
    }
    if (failed(p.parseOptionalComma())) break;
  }
  return success();
}
void printWindowAttributes(OpAsmPrinter& p, Operation*, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                           DenseI64ArrayAttr lhs_dilation, DenseI64ArrayAttr rhs_dilation, DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    p << separator << name << " = ";
    print_ints(p, values);
    separator = ", ";
  };
  if (strides) list("stride", strides);
  if (padding) {
    p << separator << "pad = [";
    SmallVector<int64_t> flat(padding.getValues<int64_t>());
    for (size_t i = 0; i + 1 < flat.size(); i += 2) {
      if (i) p << ", ";
      print_ints(p, {flat[i], flat[i + 1]});
    }
    p << ']';
    separator = ", ";
  }
  if (lhs_dilation) list("lhs_dilate", lhs_dilation);
  if (rhs_dilation) list("rhs_dilate", rhs_dilation);
  if (reversal) {
    p << separator << "reverse = [";
    llvm::interleaveComma(reversal.asArrayRef(), p, [&](bool b) { p << (b ? "true" : "false"); });
    p << ']';
  }
}

ParseResult parseOperandsThenAttribute(OpAsmParser& p, SmallVectorImpl<OpAsmParser::UnresolvedOperand>& operands) {
  for (;;) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = p.parseOptionalOperand(operand);
    if (!parsed.has_value()) return success();
    if (failed(*parsed) || p.parseComma()) return failure();
    operands.push_back(operand);
  }
}
void printOperandsThenAttribute(OpAsmPrinter& p, Operation*, OperandRange operands) {
  for (Value v : operands) p << v << ", ";
}

ParseResult parseCallTarget(AsmParser& p, StringAttr& target) { return p.parseSymbolName(target); }
void printCallTarget(AsmPrinter& p, Operation*, StringAttr target) { p.printSymbolName(target); }

//===-- Operations with a form of their own -----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser& p, OperationState& state) {
  ElementsAttr value;
  if (p.parseOptionalAttrDict(state.attributes) || p.parseAttribute(value)) return failure();
  state.getOrAddProperties<Properties>().value = value;
  state.addTypes(value.getType());
  return success();
}
void ConstantOp::print(OpAsmPrinter& p) {
  p.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  p << ' ' << getValue();
}

// `stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : type`, or with a `reducer` region.
static Operation* single_operation(ReduceOp op) {
  Block& block = op.getBody().front();
  if (op.getInputs().size() != 1 || block.getNumArguments() != 2 || llvm::range_size(block) != 2) return nullptr;
  Operation& inner = block.front();
  if (inner.getNumOperands() != 2 || inner.getNumResults() != 1 || inner.getOperand(0) != block.getArgument(0) ||
      inner.getOperand(1) != block.getArgument(1) || !inner.hasTrait<OpTrait::SameOperandsAndResultType>() ||
      !inner.getAttrs().empty() || block.getTerminator()->getOperands() != inner.getResults() ||
      inner.getResult(0).getType() != block.getArgument(0).getType() || op.getInitValues()[0].getType() != block.getArgument(0).getType())
    return nullptr;
  return &inner;
}
void ReduceOp::print(OpAsmPrinter& p) {
  p << '(';
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), p, [&](auto pair) {
    p << std::get<0>(pair) << " init: " << std::get<1>(pair);
  });
  p << ')';
  Operation* inner = single_operation(*this);
  if (inner) p << " applies " << inner->getName().getStringRef();
  p << " across dimensions = ";
  print_ints(p, getDimensions());
  p.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  p << " : ";
  p.printFunctionalType(getOperation());
  if (inner) return;
  p.printNewline();
  p << " reducer";
  Block& block = getBody().front();
  size_t n = getInputs().size();
  for (size_t i = 0; i < n; ++i) {
    p << '(';
    p.printRegionArgument(block.getArgument(i));
    p << ", ";
    p.printRegionArgument(block.getArgument(i + n));
    p << ") ";
  }
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
ParseResult ReduceOp::parse(OpAsmParser& p, OperationState& state) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  auto pair = [&]() -> ParseResult {
    // Pairs stand in one list, each perhaps in parentheses of its own.
    bool wrapped = succeeded(p.parseOptionalLParen());
    if (p.parseOperand(inputs.emplace_back()) || p.parseKeyword("init") || p.parseColon() ||
        p.parseOperand(inits.emplace_back()))
      return failure();
    return wrapped ? p.parseRParen() : success();
  };
  std::optional<OperationName> inner;
  auto loc = p.getCurrentLocation();
  do {
    if (p.parseLParen() || p.parseCommaSeparatedList(pair) || p.parseRParen()) return failure();
  } while (succeeded(p.parseOptionalComma()));
  if (succeeded(p.parseOptionalKeyword("applies"))) {
    FailureOr<OperationName> name = p.parseCustomOperationName();
    if (failed(name)) return failure();
    inner = *name;
  }
  SmallVector<int64_t> dimensions;
  FunctionType type;
  if (p.parseKeyword("across") || p.parseKeyword("dimensions") || p.parseEqual() || parse_ints(p, dimensions) ||
      p.parseOptionalAttrDict(state.attributes) || p.parseColonType(type))
    return failure();
  state.getOrAddProperties<Properties>().dimensions = p.getBuilder().getDenseI64ArrayAttr(dimensions);
  state.addTypes(type.getResults());
  SmallVector<OpAsmParser::UnresolvedOperand> operands(inputs);
  operands.append(inits);
  if (p.resolveOperands(operands, type.getInputs(), loc, state.operands)) return failure();
  Region* body = state.addRegion();
  if (inner) {
    if (type.getNumInputs() != 2 || !isa<RankedTensorType>(type.getInput(1))) return p.emitError(loc) << "`applies` takes one input and its init value, both tensors";
    OpBuilder b(p.getContext());
    Block* block = b.createBlock(body);
    Type element = RankedTensorType::get({}, getElementTypeOrSelf(type.getInput(1)));
    Location here = state.location;
    block->addArguments({element, element}, {here, here});
    OperationState inner_state(here, *inner);
    inner_state.addOperands(block->getArguments());
    inner_state.addTypes(element);
    Operation* op = b.create(inner_state);
    ReturnOp::create(b, here, op->getResults());
    return success();
  }
  SmallVector<OpAsmParser::Argument> first, second;
  if (p.parseKeyword("reducer")) return failure();
  while (succeeded(p.parseOptionalLParen()))
    if (p.parseArgument(first.emplace_back(), true) || p.parseComma() || p.parseArgument(second.emplace_back(), true) ||
        p.parseRParen())
      return failure();
  first.append(second);
  return p.parseRegion(*body, first);
}

// `stablehlo.while(%iter = %init, …) : types cond {…} do {…}`
void WhileOp::print(OpAsmPrinter& p) {
  p << '(';
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperand()), p,
                        [&](auto pair) { p << std::get<0>(pair) << " = " << std::get<1>(pair); });
  p << ')';
  if (getNumOperands()) {
    p << " : ";
    llvm::interleaveComma(getOperandTypes(), p);
  }
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p.printNewline();
  p << " cond ";
  p.printRegion(getCond(), false);
  // Both regions name their arguments alike.
  p << " do ";
  p.shadowRegionArgs(getBody(), getCond().getArguments());
  p.printRegion(getBody(), false);
}
ParseResult WhileOp::parse(OpAsmParser& p, OperationState& state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto loc = p.getCurrentLocation();
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        return failure(p.parseArgument(arguments.emplace_back()) || p.parseEqual() || p.parseOperand(operands.emplace_back()));
      }))
    return failure();
  SmallVector<Type> types;
  if (!operands.empty() && (p.parseColon() || p.parseTypeList(types))) return failure();
  if (types.size() != operands.size()) return p.emitError(loc) << "expected a type for each of the operands";
  for (auto [argument, type] : llvm::zip(arguments, types)) argument.type = type;
  state.addTypes(types);
  if (p.resolveOperands(operands, types, loc, state.operands) || p.parseOptionalAttrDictWithKeyword(state.attributes) ||
      p.parseKeyword("cond") || p.parseRegion(*state.addRegion(), arguments) || p.parseKeyword("do") ||
      p.parseRegion(*state.addRegion(), arguments))
    return failure();
  return success();
}

}  // namespace mlir::stablehlo
