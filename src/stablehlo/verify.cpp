// Verifiers: each error begins with the constraint's id in the specification.
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "stablehlo/dialect.h"

namespace mlir::stablehlo {
namespace {

RankedTensorType shaped(Value v) { return cast<RankedTensorType>(v.getType()); }
bool in_range(ArrayRef<int64_t> dims, int64_t rank) {
  return llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < rank; });
}
// Not `unique`: llvm's, which argument-dependent look-up finds for a SmallVector, is something else.
bool is_unique(ArrayRef<int64_t> dims) { return llvm::SmallDenseSet<int64_t>(dims.begin(), dims.end()).size() == dims.size(); }
SmallVector<int64_t> joined(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> all(a);
  llvm::append_range(all, b);
  return all;
}
// A shape's sizes in these dimensions, and in all others.
SmallVector<int64_t> sizes_in(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t d) { return shape[d]; });
}
SmallVector<int64_t> sizes_outside(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [d, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(d))) rest.push_back(size);
  return rest;
}
// Equal; sizes that are not known equal any.
bool agree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) { return succeeded(verifyCompatibleShape(a, b)); }
bool agree(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of_zip(a, b, [](Type x, Type y) { return getElementTypeOrSelf(x) == getElementTypeOrSelf(y) && succeeded(verifyCompatibleShape(x, y)); });
}

// Checks that read like the specification: `require(op, condition, "slice_c2: …")`.
LogicalResult require(Operation* op, bool condition, const Twine& message) {
  return condition ? success() : op->emitOpError(message);
}
#define REQUIRE(condition, message) \
  if (failed(require(getOperation(), condition, message))) return failure()

LogicalResult same_element(Operation* op, Value a, Value b, StringRef id) {
  return require(op, getElementTypeOrSelf(a) == getElementTypeOrSelf(b), id + ": element types must agree");
}

// Of what bodies work on: scalars.
Type scalar_of(Type type) { return RankedTensorType::get({}, getElementTypeOrSelf(type)); }
Type condition_type(Operation* op) { return RankedTensorType::get({}, IntegerType::get(op->getContext(), 1)); }

bool has_type(Region& region, TypeRange arguments, TypeRange results) {
  return agree(TypeRange(region.getArgumentTypes()), arguments) && agree(TypeRange(region.front().getTerminator()->getOperandTypes()), results);
}

