#include "cpu/emit/emitter.h"

#include <numeric>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace cresset::cpu {

int64_t element_bytes(mlir::Type t) { return t.isInteger(1) ? 1 : (t.getIntOrFloatBitWidth() + 7) / 8; }
bool is_float(mlir::Type t) { return mlir::isa<mlir::FloatType>(t); }

KernelEmitter::KernelEmitter(llvm::Module& m, const Target& t, const std::string& name, int buffers, bool any)
    : b(m.getContext()), module(m), target(t), any_size(any) {
  auto* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, m);
  function_->addFnAttr("target-cpu", t.cpu);
  function_->addFnAttr("target-features", t.features);
  if (t.lanes == 16) function_->addFnAttr("prefer-vector-width", "512");
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function_));
  for (int i = 0; i < buffers; ++i)
    buffers_.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function_->getArg(0), i)));
  // Contraction to FMA is what BLAS and the vector units do as well; no other reassociation.
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b.setFastMathFlags(flags);
}

IRs KernelEmitter::loop(IR lo, IR hi, int64_t step, llvm::ArrayRef<IR> init,
                        const std::function<IRs(IR, llvm::ArrayRef<IR>)>& body) {
  auto& context = b.getContext();
  auto* before = b.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context, "loop", function_);
  auto* inside = llvm::BasicBlock::Create(context, "body", function_);
  auto* after = llvm::BasicBlock::Create(context, "after", function_);
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto* iv = b.CreatePHI(b.getInt64Ty(), 2);
  iv->addIncoming(lo, before);
  llvm::SmallVector<llvm::PHINode*> carried;
  for (IR v : init) {
    carried.push_back(b.CreatePHI(v->getType(), 2));
    carried.back()->addIncoming(v, before);
  }
  b.CreateCondBr(b.CreateICmpSLT(iv, hi), inside, after);
  b.SetInsertPoint(inside);
  IRs next = body(iv, IRs(carried.begin(), carried.end()));
  IR stepped = b.CreateAdd(iv, b.getInt64(step), "", true, true);
  for (auto [phi, v] : llvm::zip(carried, next)) phi->addIncoming(v, b.GetInsertBlock());
  iv->addIncoming(stepped, b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
  return IRs(carried.begin(), carried.end());
}

void KernelEmitter::loop(IR lo, IR hi, int64_t step, const std::function<void(IR)>& body) {
  loop(lo, hi, step, {}, [&](IR iv, llvm::ArrayRef<IR>) {
    body(iv);
    return IRs();
  });
}

void KernelEmitter::along(IR count, int lanes, const std::function<void(IR, int)>& body) {
  IR whole = b.CreateAnd(count, i64(-int64_t(lanes)));
  loop(i64(0), whole, lanes, [&](IR at) { body(at, lanes); });
  rest_along(count, lanes, body);
}

void KernelEmitter::rest_along(IR count, int lanes, const std::function<void(IR, int)>& body) {
  for (int part = lanes / 2; part; part /= 2)
    when(b.CreateICmpNE(b.CreateAnd(count, i64(part)), i64(0)), [&] { body(b.CreateAnd(count, i64(-2 * int64_t(part))), part); });
}

void KernelEmitter::prefetch(IR address, bool to_write, int cache) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()}, {address, b.getInt32(to_write), b.getInt32(4 - cache), b.getInt32(1)});
}

void KernelEmitter::repeat(int64_t count, const std::function<void(IR)>& body) {
  if (any_size) return loop(i64(0), i64(count), body);
  for (int64_t i = 0; i < count; ++i) body(i64(i));
}

void KernelEmitter::when(IR condition, const std::function<void()>& then) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return known->isZero() ? void() : then();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "then", function_);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "done", function_);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void KernelEmitter::either(IR condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return known->isZero() ? otherwise() : then();
  when(condition, then);
  when(b.CreateNot(condition), otherwise);
}

