#include "cpu/emit/element.h"

#include <numeric>

#include "cpu/emit/random.h"
#include "cpu/emit/vector_math.h"
#include "cpu/fusion.h"
#include "cpu/roundings.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

SmallVector<int64_t> strides_of(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int d = int(shape.size()) - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

// Equal for equal indices.
std::vector<int64_t> key_of(ArrayRef<Index> at) {
  std::vector<int64_t> key;
  for (const Index& i : at) {
    key.push_back(reinterpret_cast<int64_t>(i.lanes ? i.lanes : i.base));
    key.push_back(i.lanes ? INT64_MIN : i.step);
  }
  return key;
}
std::vector<int64_t> key_of(ArrayRef<int64_t> shape, ArrayRef<Index> at) {
  auto key = key_of(at);
  key.insert(key.end(), shape.begin(), shape.end());
  return key;
}

bool is_erf(Operation* op) {
  auto call = dyn_cast<CustomCallOp>(op);
  return call && call.getCallTargetName() == "mhlo.erf" && op->getNumOperands() == 1;
}

}  // namespace

bool is_elementwise(Operation* op) {
  return isa<AbsOp, CbrtOp, CeilOp, CosineOp, CountLeadingZerosOp, ExpOp, Expm1Op, FloorOp, LogOp, Log1pOp, LogisticOp, NegOp, NotOp,
             PopulationCountOp, RoundOp, RoundNearestEvenOp, RsqrtOp, SignOp, SineOp, SqrtOp, TanOp, TanhOp, IsFiniteOp, ConvertOp, AddOp,
             AndOp, Atan2Op, DivOp, MaxOp, MinOp, MulOp, OrOp, PowOp, RemOp, ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp,
             SubtractOp, XorOp, CompareOp, SelectOp, ClampOp>(op) ||
         is_erf(op) || (isa<BitcastConvertOp>(op) && shaped(op->getOperand(0)).getElementTypeBitWidth() == shaped(op->getResult(0)).getElementTypeBitWidth());
}

bool is_read_by_vectors(const Index& offset) { return !offset.lanes && offset.step >= -1 && offset.step <= kMostStep; }

bool is_index_operation(Operation* op) {
  return isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp, PadOp, IotaOp, ConstantOp, DynamicSliceOp, GatherOp>(op) || is_random_bits(op);
}

//===-- Index arithmetic ------------------------------------------------------------------------------------------===//

// 0 is a multiple of everything: of a power of two beyond all sizes.
Index constant_index(KernelEmitter& k, int64_t position) { return {k.i64(position), 0, position ? std::abs(position) : int64_t(1) << 40}; }

IR ElementEmitter::as_lanes(const Index& x) {
  if (x.lanes) return x.lanes;
  return lanes_ == 1 || x.step == 0 ? k_.splat(x.base, lanes_) : k_.sequence(x.base, lanes_, x.step);
}

Index ElementEmitter::plus(const Index& x, const Index& y) {
  if (x.lanes || y.lanes) return {nullptr, 0, 1, k_.b.CreateAdd(as_lanes(x), as_lanes(y))};
  return {k_.add(x.base, y.base), x.step + y.step, std::gcd(x.multiple, y.multiple)};
}

Index ElementEmitter::times(const Index& x, int64_t f) {
  if (x.lanes) return {nullptr, 0, 1, k_.b.CreateMul(x.lanes, k_.splat(k_.i64(f), lanes_))};
  return {k_.mul(x.base, f), x.step * f, x.multiple * std::max<int64_t>(f, 1)};
}

Index ElementEmitter::offset(ArrayRef<int64_t> shape, const Indices& at) {
  Index sum = constant_index(k_, 0);
  auto strides = strides_of(shape);
  for (size_t d = 0, end = 0; d < shape.size(); d = end) {
    // As many dimensions as are known to be parts of one.
    Index index = at[d];
    for (end = shape.size(); end > d + 1; --end)
      if (auto whole = whole_.find(key_of(shape.slice(d, end - d), ArrayRef(at).slice(d, end - d))); whole != whole_.end()) {
        index = whole->second;
        break;
      }
    sum = plus(sum, times(index, strides[end - 1]));
  }
  return sum;
}

// Groups of dimensions with equal products correspond; within a group the index is flattened and split again.
Indices ElementEmitter::through_reshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to, const Indices& at) {
  Indices result(from.size(), constant_index(k_, 0));
  const auto groups = reshape_groups(from, to);
  for (const ReshapeGroup& group : *groups) {
    const size_t first_of_group = group.from, rank = group.from_end - group.from;
    Index flat = offset(to.slice(group.to, group.to_end - group.to), Indices(at.begin() + group.to, at.begin() + group.to_end));
    Index whole = flat;
    SmallVector<int64_t> sizes(from.slice(first_of_group, rank));
    // Split from the last dimension to the first; the first takes what is left.
    for (size_t d = sizes.size(); d-- > 0;) {
      bool first = llvm::all_of(ArrayRef(sizes).take_front(d), [](int64_t n) { return n == 1; });
      if (first) {
        result[first_of_group + d] = flat;
        break;
      }
      int64_t n = sizes[d];
      if (n == 1) continue;
      auto& b = k_.b;
      if (flat.lanes || (flat.step != 0 && !(flat.step > 0 && n % (flat.step * lanes_) == 0 && flat.multiple % (flat.step * lanes_) == 0))) {
        IR all = as_lanes(flat), size = k_.splat(k_.i64(n), lanes_);
        result[first_of_group + d] = {nullptr, 0, 1, b.CreateURem(all, size)};
        flat = {nullptr, 0, 1, b.CreateUDiv(all, size)};
      } else {
        // All lanes stay within one run of the dimension.
        result[first_of_group + d] = {b.CreateURem(flat.base, k_.i64(n)), flat.step, std::gcd(flat.multiple, n)};
        flat = {b.CreateUDiv(flat.base, k_.i64(n)), 0, 1};
      }
    }
    if (rank > 1) whole_[key_of(sizes, ArrayRef(result).slice(first_of_group, rank))] = whole;
  }
  return result;
}

