// Sorts. Where the order is that of numbers, these become integers with their positions below them, which are sorted without a comparator.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
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

namespace {

constexpr int64_t kFew = 64;
bool is_few(int64_t wanted, int64_t n) { return wanted * 4 < n && wanted <= kFew; }

// The first of entry(0), entry(1), … by key(0), key(1), …: most are compared with the last of those so far only.
template <class Key, class Entry>
void sort_first_few(uint64_t* entries, int64_t n, int64_t wanted, Key key_of, Entry entry) {
  std::array<uint64_t, kFew> keys;
  int64_t kept = 0;
  for (int64_t i = 0; i < n && wanted; ++i) {
    const uint64_t key = key_of(i), own = entry(i);
    if (kept == wanted && key >= keys[wanted - 1]) continue;
    int64_t place = kept < wanted ? kept++ : wanted - 1;
    for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1], entries[place] = entries[place - 1];
    keys[place] = key, entries[place] = own;
  }
}

// Likewise of more of them, several at a time.
template <class Less>
void sort_first(uint64_t* entries, int64_t n, int64_t wanted, Less less) {
  int64_t kept = 0, room = 4 * wanted + 64;
  bool full = false;
  for (int64_t i = 0; i < n; ++i) {
    if (full && !less(entries[i], entries[wanted - 1])) continue;
    entries[kept++] = entries[i];
    if (kept < room) continue;
    std::nth_element(entries, entries + wanted - 1, entries + kept, less);
    kept = wanted, full = true;
  }
  if (kept > wanted) std::nth_element(entries, entries + wanted, entries + kept, less);
  std::sort(entries, entries + wanted, less);
}

// By digits of 8 bits of the upper halves, from the lowest. `spare` is as long.
void sort_by_digits(uint64_t* entries, int64_t n, uint64_t* spare) {
  std::array<std::array<uint32_t, 256>, 4> counts{};
  for (int64_t i = 0; i < n; ++i)
    for (int digit = 0; digit < 4; ++digit) ++counts[digit][entries[i] >> (32 + 8 * digit) & 255];
  uint64_t *from = entries, *to = spare;
  for (int digit = 0; digit < 4; ++digit) {
    auto& places = counts[digit];
    int shift = 32 + 8 * digit;
    if (places[from[0] >> shift & 255] == n) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t(0));
    for (int64_t i = 0; i < n; ++i) to[places[from[i] >> shift & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::memcpy(entries, from, n * sizeof(uint64_t));
}

constexpr uint64_t kPosition = 0xffffffff;

}  // namespace

/// Sorts numbers by their upper halves (the lower ones are positions, in order already); only the first `wanted` need be right. `spare` is as long.
extern "C" void cresset_sort_keys(uint64_t* entries, int64_t n, int64_t wanted, uint64_t* spare) {
  constexpr int64_t kShort = 128;
  auto entry = [entries](int64_t i) { return entries[i]; };
  if (is_few(wanted, n)) sort_first_few(entries, n, wanted, entry, entry);
  else if (wanted * 4 < n) sort_first(entries, n, wanted, std::less<uint64_t>());
  else if (n < kShort) std::sort(entries, entries + n);
  else sort_by_digits(entries, n, spare);
}

/// The same of `keys` that fill 64 bits: what is sorted are the 32 bits that tell most of them apart, with the positions below, and then what these have left together. The positions are in the lower
/// halves of `entries` then.
extern "C" void cresset_sort_wide_keys(uint64_t* entries, int64_t n, int64_t wanted, uint64_t* spare, const uint64_t* keys) {
  if (is_few(wanted, n)) return sort_first_few(entries, n, wanted, [keys](int64_t i) { return keys[i]; }, [](int64_t i) { return uint64_t(i); });
  uint64_t first = keys[0], last = keys[0];
  for (int64_t i = 1; i < n; ++i) first = std::min(first, keys[i]), last = std::max(last, keys[i]);
  const int cut = std::max(int(std::bit_width(last - first)) - 32, 0);
  for (int64_t i = 0; i < n; ++i) entries[i] = (keys[i] - first) >> cut << 32 | uint64_t(i);
  if (cut == 0) return cresset_sort_keys(entries, n, wanted, spare);
  auto less = [keys](uint64_t a, uint64_t b) {
    if ((a ^ b) >> 32) return a < b;
    const uint64_t x = keys[a & kPosition], y = keys[b & kPosition];
    return x != y ? x < y : a < b;
  };
  if (wanted * 4 < n) return sort_first(entries, n, wanted, less);
  cresset_sort_keys(entries, n, n, spare);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && (entries[end] ^ entries[i]) >> 32 == 0;) ++end;
    if (end - i > 1) std::sort(entries + i, entries + end, less);
  }
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