// The specification's is_promotable.
bool is_promotable(Type from, Type to) {
  auto from_complex = dyn_cast<ComplexType>(from), to_complex = dyn_cast<ComplexType>(to);
  if (from_complex && to_complex) return is_promotable(from_complex.getElementType(), to_complex.getElementType());
  bool floats = isa<FloatType>(from) && isa<FloatType>(to), integers = isa<IntegerType>(from) && isa<IntegerType>(to) && from.isInteger(1) == to.isInteger(1);
  return (floats || integers) && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

// A body that makes one value of two: of the results' element types, which the inputs' can be promoted to.
LogicalResult verify_body(Operation* op, Region& body, ValueRange inputs, StringRef id) {
  SmallVector<Type> values = llvm::map_to_vector(op->getResultTypes(), scalar_of), pairs = values;
  llvm::append_range(pairs, values);
  bool promotes = llvm::all_of_zip(inputs, values, [](Value v, Type to) { return is_promotable(getElementTypeOrSelf(v), getElementTypeOrSelf(to)); });
  return require(op, promotes && has_type(body, pairs, values), id + ": the body must take two values for each result and return one, of types that the inputs' can be promoted to");
}

// What reductions of whole dimensions and of windows share.
LogicalResult verify_reduced(Operation* op, ValueRange inputs, ValueRange inits, ArrayRef<StringRef> ids) {
  if (failed(require(op, !inputs.empty() && op->getNumOperands() == 2 * inputs.size() && op->getNumResults() == inputs.size(), ids[0] + ": as many init values and results as inputs, at least one")))
    return failure();
  for (auto [input, init] : llvm::zip(inputs, inits)) {
    if (failed(require(op, agree(shaped(input).getShape(), shaped(inputs[0]).getShape()), ids[1] + ": inputs must have one shape"))) return failure();
    if (failed(require(op, shaped(init).getRank() == 0, ids[2] + ": init values must be scalars"))) return failure();
    if (failed(same_element(op, input, init, ids[2]))) return failure();
  }
  return success();
}

// What gather and scatter share, by gather's names. `ids` are those of the checks, in their order.
struct Indexing {
  ArrayRef<int64_t> offset_dims, collapsed, operand_batching, indices_batching, index_map;
  int64_t index_vector;
};
LogicalResult verify_indexing(Operation* op, RankedTensorType operand, RankedTensorType indices, RankedTensorType windows, const Indexing& n, ArrayRef<StringRef> ids) {
  auto holds = [&](bool condition, const Twine& message) { return succeeded(require(op, condition, message)); };
  return success(
      holds(in_range({n.index_vector}, indices.getRank() + 1), ids[0] + ": index_vector_dim must be in [0, rank(indices)]") &&
      holds(agree({int64_t(n.index_map.size())}, {n.index_vector < indices.getRank() ? indices.getDimSize(n.index_vector) : 1}), ids[1] + ": the index map needs one entry for each index component") &&
      holds(in_range(n.offset_dims, windows.getRank()) && is_unique(n.offset_dims) && llvm::is_sorted(n.offset_dims), ids[2] + ": window dimensions must be sorted, unique and in range") &&
      holds(is_unique(joined(n.collapsed, n.operand_batching)), ids[3] + ": collapsed and batching dimensions must be unique") &&
      holds(in_range(n.collapsed, operand.getRank()) && llvm::is_sorted(n.collapsed), ids[4] + ": collapsed dimensions must be sorted and in range") &&
      holds(in_range(n.operand_batching, operand.getRank()) && llvm::is_sorted(n.operand_batching), ids[5] + ": batching dimensions must be sorted and in range") &&
      holds(in_range(n.indices_batching, indices.getRank()) && is_unique(n.indices_batching) && !llvm::is_contained(n.indices_batching, n.index_vector),
            ids[6] + ": the indices' batching dimensions must be unique, in range and without index_vector_dim") &&
      holds(n.operand_batching.size() == n.indices_batching.size(), ids[7] + ": as many batching dimensions of the indices as of the operand") &&
      holds(agree(sizes_in(operand.getShape(), n.operand_batching), sizes_in(indices.getShape(), n.indices_batching)), ids[8] + ": batching dimensions must have equal sizes") &&
      holds(in_range(n.index_map, operand.getRank()) && is_unique(joined(n.index_map, n.operand_batching)), ids[9] + ": the index map must be unique, in range and without batching dimensions") &&
      holds(agree(sizes_outside(windows.getShape(), n.offset_dims), sizes_outside(indices.getShape(), {n.index_vector})), ids[10] + ": there must be a window for each index"));
}

}  // namespace

LogicalResult SelectOp::verify() {
  auto pred = shaped(getPred()), type = shaped(getOnTrue());
  REQUIRE(pred.getRank() == 0 || pred.getShape() == type.getShape(), "select_c1: pred must be a scalar or have the shape of on_true");
  return success();
}

LogicalResult ClampOp::verify() {
  auto type = shaped(getOperand());
  for (Value bound : {getMin(), getMax()}) {
    REQUIRE(shaped(bound).getRank() == 0 || shaped(bound).getShape() == type.getShape(),
            "clamp_c1, clamp_c2: bounds must be scalars or have the operand's shape");
    REQUIRE(getElementTypeOrSelf(bound) == type.getElementType(), "clamp_c3: element types must agree");
  }
  return success();
}

LogicalResult IotaOp::verify() {
  REQUIRE(in_range({int64_t(getIotaDimension())}, cast<RankedTensorType>(getType()).getRank()),
          "iota_c1: iota_dimension must be in [0, rank(output))");
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (failed(same_element(*this, getOperand(), getResult(), "reshape_c1"))) return failure();
  REQUIRE(shaped(getOperand()).getNumElements() == shaped(getResult()).getNumElements(),
          "reshape_c2: operand and result must have the same number of elements");
  return success();
}

