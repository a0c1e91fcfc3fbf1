// Temporary memory of a program: blocks that live for a while, and where they lie.
#pragma once

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"

namespace cresset::cpu {

struct Block {
  int begin, end;      ///< the first and the last kernel that needs it
  int64_t bytes;
  int64_t offset = 0;  ///< set by place_blocks()
};

/// Gives blocks, which come in the order in which they begin, offsets at which those that are alive together don't overlap. Returns the bytes of all of them.
///
/// Each lies as low as it can when it begins: what was written last and is free again is used again, while it is in the caches. That leaves gaps between blocks of different lives. Where these
/// amount to much memory, blocks are placed by size instead, the largest first (Pisarchyk and Lee 2020, Efficient Memory Management for Deep Neural Net Inference, "greedy by size").
int64_t place_blocks(llvm::MutableArrayRef<Block> blocks);

}  // namespace cresset::cpu
