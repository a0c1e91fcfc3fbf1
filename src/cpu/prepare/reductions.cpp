#include "cpu/prepare/reductions.h"

#include "cpu/emit/element.h"
#include "cpu/fusion.h"
#include "cpu/prepare/rewrite.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Whether parts of the reduction can each begin with its initial value.
bool begins_neutral(ReduceOp op) {
  Operation* reducer = op.getInputs().size() == 1 ? simple_reducer(op.getBody().front()) : nullptr;
  return reducer && is_neutral(reducer, op.getInitValues()[0]);
}

// The same reduction of other dimensions of something else.
Value reduce_again(ReduceOp op, PatternRewriter& r, Value from, ArrayRef<int64_t> dims) {
  auto type = shaped(from);
  SmallVector<int64_t> to;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, int64_t(d))) to.push_back(size);
  auto result = ReduceOp::create(r, op.getLoc(), TypeRange{RankedTensorType::get(to, type.getElementType())}, ValueRange{from}, op.getInitValues(), r.getDenseI64ArrayAttr(dims));
  IRMapping map;
  op.getBody().cloneInto(&result.getBody(), map);
  return result.getResult(0);
}

Value reshaped(Value v, ArrayRef<int64_t> shape, PatternRewriter& r) {
  return ReshapeOp::create(r, v.getLoc(), shaped(v).clone(shape), v);
}

int64_t largest_divisor(int64_t n, int64_t most) {
  while (n % most) --most;
  return most;
}

// Of what is transposed: of the same dimensions where they lie, if the others keep their order. Conversions between may go first.
Value reduce_transposed(ReduceOp op, PatternRewriter& r) {
  if (op.getInputs().size() != 1) return {};
  auto convert = op.getInputs()[0].getDefiningOp<ConvertOp>();
  auto transpose = (convert ? convert.getOperand() : op.getInputs()[0]).getDefiningOp<TransposeOp>();
  if (!transpose) return {};
  SmallVector<int64_t> dims, others;
  for (auto [d, from] : llvm::enumerate(transpose.getPermutation())) (llvm::is_contained(op.getDimensions(), int64_t(d)) ? dims : others).push_back(from);
  if (!llvm::is_sorted(others)) return {};
  llvm::sort(dims);
  Value from = transpose.getOperand();
  if (convert) from = ConvertOp::create(r, op.getLoc(), shaped(from).clone(element(convert)), from);
  return reduce_again(op, r, from, dims);
}

// Whether this is computed of slices and their like: in another shape, each vector of it would be looked for by divisions.
bool reads_moved(Value v, int depth = 0) {
  constexpr int kMostDepth = 8;
  Operation* op = v.getDefiningOp();
  if (isa_and_nonnull<SliceOp, PadOp, ReverseOp, TransposeOp, GatherOp>(op)) return true;
  return op && is_elementwise(op) && depth < kMostDepth && llvm::any_of(op->getOperands(), [&](Value operand) { return reads_moved(operand, depth + 1); });
}

// Reductions to one element: of rows first, in parallel and in short sums that lose little, then of what these are. Rows are some last dimensions; if that leaves only a few,
// equal parts of everything, or fewer dimensions.
Value split_full_reduction(ReduceOp op, PatternRewriter& r) {
  constexpr int64_t kLeastElements = 8192, kShortestRow = 256, kShortestMoved = 32, kLeastRows = 16, kLeastMovedRows = 4, kLongestPart = 4096;
  if (!begins_neutral(op) || shaped(op.getResult(0)).getNumElements() != 1) return {};
  Value from = op.getInputs()[0];
  auto type = shaped(from);
  int64_t elements = type.getNumElements(), row = 1, first = type.getRank();
  if (elements < kLeastElements) return {};
  while (first > 0 && row < kShortestRow) row *= type.getDimSize(--first);
  const bool moved = reads_moved(from);
  if (moved)
    while (elements / row < kLeastRows && row / type.getDimSize(first) >= kShortestMoved) row /= type.getDimSize(first++);
  if (elements / row < (moved ? kLeastMovedRows : kLeastRows)) {
    const int64_t part = largest_divisor(elements, std::min(kLongestPart, elements / kLeastRows));
    if (part >= kShortestRow) from = reshaped(from, {elements / part, part}, r), first = 1;
    else if (row == elements) return {};
  }
  Value parts = reduce_again(op, r, from, llvm::to_vector(llvm::seq<int64_t>(first, shaped(from).getRank())));
  Value all = reduce_again(op, r, parts, llvm::to_vector(llvm::seq<int64_t>(0, first)));
  return reshaped(all, shaped(op.getResult(0)).getShape(), r);
}

