// What the emitters of all kinds share.
#include "cpu/emit/kernels.h"

#include "cpu/kept.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

IR KernelContext::packed_weight() const { return keeps_packed(fusion) ? k.buffer(slots.count()) : nullptr; }

ElementEmitter KernelContext::elements(int lanes) const {
  auto load = [this](ElementEmitter& e, Value v, const Indices& i) -> IR {
    return reads(v) ? e.load(v, buffer(v), i) : nullptr;
  };
  return ElementEmitter(k, fusion, lanes, load);
}

IR last_lanes(KernelEmitter& k, IR rest, int lanes) {
  return k.b.CreateICmpSGE(k.b.CreateStepVector(k.vector(k.b.getInt64Ty(), lanes)), k.splat(k.b.CreateSub(k.i64(lanes), rest), lanes));
}

IR neutral(KernelEmitter& k, Operation* reducer, llvm::Type* type) {
  if (isa<AddOp, OrOp>(reducer)) return llvm::Constant::getNullValue(type);
  if (isa<AndOp>(reducer)) return llvm::Constant::getAllOnesValue(type);
  if (isa<MulOp>(reducer)) return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  bool max = isa<MaxOp>(reducer);
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, max);
  unsigned bits = type->getScalarSizeInBits();
  bool has_sign = !is_unsigned(element(reducer->getResult(0)));
  auto value = max ? (has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits))
                   : (has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  return llvm::ConstantInt::get(type, value);
}

IR fold_lanes(KernelEmitter& k, ElementEmitter& scalar, Operation* reducer, IR vector, int lanes) {
  return k.fold(vector, lanes, [&](IR x, IR y) { return scalar.compute(reducer, {x, y}); });
}

// With `ones` also along dimensions of 1.
static Indices split(KernelEmitter& k, ArrayRef<int64_t> shape, IR flat, bool ones) {
  Indices result(shape.size(), constant_index(k, 0));
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1 && !ones) continue;
    bool outermost = ones ? d == 0 : product(shape.take_front(d)) == 1;
    result[d] = {outermost ? flat : k.b.CreateURem(flat, k.i64(shape[d])), 0, 1};
    if (!outermost) flat = k.b.CreateUDiv(flat, k.i64(shape[d]));
  }
  return result;
}
Indices delinearise(KernelEmitter& k, ArrayRef<int64_t> shape, IR flat) { return split(k, shape, flat, false); }
Indices place_of_task(KernelEmitter& k, ArrayRef<int64_t> counts, IR task) { return split(k, counts, task, k.any_size); }

}  // namespace cresset::cpu
