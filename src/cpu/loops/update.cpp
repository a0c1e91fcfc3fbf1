// A slice written where it belongs; the rest of the array is there already.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

llvm::Error emit_update(KernelContext& c) {
  auto& k = c.k;
  auto op = cast<DynamicUpdateSliceOp>(c.fusion.product);
  ArrayRef<int64_t> array = shaped(op).getShape(), slice = shaped(op.getUpdate()).getShape();
  // A row: the last dimension that has several elements, with those before it as long as they are one run of memory and of places. Behind it may be one of several elements of the array each.
  size_t behind = 0;
  while (behind + 1 < slice.size() && slice[slice.size() - 1 - behind] == 1) ++behind;
  ArrayRef<int64_t> places = slice.drop_back(behind);
  const bool is_run = product(array.take_back(behind)) == 1;
  size_t joined = places.empty() ? 0 : 1;
  while (is_run && joined > 0 && joined < places.size() && places.take_back(joined) == array.drop_back(behind).take_back(joined) && !tells_apart(c.fusion, op.getUpdate(), behind + joined + 1)) ++joined;
  SmallVector<int64_t> rows(places.drop_back(joined));
  c.kernel.tasks = product(rows);
  c.kernel.cost = double(product(slice)) * 8;
  Indices start;
  auto scalar = c.elements(1);
  for (auto [from, whole, part] : llvm::zip(op.getStartIndices(), array, slice)) start.push_back(scalar.clamped_start(from, {}, whole - part));
  k.loop(k.begin(), k.end(), [&](IR row) {
    Indices at = delinearise(k, rows, row);
    at.append(slice.size() - rows.size(), constant_index(k, 0));
    k.along(k.i64(product(places.take_back(joined))), is_run ? k.target.lanes : 1, [&](IR i, int lanes) {
      if (!at.empty()) at[places.size() - 1] = {i, lanes > 1 ? 1 : 0, lanes};
      auto e = c.elements(lanes);
      Indices to;
      for (auto [first, here] : llvm::zip(start, at)) to.push_back(e.plus(here, first));
      k.store(element(op), e.emit(op.getUpdate(), at), c.buffer(op), e.offset(array, to).base, lanes);
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
