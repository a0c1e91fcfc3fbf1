// The eight tile registers of AMX, each up to 16 rows of 64 bytes, and what multiplies them.
#pragma once

#include "cpu/emit/emitter.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

/// Tiles 0 to 3 are sums, of `rows` x 16; 4 and 5 hold `rows` x 16 units, 6 and 7 hold 16 x 16 of them. A unit is a pair of bf16, summed in f32, or four bytes, summed in i32. Where the target's
/// tiles are emulated, they lie in memory and are multiplied by other instructions: for tests of what is around them.
class TileRegisters {
 public:
  static constexpr int kRows = 16, kBytes = 64;     ///< at most; of a row
  static constexpr int kSum = 0, kLeft = 4, kRight = 6;  ///< the first of each kind

  /// `product`: the instruction that multiplies tiles, x86_tdpbf16ps or one of the four of bytes.
  TileRegisters(KernelEmitter& k, int64_t rows, llvm::Intrinsic::ID product) : k_(k), b_(k.b), rows_(rows), product_(product) {}

  /// Before the first use and after the last one: where the state is in use, the system has 8 KiB to save.
  void configure();
  void release();

  void zero(int tile);
  /// Rows lie `pitch` bytes apart.
  void load(int tile, IR address, int64_t pitch);
  void store(int tile, IR address, int64_t pitch);
  /// sum += left · right
  void multiply(int sum, int left, int right);

 private:
  bool emulated() const { return k_.target.bf16_dot == Target::Emulated; }
  IR multiplied_row(int left, int right, IR i, IR sums);
  int64_t rows(int tile) const { return tile < kRight ? rows_ : kRows; }
  IR row(int tile, IR row);
  llvm::Type* words() { return k_.vector(b_.getInt32Ty(), kBytes / 4); }
  void copy(IR to, IR from) { b_.CreateAlignedStore(b_.CreateAlignedLoad(words(), from, llvm::Align(2)), to, llvm::Align(2)); }

  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  int64_t rows_;
  llvm::Intrinsic::ID product_;
  IR memory_ = nullptr;  // of emulated tiles
};

}  // namespace cresset::cpu