IR ElementEmitter::load(Value v, IR base, const Indices& at) {
  auto type = shaped(v);
  Index o = offset(type.getShape(), at);
  if (o.lanes) return k_.gather(type.getElementType(), base, o.lanes, lanes_);
  if (lanes_ == 1) return k_.load(type.getElementType(), base, o.base, 1);
  if (o.step == 0) return k_.splat(k_.load(type.getElementType(), base, o.base, 1), lanes_);
  if (o.step == 1) return k_.load(type.getElementType(), base, o.base, lanes_);
  if (o.step > 1 && o.step <= kMostStep) return k_.load_strided(type.getElementType(), base, o.base, lanes_, o.step);
  if (o.step == -1) return k_.b.CreateVectorReverse(k_.load(type.getElementType(), base, k_.add(o.base, k_.i64(1 - lanes_)), lanes_));
  return k_.gather(type.getElementType(), base, as_lanes(o), lanes_);
}

std::optional<Indices> ElementEmitter::through(Operation* op, const Indices& at) {
  return llvm::TypeSwitch<Operation*, std::optional<Indices>>(op)
      .Case([&](BroadcastInDimOp broadcast) {
        auto from = shaped(broadcast.getOperand());
        Indices inner;
        for (auto [k, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
          inner.push_back(from.getDimSize(k) == 1 ? constant_index(k_, 0) : at[d]);
        return inner;
      })
      .Case([&](ReshapeOp reshape) { return through_reshape(shaped(reshape.getOperand()).getShape(), shaped(reshape).getShape(), at); })
      .Case([&](TransposeOp transpose) {
        Indices inner(at.size());
        for (auto [k, d] : llvm::enumerate(transpose.getPermutation())) inner[d] = at[k];
        return inner;
      })
      .Case([&](SliceOp slice) {
        Indices inner;
        for (auto [i, lo, step] : llvm::zip(at, slice.getStartIndices(), slice.getStrides()))
          inner.push_back(plus(times(i, step), constant_index(k_, lo)));
        return inner;
      })
      .Case([&](ReverseOp reverse) {
        Indices inner(at);
        for (int64_t d : reverse.getDimensions()) {
          IR last = k_.i64(shaped(reverse).getDimSize(d) - 1);
          if (at[d].lanes) inner[d].lanes = k_.b.CreateSub(k_.splat(last, lanes_), at[d].lanes);
          else inner[d] = {k_.b.CreateSub(last, at[d].base), -at[d].step, 1};
        }
        return inner;
      })
      .Default(std::nullopt);
}

// Integers that are sums of positions, each times a number: how windows that overlap are read, for one. Known as such they are no vectors of positions.
std::optional<BoundedIndex> ElementEmitter::position(Value v, const Indices& at) {
  Operation* op = v.getDefiningOp();
  if (!op || !element(v).isSignlessInteger() || element(v).isInteger(1)) return std::nullopt;
  // What other kernels compute is not part of this one's content: kernels of equal content have the same code.
  if (!fusion_.roles.contains(op) && !isa<ConstantOp>(op)) return std::nullopt;
  if (auto inner = through(op, at)) return position(op->getOperand(0), *inner);
  auto bounded = [&](Index index, int64_t low, int64_t high) -> std::optional<BoundedIndex> {
    unsigned bits = std::min(element(v).getIntOrFloatBitWidth(), 62u);  // so that nothing overflows here
    return llvm::isIntN(bits, low) && llvm::isIntN(bits, high) ? std::optional(BoundedIndex{index, low, high}) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation*, std::optional<BoundedIndex>>(op)
      .Case([&](ConstantOp constant) -> std::optional<BoundedIndex> {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        if (!splat) return std::nullopt;
        int64_t n = splat.getSplatValue<llvm::APInt>().getSExtValue();
        return bounded(constant_index(k_, n), n, n);
      })
      .Case([&](IotaOp iota) { return bounded(at[iota.getIotaDimension()], 0, shaped(iota).getDimSize(iota.getIotaDimension()) - 1); })
      .Case([&](ConvertOp convert) -> std::optional<BoundedIndex> {
        auto x = position(convert.getOperand(), at);
        return x ? bounded(x->index, x->low, x->high) : std::nullopt;
      })
      .Case([&](AddOp add) -> std::optional<BoundedIndex> {
        auto x = position(add.getLhs(), at), y = position(add.getRhs(), at);
        return x && y ? bounded(plus(x->index, y->index), x->low + y->low, x->high + y->high) : std::nullopt;
      })
      .Case([&](MulOp multiply) -> std::optional<BoundedIndex> {
        auto x = position(multiply.getLhs(), at), y = position(multiply.getRhs(), at);
        if (x && y && x->low == x->high) std::swap(x, y);
        int64_t low, high;
        if (!x || !y || y->low != y->high || y->low < 0 || llvm::MulOverflow(x->low, y->low, low) || llvm::MulOverflow(x->high, y->low, high)) return std::nullopt;
        return bounded(times(x->index, y->low), low, high);
      })
      .Default(std::nullopt);
}

//===-- Expressions -----------------------------------------------------------------------------------------------===//

IR ElementEmitter::emit(Value v, const Indices& at) {
  std::pair<void*, std::vector<int64_t>> key{v.getAsOpaquePointer(), key_of(at)};
  if (auto known = memo_.find(key); known != memo_.end()) return known->second;
  IR result = leaf_(*this, v, at);
  if (!result) result = emit_operation(v.getDefiningOp(), at);
  return memo_[std::move(key)] = result;
}

IR ElementEmitter::emit_operation(Operation* op, const Indices& at) {
  auto& b = k_.b;
  auto narrow = [&](const Index& x) { return b.CreateTrunc(as_lanes(x), k_.vector(b.getInt32Ty(), lanes_)); };
  if (isa<CompareOp>(op) && lanes_ > 1) {  // of positions: as many lanes as other vectors have, not half of them
    auto x = position(op->getOperand(0), at), y = position(op->getOperand(1), at);
    if (x && y && llvm::isInt<32>(x->low) && llvm::isInt<32>(x->high) && llvm::isInt<32>(y->low) && llvm::isInt<32>(y->high)) return compute(op, {narrow(x->index), narrow(y->index)});
  }
  if (is_elementwise(op)) {
    IRs operands;
    for (Value operand : op->getOperands())
      operands.push_back(emit(operand, shaped(operand).getRank() == 0 ? Indices() : at));
    return compute(op, operands);
  }
  if (auto inner = through(op, at)) return emit(op->getOperand(0), *inner);
  return llvm::TypeSwitch<Operation*, IR>(op)
      .Case([&](ConstantOp constant) -> IR {
        auto dense = cast<DenseElementsAttr>(constant.getValue());
        Type type = dense.getElementType();
        auto* to = k_.compute_type(type);
        if (is_float(type)) {
          llvm::APFloat value = dense.getSplatValue<llvm::APFloat>();
          bool lost;
          value.convert(to->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
          return k_.splat(llvm::ConstantFP::get(b.getContext(), value), lanes_);
        }
        return k_.splat(llvm::ConstantInt::get(to, dense.getSplatValue<llvm::APInt>()), lanes_);
      })
      .Case([&](IotaOp iota) {
        const Index& i = at[iota.getIotaDimension()];
        auto* type = k_.vector(k_.compute_type(element(iota)), lanes_);
        if (!is_float(element(iota))) return b.CreateSExtOrTrunc(as_lanes(i), type);
        bool is_short = !k_.any_size && llvm::isInt<32>(shaped(iota).getDimSize(iota.getIotaDimension()));
        return k_.round(element(iota), b.CreateSIToFP(is_short ? narrow(i) : as_lanes(i), type));  // without AVX-512 64 bits become floats one by one
      })
      .Case([&](DynamicSliceOp slice) {
        Indices inner;
        for (auto [d, start] : llvm::enumerate(slice.getStartIndices()))
          inner.push_back(plus(at[d], clamped_start(start, {}, shaped(slice.getOperand()).getDimSize(d) - slice.getSliceSizes()[d])));
        return emit(slice.getOperand(), inner);
      })
      .Case([&](PadOp pad) { return emit_pad(pad, at); })
      .Case([&](GatherOp gather) { return emit_gather(gather, at); })
      .Case([&](CompositeOp bits) { return emit_random_bits(bits, at); })
      .DefaultUnreachable("fusion puts only element expressions into a kernel");
}

Index ElementEmitter::clamped_start(Value start, const Indices& at, int64_t highest) {
  auto& b = k_.b;
  if (auto known = position(start, at); known && known->low >= 0 && known->high <= highest) return known->index;
  IR v = emit(start, at);
  bool same = llvm::all_of(at, [](const Index& i) { return !i.lanes && i.step == 0; });
  if (same && lanes_ > 1) v = b.CreateExtractElement(v, uint64_t(0));
  auto* type = v->getType()->getWithNewType(b.getInt64Ty());
  v = element(start).isUnsignedInteger() ? b.CreateZExtOrTrunc(v, type) : b.CreateSExtOrTrunc(v, type);
  v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, llvm::ConstantInt::get(type, 0));
  v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, llvm::ConstantInt::get(type, highest));
  return same ? Index{v, 0, 1} : Index{nullptr, 0, 1, v};
}

IR ElementEmitter::emit_random_bits(CompositeOp op, const Indices& at) {
  auto& b = k_.b;
  IRs numbers;
  {
    // The seed and what comes of it are the same for the whole kernel.
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    llvm::BasicBlock& entry = k_.function()->getEntryBlock();
    if (lanes_ > 1 && entry.getTerminator()) b.SetInsertPoint(entry.getTerminator());
    for (Value v : op.getOperands()) {
      IR x = emit(v, {});
      numbers.push_back(x->getType()->isVectorTy() ? b.CreateExtractElement(x, uint64_t(0)) : x);
    }
  }
  IR seed = numbers[0], first = numbers[1];
  int64_t spacing = spacing_of_random_bits(op);
  Index flat = offset(shaped(op->getResult(0)).getShape(), at);
  bool in_a_row = !flat.lanes && flat.step == 1;
  auto blocks = [&](IR from, int count) { return k_.sequence(b.CreateAdd(from, first), count); };
  if (in_a_row && lanes_ % (4 * spacing) == 0 && flat.multiple % (4 * spacing) == 0) {
    IR from = b.CreateUDiv(flat.base, k_.i64(4));
    IRs words;
    for (int64_t block = 0; block < lanes_ / 4; block += spacing)
      llvm::append_range(words, emit_philox(k_, blocks(b.CreateAdd(from, k_.i64(block)), int(spacing)), seed));
    return k_.concatenate(words);
  }
  auto choose = [&](const std::array<IR, 4>& words, IR word) {
    IR chosen = words[0];
    for (int w = 1; w < 4; ++w) chosen = b.CreateSelect(b.CreateICmpEQ(word, llvm::ConstantInt::get(word->getType(), w)), words[w], chosen);
    return chosen;
  };
  if (lanes_ > 1 && in_a_row && spacing % lanes_ == 0 && flat.multiple % lanes_ == 0) {
    // All lanes take the same word.
    IR run = b.CreateUDiv(flat.base, k_.i64(spacing)), word = b.CreateURem(run, k_.i64(4));
    IR from = b.CreateAdd(k_.mul(b.CreateUDiv(run, k_.i64(4)), spacing), b.CreateURem(flat.base, k_.i64(spacing)));
    return choose(emit_philox(k_, blocks(from, lanes_), seed), k_.splat(word, lanes_));
  }
  IR i = as_lanes(flat), four = k_.splat(k_.i64(4), lanes_), wide = k_.splat(k_.i64(spacing), lanes_), run = b.CreateUDiv(i, wide);
  IR block = b.CreateAdd(b.CreateMul(b.CreateUDiv(run, four), wide), b.CreateURem(i, wide));
  return choose(emit_philox(k_, b.CreateAdd(block, k_.splat(first, lanes_)), seed), b.CreateURem(run, four));
}

// What is chosen from others without arithmetic, by conditions, needs no rounding if they need none.
static void note_if_narrow(KernelEmitter& k, Type type, IR result, ArrayRef<IR> from) {
  if ((type.isBF16() || type.isF16()) && llvm::all_of(from, [&](IR v) { return v->getType()->getScalarType()->isIntegerTy(1) || k.is_narrow(type, v); })) k.note_narrow(result);
}

IR ElementEmitter::emit_pad(PadOp pad, const Indices& at) {
  auto& b = k_.b;
  auto from = shaped(pad.getOperand());
  auto is_padded = [&](int64_t d) { return pad.getEdgePaddingLow()[d] || pad.getEdgePaddingHigh()[d] || pad.getInteriorPadding()[d]; };
  auto is_regular = [&](const Index& i) { return !i.lanes && i.step > 0 && i.step <= kMostStep; };
  // Most vectors that lie along a padded dimension lie wholly within. Of others one is read that does, by as few steps away as it takes, and moved.
  int64_t along = 0;
  while (along < from.getRank() && !(is_padded(along) && is_regular(at[along]))) ++along;
  bool is_alone = llvm::all_of(llvm::enumerate(at), [&](auto i) { return int64_t(i.index()) == along || (!i.value().lanes && i.value().step == 0); });
  bool is_bool = from.getElementType().isInteger(1);
  if (lanes_ == 1 || along == from.getRank() || !is_alone || is_bool || pad.getInteriorPadding()[along] || from.getDimSize(along) < lanes_ * at[along].step) return emit_pad(pad, at, {});
  int64_t step = at[along].step, most = from.getDimSize(along) - (lanes_ - 1) * step - 1;
  IR first = b.CreateSub(at[along].base, k_.i64(pad.getEdgePaddingLow()[along])), padding = emit(pad.getPaddingValue(), {});
  auto steps = [&](IR beyond) { return b.CreateUDiv(b.CreateAdd(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, beyond, k_.i64(0)), k_.i64(step - 1)), k_.i64(step)); };
  IR away = b.CreateSub(steps(b.CreateNeg(first)), steps(b.CreateSub(first, k_.i64(most))));
  IR usual = emit_pad(pad, at, std::pair(along, Index{k_.add(first, k_.mul(away, step)), step, 1}));
  auto or_moved = [&](IR usual) {
    return k_.unless(b.CreateICmpUGT(first, k_.i64(most)), usual, [&] {
      IR places = as_lanes({first, step, 1}), inside = b.CreateICmpULT(places, k_.splat(k_.i64(from.getDimSize(along)), lanes_));
      return b.CreateSelect(inside, k_.moved(usual, away), padding);
    });
  };
  IR result = or_moved(usual), exact = k_.exact(usual);
  note_if_narrow(k_, from.getElementType(), result, {usual, padding});
  if (exact != usual) k_.note_exact(result, or_moved(exact));
  return result;
}

// `whole`: a dimension along which all lanes are taken from within, and where; or none.
IR ElementEmitter::emit_pad(PadOp pad, const Indices& at, std::optional<std::pair<int64_t, Index>> whole) {
  auto& b = k_.b;
  auto from = shaped(pad.getOperand());
  IR inside = b.getTrue();
  Indices inner;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t low = pad.getEdgePaddingLow()[d], high = pad.getEdgePaddingHigh()[d], gap = pad.getInteriorPadding()[d] + 1;
    if (low == 0 && high == 0 && gap == 1) {
      inner.push_back(at[d]);
      continue;
    }
    if (whole && whole->first == d) {
      inner.push_back(whole->second);
      continue;
    }
    bool vector = at[d].lanes || (lanes_ > 1 && at[d].step != 0);
    IR i = vector ? as_lanes(at[d]) : at[d].base;
    auto constant = [&](int64_t c) -> IR { return llvm::ConstantInt::get(i->getType(), c); };
    i = b.CreateSub(i, constant(low));
    IR ok = b.CreateICmpSGE(i, constant(0));
    if (gap != 1) {
      ok = b.CreateAnd(ok, b.CreateICmpEQ(b.CreateSRem(i, constant(gap)), constant(0)));
      i = b.CreateSDiv(i, constant(gap));
    }
    ok = b.CreateAnd(ok, b.CreateICmpSLT(i, constant(from.getDimSize(d))));
    i = b.CreateSelect(ok, i, constant(0));
    inner.push_back(vector ? Index{nullptr, 0, 1, i} : Index{i, 0, 1});
    if (ok->getType() != inside->getType()) inside = all_lanes(inside), ok = all_lanes(ok);
    inside = b.CreateAnd(inside, ok);
  }
  IR value = emit(pad.getOperand(), inner), padding = emit(pad.getPaddingValue(), {}), result = b.CreateSelect(inside, value, padding), exact = k_.exact(value);
  note_if_narrow(k_, from.getElementType(), result, {value, padding});
  if (exact != value) k_.note_exact(result, b.CreateSelect(inside, exact, padding));
  return result;
}

