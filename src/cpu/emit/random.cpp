#include "cpu/emit/random.h"

namespace cresset::cpu {

using namespace mlir;

bool is_random_bits(Operation* op) {
  auto composite = llvm::dyn_cast_or_null<stablehlo::CompositeOp>(op);
  return composite && composite.getName() == "cresset.random_bits" && composite->getNumOperands() == 2 && composite.getVersion() == 1;
}
int64_t spacing_of_random_bits(Operation* op) { return cast<stablehlo::CompositeOp>(op).getCompositeAttributes().getAs<IntegerAttr>("spacing").getInt(); }

// Words stay in the low halves of i64s, whose high halves may hold anything: that is what the product of 32 bits takes and gives.
std::array<IR, 4> emit_philox(KernelEmitter& k, IR counters, IR seed) {
  auto& b = k.b;
  auto* type = counters->getType();
  auto all = [&](uint64_t x) -> IR { return llvm::ConstantInt::get(type, x); };
  auto spread = [&](IR x) { return type->isVectorTy() ? b.CreateVectorSplat(lanes_of(type), x) : x; };
  auto product = [&](IR x, uint64_t factor) { return b.CreateMul(b.CreateAnd(x, all(0xffffffff)), all(factor)); };
  auto high = [&](IR x) { return b.CreateLShr(x, all(32)); };
  std::array<IR, 4> c{counters, high(counters), all(0), all(0)};
  IR k0 = b.CreateAnd(seed, 0xffffffff), k1 = b.CreateLShr(seed, 32);
  for (int round = 0; round < 10; ++round) {
    IR p0 = product(c[0], 0xD2511F53), p1 = product(c[2], 0xCD9E8D57);
    c = {b.CreateXor(high(p1), b.CreateXor(c[1], spread(k0))), p1, b.CreateXor(high(p0), b.CreateXor(c[3], spread(k1))), p0};
    k0 = b.CreateAdd(k0, k.i64(0x9E3779B9));
    k1 = b.CreateAdd(k1, k.i64(0xBB67AE85));
  }
  for (IR& word : c) word = b.CreateTrunc(word, type->getWithNewBitWidth(32));
  return c;
}

}  // namespace cresset::cpu
