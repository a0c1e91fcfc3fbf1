// Reductions of the last dimensions, and others before them: batch statistics, gradients of norms over channels and of biases. What is reduced last is one
// dimension for this kernel, so that vectors cross the ends of rows.
#include "cpu/emit/kernels.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

// Where the dimensions begin that are taken as one; the rank if there are none.
static int64_t first_of_plane(ReduceOp op) {
  int64_t first = shaped(op.getInputs()[0]).getRank();
  while (first > 0 && llvm::is_contained(op.getDimensions(), first - 1)) --first;
  return first;
}

bool reduces_planes(const Fusion& fusion, const Target& target) {
  auto op = cast<ReduceOp>(fusion.roles.back().first);
  auto input = shaped(op.getInputs()[0]);
  int64_t first = first_of_plane(op);
  if (op.getInputs().size() != 1 || !simple_reducer(op.getBody().front()) || input.getElementTypeBitWidth() < 8) return false;
  if (shaped(op.getResult(0)).getNumElements() < 2 || product(input.getShape().drop_front(first)) < target.lanes) return false;
  // What has the input's shape must not tell those dimensions apart.
  return llvm::all_of(fusion.roles, [&](auto& entry) {
    Operation* other = entry.first;
    return other == op || shaped(other->getResult(0)).getShape() != input.getShape() || !tells_apart(other, first);
  });
}

void emit_plane_reduction(KernelContext& c) {
  constexpr int64_t kSums = 4;  // more than one, so that they don't wait for each other
  auto& k = c.k;
  auto op = cast<ReduceOp>(c.fusion.roles.back().first);
  Value source = op.getInputs()[0];
  auto input = shaped(source), output = shaped(op.getResult(0));
  int64_t first = first_of_plane(op), plane = product(input.getShape().drop_front(first));
  int lanes = k.target.lanes;
  Operation* reducer = simple_reducer(op.getBody().front());
  SmallVector<int64_t> kept, before, sizes;
  for (int64_t d = 0; d < first; ++d) {
    bool reduced = llvm::is_contained(op.getDimensions(), d);
    (reduced ? before : kept).push_back(d);
    if (reduced) sizes.push_back(input.getDimSize(d));
  }
  c.kernel.tasks = output.getNumElements();
  c.kernel.cost = double(input.getNumElements()) * 8;
  k.loop(k.begin(), k.end(), [&](IR task) {
    Indices at(input.getRank(), constant_index(k, 0));
    for (auto [d, i] : llvm::zip(kept, delinearise(k, output.getShape(), task))) at[d] = i;
    auto* type = k.compute_type(input.getElementType());
    IRs init(kSums, neutral(k, reducer, k.vector(type, lanes)));
    init.push_back(neutral(k, reducer, type));
    IRs sums = k.loop(k.i64(0), k.i64(product(sizes)), 1, init, [&](IR which, ArrayRef<IR> sums) {
      for (auto [d, i] : llvm::zip(before, delinearise(k, sizes, which))) at[d] = i;
      IRs all(sums.begin(), sums.end());
      // The sums [from, to), `width` elements each, over [begin, end) of the plane.
      auto walk = [&](int64_t begin, int64_t end, int width, int64_t from, int64_t to) {
        IRs some(all.begin() + from, all.begin() + to);
        if (begin < end)
          some = k.loop(k.i64(begin), k.i64(end), width * (to - from), some, [&](IR i, ArrayRef<IR> inner) {
            IRs next;
            for (auto [n, sum] : llvm::enumerate(inner)) {
              at.back() = {k.add(i, k.i64(int64_t(n) * width)), width > 1 ? 1 : 0, width};
              auto e = c.elements(width);
              next.push_back(e.compute(reducer, {sum, e.emit(source, at)}));
            }
            return next;
          });
        llvm::copy(some, all.begin() + from);
      };
      int64_t together = plane / (kSums * lanes) * (kSums * lanes), whole = plane / lanes * lanes;
      walk(0, together, lanes, 0, kSums);
      walk(together, whole, lanes, 0, 1);
      walk(whole, plane, 1, kSums, kSums + 1);
      return all;
    });
    auto vectors = c.elements(lanes), scalar = c.elements(1);
    for (int64_t i = 1; i < kSums; ++i) sums[0] = vectors.compute(reducer, {sums[0], sums[i]});
    IR sum = scalar.compute(reducer, {fold_lanes(k, scalar, reducer, sums[0], lanes), sums[kSums]});
    sum = scalar.compute(reducer, {scalar.emit(op.getInitValues()[0], {}), sum});
    k.store(element(op.getResult(0)), sum, c.buffer(op.getResult(0)), task, 1);
  });
}

}  // namespace cresset::cpu