// Lane i is lane places[i] of `from`, all in registers.
IR ElementEmitter::picked(IR from, IR places) {
  using namespace llvm::Intrinsic;
  auto& b = k_.b;
  const int width = k_.target.avx512() && lanes_ >= 16 ? 16 : 8;
  auto* floats = k_.vector(b.getFloatTy(), width);
  // Lanes [first, first + count), of which nobody asks for those that don't exist.
  auto part = [&](IR v, int first, int count) {
    SmallVector<int> order(count, -1);
    std::iota(order.begin(), order.begin() + std::min(count, lanes_of(v) - first), first);
    return b.CreateShuffleVector(v, order);
  };
  // Of two registers, which one instruction of AVX-512 takes, or of `count`, halves of which are chosen from.
  std::function<IR(int first, int count, IR at)> pick = [&](int first, int count, IR at) -> IR {
    auto source = [&](int i) { return b.CreateBitCast(part(from, (first + i) * width, width), floats); };
    if (count == 1) return width == 8 ? b.CreateIntrinsic(x86_avx2_permps, {}, {source(0), at}) : b.CreateIntrinsic(x86_avx512_permvar_sf_512, {}, {source(0), at});
    if (count == 2 && k_.target.avx512()) return b.CreateIntrinsic(width == 8 ? x86_avx512_vpermi2var_ps_256 : x86_avx512_vpermi2var_ps_512, {}, {source(0), at, source(1)});
    IR half = llvm::ConstantInt::get(at->getType(), count / 2 * width);
    return b.CreateSelect(b.CreateICmpULT(at, half), pick(first, count / 2, at), pick(first + count / 2, count - count / 2, b.CreateSub(at, half)));
  };
  IRs parts;
  for (int i = 0; i < lanes_; i += width) parts.push_back(pick(0, int(ceil_div(lanes_of(from), width)), part(places, i, width)));
  return b.CreateBitCast(part(k_.concatenate(parts), 0, lanes_), places->getType()->getWithNewType(from->getType()->getScalarType()));
}

