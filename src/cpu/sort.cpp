// Sorts. Where the order is that of numbers of up to 32 bits, these become integers with their positions below them, which are sorted without a comparator.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "cpu/kernels.h"
#include "llvm/IR/Intrinsics.h"

/// Sorts the positions 0 … n - 1 stably by a compiled comparator of two of them; only the first `wanted` need be right. Called by compiled sort kernels.
extern "C" void cresset_stable_sort(int64_t* order, int64_t n, int64_t wanted, bool (*less)(void*, int64_t, int64_t), void* context) {
  auto before = [&](int64_t a, int64_t b) { return less(context, a, b); };
  if (wanted > 256 || wanted * 4 > n) {
    std::iota(order, order + n, 0);
    return std::stable_sort(order, order + n, before);
  }
  // The best so far, in order: most positions are compared with the last of these only.
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (kept == wanted && (!kept || !before(i, order[kept - 1]))) continue;
    int64_t* place = std::upper_bound(order, order + kept, i, before);
    if (kept < wanted) ++kept;
    std::move_backward(place, order + kept - 1, order + kept);
    *place = i;
  }
}

/// Sorts numbers by their upper halves (the lower ones are in order already); only the first `wanted` need be right. `spare` is as long.
extern "C" void cresset_sort_keys(uint64_t* keys, int64_t n, int64_t wanted, uint64_t* spare) {
  if (wanted * 4 < n) {  // most are compared with the last of those that are wanted, and left out
    uint64_t last = ~uint64_t(0);
    int64_t kept = 0, room = 4 * wanted + 64;
    for (int64_t i = 0; i < n && wanted; ++i) {
      if (keys[i] >= last) continue;
      keys[kept++] = keys[i];
      if (kept < room) continue;
      std::nth_element(keys, keys + wanted - 1, keys + kept);
      kept = wanted;
      last = keys[wanted - 1];
    }
    if (kept > wanted) std::nth_element(keys, keys + wanted, keys + kept);
    return std::sort(keys, keys + wanted);
  }
  if (n < 128) return std::sort(keys, keys + n);
  // By digits of 8 bits, from the lowest.
  std::array<std::array<uint32_t, 256>, 4> counts{};
  for (int64_t i = 0; i < n; ++i)
    for (int digit = 0; digit < 4; ++digit) ++counts[digit][keys[i] >> (32 + 8 * digit) & 255];
  uint64_t *from = keys, *to = spare;
  for (int digit = 0; digit < 4; ++digit) {
    auto& places = counts[digit];
    int shift = 32 + 8 * digit;
    if (places[from[0] >> shift & 255] == n) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t(0));
    for (int64_t i = 0; i < n; ++i) to[places[from[i] >> shift & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::memcpy(keys, from, n * sizeof(uint64_t));
}

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

enum class Order { Ascending, Descending };

// The order of the first input's numbers, if that is what the comparator is: x < y, and for floats nan behind all numbers.
std::optional<Order> order_of_keys(SortOp op) {
  Type type = element(op.getInputs()[0]);
  Block& body = op.getComparator().front();
  if (type.getIntOrFloatBitWidth() > 32) return std::nullopt;
  Value before = body.getTerminator()->getOperand(0), x = body.getArgument(0), y = body.getArgument(1);
  auto is = [](Value v, ComparisonDirection direction, Value p, Value q) {
    auto compare = v.getDefiningOp<CompareOp>();
    return compare && compare.getComparisonDirection() == direction && compare.getLhs() == p && compare.getRhs() == q;
  };
  auto is_less = [&](Value p, Value q) {
    if (!is_float(type)) return is(before, ComparisonDirection::LT, p, q) || is(before, ComparisonDirection::GT, q, p);
    auto either = before.getDefiningOp<OrOp>();
    auto nan = either ? either.getRhs().getDefiningOp<AndOp>() : AndOp();
    return nan && is(either.getLhs(), ComparisonDirection::LT, p, q) && is(nan.getLhs(), ComparisonDirection::EQ, p, p) && is(nan.getRhs(), ComparisonDirection::NE, q, q);
  };
  if (is_less(x, y)) return Order::Ascending;
  if (is_less(y, x)) return Order::Descending;
  return std::nullopt;
}

// Numbers as unsigned integers in the same order; all nan are one, behind all numbers, and both zeros are.
IR key_of(KernelEmitter& k, Type type, IR x) {
  auto& b = k.b;
  auto* ints = x->getType()->getWithNewType(b.getInt32Ty());
  auto constant = [&](uint32_t c) { return llvm::ConstantInt::get(ints, c); };
  if (is_unsigned(type)) return b.CreateZExt(x, ints);
  if (!is_float(type)) return b.CreateXor(b.CreateSExt(x, ints), constant(0x80000000));
  IR bits = b.CreateBitCast(x, ints), magnitude = b.CreateAnd(bits, constant(0x7fffffff));
  IR negative = b.CreateSub(constant(0x80000000), magnitude), positive = b.CreateOr(bits, constant(0x80000000));
  IR key = b.CreateSelect(b.CreateICmpSLT(bits, constant(0)), negative, positive);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), constant(0xffffffff), key);
}

}  // namespace

