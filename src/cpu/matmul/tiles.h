// The eight tile registers of AMX, each up to 16 rows of 64 bytes, and what multiplies them.
#pragma once

#include "cpu/emit/emitter.h"

namespace cresset::cpu {

/// Tiles 0 to 3 are sums in f32, of `rows` x 16; 4 and 5 hold `rows` x 32 bf16, 6 and 7 hold 16 x 16 pairs of bf16. Where the target's pairs are
/// emulated, tiles lie in memory and are multiplied by other instructions: for tests of what is around them.
class TileRegisters {
 public:
  static constexpr int kRows = 16, kBytes = 64;     ///< at most; of a row
  static constexpr int kSum = 0, kLeft = 4, kRight = 6;  ///< the first of each kind

  TileRegisters(KernelEmitter& k, int64_t rows) : k_(k), b_(k.b), rows_(rows) {}

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
  int64_t rows(int tile) const { return tile < kRight ? rows_ : kRows; }
  IR row(int tile, IR row);
  llvm::Type* words() { return k_.vector(b_.getInt32Ty(), kBytes / 4); }
  void copy(IR to, IR from) { b_.CreateAlignedStore(b_.CreateAlignedLoad(words(), from, llvm::Align(2)), to, llvm::Align(2)); }

  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  int64_t rows_;
  IR memory_ = nullptr;  // of emulated tiles
};

}  // namespace cresset::cpu