IRs KernelEmitter::unless(IR condition, IRs usual, const std::function<IRs()>& rare) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return known->isZero() ? usual : rare();
  auto* before = b.GetInsertBlock();
  IRs values;
  llvm::BasicBlock* from = nullptr;
  when(condition, [&] { values = rare(), from = b.GetInsertBlock(); });
  before->getTerminator()->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());  // so it stands out of line
  for (auto [i, value] : llvm::enumerate(values)) {
    auto* phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(i < usual.size() ? usual[i] : llvm::PoisonValue::get(value->getType()), before);
    phi->addIncoming(value, from);
    value = phi;
  }
  return values;
}

IR KernelEmitter::unless(IR condition, IR usual, const std::function<IR()>& rare) {
  return unless(condition, IRs{usual}, [&] { return IRs{rare()}; })[0];
}

llvm::Type* KernelEmitter::memory_type(mlir::Type t) {
  if (t.isBF16()) return b.getInt16Ty();  // LLVM takes selects and conversions of its own type apart, element by element, where there are no instructions for it
  if (t.isF16()) return b.getHalfTy();
  if (t.isF32()) return b.getFloatTy();
  if (t.isF64()) return b.getDoubleTy();
  return b.getIntNTy(element_bytes(t) * 8);
}

llvm::Type* KernelEmitter::compute_type(mlir::Type t) {
  if (t.isBF16() || t.isF16()) return b.getFloatTy();
  if (t.isInteger(1)) return b.getInt1Ty();
  return memory_type(t);
}

IR KernelEmitter::from_memory(mlir::Type t, IR v) {
  IR result = widen(t, v);
  if (t.isBF16() || t.isF16()) narrow_[result] = {t, v};
  return result;
}

IR KernelEmitter::widen(mlir::Type t, IR v) {
  if (t.isBF16()) {  // the upper half of an f32
    auto* i32 = v->getType()->getWithNewType(b.getInt32Ty());
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, i32), llvm::ConstantInt::get(i32, 16)), v->getType()->getWithNewType(b.getFloatTy()));
  }
  if (t.isF16()) return b.CreateFPExt(v, v->getType()->getWithNewType(b.getFloatTy()));
  if (t.isInteger(1)) return b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  return v;
}

IR KernelEmitter::widened(mlir::Type t, IR v, llvm::Type* to) {
  auto* type = v->getType()->getWithNewType(to);
  if (v->getType() == type) return v;
  if (type->isFPOrFPVectorTy()) return b.CreateFPExt(v, type);
  return is_unsigned(t) ? b.CreateZExt(v, type) : b.CreateSExt(v, type);
}

// The bits, to nearest, ties to even; nan stays quiet nan.
IR KernelEmitter::rounded_to_bf16(IR v) {
  auto* i32 = v->getType()->getWithNewType(b.getInt32Ty());
  auto constant = [&](uint32_t c) { return llvm::ConstantInt::get(i32, c); };
  IR bits = b.CreateBitCast(v, i32);
  IR odd = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
  IR rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, constant(0x7fff))), constant(16));
  rounded = b.CreateSelect(b.CreateFCmpUNO(v, v), constant(0x7fc0), rounded);
  return b.CreateTrunc(rounded, v->getType()->getWithNewType(b.getInt16Ty()));
}
// Not contracted with a truncation from f64, for which there is no instruction.
IR KernelEmitter::narrowed(IR v, llvm::Type* to) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  return b.CreateFPTrunc(v, v->getType()->getWithNewType(to));
}
// A vector whose lanes fill registers of AVX-512, as these.
static IRs by_sixteens(llvm::IRBuilder<>& b, IR v) {
  IRs parts;
  for (int at = 0; at < lanes_of(v); at += 16) {
    llvm::SmallVector<int> part(16);
    std::iota(part.begin(), part.end(), at);
    parts.push_back(b.CreateShuffleVector(v, part));
  }
  return parts;
}

// The same as rounded_to_bf16() by the instruction, which makes denormals 0; where two registers become one, by the one that does that.
IR KernelEmitter::converted_to_bf16(IR v) {
  auto* type = v->getType()->getWithNewType(b.getInt16Ty());
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!vector || vector->getNumElements() % 32) return b.CreateBitCast(narrowed(v, b.getBFloatTy()), type);
  IRs parts = by_sixteens(b, v), results;
  for (size_t i = 0; i < parts.size(); i += 2) results.push_back(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {}, {parts[i + 1], parts[i]}));
  return b.CreateBitCast(results.size() == 1 ? results[0] : concatenate(results), type);
}

