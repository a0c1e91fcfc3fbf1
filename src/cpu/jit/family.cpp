#include "cpu/jit/family.h"

#include <unordered_map>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace cresset::cpu {
namespace {

constexpr size_t kMaxFamilies = 2048;
constexpr int64_t kPlaceholder = 0x5bd1e995a3c59ac3;  // what no emitter writes

// An i64, or a vector of equal ones.
const llvm::ConstantInt* integer(const llvm::Value* v) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (!constant || !constant->getType()->getScalarType()->isIntegerTy(64)) return nullptr;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
}

// Where LLVM takes any value; not where it wants a constant, or has good code for constants only.
bool may_be_loaded(const llvm::Instruction& i, unsigned operand) {
  using namespace llvm;
  if (isa<AllocaInst, SwitchInst, ExtractElementInst, InsertElementInst>(i)) return false;
  if (auto* gep = dyn_cast<GetElementPtrInst>(&i)) return gep->getNumIndices() == 1;
  if (auto* call = dyn_cast<CallBase>(&i)) return operand < call->arg_size() && !call->paramHasAttr(operand, Attribute::ImmArg);
  return true;
}

}  // namespace

Integers::Integers(llvm::Function& kernel) : kernel_(kernel) {
  using namespace llvm;
  std::vector<Value*> originals;
  for (Instruction& i : instructions(kernel))
    for (Use& use : i.operands())
      if (auto* c = integer(use.get()); c && may_be_loaded(i, use.getOperandNo())) {
        uses_.push_back(&use);
        values_.push_back(c->getSExtValue());
        originals.push_back(use.get());
        use.set(ConstantInt::getSigned(use->getType(), kPlaceholder));  // a splat where the type is a vector
      }
  std::string name = kernel.getName().str();
  kernel.setName("kernel");
  std::string identifier = kernel.getParent()->getModuleIdentifier(), source = kernel.getParent()->getSourceFileName();
  kernel.getParent()->setModuleIdentifier("");
  kernel.getParent()->setSourceFileName("");
  SmallString<0> text;
  raw_svector_ostream out(text);
  WriteBitcodeToFile(*kernel.getParent(), out);
  auto hash = xxh3_128bits(ArrayRef(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  digest_ = utohexstr(hash.high64, true, 16) + utohexstr(hash.low64, true, 16);
  kernel.setName(name);
  kernel.getParent()->setModuleIdentifier(identifier);
  kernel.getParent()->setSourceFileName(source);
  for (auto [use, original] : zip(uses_, originals)) use->set(original);
}

void Integers::make_arguments(const std::vector<bool>& change, int buffers) {
  using namespace llvm;
  BasicBlock& entry = kernel_.getEntryBlock();
  auto place = entry.begin();
  while (isa<AllocaInst>(*place)) ++place;
  IRBuilder<> b(&entry, place);
  Value* array = b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), kernel_.getArg(0), buffers));
  int64_t next = 0;
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (!change[i]) continue;
    auto* load = b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), array, next++));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(kernel_.getContext(), {}));
    Value* v = load;
    if (auto* vector = dyn_cast<FixedVectorType>(uses_[i]->get()->getType())) v = b.CreateVectorSplat(vector->getNumElements(), load);
    uses_[i]->set(v);
  }
}

bool Family::add(const std::vector<int64_t>& values) {
  if (first.empty()) first = values, change.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != first[i] && !change[i]) change[i] = true, key.clear(), code.reset();
  return values == first;
}

std::vector<int64_t> Family::arguments(const std::vector<int64_t>& values) const {
  std::vector<int64_t> result;
  for (size_t i = 0; i < values.size(); ++i)
    if (change[i]) result.push_back(values[i]);
  return result;
}

Family& family_of(const std::string& digest) {
  static auto* families = new std::unordered_map<std::string, Family>;
  if (families->size() > kMaxFamilies) families->clear();
  return (*families)[digest];
}

}  // namespace cresset::cpu
