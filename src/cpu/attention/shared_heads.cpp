// Heads of queries that share keys and values. Models often repeat these for attention (transformers' repeat_kv): the kernel reads what was repeated. And the one position of a token that is generated
// leaves a head a single row: those that share their keys become the rows of one, so that keys and values are read once for all of them.
#include "cpu/attention/attention.h"
#include "cpu/prepare/rewrite.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// [batch, heads, positions, width] of which each head stands several times, one after the other: without that.
Value before_repetition(OpBuilder& b, Value repeated) {
  auto type = shaped(repeated);
  Value v = before_reshapes(repeated);
  auto broadcast = v.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast || type.getRank() != 4) return {};
  Value source = broadcast.getOperand();
  ArrayRef<int64_t> shape = shaped(v).getShape(), from = broadcast.getBroadcastDimensions();
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    const int64_t times = shape[d], heads = type.getDimSize(1) / times;
    if (times == 1 || type.getDimSize(1) % times || product(shape.take_front(d)) != type.getDimSize(0) * heads) continue;
    SmallVector<int64_t> sizes(shape), own(type.getShape());
    if (auto* at = llvm::find(from, d); at != from.end() && shaped(source).getDimSize(at - from.begin()) != 1) continue;
    sizes[d] = 1, own[1] = heads;
    return ReshapeOp::create(b, v.getLoc(), type.clone(own), BroadcastInDimOp::create(b, v.getLoc(), type.clone(sizes), source, from));
  }
  return {};
}

// As many of the heads that share keys as leave each thread a head.
int64_t heads_to_join(const AttentionOperands& o) {
  auto query = shaped(o.query), key = shaped(o.key);
  int64_t heads = query.getDimSize(1), shared = heads / key.getDimSize(1);
  if (query.getDimSize(2) != 1 || key.getDimSize(1) != shaped(o.value).getDimSize(1)) return 1;
  int64_t joined = shared;
  while (joined > 1 && (shared % joined || query.getDimSize(0) * heads / joined < num_threads())) --joined;
  return joined;
}

CompositeOp join_heads(CompositeOp op, const AttentionOperands& o, int64_t joined) {
  OpBuilder b(op);
  auto split = [&](Value v, int64_t heads = 1) {  // [batch, heads, 1, ...] to [batch, heads / joined, joined, ...]
    SmallVector<int64_t> shape(shaped(v).getShape());
    shape[heads] /= joined, shape[heads + 1] = joined;
    return shaped(v).clone(shape);
  };
  SmallVector<Value> operands;
  for (Value v : op.getOperands()) {
    const int64_t heads = v == o.query ? 1 : v == o.mask ? shaped(v).getRank() - 3 : -1;  // a mask may lack the first dimensions
    bool by_heads = v == o.query || (heads >= 0 && shaped(v).getDimSize(heads) != 1);
    operands.push_back(by_heads ? Value(ReshapeOp::create(b, op.getLoc(), split(v, heads), v)) : v);
  }
  SmallVector<Type> types;
  for (Value v : op.getResults()) types.push_back(split(v));
  auto result = CompositeOp::create(b, op.getLoc(), types, operands, op->getAttrs());
  for (auto [from, to] : llvm::zip(op.getResults(), result.getResults())) from.replaceAllUsesWith(ReshapeOp::create(b, op.getLoc(), cast<RankedTensorType>(from.getType()), to));
  op.erase();
  return result;
}

}  // namespace

CompositeOp share_heads(CompositeOp op) {
  if (attention_kind(op) != Fusion::Attention) return op;
  constexpr unsigned kKey = 1, kValue = 2;
  OpBuilder b(op);
  for (unsigned i : {kKey, kValue})
    if (Value own = before_repetition(b, op.getOperand(i))) op.setOperand(i, own);
  auto operands = *attention_operands(op);
  auto attributes = op.getCompositeAttributes();
  auto causal = attributes ? attributes.getAs<BoolAttr>("is_causal") : BoolAttr();
  if (operands.seed || (causal && causal.getValue())) return op;
  int64_t joined = heads_to_join(operands);
  return joined > 1 ? join_heads(op, operands, joined) : op;
}

}  // namespace cresset::cpu
