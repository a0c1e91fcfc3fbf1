#include <numeric>

#include "cpu/matmul/made_operand.h"
#include "cpu/matmul/matmul.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Several dimensions taken as one.
struct Dims {
  SmallVector<int64_t> sizes, strides;
  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()); }
  Dims merged() const {
    Dims result;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      if (!result.sizes.empty() && result.strides.back() == sizes[d] * strides[d]) {
        result.sizes.back() *= sizes[d];
        result.strides.back() = strides[d];
      } else {
        result.sizes.push_back(sizes[d]);
        result.strides.push_back(strides[d]);
      }
    }
    return result;
  }
  bool unit() const { return sizes.empty() || (sizes.size() == 1 && strides[0] == 1); }
  IR offset(KernelEmitter& k, IR flat) const {
    if (sizes.empty()) return k.i64(0);
    if (sizes.size() == 1) return k.mul(flat, strides[0]);
    IR sum = k.i64(0);
    for (auto [i, stride] : llvm::zip(delinearise(k, sizes, flat), strides)) sum = k.add(sum, k.mul(i.base, stride));
    return sum;
  }
};

Dims select(const View& view, ArrayRef<int64_t> dims) {
  Dims result;
  for (int64_t d : dims) {
    result.sizes.push_back(view.shape[d]);
    result.strides.push_back(view.strides[d]);
  }
  return result;
}

SmallVector<int64_t> free_dims(const View& v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> result;
  for (int64_t d = 0; d < int64_t(v.shape.size()); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d)) result.push_back(d);
  return result;
}

// The right operand is made where it is read, of `value`, of which it is a view.
void make_right(KernelContext& c, DotGeneralOp op, Value value, const View& right, MatmulSpec& spec) {
  auto dims = op.getDotDimensionNumbers();
  SmallVector<int64_t> columns = free_dims(right, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  const int64_t depth = dims.getRhsContractingDimensions()[0], run = columns.size() > 1 ? right.shape[columns.back()] : 0;
  const bool along_k = spec.b_unit_k;
  if (along_k) spec.k_unit = MadeOperand::kRun;
  spec.converted = element(value), spec.b_unit_n = right.strides[columns.back()] == 1, spec.b_run = run;
  spec.b_made = [&c, op, dims, value, columns, depth, run, along_k](IR batch, IR k, IR column, int lanes) mutable {
    Indices at(shaped(op.getRhs()).getRank());
    for (int64_t d : dims.getRhsBatchingDimensions()) at[d].base = batch;
    at[depth].base = k, at[columns.back()].base = column;
    if (run) at[columns.front()].base = c.k.b.CreateUDiv(column, c.k.i64(run)), at[columns.back()].base = c.k.b.CreateURem(column, c.k.i64(run));
    if (Index& along = at[along_k ? depth : columns.back()]; lanes > 1) along.step = 1, along.multiple = lanes;
    auto e = c.elements(lanes);
    for (Value v = op.getRhs(); v != value; v = v.getDefiningOp()->getOperand(0)) at = *e.through(v.getDefiningOp(), at);  // past transposes
    return e.emit(value, at);
  };
}

}  // namespace

bool is_grouped_product(Operation* operation) {
  auto op = dyn_cast_or_null<CompositeOp>(operation);
  if (!op || op.getName() != "aten._grouped_mm" || op.getNumOperands() != 3 || op.getNumResults() != 1) return false;
  auto a = shaped(op.getOperand(0)), b = shaped(op.getOperand(1)), ends = shaped(op.getOperand(2)), result = shaped(op.getResult(0));
  Type type = result.getElementType();
  if (!(type.isF32() || type.isBF16() || type.isF16()) || a.getElementType() != type || b.getElementType() != type || !ends.getElementType().isInteger(32)) return false;
  for (auto t : {a, b, ends, result})
    if (!t.getNumElements()) return false;
  int64_t ra = a.getRank(), rb = b.getRank(), groups = ends.getDimSize(0);
  auto is_batch = [&](RankedTensorType t) { return t.getRank() == 2 || (t.getRank() == 3 && t.getDimSize(0) == groups); };
  return ends.getRank() == 1 && (ra == 2 || rb == 2) && is_batch(a) && is_batch(b) && a.getDimSize(ra - 1) == b.getDimSize(rb - 2) &&
         result.getRank() == (ra == rb ? 3 : 2);
}