IR KernelEmitter::any_denormal(IR v) {
  constexpr int kDenormal = 0x20;
  IR any = nullptr;
  for (IR part : by_sixteens(b, v)) {
    IR here = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512, {}, {part, b.getInt32(kDenormal)});
    any = any ? b.CreateOr(any, here) : here;
  }
  return b.CreateOrReduce(any);
}

bool KernelEmitter::is_narrow(mlir::Type t, IR v) const {
  auto known = narrow_.find(v);
  if ((known != narrow_.end() && known->second.first == t) || unrounded_.contains(v)) return true;
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  auto* number = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getType()->isVectorTy() ? constant->getSplatValue() : constant) : nullptr;
  if (!number) return false;
  bool loses = false;
  llvm::APFloat value = number->getValueAPF();
  value.convert(t.isBF16() ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return !loses;
}

IR KernelEmitter::to_memory(mlir::Type t, IR v) {
  if (auto known = narrow_.find(v); known != narrow_.end() && known->second.first == t) return known->second.second;  // rounded already
  if (t.isBF16() && unrounded_.contains(v)) return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(v, v->getType()->getWithNewType(b.getInt32Ty())), 16), v->getType()->getWithNewType(b.getInt16Ty()));
  if (t.isBF16()) {
    if (auto exact = exact_.find(v); exact != exact_.end()) v = exact->second;
    int lanes = lanes_of(v);
    if (target.bf16_dot != Target::Native || lanes % 16 || llvm::isa<llvm::Constant>(v)) return rounded_to_bf16(v);
    return unless(any_denormal(v), converted_to_bf16(v), [&] {
      IR slot = alloca_in_entry(v->getType(), 1);  // LLVM would compute what round() may have, for nobody, ahead of the branch
      b.CreateStore(v, slot, true);
      return rounded_to_bf16(b.CreateLoad(v->getType(), slot, true));
    });
  }
  if (t.isF16()) return narrowed(v, memory_type(t));
  if (t.isInteger(1)) return b.CreateZExt(v, v->getType()->getWithNewType(b.getInt8Ty()));
  return v;
}

IR KernelEmitter::round(mlir::Type t, IR v, bool flushes) {
  if ((!t.isBF16() && !t.isF16()) || unrounded_.contains(v)) return v;
  if (!t.isBF16() || target.bf16_dot != Target::Native) return from_memory(t, to_memory(t, v));
  if (exact_.contains(v)) return v;
  if (flushes) return from_memory(t, converted_to_bf16(v));
  // Who goes on computing wants a mask in place of two conversions, who stores it the instruction; what nobody wants is not computed.
  IR result = widen(t, rounded_to_bf16(v));
  exact_[result] = v;
  return result;
}

IR KernelEmitter::load(mlir::Type t, IR base, IR offset, int lanes) {
  auto* type = memory_type(t);
  IR address = b.CreateInBoundsGEP(type, base, offset);
  return from_memory(t, b.CreateAlignedLoad(vector(type, lanes), address, llvm::Align(element_bytes(t))));
}