LogicalResult BitcastConvertOp::verify() {
  auto bits = [](Value v) {
    auto type = shaped(v);
    int64_t width = isa<ComplexType>(type.getElementType())
                        ? 2 * cast<ComplexType>(type.getElementType()).getElementType().getIntOrFloatBitWidth()
                        : type.getElementTypeBitWidth();
    return width * type.getNumElements();
  };
  REQUIRE(bits(getOperand()) == bits(getResult()), "bitcast_convert_c1: operand and result must have the same number of bits");
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  auto from = shaped(getOperand()), to = shaped(getResult());
  if (failed(same_element(*this, getOperand(), getResult(), "broadcast_in_dim_c1"))) return failure();
  auto dims = getBroadcastDimensions();
  REQUIRE(int64_t(dims.size()) == from.getRank(), "broadcast_in_dim_c2: one dimension for each of the operand's");
  REQUIRE(in_range(dims, to.getRank()), "broadcast_in_dim_c3: dimensions must be in [0, rank(result))");
  REQUIRE(is_unique(dims), "broadcast_in_dim_c4: dimensions must be unique");
  for (auto [k, d] : llvm::enumerate(dims))
    REQUIRE(from.getDimSize(k) == 1 || from.getDimSize(k) == to.getDimSize(d),
            "broadcast_in_dim_c5: operand dimension " + Twine(k) + " must be 1 or that of the result");
  return success();
}

LogicalResult TransposeOp::verify() {
  auto from = shaped(getOperand()), to = shaped(getResult());
  auto permutation = getPermutation();
  if (failed(same_element(*this, getOperand(), getResult(), "transpose_c1"))) return failure();
  REQUIRE(int64_t(permutation.size()) == from.getRank() && in_range(permutation, from.getRank()) && is_unique(permutation),
          "transpose_c2: permutation must order the operand's dimensions");
  REQUIRE(from.getRank() == to.getRank(), "transpose_c3: the result must have the operand's rank");
  for (auto [k, d] : llvm::enumerate(permutation))
    REQUIRE(to.getDimSize(k) == from.getDimSize(d), "transpose_c3: result dimension " + Twine(k) + " must be the operand's " + Twine(d));
  return success();
}

LogicalResult ReverseOp::verify() {
  REQUIRE(is_unique(getDimensions()), "reverse_c2: dimensions must be unique");
  REQUIRE(in_range(getDimensions(), shaped(getOperand()).getRank()), "reverse_c3: dimensions must be in [0, rank(operand))");
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = shaped(getOperand()), to = shaped(getResult());
  if (failed(same_element(*this, getOperand(), getResult(), "slice_c1"))) return failure();
  size_t rank = from.getRank();
  REQUIRE(getStartIndices().size() == rank && getLimitIndices().size() == rank && getStrides().size() == rank &&
              to.getRank() == int64_t(rank),
          "slice_c2: start_indices, limit_indices and strides need one entry for each dimension");
  for (size_t d = 0; d < rank; ++d) {
    int64_t lo = getStartIndices()[d], hi = getLimitIndices()[d], step = getStrides()[d];
    REQUIRE(0 <= lo && lo <= hi && hi <= from.getDimSize(d), "slice_c3: bounds of dimension " + Twine(d) + " must lie in the operand");
    REQUIRE(step > 0, "slice_c4: strides must be positive");
    REQUIRE(to.getDimSize(d) == (hi - lo + step - 1) / step, "slice_c5: result dimension " + Twine(d) + " must be ceil((limit - start) / stride)");
  }
  return success();
}

LogicalResult PadOp::verify() {
  auto from = shaped(getOperand()), to = shaped(getResult());
  if (failed(same_element(*this, getOperand(), getResult(), "pad_c1"))) return failure();
  REQUIRE(shaped(getPaddingValue()).getRank() == 0, "pad_c1: padding_value must be a scalar");
  size_t rank = from.getRank();
  REQUIRE(getEdgePaddingLow().size() == rank && getEdgePaddingHigh().size() == rank && getInteriorPadding().size() == rank &&
              to.getRank() == int64_t(rank),
          "pad_c2: padding needs one entry for each dimension");
  for (size_t d = 0; d < rank; ++d) {
    int64_t n = from.getDimSize(d), interior = getInteriorPadding()[d];
    REQUIRE(interior >= 0, "pad_c3: interior_padding must not be negative");
    REQUIRE(to.getDimSize(d) == getEdgePaddingLow()[d] + n + std::max<int64_t>(n - 1, 0) * interior + getEdgePaddingHigh()[d],
            "pad_c4: result dimension " + Twine(d) + " must be the padded size");
  }
  return success();
}