IR ElementEmitter::emit_row_gather(GatherOp op, const Indices& at) {
  auto& b = k_.b;
  auto dims = op.getDimensionNumbers();
  auto reaches = op->getAttrOfType<DenseI64ArrayAttr>(kReaches);
  if (!reaches || !k_.target.avx2() || !llvm::isPowerOf2_32(lanes_) || lanes_ < kLeastReach || k_.compute_type(element(op.getResult()))->getScalarSizeInBits() != 32) return nullptr;
  // They lie in one vector, or two, the last of which may begin earlier, as short as the row demands.
  const int64_t size = shaped(op.getOperand()).getShape().back(), which = llvm::Log2_32(lanes_ / kLeastReach);
  const int width = int(std::min<int64_t>(lanes_, llvm::bit_floor(uint64_t(size))));
  if (which >= reaches.size() || reaches[which] >= 2 * width || width < 4) return nullptr;
  Indices inner;
  std::optional<Index> along;
  for (auto [d, index] : llvm::enumerate(at)) {
    if (index.lanes) return nullptr;
    if (llvm::is_contained(dims.getOffsetDims(), int64_t(d))) inner.push_back(index);
    else along = index;
  }
  if (along->step != 1 || llvm::any_of(inner, [](const Index& i) { return i.step != 0; })) return nullptr;
  IR places = b.CreateZExtOrTrunc(emit(op.getStartIndices(), {*along}), k_.vector(b.getInt32Ty(), lanes_)), last = k_.i64(size - width);
  ElementEmitter vectors(k_, fusion_, width, leaf_);
  auto vector_at = [&](IR first) {
    Indices whole = inner;
    whole.push_back({first, 1, 1});
    return vectors.emit(op.getOperand(), whole);
  };
  auto behind = [&](IR first) { return b.CreateSub(places, k_.splat(b.CreateTrunc(first, b.getInt32Ty()), lanes_)); };
  auto splat = [&](int64_t n) { return llvm::ConstantInt::get(places->getType(), n); };
  IR first = k_.min(b.CreateZExt(b.CreateExtractElement(places, uint64_t(0)), b.getInt64Ty()), last), from = vector_at(first), lanes = behind(first);
  if (reaches[which] >= width) {
    IR second = k_.min(k_.add(first, k_.i64(width)), last);
    from = k_.concatenate({from, vector_at(second)});
    lanes = b.CreateSelect(b.CreateICmpULT(lanes, splat(width)), lanes, b.CreateAdd(behind(second), splat(width)));
  }
  return picked(from, lanes);
}