// Groups of the rows of A, of the columns of B, or of what is summed: where they end is known only when it runs.
static llvm::Error emit_grouped_product(KernelContext& c) {
  auto& k = c.k;
  auto op = mlir::cast<CompositeOp>(c.fusion.product);
  auto is_buffer = [&](Value v) { return c.reads(v); };
  auto a = view_of(op.getOperand(0), is_buffer), b = view_of(op.getOperand(1), is_buffer);
  if (!a || !b) return llvm::createStringError("aten._grouped_mm: an operand has no strided form");
  auto offset = [&k](const View& v, IR batch, IR row, IR column) {
    size_t rank = v.shape.size();
    IR at = k.add(k.i64(v.offset), k.add(k.mul(row, v.strides[rank - 2]), k.mul(column, v.strides[rank - 1])));
    return rank == 3 ? k.add(at, k.mul(batch, v.strides[0])) : at;
  };
  bool of_rows = a->shape.size() == 2 && b->shape.size() == 3, of_columns = a->shape.size() == 3;
  MatmulSpec spec;
  spec.batch = shaped(op.getOperand(2)).getDimSize(0);
  spec.m = a->shape[a->shape.size() - 2], spec.k = a->shape.back(), spec.n = b->shape.back();
  spec.a_type = element(op.getOperand(0)), spec.b_type = element(op.getOperand(1)), spec.type = element(op.getResult(0));
  spec.a = c.buffer(a->base), spec.b = c.buffer(b->base);
  spec.a_offset = [&](IR batch, IR row, IR kk) { return offset(*a, batch, row, kk); };
  spec.b_offset = [&](IR batch, IR kk, IR column) { return offset(*b, batch, kk, column); };
  spec.a_unit_k = a->strides.back() == 1, spec.a_unit_m = a->strides[a->strides.size() - 2] == 1;
  spec.b_unit_n = b->strides.back() == 1, spec.b_unit_k = b->strides[b->strides.size() - 2] == 1;
  auto row_of = [&](IR batch, IR row) { return of_rows || of_columns ? row : k.add(k.mul(batch, spec.m), row); };
  spec.store = [&](IR batch, IR row, IR column, IR sum, int lanes) { emit_epilogue(c, row_of(batch, row), column, sum, lanes); };
  spec.streams = epilogue_streams(c.fusion);
  spec.prefetch = [&](IR batch, IR row, IR column, bool to_write) { prefetch_epilogue(c, row_of(batch, row), column, to_write); };
  spec.ends = c.buffer(op.getOperand(2));
  spec.groups = of_rows || of_columns ? MatmulSpec::Rows : MatmulSpec::Depth;
  if (!of_columns) return emit_matmul(c, spec), llvm::Error::success();
  MatmulSpec other = exchanged(spec);
  other.prefetch = nullptr;
  emit_matmul(c, other);
  return llvm::Error::success();
}

llvm::Error emit_dot(KernelContext& c) {
  if (is_grouped_product(c.fusion.product)) return emit_grouped_product(c);
  auto& k = c.k;
  auto op = mlir::cast<DotGeneralOp>(c.fusion.product);
  auto dims = op.getDotDimensionNumbers();
  auto is_buffer = [&](Value v) { return c.reads(v); };
  auto less = c.slots.has(op.getLhs()) ? std::nullopt : less_number(op.getLhs());
  auto made = made_operand(op);
  if (made && !c.fusion.roles.contains(made->value.getDefiningOp())) made.reset();
  auto lhs = view_of(less ? Value(less->bytes) : op.getLhs(), is_buffer, true), rhs = view_of(op.getRhs(), [&](Value v) { return made ? v == made->value : is_buffer(v); }, !made);
  if (element(op.getLhs()) != element(op.getRhs()))
    return llvm::createStringError("stablehlo.dot_general: operands of different element types are not supported");
  if (!lhs || !rhs) return llvm::createStringError("stablehlo.dot_general: an operand has no strided form");
  Dims m = select(*lhs, free_dims(*lhs, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions())).merged();
  Dims n = select(*rhs, free_dims(*rhs, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions())).merged();
  Dims ka = select(*lhs, dims.getLhsContractingDimensions()), kb = select(*rhs, dims.getRhsContractingDimensions());
  Dims ba = select(*lhs, dims.getLhsBatchingDimensions()), bb = select(*rhs, dims.getRhsBatchingDimensions());
  MatmulSpec spec;
  spec.batch = ba.count();
  spec.m = m.count(), spec.n = n.count(), spec.k = ka.count();
  spec.any_m = k.any_size, spec.any_n = k.any_size && spec.batch > 1;
  spec.float_parts = parts_of_floats(op.getPrecisionConfig());
  ka = ka.merged(), kb = kb.merged();
  Value right = made ? made->main : rhs->base;  // null where others want it in another shape, and have it in memory
  while (right && !c.slots.has(right)) right = right.getDefiningOp<ReshapeOp>() ? right.getDefiningOp()->getOperand(0) : Value();
  spec.a_type = element(lhs->base), spec.b_type = right ? element(right) : element(op.getRhs());
  if (less) spec.a_zero = less->number;
  spec.seven_bits = has_seven_bits(op.getLhs()) || has_seven_bits(op.getRhs());
  if (Type factor = element(op.getLhs()); spec.a_type != factor || spec.b_type != factor) spec.converted = factor;
  spec.type = mlir::cast<RankedTensorType>(op.getType()).getElementType();
  spec.a = c.buffer(lhs->base), spec.b = right ? c.buffer(right) : nullptr;
  spec.a_offset = [&](IR batch, IR row, IR kk) {
    return k.add(k.add(k.i64(lhs->offset), ba.offset(k, batch)), k.add(m.offset(k, row), ka.offset(k, kk)));
  };
  spec.b_offset = [&](IR batch, IR kk, IR column) {
    return k.add(k.add(k.i64(rhs->offset), bb.offset(k, batch)), k.add(n.offset(k, column), kb.offset(k, kk)));
  };
  spec.store = [&](IR batch, IR row, IR column, IR sum, int lanes) { emit_epilogue(c, k.add(k.mul(batch, spec.m), row), column, sum, lanes); };
  spec.a_unit_k = ka.unit(), spec.a_unit_m = m.unit(), spec.b_unit_n = n.unit(), spec.b_unit_k = kb.unit();
  if (made) make_right(c, op, made->value, *rhs, spec);
  else spec.packed = c.packed_weight();
  spec.streams = epilogue_streams(c.fusion);
  spec.prefetch = [&](IR batch, IR row, IR column, bool to_write) { prefetch_epilogue(c, k.add(k.mul(batch, spec.m), row), column, to_write); };
  emit_matmul(c, spec);
  return llvm::Error::success();
}

}  // namespace cresset::cpu
