#include <numeric>

#include "cpu/matmul.h"

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

}  // namespace

llvm::Error emit_dot(KernelContext& c) {
  auto& k = c.k;
  auto op = mlir::cast<DotGeneralOp>(c.fusion.product);
  auto dims = op.getDotDimensionNumbers();
  auto is_buffer = [&](Value v) { return c.slots.has(v) && !c.fusion.outputs.contains(v); };
  auto lhs = view_of(op.getLhs(), is_buffer), rhs = view_of(op.getRhs(), is_buffer);
  if (element(op.getLhs()) != element(op.getRhs()))
    return llvm::createStringError("stablehlo.dot_general: operands of different element types are not supported");
  if (!lhs || !rhs) return llvm::createStringError("stablehlo.dot_general: an operand has no strided form");
  auto free_dims = [](const View& v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> result;
    for (int64_t d = 0; d < int64_t(v.shape.size()); ++d)
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d)) result.push_back(d);
    return result;
  };
  Dims m = select(*lhs, free_dims(*lhs, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions())).merged();
  Dims n = select(*rhs, free_dims(*rhs, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions())).merged();
  Dims ka = select(*lhs, dims.getLhsContractingDimensions()), kb = select(*rhs, dims.getRhsContractingDimensions());
  Dims ba = select(*lhs, dims.getLhsBatchingDimensions()), bb = select(*rhs, dims.getRhsBatchingDimensions());
  MatmulSpec spec;
  spec.batch = ba.count();
  spec.m = m.count(), spec.n = n.count(), spec.k = ka.count();
  ka = ka.merged(), kb = kb.merged();
  spec.a_type = mlir::cast<RankedTensorType>(lhs->base.getType()).getElementType();
  spec.b_type = mlir::cast<RankedTensorType>(rhs->base.getType()).getElementType();
  spec.type = mlir::cast<RankedTensorType>(op.getType()).getElementType();
  spec.a = c.buffer(lhs->base), spec.b = c.buffer(rhs->base);
  spec.a_offset = [&](IR batch, IR row, IR kk) {
    return k.add(k.add(k.i64(lhs->offset), ba.offset(k, batch)), k.add(m.offset(k, row), ka.offset(k, kk)));
  };
  spec.b_offset = [&](IR batch, IR kk, IR column) {
    return k.add(k.add(k.i64(rhs->offset), bb.offset(k, batch)), k.add(n.offset(k, column), kb.offset(k, kk)));
  };
  spec.store = [&](IR batch, IR row, IR column, IR sum, int lanes) { emit_epilogue(c, k.add(k.mul(batch, spec.m), row), column, sum, lanes); };
  spec.a_unit_k = ka.unit(), spec.a_unit_m = m.unit(), spec.b_unit_n = n.unit(), spec.b_unit_k = kb.unit();
  spec.streams = epilogue_streams(c.fusion);
  spec.prefetch = [&](IR batch, IR row, IR column, bool to_write) { prefetch_epilogue(c, k.add(k.mul(batch, spec.m), row), column, to_write); };
  emit_matmul(c, spec);
  return llvm::Error::success();
}

}  // namespace cresset::cpu