IR ElementEmitter::emit_gather(GatherOp op, const Indices& at) {
  if (IR result = emit_row_gather(op, at)) return result;
  auto dims = op.getDimensionNumbers();
  auto operand = shaped(op.getOperand()), indices = shaped(op.getStartIndices());
  SmallVector<Index> batch;
  for (size_t d = 0; d < at.size(); ++d)
    if (!llvm::is_contained(dims.getOffsetDims(), int64_t(d))) batch.push_back(at[d]);
  // Position in start_indices, without and with the index vector's dimension.
  auto start_at = [&](int64_t component) {
    Indices result(batch);
    if (dims.getIndexVectorDim() < indices.getRank())
      result.insert(result.begin() + dims.getIndexVectorDim(), constant_index(k_, component));
    return result;
  };
  Indices inner;
  size_t offset_position = 0;
  for (int64_t d = 0; d < operand.getRank(); ++d) {
    Index i = constant_index(k_, 0);
    auto batching = llvm::find(dims.getOperandBatchingDims(), d);
    bool is_batching = batching != dims.getOperandBatchingDims().end();
    if (is_batching) {
      int64_t which = dims.getStartIndicesBatchingDims()[batching - dims.getOperandBatchingDims().begin()];
      i = batch[which - (which > dims.getIndexVectorDim())];
    } else if (auto mapped = llvm::find(dims.getStartIndexMap(), d); mapped != dims.getStartIndexMap().end()) {
      i = clamped_start(op.getStartIndices(), start_at(mapped - dims.getStartIndexMap().begin()),
                        operand.getDimSize(d) - op.getSliceSizes()[d]);
    }
    if (!is_batching && !llvm::is_contained(dims.getCollapsedSliceDims(), d)) i = plus(i, at[dims.getOffsetDims()[offset_position++]]);
    inner.push_back(i);
  }
  return emit(op.getOperand(), inner);
}