LogicalResult ConcatenateOp::verify() {
  auto to = shaped(getResult());
  REQUIRE(!getInputs().empty(), "concatenate_c3: at least one input");
  int64_t dim = getDimension(), sum = 0;
  REQUIRE(in_range({dim}, to.getRank()), "concatenate_c4: dimension must be in [0, rank)");
  for (Value input : getInputs()) {
    auto type = shaped(input);
    REQUIRE(type.getElementType() == to.getElementType(), "concatenate_c5: element types must agree");
    REQUIRE(type.getRank() == to.getRank(), "concatenate_c2: ranks must agree");
    for (int64_t d = 0; d < to.getRank(); ++d)
      REQUIRE(d == dim || type.getDimSize(d) == to.getDimSize(d), "concatenate_c2: shapes must agree outside the dimension");
    sum += type.getDimSize(dim);
  }
  REQUIRE(sum == to.getDimSize(dim), "concatenate_c6: the result's dimension must be the sum of the inputs'");
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  auto from = shaped(getOperand()), to = shaped(getResult());
  if (failed(same_element(*this, getOperand(), getResult(), "dynamic_slice_c1"))) return failure();
  REQUIRE(int64_t(getStartIndices().size()) == from.getRank() && int64_t(getSliceSizes().size()) == from.getRank(),
          "dynamic_slice_c2: one start index and one size for each dimension");
  for (int64_t d = 0; d < from.getRank(); ++d)
    REQUIRE(getSliceSizes()[d] >= 0 && getSliceSizes()[d] <= from.getDimSize(d), "dynamic_slice_c4: sizes must lie in the operand");
  REQUIRE(to.getShape() == getSliceSizes(), "dynamic_slice_c5: the result's shape must be slice_sizes");
  return success();
}

LogicalResult DynamicUpdateSliceOp::verify() {
  auto from = shaped(getOperand()), update = shaped(getUpdate());
  if (failed(same_element(*this, getOperand(), getUpdate(), "dynamic_update_slice_c2"))) return failure();
  REQUIRE(update.getRank() == from.getRank(), "dynamic_update_slice_c3: ranks must agree");
  REQUIRE(int64_t(getStartIndices().size()) == from.getRank(), "dynamic_update_slice_c4: one start index for each dimension");
  for (int64_t d = 0; d < from.getRank(); ++d)
    REQUIRE(update.getDimSize(d) <= from.getDimSize(d), "dynamic_update_slice_c6: the update must fit into the operand");
  return success();
}

LogicalResult GatherOp::verify() {
  auto dims = getDimensionNumbers();
  auto operand = shaped(getOperand()), indices = shaped(getStartIndices()), to = shaped(getResult());
  int64_t rank = operand.getRank();
  REQUIRE(rank == int64_t(dims.getOffsetDims().size() + dims.getCollapsedSliceDims().size() + dims.getOperandBatchingDims().size()),
          "gather_c1: rank(operand) must be offset_dims + collapsed_slice_dims + operand_batching_dims");
  Indexing indexing{dims.getOffsetDims(), dims.getCollapsedSliceDims(), dims.getOperandBatchingDims(), dims.getStartIndicesBatchingDims(), dims.getStartIndexMap(), dims.getIndexVectorDim()};
  if (failed(verify_indexing(*this, operand, indices, to, indexing,
                             {"gather_c2", "gather_c3", "gather_c4, gather_c5", "gather_c6", "gather_c7, gather_c8", "gather_c10, gather_c11", "gather_c13, gather_c14, gather_c15", "gather_c16",
                              "gather_c17", "gather_c18, gather_c19", "gather_c22"})))
    return failure();
  REQUIRE(int64_t(getSliceSizes().size()) == rank, "gather_c20: one slice size for each dimension");
  for (int64_t d = 0; d < rank; ++d)
    REQUIRE(getSliceSizes()[d] >= 0 && getSliceSizes()[d] <= operand.getDimSize(d), "gather_c21: slice sizes must lie in the operand");
  auto dropped = joined(dims.getCollapsedSliceDims(), dims.getOperandBatchingDims());
  REQUIRE(llvm::all_of(dropped, [&](int64_t d) { return getSliceSizes()[d] <= 1; }), "gather_c9, gather_c12: slices of collapsed and batching dimensions must have size 1 or 0");
  REQUIRE(agree(sizes_in(to.getShape(), dims.getOffsetDims()), sizes_outside(getSliceSizes(), dropped)), "gather_c22: the result's offset dimensions must be the slice's");
  return same_element(*this, getOperand(), getResult(), "gather_c23");
}

