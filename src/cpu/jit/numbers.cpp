#include "cpu/jit/numbers.h"

#include <map>
#include <optional>

#include "cpu/jit/code_digest.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace cresset::cpu {

using namespace llvm;
namespace {

using Kind = Numbers::Kind;

struct Found {
  Kind kind;
  SmallVector<int64_t> values;
};

// Of a vector of constants, lane by lane.
std::optional<Found> numbers_of_lanes(const Constant* constant, bool is_mask) {
  SmallVector<int64_t> all;
  for (unsigned i = 0; i < cast<FixedVectorType>(constant->getType())->getNumElements(); ++i) {
    auto* lane = dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(i));
    if (!lane) return std::nullopt;
    all.push_back(is_mask ? lane->isOne() : lane->getSExtValue());
  }
  if (is_mask) {
    int64_t from = find(all, 1) - all.begin(), end = from + count(all, 1);
    if (!std::all_of(all.begin() + from, all.begin() + end, [](int64_t set) { return set; })) return std::nullopt;
    return Found{Kind::Mask, {from, end}};
  }
  for (size_t i = 2; i < all.size(); ++i)
    if (all[i] - all[i - 1] != all[1] - all[0]) return std::nullopt;
  return Found{Kind::Line, {all[0], all[1] - all[0]}};
}

std::optional<Found> numbers_of(const Value* v) {
  auto* constant = dyn_cast<Constant>(v);
  if (!constant) return std::nullopt;
  Type *type = constant->getType(), *element = type->getScalarType();
  auto* same = type->isVectorTy() ? constant->getSplatValue() : constant;
  if (element->isFloatTy() || element->isDoubleTy()) {
    auto* number = dyn_cast_or_null<ConstantFP>(same);
    return number ? std::optional(Found{Kind::Float, {int64_t(number->getValueAPF().bitcastToAPInt().getZExtValue())}}) : std::nullopt;
  }
  const bool is_mask = type->isVectorTy() && element->isIntegerTy(1);
  if (!is_mask && !element->isIntegerTy(64) && !element->isIntegerTy(32)) return std::nullopt;
  if (auto* number = dyn_cast_or_null<ConstantInt>(same); number && !is_mask) return Found{Kind::Integer, {number->getSExtValue()}};
  return type->isVectorTy() ? numbers_of_lanes(constant, is_mask) : std::nullopt;
}

// Where LLVM takes any value; not where it wants a constant, or has good code for constants only.
bool may_be_loaded(const Instruction& i, unsigned operand) {
  if (isa<AllocaInst, SwitchInst, ExtractElementInst, InsertElementInst>(i)) return false;
  if (auto* gep = dyn_cast<GetElementPtrInst>(&i)) return gep->getNumIndices() == 1;
  if (auto* call = dyn_cast<CallBase>(&i)) return operand < call->arg_size() && !call->paramHasAttr(operand, Attribute::ImmArg);
  return true;
}

// Vectors of unsigned integers of 32 bits by a divisor that is the same in all lanes: doubles hold both, and no quotient is so near to the next integer that it is rounded to it.
// Left alone, LLVM divides by what it does not know lane by lane.
void divide_in_doubles(Instruction& i) {
  auto opcode = i.getOpcode();
  auto* type = dyn_cast<VectorType>(i.getType());
  if ((opcode != Instruction::UDiv && opcode != Instruction::URem) || !type || !type->getScalarType()->isIntegerTy(32)) return;
  IRBuilder<> b(&i);
  Value *x = i.getOperand(0), *y = i.getOperand(1);
  auto* doubles = type->getWithNewType(b.getDoubleTy());
  Value* result = b.CreateFPToUI(b.CreateFDiv(b.CreateUIToFP(x, doubles), b.CreateUIToFP(y, doubles)), type);
  if (opcode == Instruction::URem) result = b.CreateSub(x, b.CreateMul(result, y));
  i.replaceAllUsesWith(result);
  i.eraseFromParent();
}

// Loads numbers at a kernel's entry.
class Loader {
 public:
  Loader(Function& kernel, ArrayRef<int64_t> values, ArrayRef<int> classes, int buffers) : b_(kernel.getContext()), values_(values), classes_(classes) {
    auto place = kernel.getEntryBlock().begin();
    while (isa<AllocaInst>(*place)) ++place;
    b_.SetInsertPoint(&kernel.getEntryBlock(), place);
    array_ = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), kernel.getArg(0), buffers));
  }

  Value* constant(Kind kind, size_t first, Type* type) {
    auto* vector = dyn_cast<FixedVectorType>(type);
    auto with = [&](Type* element) { return vector ? vector->getWithNewType(element) : element; };
    switch (kind) {
      case Kind::Integer: return integer(first, type);
      case Kind::Float: return b_.CreateBitCast(integer(first, with(b_.getIntNTy(type->getScalarSizeInBits()))), type);
      case Kind::Line: return b_.CreateAdd(integer(first, type), b_.CreateMul(b_.CreateStepVector(type), integer(first + 1, type)));
      case Kind::Mask: break;
    }
    Type* lanes = with(b_.getInt32Ty());
    Value* lane = b_.CreateStepVector(lanes);
    return b_.CreateAnd(b_.CreateICmpUGE(lane, integer(first, lanes)), b_.CreateICmpULT(lane, integer(first + 1, lanes)));
  }

 private:
  // Or a vector that has it in all lanes.
  Value* integer(size_t i, Type* type) {
    if (!classes_[i]) return ConstantInt::getSigned(type, values_[i]);
    if (Value* v = made_[{classes_[i], type}]) return v;
    Value*& loaded = made_[{classes_[i], b_.getInt64Ty()}];
    if (!loaded) {
      auto* load = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), array_, classes_[i] - 1));
      load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(b_.getContext(), {}));
      loaded = load;
    }
    Value* v = b_.CreateTrunc(loaded, type->getScalarType());
    if (auto* vector = dyn_cast<FixedVectorType>(type)) v = b_.CreateVectorSplat(vector->getNumElements(), v);
    return made_[{classes_[i], type}] = v;
  }

  IRBuilder<> b_;
  ArrayRef<int64_t> values_;
  ArrayRef<int> classes_;
  Value* array_;
  std::map<std::pair<int, Type*>, Value*> made_;
};

}  // namespace

Numbers::Numbers(Function& kernel) : kernel_(kernel) {
  for (Instruction& i : instructions(kernel))
    for (Use& use : i.operands())
      if (auto found = numbers_of(use.get()); found && may_be_loaded(i, use.getOperandNo())) {
        places_.push_back({&use, found->kind, values_.size()});
        append_range(values_, found->values);
      }
  auto next = places_.begin();
  digest_ = digest_of_code(*kernel.getParent(), [&](const Use& use) { return next != places_.end() && next->use == &use ? int(next++->kind) + 1 : 0; });
}

void Numbers::load(ArrayRef<int> classes, int buffers) {
  Loader loader(kernel_, values_, classes, buffers);
  for (auto [i, place] : enumerate(places_)) {
    size_t end = i + 1 < places_.size() ? places_[i + 1].first : values_.size();
    if (none_of(classes.slice(place.first, end - place.first), [](int known) { return known; })) continue;
    place.use->set(loader.constant(place.kind, place.first, place.use->get()->getType()));
    if (place.use->getOperandNo() == 1) divide_in_doubles(*cast<Instruction>(place.use->getUser()));
  }
}

}  // namespace cresset::cpu