void KernelEmitter::store(mlir::Type t, IR value, IR base, IR offset, int lanes, bool past_caches) {
  auto* type = memory_type(t);
  auto* store = b.CreateAlignedStore(to_memory(t, value), b.CreateInBoundsGEP(type, base, offset), llvm::Align(past_caches ? 64 : element_bytes(t)));
  if (past_caches) store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b.getContext(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
}

IR KernelEmitter::load_strided(mlir::Type t, IR base, IR first, int lanes, int64_t step, llvm::ArrayRef<IR> masks) {
  auto* type = memory_type(t);
  IR result = nullptr;
  for (int64_t part = 0, last = (lanes - 1) * step; part * lanes <= last; ++part) {
    int64_t from = masks.empty() ? std::min(part * lanes, last + 1 - lanes) : part * lanes;
    IR here = masks.empty() ? b.CreateAlignedLoad(vector(type, lanes), b.CreateInBoundsGEP(type, base, add(first, i64(from))), llvm::Align(element_bytes(t)))
                            : load_masked(t, base, add(first, i64(from)), masks[part]);
    llvm::SmallVector<int> order(lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      int64_t at = lane * step;
      order[lane] = int(at >= part * lanes ? std::min(lanes + at - from, 2 * int64_t(lanes) - 1) : part == 1 ? at : lane);
    }
    result = result ? b.CreateShuffleVector(result, here, order) : here;
  }
  return masks.empty() ? from_memory(t, result) : result;
}

IR KernelEmitter::gather(mlir::Type t, IR base, IR offsets, int lanes) {
  if (lanes == 1) return load(t, base, offsets, 1);
  auto* type = memory_type(t);
  if (int64_t bytes = element_bytes(t); target.gathers() && bytes >= 4) return from_memory(t, b.CreateMaskedGather(vector(type, lanes), b.CreateInBoundsGEP(type, base, offsets), llvm::Align(bytes)));
  IR result = llvm::PoisonValue::get(vector(type, lanes));
  for (int i = 0; i < lanes; ++i) {
    IR address = b.CreateInBoundsGEP(type, base, b.CreateExtractElement(offsets, i));
    result = b.CreateInsertElement(result, b.CreateAlignedLoad(type, address, llvm::Align(element_bytes(t))), i);
  }
  return from_memory(t, result);
}

bool KernelEmitter::can_mask(mlir::Type element) const { return target.can_mask(element_bytes(element)); }

IR KernelEmitter::product_of_pairs(IR x, IR y, IR sum) {
  auto* vector = llvm::cast<llvm::VectorType>(sum->getType());
  const int lanes = lanes_of(sum);
  if (target.bf16_dot == Target::Native) {
    auto* pairs = this->vector(b.getBFloatTy(), 2 * lanes);
    auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512 : lanes == 8 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256 : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
    return b.CreateIntrinsic(id, {}, {sum, b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
  }
  auto* ints = vector->getWithNewType(b.getInt32Ty());
  auto low = [&](IR x) { return b.CreateBitCast(b.CreateShl(b.CreateBitCast(x, ints), llvm::ConstantInt::get(ints, 16)), vector); };
  auto high = [&](IR x) { return b.CreateBitCast(b.CreateAnd(b.CreateBitCast(x, ints), llvm::ConstantInt::get(ints, 0xffff0000u)), vector); };
  sum = b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {low(x), low(y), sum});
  return b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {high(x), high(y), sum});
}

IR KernelEmitter::mask(IR lanes, mlir::Type t) {
  constexpr unsigned kRegister = 256;
  unsigned count = unsigned(lanes_of(lanes)), bits = unsigned(std::max<int64_t>(element_bytes(t), 4)) * 8;  // of fewer bits they fill no register
  // AVX-512 has registers for them; what is made of AVX2 for tests may have more of them than a register.
  if (target.lanes != 8 || count * bits > kRegister) return b.CreateSExt(lanes, vector(b.getInt32Ty(), int(count)));
  // LLVM would otherwise keep them in fewer bits and widen them again in every round of a loop; it does not see through the empty instruction.
  auto* type = vector(b.getIntNTy(bits), int(count));
  return b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=x,0", false), {b.CreateSExt(lanes, type)});
}

IR KernelEmitter::load_masked(mlir::Type t, IR base, IR first, IR mask) { return from_memory(t, load_masked_as_stored(t, base, first, mask)); }
IR KernelEmitter::load_masked_as_stored(mlir::Type t, IR base, IR first, IR mask) {
  auto* type = vector(memory_type(t), lanes_of(mask));
  IR from = b.CreateGEP(memory_type(t), base, first), lanes = b.CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType()));
  return b.CreateMaskedLoad(type, from, llvm::Align(element_bytes(t)), lanes, llvm::Constant::getNullValue(type));
}

IR KernelEmitter::add(IR x, IR y) {
  auto *cx = llvm::dyn_cast<llvm::ConstantInt>(x), *cy = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (cx && cx->isZero()) return y;
  if (cy && cy->isZero()) return x;
  return b.CreateAdd(x, y);
}
IR KernelEmitter::mul(IR x, int64_t y) {
  if (y == 0) return i64(0);
  return y == 1 ? x : b.CreateMul(x, i64(y));
}