LogicalResult ScatterOp::verify() {
  auto dims = getScatterDimensionNumbers();
  REQUIRE(!getInputs().empty() && getNumOperands() == 2 * getInputs().size() + 1 && getNumResults() == getInputs().size(),
          "scatter_c5: as many updates and results as inputs, at least one");
  auto input = shaped(getInputs().front()), update = shaped(getUpdates().front());
  int64_t rank = input.getRank();
  REQUIRE(rank == int64_t(dims.getUpdateWindowDims().size() + dims.getInsertedWindowDims().size() + dims.getInputBatchingDims().size()),
          "scatter_c2: rank(input) must be update_window_dims + inserted_window_dims + input_batching_dims");
  for (auto [a, b] : llvm::zip(getInputs(), getUpdates())) {
    REQUIRE(agree(shaped(a).getShape(), input.getShape()) && agree(shaped(b).getShape(), update.getShape()), "scatter_c1, scatter_c3: inputs must have one shape, and so must updates");
    if (failed(same_element(*this, a, b, "scatter_c6"))) return failure();
  }
  Indexing indexing{dims.getUpdateWindowDims(), dims.getInsertedWindowDims(), dims.getInputBatchingDims(), dims.getScatterIndicesBatchingDims(), dims.getScatterDimsToOperandDims(), dims.getIndexVectorDim()};
  if (failed(verify_indexing(*this, input, shaped(getScatterIndices()), update, indexing,
                             {"scatter_c22", "scatter_c19", "scatter_c7, scatter_c8", "scatter_c9", "scatter_c10, scatter_c11", "scatter_c12, scatter_c13",
                              "scatter_c14, scatter_c15, scatter_c16", "scatter_c17", "scatter_c18", "scatter_c20, scatter_c21", "scatter_c4"})))
    return failure();
  auto room = sizes_outside(input.getShape(), joined(dims.getInsertedWindowDims(), dims.getInputBatchingDims()));
  for (auto [d, size] : llvm::zip(dims.getUpdateWindowDims(), room))
    REQUIRE(update.getDimSize(d) <= size || ShapedType::isDynamic(size), "scatter_c4: the updates' windows must fit into the input");
  for (auto [a, b] : llvm::zip(getInputs(), getResults()))
    REQUIRE(a.getType() == b.getType(), "scatter_c24: results have the inputs' types");
  return success();
}
LogicalResult ScatterOp::verifyRegions() { return verify_body(*this, getUpdateComputation(), getInputs(), "scatter_c23"); }