// The sum of many short rows, as for the gradient of a narrow bias: of parts first, in parallel.
Value split_leading_reduction(ReduceOp op, PatternRewriter& r) {
  constexpr int64_t kLeastElements = 1 << 16, kMostColumns = 256, kLeastParts = 4, kMostParts = 16, kLeastRows = 64;
  if (!begins_neutral(op)) return {};
  auto type = shaped(op.getInputs()[0]);
  SmallVector<int64_t> dims(op.getDimensions());
  llvm::sort(dims);
  if (dims.empty() || dims.back() != int64_t(dims.size()) - 1 || int64_t(dims.size()) == type.getRank() || type.getNumElements() < kLeastElements) return {};
  const int64_t parts = largest_divisor(type.getDimSize(0), kMostParts);
  if (product(type.getShape().drop_front(dims.size())) > kMostColumns || parts < kLeastParts || product(type.getShape().take_front(dims.size())) < kLeastRows * parts) return {};
  SmallVector<int64_t> shape(type.getShape()), inner;
  shape[0] /= parts;
  shape.insert(shape.begin(), parts);
  for (int64_t d : dims) inner.push_back(d + 1);
  return reduce_again(op, r, reduce_again(op, r, reshaped(op.getInputs()[0], shape, r), inner), {0});
}

// Whether a reshape would move above what this is computed of: nothing is repeated along a dimension there.
bool takes_any_shape(Value v, int depth = 0) {
  constexpr int kMostDepth = 8;
  Operation* op = v.getDefiningOp();
  if (isa_and_nonnull<BroadcastInDimOp>(op)) return shaped(op->getOperand(0)).getNumElements() == 1;
  if (!op || !is_elementwise(op)) return true;
  return depth < kMostDepth && llvm::all_of(op->getOperands(), [&](Value operand) { return takes_any_shape(operand, depth + 1); });
}

// Sums of columns that are too few for a vector: of several rows beside each other first.
Value widen_columns(ReduceOp op, PatternRewriter& r) {
  constexpr int64_t kLeastElements = 8192, kEnoughColumns = 16, kMostRows = 16;
  auto type = shaped(op.getInputs()[0]);
  if (!begins_neutral(op) || type.getNumElements() < kLeastElements || op.getDimensions().empty() || !takes_any_shape(op.getInputs()[0])) return {};
  const int64_t last = *llvm::max_element(op.getDimensions());
  auto shape = type.getShape();
  const int64_t columns = product(shape.drop_front(last + 1)), rows = largest_divisor(shape[last], kMostRows);
  if (columns < 2 || columns >= kEnoughColumns || rows * columns < kEnoughColumns || shape[last] < 2 * rows) return {};
  SmallVector<int64_t> wide(shape.take_front(last)), apart;
  wide.append({shape[last] / rows, rows * columns});
  Value sums = reduce_again(op, r, reshaped(op.getInputs()[0], wide, r), op.getDimensions());
  llvm::append_range(apart, shaped(sums).getShape().drop_back());
  apart.append({rows, columns});
  sums = reduce_again(op, r, reshaped(sums, apart, r), {int64_t(apart.size()) - 2});
  return reshaped(sums, shaped(op.getResult(0)).getShape(), r);
}

// Columns that are too few for a vector, beside others that are kept: as one dimension, if the order of memory is theirs.
Value join_columns(ReduceOp op, PatternRewriter& r) {
  constexpr int64_t kEnoughColumns = 16;
  auto shape = shaped(op.getInputs()[0]).getShape();
  if (!begins_neutral(op) || op.getDimensions().empty() || !takes_any_shape(op.getInputs()[0]) || reads_moved(op.getInputs()[0])) return {};
  const int64_t last = *llvm::max_element(op.getDimensions()), behind = int64_t(shape.size()) - 1 - last;
  if (behind < 2 || shape.back() >= kEnoughColumns || product(shape.drop_front(last + 1)) < kEnoughColumns) return {};
  SmallVector<int64_t> joined(shape.take_front(last + 1));
  joined.push_back(product(shape.drop_front(last + 1)));
  return reshaped(reduce_again(op, r, reshaped(op.getInputs()[0], joined, r), op.getDimensions()), shaped(op.getResult(0)).getShape(), r);
}

}  // namespace

void add_reductions(RewritePatternSet& rules) {
  add_rule(rules, reduce_transposed);
  add_rule(rules, split_full_reduction);
  add_rule(rules, split_leading_reduction);
  add_rule(rules, widen_columns);
  add_rule(rules, join_columns);
}

}  // namespace cresset::cpu
