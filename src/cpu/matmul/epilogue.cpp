// What follows a product element by element, on its sums: bias, activation, residual, conversion.
#include "cpu/emit/kernels.h"
#include "cpu/roundings.h"

namespace cresset::cpu {

using namespace mlir;

void emit_epilogue(KernelContext& c, IR row, IR column, IR sum, int lanes) {
  auto& k = c.k;
  Value product = c.fusion.product->getResult(0);
  auto shape = *product_shape(c.fusion.product);
  // The kernel's index: the trailing dimensions that are columns count as one, the last.
  ArrayRef<int64_t> space = c.fusion.shape.empty() ? shaped(product).getShape() : ArrayRef<int64_t>(c.fusion.shape), leading = shape.leading(space);
  Indices at = delinearise(k, leading, row);
  at.resize(space.size(), constant_index(k, 0));
  if (leading.size() < space.size()) at.back() = {column, lanes > 1 ? 1 : 0, lanes};

  ElementEmitter e(k, c.fusion, lanes, [&](ElementEmitter& e, Value v, const Indices& i) -> IR {
    if (v == product) return product.getDefiningOp()->hasAttr(kUnrounded) ? sum : k.round(element(product), sum, true);
    bool computed_here = v.getDefiningOp() && c.fusion.roles.contains(v.getDefiningOp());
    return c.slots.has(v) && !computed_here ? e.load(v, c.buffer(v), i) : nullptr;
  });
  // One may be written where another one's input lies: all of them are read for before.
  IRs values = llvm::map_to_vector(c.fusion.outputs, [&](Value v) { return e.emit(v, at); });
  for (auto [v, x] : llvm::zip(c.fusion.outputs, values)) k.store(element(v), x, c.buffer(v), e.offset(space, at).base, lanes);
}

void prefetch_epilogue(KernelContext& c, IR row, IR column, bool to_write) {
  auto& k = c.k;
  int64_t elements = shaped(c.fusion.product->getResult(0)).getNumElements(), columns = product_shape(c.fusion.product)->columns;
  auto ask = [&](Value v) {
    if (shaped(v).getNumElements() == elements && !llvm::is_contained(c.fusion.product->getOperands(), v))
      k.prefetch(k.b.CreateGEP(k.memory_type(element(v)), c.buffer(v), k.add(k.mul(row, columns), column)), to_write);
  };
  if (to_write) llvm::for_each(c.fusion.outputs, ask);
  else llvm::for_each(c.fusion.inputs, ask);
}

EpilogueStreams epilogue_streams(const Fusion& fusion) {
  int64_t elements = shaped(fusion.product->getResult(0)).getNumElements();
  EpilogueStreams result;
  auto count = [&](Value v) {
    if (shaped(v).getNumElements() != elements || llvm::is_contained(fusion.product->getOperands(), v)) return;
    ++result.count, result.widest = std::max(result.widest, element_bytes(element(v)));
  };
  llvm::for_each(fusion.outputs, count), llvm::for_each(fusion.inputs, count);
  return result;
}

}  // namespace cresset::cpu
