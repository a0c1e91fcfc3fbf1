// Sorts. Where the order is that of numbers of up to 32 bits, these become integers with their positions below them, which are sorted without a comparator.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "cpu/emit/kernels.h"
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
  constexpr int64_t kFew = 64;
  if (wanted * 4 < n && wanted <= kFew) {  // those so far in order: most others are compared with the last of them only
    int64_t kept = 0;
    for (int64_t i = 0; i < n && wanted; ++i) {
      const uint64_t key = keys[i];
      if (kept == wanted && key >= keys[wanted - 1]) continue;
      int64_t place = kept < wanted ? kept++ : wanted - 1;
      for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
      keys[place] = key;
    }
    return;
  }
  if (wanted * 4 < n) {  // likewise, of several at a time
    uint64_t last = ~uint64_t(0);
    int64_t kept = 0, room = 4 * wanted + 64;
    for (int64_t i = 0; i < n; ++i) {
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

class SortEmitter {
 public:
  explicit SortEmitter(KernelContext& c) : c_(c), k_(c.k), b_(c.k.b), op_(cast<SortOp>(c.fusion.roles.back().first)) {
    auto type = shaped(op_.getInputs()[0]);
    int64_t dim = int64_t(op_.getDimension());
    if (dim < 0) dim += type.getRank();
    n_ = wanted_ = type.getDimSize(dim), stride_ = product(type.getShape().drop_front(dim + 1));
    if (auto first = op_->getAttrOfType<IntegerAttr>(kFirstWanted)) wanted_ = first.getInt();
    if (n_ <= INT32_MAX) order_ = order_of_keys(op_);
    c_.kernel.tasks = type.getNumElements() / n_;
    c_.kernel.cost = double(type.getNumElements()) * 100;
    c_.kernel.scratch_bytes = n_ * (order_ ? 16 : 8);
  }

  void run() { order_ ? by_keys() : by_comparator(); }

 private:
  // Each line is sorted as numbers of 64 bits: the key above, its position below.
  void by_keys() {
    auto sort = function("cresset_sort_keys", {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()});
    Value keys = op_.getInputs()[0];
    k_.loop(k_.begin(), k_.end(), [&](IR line) {
      IR begin = begin_of(line);
      k_.along(k_.i64(n_), stride_ == 1 ? k_.target.lanes : 1, [&](IR i, int lanes) {
        IR key = key_of(k_, element(keys), k_.load(element(keys), c_.buffer(keys), element_of(begin, i), lanes));
        if (*order_ == Order::Descending) key = b_.CreateNot(key);
        auto* wide = key->getType()->getWithNewType(b_.getInt64Ty());
        IR position = k_.splat(i, lanes);
        if (lanes > 1) position = b_.CreateAdd(position, b_.CreateStepVector(wide));
        b_.CreateAlignedStore(b_.CreateOr(b_.CreateShl(b_.CreateZExt(key, wide), 32), position), entry(i), llvm::Align(8));
      });
      b_.CreateCall(sort, {k_.scratch(), k_.i64(n_), k_.i64(wanted_), entry(k_.i64(n_))});
      write(begin);
    });
  }

  // Each line's positions are sorted by less(context, i, j).
  void by_comparator() {
    auto sort = function("cresset_stable_sort", {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy()});
    llvm::Function* less = comparator();
    IR context = k_.alloca_in_entry(b_.getPtrTy(), op_.getInputs().size());
    k_.loop(k_.begin(), k_.end(), [&](IR line) {
      IR begin = begin_of(line);
      for (auto [i, v] : llvm::enumerate(op_.getInputs()))
        if (!is_position(v)) b_.CreateStore(b_.CreateInBoundsGEP(k_.memory_type(element(v)), c_.buffer(v), begin), b_.CreateConstGEP1_64(b_.getPtrTy(), context, i));
      b_.CreateCall(sort, {k_.scratch(), k_.i64(n_), k_.i64(wanted_), less, context});
      write(begin);
    });
  }
  // less(context, i, j): context is an array of the inputs' addresses at the line's first element.
  llvm::Function* comparator() {
    auto* type = llvm::FunctionType::get(b_.getInt1Ty(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
    auto* less = llvm::Function::Create(type, llvm::Function::InternalLinkage, k_.function()->getName() + ".less", k_.module);
    less->addRetAttr(llvm::Attribute::ZExt);  // a bool of C++ is 0 or 1 in all of its byte
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", less));
    ElementEmitter e(k_, c_.fusion, 1, [](ElementEmitter&, Value, const Indices&) -> IR { return nullptr; });
    IRs arguments;
    for (auto [i, v] : llvm::enumerate(op_.getInputs())) {
      IR base = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), less->getArg(0), i));
      for (int side : {1, 2})
        arguments.push_back(is_position(v) ? position(v, less->getArg(side)) : k_.load(element(v), base, b_.CreateMul(less->getArg(side), k_.i64(stride_)), 1));
    }
    b_.CreateRet(e.region(op_.getComparator().front(), arguments)[0]);
    return less;
  }
  llvm::FunctionCallee function(llvm::StringRef name, ArrayRef<llvm::Type*> arguments) {
    return k_.module.getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), arguments, false));
  }

  // The inputs' elements where scratch says that they are.
  void write(IR line_begin) {
    k_.loop(k_.i64(0), k_.i64(wanted_), [&](IR i) {
      IR at = b_.CreateLoad(b_.getInt64Ty(), entry(i));
      if (order_) at = b_.CreateAnd(at, k_.i64(0xffffffff));
      IR from = element_of(line_begin, at), to = element_of(line_begin, i);
      for (auto [v, r] : llvm::zip(op_.getInputs(), op_.getResults()))
        if (c_.slots.has(r)) k_.store(element(r), is_position(v) ? position(v, at) : k_.load(element(v), c_.buffer(v), from, 1), c_.buffer(r), to, 1);
    });
  }
  IR entry(IR i) { return b_.CreateInBoundsGEP(b_.getInt64Ty(), k_.scratch(), i); }
  IR begin_of(IR line) { return b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(line, k_.i64(stride_)), k_.i64(n_ * stride_)), b_.CreateURem(line, k_.i64(stride_))); }
  IR element_of(IR line_begin, IR i) { return b_.CreateAdd(line_begin, b_.CreateMul(i, k_.i64(stride_))); }
  // An input of positions that is not in memory.
  bool is_position(Value v) { return isa_and_nonnull<IotaOp>(v.getDefiningOp()) && c_.fusion.roles.contains(v.getDefiningOp()); }
  IR position(Value v, IR at) { return b_.CreateTrunc(at, k_.compute_type(element(v))); }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  SortOp op_;
  int64_t n_, wanted_, stride_;  // elements of a line, how many of them somebody reads, from one to the next
  std::optional<Order> order_;   // of keys, if there are any
};

}  // namespace

llvm::Error emit_sort(KernelContext& c) {
  SortEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
