// A slice written where it belongs; the rest of the array is there already.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

llvm::Error emit_update(KernelContext& c) {
  auto& k = c.k;
  auto op = cast<DynamicUpdateSliceOp>(c.fusion.product);
  ArrayRef<int64_t> array = shaped(op).getShape(), slice = shaped(op.getUpdate()).getShape();
  // A row: the last dimension, with those before it as long as they are one run of memory and of places.
  size_t joined = slice.empty() ? 0 : 1;
  while (joined > 0 && joined < slice.size() && slice.take_back(joined) == array.take_back(joined) && !tells_apart(c.fusion, op.getUpdate(), joined + 1)) ++joined;
  SmallVector<int64_t> rows(slice.drop_back(joined));
  c.kernel.tasks = product(rows);
  c.kernel.cost = double(product(slice)) * 8;
  Indices start;
  auto scalar = c.elements(1);
  for (auto [from, whole, part] : llvm::zip(op.getStartIndices(), array, slice)) start.push_back(scalar.clamped_start(from, {}, whole - part));
  k.loop(k.begin(), k.end(), [&](IR row) {
    Indices at = delinearise(k, rows, row);
    at.append(joined, constant_index(k, 0));
    k.along(k.i64(product(slice.take_back(joined))), k.target.lanes, [&](IR i, int lanes) {
      if (!at.empty()) at.back() = {i, lanes > 1 ? 1 : 0, lanes};
      auto e = c.elements(lanes);
      Indices to;
      for (auto [first, here] : llvm::zip(start, at)) to.push_back(e.plus(here, first));
      k.store(element(op), e.emit(op.getUpdate(), at), c.buffer(op), e.offset(array, to).base, lanes);
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
