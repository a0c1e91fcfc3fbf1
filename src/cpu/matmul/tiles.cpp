#include "cpu/matmul/tiles.h"

#include "llvm/IR/IntrinsicsX86.h"

namespace cresset::cpu {

namespace {
constexpr int kTiles = 8;
}

void TileRegisters::configure() {
  if (emulated()) {
    if (!memory_) memory_ = k_.alloca_in_entry(words(), kTiles * kRows);
    return;
  }
  // Palette 1, from byte 16 on the bytes of a row of each tile, from byte 48 on their rows.
  llvm::SmallVector<uint8_t, 64> bytes(64, 0);
  bytes[0] = 1;
  for (int t = 0; t < kTiles; ++t) bytes[16 + 2 * t] = kBytes, bytes[48 + t] = uint8_t(rows(t));
  auto* data = llvm::ConstantDataArray::get(b_.getContext(), llvm::ArrayRef<uint8_t>(bytes));
  auto* global = new llvm::GlobalVariable(k_.module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "tile_shapes");
  global->setAlignment(llvm::Align(64));
  b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, llvm::ArrayRef<llvm::Type*>(), {global});
}
void TileRegisters::release() {
  if (!emulated()) b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, llvm::ArrayRef<llvm::Type*>(), {});
}

IR TileRegisters::row(int tile, IR row) { return b_.CreateInBoundsGEP(words(), memory_, k_.add(k_.i64(tile * kRows), row)); }

void TileRegisters::zero(int tile) {
  if (!emulated()) return void(b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, llvm::ArrayRef<llvm::Type*>(), {b_.getInt8(tile)}));
  b_.CreateMemSet(row(tile, k_.i64(0)), b_.getInt8(0), rows(tile) * kBytes, llvm::Align(64));
}
void TileRegisters::load(int tile, IR address, int64_t pitch) {
  if (!emulated()) return void(b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, llvm::ArrayRef<llvm::Type*>(), {b_.getInt8(tile), address, k_.i64(pitch)}));
  k_.loop(k_.i64(0), k_.i64(rows(tile)), [&](IR i) { copy(row(tile, i), b_.CreateInBoundsGEP(b_.getInt8Ty(), address, k_.mul(i, pitch))); });
}
void TileRegisters::store(int tile, IR address, int64_t pitch) {
  if (!emulated()) return void(b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, llvm::ArrayRef<llvm::Type*>(), {b_.getInt8(tile), address, k_.i64(pitch)}));
  k_.loop(k_.i64(0), k_.i64(rows(tile)), [&](IR i) { copy(b_.CreateInBoundsGEP(b_.getInt8Ty(), address, k_.mul(i, pitch)), row(tile, i)); });
}

void TileRegisters::multiply(int sum, int left, int right) {
  if (!emulated()) return void(b_.CreateIntrinsic(product_, llvm::ArrayRef<llvm::Type*>(), {b_.getInt8(sum), b_.getInt8(left), b_.getInt8(right)}));
  k_.loop(k_.i64(0), k_.i64(rows(left)), [&](IR i) {
    IR place = row(sum, i);
    b_.CreateAlignedStore(multiplied_row(left, right, i, b_.CreateAlignedLoad(words(), place, llvm::Align(64))), place, llvm::Align(64));
  });
}
// The sums of row i, as bits, and what is added to them.
IR TileRegisters::multiplied_row(int left, int right, IR i, IR sums) {
  using namespace llvm;
  auto splat = [&](uint32_t x) { return ConstantInt::get(words(), x); };
  auto each_unit = [&](ArrayRef<IR> first, function_ref<IRs(IR a, IR b, ArrayRef<IR> sums)> body) {
    return k_.loop(k_.i64(0), k_.i64(kRows), 1, first, [&](IR k, ArrayRef<IR> carried) {
      IR a = k_.splat(b_.CreateLoad(b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), row(left, i), k)), kBytes / 4);
      return body(a, b_.CreateAlignedLoad(words(), row(right, k), Align(64)), carried);
    });
  };
  if (product_ != Intrinsic::x86_tdpbf16ps) {
    const bool signed_a = product_ == Intrinsic::x86_tdpbssd || product_ == Intrinsic::x86_tdpbsud, signed_b = product_ == Intrinsic::x86_tdpbssd || product_ == Intrinsic::x86_tdpbusd;
    auto byte = [&](IR x, uint32_t d, bool is_signed) {
      x = b_.CreateShl(x, splat(24 - 8 * d));
      return is_signed ? b_.CreateAShr(x, splat(24)) : b_.CreateLShr(x, splat(24));
    };
    return each_unit({sums}, [&](IR a, IR b, ArrayRef<IR> carried) -> IRs {
      IR sum = carried[0];
      for (uint32_t d = 0; d < 4; ++d) sum = b_.CreateAdd(sum, b_.CreateMul(byte(a, d, signed_a), byte(b, d, signed_b)));
      return {sum};
    })[0];
  }
  // As the machine sums: the first ones of pairs, the second ones, then both are added to what there is.
  auto* floats = k_.vector(b_.getFloatTy(), kBytes / 4);
  auto low = [&](IR pairs) { return b_.CreateBitCast(b_.CreateShl(pairs, splat(16)), floats); };
  auto high = [&](IR pairs) { return b_.CreateBitCast(b_.CreateAnd(pairs, splat(0xffff0000u)), floats); };
  IR none = Constant::getNullValue(floats);
  IRs both = each_unit({none, none}, [&](IR a, IR b, ArrayRef<IR> carried) -> IRs {
    return {b_.CreateIntrinsic(Intrinsic::fmuladd, {floats}, {low(a), low(b), carried[0]}), b_.CreateIntrinsic(Intrinsic::fmuladd, {floats}, {high(a), high(b), carried[1]})};
  });
  return b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(sums, floats), b_.CreateFAdd(both[0], both[1])), words());
}

}  // namespace cresset::cpu