// Numbers as unsigned integers of 32 or 64 bits in the same order; all nan are one, behind all numbers, and both zeros are.
IR key_of(KernelEmitter& k, Type type, IR x) {
  auto& b = k.b;
  const unsigned bits = std::max(32u, x->getType()->getScalarSizeInBits());
  auto* ints = x->getType()->getWithNewType(b.getIntNTy(bits));
  auto constant = [&](const llvm::APInt& c) { return llvm::ConstantInt::get(ints, c); };
  IR sign = constant(llvm::APInt::getSignMask(bits)), all = constant(llvm::APInt::getAllOnes(bits)), others = constant(llvm::APInt::getSignedMaxValue(bits));
  if (is_unsigned(type)) return b.CreateZExt(x, ints);
  if (!is_float(type)) return b.CreateXor(b.CreateSExt(x, ints), sign);
  IR pattern = b.CreateBitCast(x, ints), negative = b.CreateSub(sign, b.CreateAnd(pattern, others)), positive = b.CreateOr(pattern, sign);
  IR key = b.CreateSelect(b.CreateICmpSLT(pattern, llvm::Constant::getNullValue(ints)), negative, positive);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), all, key);
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
    wide_ = element(op_.getInputs()[0]).getIntOrFloatBitWidth() == 64;
    c_.kernel.scratch_bytes = n_ * (!order_ ? 8 : wide_ ? 24 : 16);
  }

  void run() { order_ ? by_keys() : by_comparator(); }

 private:
  // Each line is sorted as numbers of 64 bits: the key above, its position below. Keys that fill all of them are kept apart.
  void by_keys() {
    llvm::Type *address = b_.getPtrTy(), *count = b_.getInt64Ty();
    auto sort = wide_ ? function("cresset_sort_wide_keys", {address, count, count, address, address}) : function("cresset_sort_keys", {address, count, count, address});
    IR spare = entry(k_.i64(n_)), wide_keys = entry(k_.i64(2 * n_));
    Value keys = op_.getInputs()[0];
    k_.loop(k_.begin(), k_.end(), [&](IR line) {
      IR begin = begin_of(line);
      k_.along(k_.i64(n_), stride_ == 1 ? k_.target.lanes : 1, [&](IR i, int lanes) {
        IR key = key_of(k_, element(keys), k_.load(element(keys), c_.buffer(keys), element_of(begin, i), lanes));
        if (*order_ == Order::Descending) key = b_.CreateNot(key);
        b_.CreateAlignedStore(wide_ ? key : with_positions(key, i, lanes), entry(wide_ ? b_.CreateAdd(i, k_.i64(2 * n_)) : i), llvm::Align(8));
      });
      IRs arguments{k_.scratch(), k_.i64(n_), k_.i64(wanted_), spare};
      if (wide_) arguments.push_back(wide_keys);
      b_.CreateCall(sort, arguments);
      write(begin);
    });
  }
  IR with_positions(IR key, IR first, int lanes) {
    auto* wide = key->getType()->getWithNewType(b_.getInt64Ty());
    IR position = k_.splat(first, lanes);
    if (lanes > 1) position = b_.CreateAdd(position, b_.CreateStepVector(wide));
    return b_.CreateOr(b_.CreateShl(b_.CreateZExt(key, wide), 32), position);
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
  bool wide_;                    // keys of 64 bits
};

}  // namespace

llvm::Error emit_sort(KernelContext& c) {
  SortEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