LogicalResult TriangularSolveOp::verify() {
  auto a = shaped(getA()), b = shaped(getB());
  int64_t rank = a.getRank();
  if (failed(same_element(*this, getA(), getB(), "triangular_solve_c1"))) return failure();
  REQUIRE(rank >= 2 && b.getRank() == rank, "triangular_solve_c2: operands must have the same rank, of 2 or more");
  REQUIRE(a.getShape().drop_back(2) == b.getShape().drop_back(2), "triangular_solve_c3: operands must agree in all dimensions but the last two");
  REQUIRE(a.getDimSize(rank - 2) == a.getDimSize(rank - 1) && a.getDimSize(rank - 1) == b.getDimSize(rank - (getLeftSide() ? 2 : 1)),
          "triangular_solve_c3: a must be square and as large as the dimension of b that is solved for");
  REQUIRE(getB().getType() == getResult().getType(), "triangular_solve_c4: the result has the type of b");
  REQUIRE(getTransposeA() != Transpose::TRANSPOSE_INVALID, "triangular_solve_i6: transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  return success();
}

LogicalResult SortOp::verify() {
  REQUIRE(!getInputs().empty() && getNumResults() == getInputs().size(), "sort_c1, sort_c2: as many results as inputs, at least one");
  int64_t rank = shaped(getInputs().front()).getRank(), dim = getDimension();
  REQUIRE(dim >= -rank && dim < rank, "sort_c4: dimension must be in [-rank, rank)");
  for (auto [a, b] : llvm::zip(getInputs(), getResults())) REQUIRE(a.getType() == b.getType(), "sort_c2: results have the inputs' types");
  return success();
}
LogicalResult SortOp::verifyRegions() {
  SmallVector<Type> pairs;
  for (Type t : getOperandTypes()) pairs.append(2, scalar_of(t));
  REQUIRE(has_type(getComparator(), pairs, condition_type(*this)), "sort_c5: the comparator must take two values of each input and return one tensor<i1>");
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verify_reduced(*this, getInputs(), getInitValues(), {"reduce_c3", "reduce_c1", "reduce_c2"}))) return failure();
  auto from = shaped(getInputs().front());
  REQUIRE(in_range(getDimensions(), from.getRank()), "reduce_c4: dimensions must be in [0, rank(input))");
  REQUIRE(is_unique(getDimensions()), "reduce_c5: dimensions must be unique");
  for (Value result : getResults())
    REQUIRE(agree(shaped(result).getShape(), sizes_outside(from.getShape(), getDimensions())), "reduce_c7: the result's shape must be the dimensions that are kept");
  return success();
}
LogicalResult ReduceOp::verifyRegions() { return verify_body(*this, getBody(), getInputs(), "reduce_c6, reduce_c8"); }

// Output size of each window dimension; none if the attributes do not fit the rank, or strides or dilations are not positive.
static std::optional<SmallVector<int64_t>> window_shape(ArrayRef<int64_t> shape, ArrayRef<int64_t> window, std::optional<ArrayRef<int64_t>> strides,
                                                        std::optional<ArrayRef<int64_t>> base, std::optional<ArrayRef<int64_t>> dilations,
                                                        std::optional<DenseIntElementsAttr> padding) {
  size_t rank = shape.size();
  auto fits = [&](auto& list) { return !list || (list->size() == rank && llvm::all_of(*list, [](int64_t v) { return v > 0; })); };
  if (window.size() != rank || !fits(strides) || !fits(base) || !fits(dilations) ||
      (padding && padding->getNumElements() != int64_t(2 * rank)))
    return std::nullopt;
  SmallVector<int64_t> result, pads(2 * rank, 0);
  if (padding) pads.assign(padding->getValues<int64_t>().begin(), padding->getValues<int64_t>().end());
  for (size_t d = 0; d < rank; ++d) {
    int64_t n = shape[d] ? (shape[d] - 1) * (base ? (*base)[d] : 1) + 1 : 0;
    n += pads[2 * d] + pads[2 * d + 1];
    int64_t w = window[d] ? (window[d] - 1) * (dilations ? (*dilations)[d] : 1) + 1 : 0;
    result.push_back(n == 0 || n < w ? 0 : (n - w) / (strides ? (*strides)[d] : 1) + 1);
  }
  return result;
}
static bool positive(ArrayRef<int64_t> window) {
  return llvm::all_of(window, [](int64_t v) { return v > 0; });
}

LogicalResult ReduceWindowOp::verify() {
  if (failed(verify_reduced(*this, getInputs(), getInitValues(), {"reduce_window_c1", "reduce_window_c2", "reduce_window_c3"}))) return failure();
  auto from = shaped(getInputs().front());
  auto shape = window_shape(from.getShape(), getWindowDimensions(), getWindowStrides(), getBaseDilations(), getWindowDilations(), getPadding());
  REQUIRE(shape && positive(getWindowDimensions()), "reduce_window_c4 to reduce_window_c12: window attributes need one entry for each dimension, all but padding positive");
  for (Value result : getResults())
    REQUIRE(shaped(result).getShape() == ArrayRef<int64_t>(*shape), "reduce_window_c15: the result's shape must be the number of windows");
  return success();
}
LogicalResult ReduceWindowOp::verifyRegions() { return verify_body(*this, getBody(), getInputs(), "reduce_window_c13, reduce_window_c16"); }