IRs ElementEmitter::region(Block& block, ArrayRef<IR> arguments) {
  llvm::DenseMap<Value, IR> values;
  for (auto [argument, v] : llvm::zip(block.getArguments(), arguments)) values[argument] = v;
  auto value = [&](Value v) { return values.count(v) ? values[v] : emit(v, {}); };
  for (Operation& op : block.without_terminator()) {
    IRs operands;
    for (Value v : op.getOperands()) operands.push_back(value(v));
    values[op.getResult(0)] = isa<ConstantOp>(op)                      ? emit_operation(&op, {})
                              : isa<BroadcastInDimOp, ReshapeOp>(op) ? operands[0]
                                                                        : compute(&op, operands);
  }
  IRs results;
  for (Value v : block.getTerminator()->getOperands()) results.push_back(value(v));
  return results;
}

//===-- Arithmetic ------------------------------------------------------------------------------------------------===//

namespace {

IR integer_division(KernelEmitter& k, Type type, IR x, IR y, bool remainder) {
  // The hardware traps on division by zero and on overflow; the specification gives -1 and the dividend.
  auto& b = k.b;
  auto constant = [&](int64_t c) -> IR { return llvm::ConstantInt::getSigned(x->getType(), c); };
  IR zero = b.CreateICmpEQ(y, constant(0));
  const bool by_floats = x->getType()->isVectorTy() && !isa<llvm::Constant>(y);  // what divides by a constant multiplies
  auto divided = [&](IR y, bool is_signed) {
    if (by_floats) {
      IR quotient = emit_quotient(k, x, y, is_signed);
      return remainder ? b.CreateSub(x, b.CreateMul(quotient, y)) : quotient;
    }
    if (is_signed) return remainder ? b.CreateSRem(x, y) : b.CreateSDiv(x, y);
    return remainder ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
  };
  if (is_unsigned(type)) return b.CreateSelect(zero, remainder ? x : constant(-1), divided(b.CreateSelect(zero, constant(1), y), false));
  IR minus = b.CreateICmpEQ(y, constant(-1));
  IR result = divided(b.CreateSelect(b.CreateOr(zero, minus), constant(1), y), true);
  result = b.CreateSelect(minus, remainder ? constant(0) : b.CreateNeg(x), result);
  return b.CreateSelect(zero, remainder ? x : constant(-1), result);
}

// By squaring, in the integers' own width, as the multiplications that it stands for. Below 0 only 1 and -1 have integers for powers.
IR integer_power(KernelEmitter& k, Type type, IR x, IR y) {
  auto& b = k.b;
  if (type.isInteger(1)) return b.CreateOr(x, b.CreateNot(y));
  auto constant = [&](int64_t c) -> IR { return llvm::ConstantInt::getSigned(x->getType(), c); };
  IR one = constant(1), zero = constant(0);
  IR result = k.loop(b.getInt64(0), b.getInt64(type.getIntOrFloatBitWidth()), 1, {one, x, y}, [&](IR, llvm::ArrayRef<IR> step) -> IRs {
    IR odd = b.CreateICmpNE(b.CreateAnd(step[2], one), zero);
    return {b.CreateSelect(odd, b.CreateMul(step[0], step[1]), step[0]), b.CreateMul(step[1], step[1]), b.CreateLShr(step[2], one)};
  })[0];
  if (is_unsigned(type)) return result;
  IR even = b.CreateICmpEQ(b.CreateAnd(y, one), zero), minus = b.CreateICmpEQ(x, constant(-1));
  IR inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one, b.CreateSelect(minus, b.CreateSelect(even, one, x), zero));
  return b.CreateSelect(b.CreateICmpSLT(y, zero), inverse, result);
}

