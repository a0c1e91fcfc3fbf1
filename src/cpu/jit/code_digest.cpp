#include "cpu/jit/code_digest.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace cresset::cpu {

using namespace llvm;
namespace {

// Types, constants and the like have numbers, in the order in which they come; what they consist of is written where they come first.
class Writer {
 public:
  explicit Writer(const Module& module) : slots_(&module) {
    for (const Function& f : module)
      if (!f.isDeclaration()) numbers_.insert({&f, numbers_.size()});
  }

  void function(const Function& f, function_ref<int(const Use&)> stand_in) {
    type(f.getFunctionType());
    put(f.getCallingConv());
    attributes(f.getAttributes());
    for (const Argument& a : f.args()) numbers_.insert({&a, numbers_.size()});
    for (const BasicBlock& block : f) {
      numbers_.insert({&block, numbers_.size()});
      for (const Instruction& i : block) numbers_.insert({&i, numbers_.size()});
    }
    for (const BasicBlock& block : f) {
      put(block.size());
      for (const Instruction& i : block) instruction(i, stand_in);
    }
  }

  std::string hex() const {
    auto hash = xxh3_128bits(ArrayRef(reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * sizeof(words_[0])));
    return utohexstr(hash.high64, true, 16) + utohexstr(hash.low64, true, 16);
  }

 private:
  void put(uint64_t word) { words_.push_back(word); }
  void put(const APInt& bits) {
    for (unsigned i = 0; i < bits.getNumWords(); ++i) put(bits.getRawData()[i]);
  }
  void text(StringRef text) {
    put(text.size());
    put(xxh3_64bits(text));
  }
  // Whether it comes for the first time.
  template <class Map, class Key>
  bool is_new(Map& map, Key key) {
    auto [known, added] = map.insert({key, map.size()});
    put(known->second);
    return added;
  }

  void type(Type* t) {
    if (!is_new(types_, t)) return;
    put(t->getTypeID());
    if (auto* integer = dyn_cast<IntegerType>(t)) put(integer->getBitWidth());
    else if (auto* vector = dyn_cast<FixedVectorType>(t)) put(vector->getNumElements());
    else if (auto* array = dyn_cast<ArrayType>(t)) put(array->getNumElements());
    else if (auto* pointer = dyn_cast<PointerType>(t)) put(pointer->getAddressSpace());
    else if (auto* structure = dyn_cast<StructType>(t)) put(structure->isPacked());
    else if (auto* function = dyn_cast<FunctionType>(t)) put(function->isVarArg());
    else if (auto* other = dyn_cast<TargetExtType>(t)) text(other->getName()), append_range(words_, other->int_params());
    put(t->getNumContainedTypes());
    for (Type* inner : t->subtypes()) type(inner);
  }

  void attributes(AttributeList list) {
    if (!is_new(attributes_, list.getRawPointer())) return;
    for (unsigned index : list.indexes())
      for (Attribute a : list.getAttributes(index)) {
        bool has_number = a.isEnumAttribute() || a.isIntAttribute();
        put(index), put(has_number);
        if (has_number) put(a.getKindAsEnum()), put(a.isIntAttribute() ? a.getValueAsInt() : 0);
        else text(a.getAsString());
      }
    put(~0ull);
  }

  void metadata(const Metadata* m) {
    if (!is_new(metadata_, m)) return;
    put(m->getMetadataID());
    if (auto* string = dyn_cast<MDString>(m)) return text(string->getString());
    if (auto* inner = dyn_cast<ValueAsMetadata>(m)) return value(inner->getValue());
    auto* node = dyn_cast<MDNode>(m);
    if (!node) return printed(*m);
    put(node->isDistinct());
    put(node->getNumOperands());
    for (const MDOperand& operand : node->operands()) {
      put(operand.get() != nullptr);
      if (operand) metadata(operand);
    }
  }

  void global(const GlobalValue& g) {
    type(g.getValueType());
    if (auto* f = dyn_cast<Function>(&g)) return text(f->getName()), attributes(f->getAttributes());
    auto& variable = cast<GlobalVariable>(g);
    put(variable.getAlign().valueOrOne().value()), put(variable.isConstant()), put(variable.getLinkage());
    if (variable.hasInitializer()) value(variable.getInitializer());
    else text(variable.getName());
  }