IR KernelEmitter::min(IR x, IR y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }

IR KernelEmitter::moved(IR v, IR by) {
  auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  auto* element = type->getElementType();
  int64_t lanes = type->getNumElements();
  bool is_register = lanes == 16 ? target.avx512() : lanes == 8 && (target.avx512() || target.name == "avx2");
  if (element->isFloatTy() && is_register) {
    llvm::SmallVector<llvm::Constant*> order;
    for (int i = 0; i < lanes; ++i) order.push_back(b.getInt32(i));
    IR from = b.CreateSub(llvm::ConstantVector::get(order), b.CreateVectorSplat(lanes, b.CreateTrunc(by, b.getInt32Ty())));
    return lanes == 16 ? b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {v, from}) : b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {v, from});
  }
  IR slot = alloca_in_entry(element, 3 * lanes);
  b.CreateAlignedStore(v, b.CreateInBoundsGEP(element, slot, i64(lanes)), llvm::Align(element->getScalarSizeInBits() / 8));
  IR from = min(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(i64(lanes), by), i64(0)), i64(2 * lanes));
  return b.CreateAlignedLoad(type, b.CreateInBoundsGEP(element, slot, from), llvm::Align(element->getScalarSizeInBits() / 8));
}

IR KernelEmitter::fold(IR vector, int lanes, llvm::function_ref<IR(IR, IR)> combine) {
  for (int half = lanes / 2; half; half /= 2) {
    llvm::SmallVector<int> low, high;
    for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(i + half);
    vector = combine(b.CreateShuffleVector(vector, low), b.CreateShuffleVector(vector, high));
  }
  return lanes > 1 ? b.CreateExtractElement(vector, uint64_t(0)) : vector;
}

IR KernelEmitter::fold_each(IRs vectors, int lanes, llvm::function_ref<IR(IR, IR)> combine) {
  if (vectors.size() == 1) return fold(vectors[0], lanes, combine);
  int count = int(vectors.size()), apart = lanes / int(llvm::bit_ceil(unsigned(count)));
  vectors.resize(llvm::bit_ceil(unsigned(count)), vectors[0]);
  for (int distance = lanes / 2; distance; distance /= 2) {
    int left = int(vectors.size()) / 2;
    llvm::SmallVector<int> low, high;
    for (int at = 0; at < lanes; ++at) {
      low.push_back((left && at & distance ? lanes : 0) + (at & ~distance));
      high.push_back(low.back() + distance);
    }
    for (int i = 0; i < std::max(left, 1); ++i) {
      IR x = vectors[i], y = vectors[i + left];
      vectors[i] = combine(b.CreateShuffleVector(x, y, low), b.CreateShuffleVector(x, y, high));
    }
    vectors.resize(std::max(left, 1));
  }
  llvm::SmallVector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(i * apart);
  return b.CreateShuffleVector(vectors[0], order);
}

IR KernelEmitter::plus(IR x, IR y) { return x->getType()->isFPOrFPVectorTy() ? b.CreateFAdd(x, y) : b.CreateAdd(x, y); }
IRs KernelEmitter::sums_of(llvm::ArrayRef<IR> vectors, int lanes) {
  IRs result;
  for (; !vectors.empty(); vectors = vectors.drop_front(std::min<size_t>(lanes, vectors.size()))) {
    IR sums = fold_each(IRs(vectors.take_front(lanes)), lanes, [&](IR x, IR y) { return plus(x, y); });
    if (!sums->getType()->isVectorTy()) result.push_back(sums);
    else for (size_t i = 0; i < std::min<size_t>(lanes, vectors.size()); ++i) result.push_back(b.CreateExtractElement(sums, i));
  }
  return result;
}

IR KernelEmitter::sequence(IR first, int lanes, int64_t step) {
  llvm::SmallVector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(llvm::ConstantInt::get(first->getType(), i * step));
  return b.CreateAdd(splat(first, lanes), llvm::ConstantVector::get(steps));
}

IR KernelEmitter::every_second(IR low, IR high, int first) {
  llvm::SmallVector<int> picked;
  for (int i = 0; i < lanes_of(low); ++i) picked.push_back(first + 2 * i);
  return b.CreateShuffleVector(low, high, picked);
}