IR compare(llvm::IRBuilder<>& b, CompareOp op, Type type, IR x, IR y) {
  using P = llvm::CmpInst;
  auto direction = op.getComparisonDirection();
  auto pick = [&](P::Predicate eq, P::Predicate ne, P::Predicate ge, P::Predicate gt, P::Predicate le, P::Predicate lt) {
    switch (direction) {
      case ComparisonDirection::EQ: return eq;
      case ComparisonDirection::NE: return ne;
      case ComparisonDirection::GE: return ge;
      case ComparisonDirection::GT: return gt;
      case ComparisonDirection::LE: return le;
      case ComparisonDirection::LT: return lt;
    }
    return eq;
  };
  if (is_float(type) && op.getCompareType() != ComparisonType::TOTALORDER)
    return b.CreateFCmp(pick(P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OGE, P::FCMP_OGT, P::FCMP_OLE, P::FCMP_OLT), x, y);
  if (is_float(type)) {  // total order: the bits as sign-magnitude integers
    auto* ints = x->getType()->getWithNewType(b.getIntNTy(x->getType()->getScalarSizeInBits()));
    auto order = [&](IR v) {
      IR bits = b.CreateBitCast(v, ints);
      IR sign = b.CreateAShr(bits, ints->getScalarSizeInBits() - 1);
      return b.CreateXor(bits, b.CreateLShr(sign, 1));
    };
    x = order(x), y = order(y);
  }
  return is_unsigned(type) ? b.CreateICmp(pick(P::ICMP_EQ, P::ICMP_NE, P::ICMP_UGE, P::ICMP_UGT, P::ICMP_ULE, P::ICMP_ULT), x, y)
                           : b.CreateICmp(pick(P::ICMP_EQ, P::ICMP_NE, P::ICMP_SGE, P::ICMP_SGT, P::ICMP_SLE, P::ICMP_SLT), x, y);
}

// nan if either is nan, as the specification (and PyTorch) ask; the first of two zeros, as PyTorch's relu and clamp.
IR float_extreme(llvm::IRBuilder<>& b, IR x, IR y, bool maximum) {
  IR picked = b.CreateSelect(maximum ? b.CreateFCmpOGT(y, x) : b.CreateFCmpOLT(y, x), y, x);
  return b.CreateSelect(b.CreateFCmpUNO(y, y), y, picked);
}

}  // namespace