LogicalResult SelectAndScatterOp::verify() {
  auto from = shaped(getOperand());
  if (failed(same_element(*this, getOperand(), getSource(), "select_and_scatter_c1"))) return failure();
  REQUIRE(shaped(getInitValue()).getRank() == 0, "select_and_scatter_c3: init_value must be a scalar");
  if (failed(same_element(*this, getOperand(), getInitValue(), "select_and_scatter_c3"))) return failure();
  SmallVector<int64_t> ones(from.getRank(), 1);
  auto window = getWindowDimensions().value_or(ones);
  auto shape = window_shape(from.getShape(), window, getWindowStrides(), std::nullopt, std::nullopt, getPadding());
  REQUIRE(shape && positive(window), "select_and_scatter_c4 to select_and_scatter_c8: window attributes need one entry for each dimension, all but padding positive");
  REQUIRE(shaped(getSource()).getShape() == ArrayRef<int64_t>(*shape), "select_and_scatter_c2: source must have one element for each window");
  REQUIRE(getResult().getType() == from, "select_and_scatter_c11: the result has the operand's type");
  return success();
}
LogicalResult SelectAndScatterOp::verifyRegions() {
  Type value = scalar_of(getOperand().getType());
  REQUIRE(has_type(getSelect(), {value, value}, condition_type(*this)), "select_and_scatter_c9: select must take two of the operand's elements and return one tensor<i1>");
  return verify_body(*this, getScatter(), getOperand(), "select_and_scatter_c10, select_and_scatter_c12");
}

LogicalResult DotGeneralOp::verify() {
  auto dims = getDotDimensionNumbers();
  auto lhs = shaped(getLhs()), rhs = shaped(getRhs());
  auto lb = dims.getLhsBatchingDimensions(), rb = dims.getRhsBatchingDimensions();
  auto lc = dims.getLhsContractingDimensions(), rc = dims.getRhsContractingDimensions();
  REQUIRE(lb.size() == rb.size(), "dot_general_c1: as many batching dimensions on both sides");
  REQUIRE(lc.size() == rc.size(), "dot_general_c2: as many contracting dimensions on both sides");
  SmallVector<int64_t> left(lb), right(rb);
  left.append(lc.begin(), lc.end());
  right.append(rc.begin(), rc.end());
  REQUIRE(is_unique(left), "dot_general_c3: lhs dimensions must be unique");
  REQUIRE(is_unique(right), "dot_general_c4: rhs dimensions must be unique");
  REQUIRE(in_range(left, lhs.getRank()), "dot_general_c5, dot_general_c6: lhs dimensions must be in [0, rank(lhs))");
  REQUIRE(in_range(right, rhs.getRank()), "dot_general_c7, dot_general_c8: rhs dimensions must be in [0, rank(rhs))");
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip(lb, rb)) {
    REQUIRE(lhs.getDimSize(l) == rhs.getDimSize(r), "dot_general_c9: batching dimensions must have equal sizes");
    shape.push_back(lhs.getDimSize(l));
  }
  for (auto [l, r] : llvm::zip(lc, rc))
    REQUIRE(lhs.getDimSize(l) == rhs.getDimSize(r), "dot_general_c10: contracting dimensions must have equal sizes");
  for (int64_t d = 0; d < lhs.getRank(); ++d)
    if (!llvm::is_contained(left, d)) shape.push_back(lhs.getDimSize(d));
  for (int64_t d = 0; d < rhs.getRank(); ++d)
    if (!llvm::is_contained(right, d)) shape.push_back(rhs.getDimSize(d));
  REQUIRE(shaped(getResult()).getShape() == ArrayRef<int64_t>(shape),
          "dot_general_c12: the result's shape must be batching, lhs result and rhs result dimensions");
  return success();
}