IR KernelEmitter::spread(IR lanes, int64_t step, int64_t part) {
  int64_t count = lanes_of(lanes);
  llvm::SmallVector<int> picked;
  for (int64_t i = part * count; i < (part + 1) * count; ++i) picked.push_back(int(i % step ? count : i / step));
  return b.CreateShuffleVector(lanes, llvm::Constant::getNullValue(lanes->getType()), picked);
}

IR KernelEmitter::concatenate(llvm::ArrayRef<IR> vectors) { return llvm::concatenateVectors(b, vectors); }

// First the squares within 128 bits, which one instruction interleaves, then those squares among each other.
void KernelEmitter::transpose(IRs& rows) {
  int n = int(rows.size()), side = std::min(n, int(128 / rows[0]->getType()->getScalarSizeInBits()));
  llvm::SmallVector<int> low, high;
  for (int at = 0; at < n; ++at) {
    int in_square = at % side, from = at - in_square + in_square / 2 + in_square % 2 * n;
    low.push_back(from);
    high.push_back(from + side / 2);
  }
  auto shuffle = [&](IR x, IR y, IR& first, IR& second) { first = b.CreateShuffleVector(x, y, low), second = b.CreateShuffleVector(x, y, high); };
  for (int round = 1; round < side; round *= 2) {
    IRs next(n);
    for (int square = 0; square < n; square += side)
      for (int i = 0; i < side / 2; ++i) shuffle(rows[square + i], rows[square + i + side / 2], next[square + 2 * i], next[square + 2 * i + 1]);
    rows = next;
  }
  for (int distance = side; distance < n; distance *= 2) {
    for (int at = 0; at < n; ++at) {
      bool exchanged = at & distance;
      low[at] = exchanged ? n + at - distance : at;
      high[at] = exchanged ? n + at : at + distance;
    }
    for (int i = 0; i < n; ++i)
      if (!(i & distance)) shuffle(rows[i], rows[i + distance], rows[i], rows[i + distance]);
  }
}

IR KernelEmitter::look_up(llvm::Constant* table, IR places) {
  IRs found;
  for (IR part : by_sixteens(b, places)) found.push_back(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_si_512, {}, {table, part}));
  return concatenate(found);
}

std::pair<IR, IR> KernelEmitter::split_floats(IR x) {
  constexpr int kFromOneToTwo = 0, kNanBelowZero = 3 << 2;
  IRs exponents, significands;
  auto mode = b.getInt32(4);  // as rounding is set
  for (IR part : by_sixteens(b, x)) {
    IR none = llvm::PoisonValue::get(part->getType()), all = b.getInt16(-1);
    exponents.push_back(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_getexp_ps_512, {}, {part, none, all, mode}));
    significands.push_back(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_getmant_ps_512, {}, {part, b.getInt32(kFromOneToTwo | kNanBelowZero), none, all, mode}));
  }
  return {concatenate(exponents), concatenate(significands)};
}

IR KernelEmitter::alloca_in_entry(llvm::Type* type, int64_t count) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* slot = entry.CreateAlloca(type, entry.getInt64(count));
  slot->setAlignment(llvm::Align(64));
  return slot;
}

IR KernelEmitter::call_libm(llvm::StringRef name, llvm::ArrayRef<IR> args) {
  auto* type = args[0]->getType();
  auto* scalar = type->getScalarType();
  llvm::SmallVector<llvm::Type*> parameters(args.size(), scalar);
  auto callee = module.getOrInsertFunction((name + (scalar->isFloatTy() ? "f" : "")).str(),
                                           llvm::FunctionType::get(scalar, parameters, false));
  if (!type->isVectorTy()) return b.CreateCall(callee, args);
  IR result = llvm::PoisonValue::get(type);
  for (int i = 0; i < lanes_of(type); ++i) {
    IRs lane;
    for (IR a : args) lane.push_back(b.CreateExtractElement(a, i));
    result = b.CreateInsertElement(result, b.CreateCall(callee, lane), i);
  }
  return result;
}

void KernelEmitter::finish() { b.CreateRetVoid(); }

}  // namespace cresset::cpu