  void value(const Value* v) {
    if (!is_new(numbers_, v)) return;
    put(v->getValueID());
    type(v->getType());
    if (auto* g = dyn_cast<GlobalValue>(v)) return global(*g);
    if (auto* code = dyn_cast<InlineAsm>(v)) return text(code->getAsmString()), text(code->getConstraintString()), put(code->hasSideEffects()), type(code->getFunctionType());
    if (auto* m = dyn_cast<MetadataAsValue>(v)) return metadata(m->getMetadata());
    if (auto* integer = dyn_cast<ConstantInt>(v)) return put(integer->getValue());
    if (auto* number = dyn_cast<ConstantFP>(v)) return put(number->getValueAPF().bitcastToAPInt());
    if (auto* data = dyn_cast<ConstantDataSequential>(v)) return text(data->getRawDataValues());
    if (isa<ConstantAggregateZero, UndefValue, ConstantPointerNull>(v)) return;
    if (auto* aggregate = dyn_cast<ConstantAggregate>(v)) {
      for (const Use& part : aggregate->operands()) value(part);
      return;
    }
    printed(*v);
  }

  template <class T>
  void printed(const T& what) {
    SmallString<128> buffer;
    raw_svector_ostream out(buffer);
    what.print(out, slots_);
    text(buffer);
  }

  void instruction(const Instruction& i, function_ref<int(const Use&)> stand_in) {
    put(i.getOpcode());
    put(i.getRawSubclassOptionalData());
    put(i.getNumOperands());
    type(i.getType());
    for (const Use& use : i.operands()) {
      if (int kind = stand_in(use)) put(~uint64_t(kind)), type(use->getType());
      else value(use);
    }
    state(i);
    SmallVector<std::pair<unsigned, MDNode*>> all;
    if (i.hasMetadataOtherThanDebugLoc()) i.getAllMetadataOtherThanDebugLoc(all);
    for (auto [kind, node] : all) put(kind), metadata(node);
    put(~0ull);
  }

  // What an instruction has beside operands (Instruction::hasSameSpecialState).
  void state(const Instruction& i) {
    if (isa<UnaryOperator, BinaryOperator, CastInst, SelectInst, ExtractElementInst, InsertElementInst, FreezeInst, ReturnInst, BranchInst, UnreachableInst>(i)) return;
    if (auto* compare = dyn_cast<CmpInst>(&i)) return put(compare->getPredicate());
    if (auto* gep = dyn_cast<GetElementPtrInst>(&i)) return type(gep->getSourceElementType());
    if (auto* load = dyn_cast<LoadInst>(&i); load && load->isSimple()) return put(load->getAlign().value());
    if (auto* store = dyn_cast<StoreInst>(&i); store && store->isSimple()) return put(store->getAlign().value());
    if (auto* alloca = dyn_cast<AllocaInst>(&i); alloca && !alloca->isUsedWithInAlloca() && !alloca->isSwiftError()) return type(alloca->getAllocatedType()), put(alloca->getAlign().value());
    if (auto* shuffle = dyn_cast<ShuffleVectorInst>(&i)) {
      for (int lane : shuffle->getShuffleMask()) put(lane);
      return;
    }
    if (auto* phi = dyn_cast<PHINode>(&i)) {
      for (const BasicBlock* from : phi->blocks()) value(from);
      return;
    }
    if (auto* call = dyn_cast<CallInst>(&i); call && !call->hasOperandBundles())
      return type(call->getFunctionType()), put(call->getCallingConv()), put(call->getTailCallKind()), attributes(call->getAttributes());
    printed(i);
  }

  SmallVector<uint64_t, 0> words_;
  ModuleSlotTracker slots_;
  DenseMap<const Value*, uint64_t> numbers_;
  DenseMap<Type*, uint64_t> types_;
  DenseMap<const Metadata*, uint64_t> metadata_;
  DenseMap<const void*, uint64_t> attributes_;
};

}  // namespace

std::string digest_of_code(const Module& module, function_ref<int(const Use&)> stand_in) {
  Writer writer(module);
  for (const Function& f : module)
    if (!f.isDeclaration()) writer.function(f, stand_in);
  return writer.hex();
}

}  // namespace cresset::cpu