LogicalResult ConvolutionOp::verify() {
  auto dims = getDimensionNumbers();
  auto lhs = shaped(getLhs()), rhs = shaped(getRhs()), to = shaped(getResult());
  int64_t rank = lhs.getRank(), groups = getFeatureGroupCount(), batch_groups = getBatchGroupCount();
  REQUIRE(rhs.getRank() == rank && to.getRank() == rank, "convolution_c1: ranks must agree");
  REQUIRE(int64_t(dims.getInputSpatialDimensions().size()) == rank - 2 && int64_t(dims.getKernelSpatialDimensions().size()) == rank - 2 &&
              int64_t(dims.getOutputSpatialDimensions().size()) == rank - 2,
          "convolution_c12, convolution_c17, convolution_c19: rank - 2 spatial dimensions each");
  REQUIRE(groups > 0 && batch_groups > 0, "convolution_c21, convolution_c22: group counts must be positive");
  REQUIRE(groups == 1 || batch_groups == 1, "convolution_c23: one of the group counts must be 1");
  REQUIRE(lhs.getDimSize(dims.getInputBatchDimension()) % batch_groups == 0, "convolution_c10: batch must divide by batch_group_count");
  REQUIRE(lhs.getDimSize(dims.getInputFeatureDimension()) == rhs.getDimSize(dims.getKernelInputFeatureDimension()) * groups,
          "convolution_c11, convolution_c14: input features must be the kernel's times feature_group_count");
  int64_t features = rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  REQUIRE(features % batch_groups == 0 && features % groups == 0, "convolution_c15, convolution_c16: output features must divide by the groups");
  SmallVector<int64_t> input, kernel;
  for (int64_t d : dims.getInputSpatialDimensions()) input.push_back(lhs.getDimSize(d));
  for (int64_t d : dims.getKernelSpatialDimensions()) kernel.push_back(rhs.getDimSize(d));
  auto shape = window_shape(input, kernel, getWindowStrides(), getLhsDilation(), getRhsDilation(), getPadding());
  REQUIRE(shape && (!getWindowReversal() || int64_t(getWindowReversal()->size()) == rank - 2),
          "convolution_c2 to convolution_c9: window attributes need one entry for each spatial dimension, strides and dilations positive ones");
  for (auto [k, d] : llvm::enumerate(dims.getOutputSpatialDimensions()))
    REQUIRE(to.getDimSize(d) == (*shape)[k], "convolution_c25: output spatial dimension " + Twine(k) + " must be the number of windows");
  REQUIRE(to.getDimSize(dims.getOutputBatchDimension()) == lhs.getDimSize(dims.getInputBatchDimension()) / batch_groups &&
              to.getDimSize(dims.getOutputFeatureDimension()) == features,
          "convolution_c25: output batch and feature dimensions");
  return success();
}

LogicalResult IfOp::verifyRegions() {
  for (Region& branch : getOperation()->getRegions()) REQUIRE(has_type(branch, {}, getResultTypes()), "if_c1 to if_c3: branches must take nothing and return the results' types");
  return success();
}

LogicalResult CaseOp::verify() {
  REQUIRE(!getBranches().empty(), "case_c1: at least one branch");
  return success();
}
LogicalResult CaseOp::verifyRegions() {
  for (Region& branch : getBranches()) REQUIRE(has_type(branch, {}, getResultTypes()), "case_c2 to case_c4: branches must take nothing and return the results' types");
  return success();
}

LogicalResult WhileOp::verify() {
  REQUIRE(agree(getResultTypes(), getOperandTypes()), "while_c3: results must have the operands' types");
  return success();
}
LogicalResult WhileOp::verifyRegions() {
  REQUIRE(has_type(getCond(), getOperandTypes(), condition_type(*this)), "while_c1: cond must take the operands' types and return one tensor<i1>");
  REQUIRE(has_type(getBody(), getOperandTypes(), getOperandTypes()), "while_c2: body must take and return the operands' types");
  return success();
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection& symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getDecompositionAttr());
  REQUIRE(bool(function), "composite_c2: decomposition @" + getDecomposition() + " is not a function");
  REQUIRE(getName().contains('.'), "composite_c1: the name must be namespaced, as in \"aten.gelu\"");
  REQUIRE(function.getArgumentTypes() == getOperandTypes() , "composite_c3: operand types must be the decomposition's");
  REQUIRE(function.getResultTypes() == getResultTypes(), "composite_c4: result types must be the decomposition's");
  return success();
}

}  // namespace mlir::stablehlo