IR ElementEmitter::compute(Operation* op, ArrayRef<IR> in) {
  auto& b = k_.b;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  if (k_.uncontracted.contains(op) || op->hasAttr(kShared)) b.clearFastMathFlags();
  Type type = element(op->getOperand(isa<SelectOp>(op) ? 1 : 0));
  bool fp = is_float(type);
  auto unary = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, in[0]); };
  auto binary = [&](llvm::Intrinsic::ID id) { return b.CreateBinaryIntrinsic(id, in[0], in[1]); };
  auto constant = [&](double c) -> IR {
    return fp ? llvm::ConstantFP::get(in[0]->getType(), c) : llvm::ConstantInt::getSigned(in[0]->getType(), int64_t(c));
  };
  auto shift = [&](auto make) {  // too far a shift gives 0 (or the sign)
    IR width = llvm::ConstantInt::get(in[0]->getType(), type.getIntOrFloatBitWidth());
    bool arithmetic = isa<ShiftRightArithmeticOp>(op);
    IR far = b.CreateICmpUGE(in[1], width);
    IR amount = b.CreateSelect(far, arithmetic ? b.CreateSub(width, constant(1)) : constant(0), in[1]);
    IR result = make(in[0], amount);
    return arithmetic ? result : b.CreateSelect(far, constant(0), result);
  };
  // Rounding keeps order: a larger bf16 needs none, and who stores it takes the larger of what both were before theirs (of what rounds to zeros, 0 or -0).
  auto extreme = [&](bool maximum) {
    IR picked = float_extreme(b, in[0], in[1], maximum);
    if (type.isBF16()) k_.note_exact(picked, float_extreme(b, k_.exact(in[0]), k_.exact(in[1]), maximum));
    return picked;
  };
  IR result = llvm::TypeSwitch<Operation*, IR>(op)
      .Case([&](AbsOp) { return fp ? unary(llvm::Intrinsic::fabs) : is_unsigned(type) ? in[0] : IR(b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], b.getFalse())); })
      .Case([&](CbrtOp) { return k_.call_libm("cbrt", in); })
      .Case([&](CeilOp) { return unary(llvm::Intrinsic::ceil); })
      .Case([&](FloorOp) { return unary(llvm::Intrinsic::floor); })
      .Case([&](RoundOp) { return unary(llvm::Intrinsic::round); })
      .Case([&](RoundNearestEvenOp) { return unary(llvm::Intrinsic::roundeven); })
      .Case([&](SqrtOp) { return unary(llvm::Intrinsic::sqrt); })
      .Case([&](RsqrtOp) { return b.CreateFDiv(constant(1), unary(llvm::Intrinsic::sqrt)); })
      .Case([&](CosineOp) { return emit_cosine(k_, in[0]); })
      .Case([&](SineOp) { return emit_sine(k_, in[0]); })
      .Case([&](TanOp) { return emit_tangent(k_, in[0]); })
      .Case([&](Atan2Op) { return emit_atan2(k_, in[0], in[1]); })
      .Case([&](ExpOp) { return op->hasAttr(kAtMostZero) ? emit_exp_at_most_zero(k_, in[0]) : emit_exp(k_, in[0]); })
      .Case([&](Expm1Op) { return emit_expm1(k_, in[0]); })
      .Case([&](LogOp) { return emit_log(k_, in[0]); })
      .Case([&](Log1pOp) { return emit_log1p(k_, in[0]); })
      .Case([&](LogisticOp) { return emit_logistic(k_, in[0]); })
      .Case([&](TanhOp) { return emit_tanh(k_, in[0]); })
      .Case([&](CustomCallOp) { return emit_erf(k_, in[0]); })
      .Case([&](NegOp) { return fp ? b.CreateFNeg(in[0]) : b.CreateNeg(in[0]); })
      .Case([&](NotOp) { return b.CreateNot(in[0]); })
      .Case([&](PopulationCountOp) { return unary(llvm::Intrinsic::ctpop); })
      .Case([&](CountLeadingZerosOp) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, in[0], b.getFalse()); })
      .Case([&](SignOp) -> IR {
        if (fp) {
          IR one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(1), in[0]);
          return b.CreateSelect(b.CreateFCmpUEQ(in[0], constant(0)), in[0], one);
        }
        IR positive = b.CreateZExt(is_unsigned(type) ? b.CreateICmpNE(in[0], constant(0)) : b.CreateICmpSGT(in[0], constant(0)), in[0]->getType());
        return is_unsigned(type) ? positive : b.CreateOr(positive, b.CreateSExt(b.CreateICmpSLT(in[0], constant(0)), in[0]->getType()));
      })
      .Case([&](IsFiniteOp) { return b.CreateFCmpOLT(unary(llvm::Intrinsic::fabs), constant(std::numeric_limits<double>::infinity())); })
      .Case([&](ConvertOp) {
        if (op->hasAttr(kWithinI32)) return b.CreateFreeze(b.CreateFPToSI(in[0], in[0]->getType()->getWithNewType(b.getInt32Ty())));
        return op->hasAttr(kUnrounded) ? in[0] : emit_convert(k_, type, element(op->getResult(0)), in[0]);
      })
      .Case([&](BitcastConvertOp) {
        Type to = element(op->getResult(0));
        return k_.from_memory(to, b.CreateBitCast(k_.to_memory(type, in[0]), in[0]->getType()->getWithNewType(k_.memory_type(to))));
      })
      .Case([&](AddOp) { return fp ? b.CreateFAdd(in[0], in[1]) : type.isInteger(1) ? b.CreateOr(in[0], in[1]) : b.CreateAdd(in[0], in[1]); })
      .Case([&](SubtractOp) { return fp ? b.CreateFSub(in[0], in[1]) : b.CreateSub(in[0], in[1]); })
      .Case([&](MulOp) { return fp ? b.CreateFMul(in[0], in[1]) : type.isInteger(1) ? b.CreateAnd(in[0], in[1]) : b.CreateMul(in[0], in[1]); })
      .Case([&](DivOp) { return fp ? b.CreateFDiv(in[0], in[1]) : integer_division(k_, type, in[0], in[1], false); })
      .Case([&](RemOp) { return fp ? emit_remainder(k_, in[0], in[1]) : integer_division(k_, type, in[0], in[1], true); })
      .Case([&](MaxOp) { return fp ? extreme(true) : binary(is_unsigned(type) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax); })
      .Case([&](MinOp) { return fp ? extreme(false) : binary(is_unsigned(type) ? llvm::Intrinsic::umin : llvm::Intrinsic::smin); })
      .Case([&](PowOp) { return fp ? emit_power(k_, in[0], in[1]) : integer_power(k_, type, in[0], in[1]); })
      .Case([&](AndOp) { return b.CreateAnd(in[0], in[1]); })
      .Case([&](OrOp) { return b.CreateOr(in[0], in[1]); })
      .Case([&](XorOp) { return b.CreateXor(in[0], in[1]); })
      .Case([&](ShiftLeftOp) { return shift([&](IR x, IR n) { return b.CreateShl(x, n); }); })
      .Case([&](ShiftRightLogicalOp) { return shift([&](IR x, IR n) { return b.CreateLShr(x, n); }); })
      .Case([&](ShiftRightArithmeticOp) { return shift([&](IR x, IR n) { return b.CreateAShr(x, n); }); })
      .Case([&](CompareOp compared) { return compare(b, compared, type, in[0], in[1]); })
      .Case([&](SelectOp) { return b.CreateSelect(in[0], in[1], in[2]); })
      .Case([&](ClampOp) -> IR {
        if (fp) return float_extreme(b, float_extreme(b, in[1], in[0], true), in[2], false);
        auto max = is_unsigned(type) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, min = is_unsigned(type) ? llvm::Intrinsic::umin : llvm::Intrinsic::smin;
        return b.CreateBinaryIntrinsic(min, b.CreateBinaryIntrinsic(max, in[0], in[1]), in[2]);
      })
      .DefaultUnreachable("not element-wise");
  if (isa<ConvertOp>(op)) return result;
  Type to = element(op->getResult(0));
  if (isa<AbsOp, NegOp, SignOp, CeilOp, FloorOp, RoundOp, RoundNearestEvenOp, MaxOp, MinOp, ClampOp, SelectOp>(op)) note_if_narrow(k_, to, result, in);
  return k_.round(to, result);
}

}  // namespace cresset::cpu