llvm::Error emit_sort(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<SortOp>(c.fusion.roles.back().first);
  auto type = shaped(op.getInputs()[0]);
  int64_t dim = int64_t(op.getDimension());
  if (dim < 0) dim += type.getRank();
  int64_t n = type.getDimSize(dim), stride = product(type.getShape().drop_front(dim + 1));
  c.kernel.tasks = type.getNumElements() / n;
  c.kernel.cost = double(type.getNumElements()) * 100;
  auto order = n <= INT32_MAX ? order_of_keys(op) : std::nullopt;
  c.kernel.scratch_bytes = n * (order ? 16 : 8);
  auto first = op->getAttrOfType<IntegerAttr>(kFirstWanted);
  int64_t wanted = first ? first.getInt() : n;
  auto* pointer = b.getPtrTy();
  // An input of positions that is not in memory.
  auto is_position = [&](Value v) { return isa_and_nonnull<IotaOp>(v.getDefiningOp()) && c.fusion.roles.contains(v.getDefiningOp()); };
  auto position = [&](Value v, IR at) { return b.CreateTrunc(at, k.compute_type(element(v))); };
  // The inputs' elements from scratch, where the positions are that come first on a line.
  auto write = [&](IR line_begin) {
    k.loop(k.i64(0), k.i64(wanted), [&](IR i) {
      IR entry = b.CreateLoad(b.getInt64Ty(), b.CreateInBoundsGEP(b.getInt64Ty(), k.scratch(), i));
      if (order) entry = b.CreateAnd(entry, k.i64(0xffffffff));
      IR from = b.CreateAdd(line_begin, b.CreateMul(entry, k.i64(stride))), to = b.CreateAdd(line_begin, b.CreateMul(i, k.i64(stride)));
      for (auto [v, r] : llvm::zip(op.getInputs(), op.getResults()))
        if (c.slots.has(r)) k.store(element(r), is_position(v) ? position(v, entry) : k.load(element(v), c.buffer(v), from, 1), c.buffer(r), to, 1);
    });
  };
  auto begin_of = [&](IR line) { return b.CreateAdd(b.CreateMul(b.CreateUDiv(line, k.i64(stride)), k.i64(n * stride)), b.CreateURem(line, k.i64(stride))); };
  if (order) {
    auto sort = k.module.getOrInsertFunction("cresset_sort_keys", llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false));
    Value keys = op.getInputs()[0];
    k.loop(k.begin(), k.end(), [&](IR line) {
      IR begin = begin_of(line);
      k.along(k.i64(n), stride == 1 ? k.target.lanes : 1, [&](IR i, int lanes) {
        IR key = key_of(k, element(keys), k.load(element(keys), c.buffer(keys), b.CreateAdd(begin, b.CreateMul(i, k.i64(stride))), lanes));
        if (*order == Order::Descending) key = b.CreateNot(key);
        auto* wide = key->getType()->getWithNewType(b.getInt64Ty());
        IR position = k.splat(i, lanes);
        if (lanes > 1) position = b.CreateAdd(position, b.CreateStepVector(wide));
        IR entry = b.CreateOr(b.CreateShl(b.CreateZExt(key, wide), 32), position);
        b.CreateAlignedStore(entry, b.CreateInBoundsGEP(b.getInt64Ty(), k.scratch(), i), llvm::Align(8));
      });
      b.CreateCall(sort, {k.scratch(), k.i64(n), k.i64(wanted), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), k.scratch(), n)});
      write(begin);
    });
    return llvm::Error::success();
  }

  // less(context, i, j): context is an array of the inputs' addresses at the line's first element.
  auto* less = llvm::Function::Create(llvm::FunctionType::get(b.getInt1Ty(), {pointer, b.getInt64Ty(), b.getInt64Ty()}, false),
                                      llvm::Function::InternalLinkage, k.function()->getName() + ".less", k.module);
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", less));
    ElementEmitter e(k, 1, [](ElementEmitter&, Value, const Indices&) -> IR { return nullptr; });
    IRs arguments;
    for (auto [i, v] : llvm::enumerate(op.getInputs())) {
      IR base = b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, less->getArg(0), i));
      for (int side : {1, 2}) arguments.push_back(is_position(v) ? position(v, less->getArg(side)) : k.load(element(v), base, b.CreateMul(less->getArg(side), k.i64(stride)), 1));
    }
    b.CreateRet(e.region(op.getComparator().front(), arguments)[0]);
  }
  auto sort = k.module.getOrInsertFunction("cresset_stable_sort", llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer, pointer}, false));
  IR context = k.alloca_in_entry(pointer, op.getInputs().size());
  k.loop(k.begin(), k.end(), [&](IR line) {
    IR begin = begin_of(line);
    for (auto [i, v] : llvm::enumerate(op.getInputs()))
      if (!is_position(v)) b.CreateStore(b.CreateInBoundsGEP(k.memory_type(element(v)), c.buffer(v), begin), b.CreateConstGEP1_64(pointer, context, i));
    b.CreateCall(sort, {k.scratch(), k.i64(n), k.i64(wanted), less, context});
    write(begin);
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
