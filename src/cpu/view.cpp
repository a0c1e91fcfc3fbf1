#include "cpu/view.h"

#include "cpu/emit/types.h"
#include "cpu/prepare/rewrite.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

// Reading a window whose last row is incomplete begins like this; what is added is sliced off again.
static bool is_lengthened(Operation* op) {
  auto pad = dyn_cast_or_null<PadOp>(op);
  return pad && shaped(pad).getRank() == 1 && pad.getEdgePaddingLow()[0] == 0 && pad.getInteriorPadding()[0] == 0 && pad.getEdgePaddingHigh()[0] >= 0;
}
bool is_view(Operation* op) { return isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp>(op) || is_lengthened(op); }

// Of lengthened values, beyond the end as well.
static std::optional<View> unbounded_view_of(Value v, llvm::function_ref<bool(Value)> is_buffer, bool converts) {
  auto type = shaped(v);
  if (is_buffer(v)) {
    View view{v, 0, SmallVector<int64_t>(type.getShape()), SmallVector<int64_t>(type.getRank(), 1)};
    for (int64_t d = type.getRank() - 2; d >= 0; --d) view.strides[d] = view.strides[d + 1] * view.shape[d + 1];
    return view;
  }
  Operation* op = v.getDefiningOp();
  if (converts && isa_and_nonnull<ConvertOp>(op)) return unbounded_view_of(op->getOperand(0), is_buffer, false);
  if (!op || !is_view(op)) return std::nullopt;
  auto inner = unbounded_view_of(op->getOperand(0), is_buffer, converts);
  if (!inner) return std::nullopt;
  View view{inner->base, inner->offset, SmallVector<int64_t>(type.getShape()), SmallVector<int64_t>(type.getRank(), 0)};
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [k, d] : llvm::enumerate(transpose.getPermutation())) view.strides[k] = inner->strides[d];
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    for (int64_t d = 0; d < type.getRank(); ++d) {
      view.offset += slice.getStartIndices()[d] * inner->strides[d];
      view.strides[d] = slice.getStrides()[d] * inner->strides[d];
    }
  } else if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    for (auto [k, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (inner->shape[k] != 1 || type.getDimSize(d) == 1) view.strides[d] = inner->strides[k];
  } else if (isa<PadOp>(op)) {
    view.strides = inner->strides;
  } else {
    // Each run of dimensions that is reshaped must itself be dense.
    ArrayRef<int64_t> from = inner->shape, to = view.shape;
    auto groups = reshape_groups(from, to);
    if (!groups) return std::nullopt;
    for (const ReshapeGroup& group : *groups) {
      int64_t stride = 1;
      bool known = false;
      for (size_t d = group.from_end; d-- > group.from;) {
        if (from[d] == 1) continue;
        if (known && inner->strides[d] != stride) return std::nullopt;
        if (!known) stride = inner->strides[d], known = true;
        stride *= from[d];
      }
      int64_t innermost = known ? stride / group.size : 1;
      for (size_t d = group.to_end; d-- > group.to;) {
        view.strides[d] = innermost;
        innermost *= to[d];
      }
    }
  }
  return view;
}

std::optional<View> view_of(Value v, llvm::function_ref<bool(Value)> is_buffer, bool converts) {
  auto view = unbounded_view_of(v, is_buffer, converts);
  if (!view) return view;
  int64_t last = view->offset;
  for (auto [size, stride] : llvm::zip(view->shape, view->strides)) last += (size - 1) * stride;
  return last < shaped(view->base).getNumElements() ? view : std::nullopt;
}

}  // namespace cresset::cpu
