// The register-tiled matrix product behind dot_general and convolution.
//
// Blocking after Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008). A task owns a block of C. For
// each block of K it packs its part of A into panels of MR rows (together in L2) and its part of B into panels of NR columns
// (one in L1, or near), and runs over all tiles of MR x NR, whose sums are registers. Sums of several blocks of K meet in scratch memory,
// in the accumulators' own type, and leave it once: through `store`, which may do more than storing.
#pragma once

#include "cpu/matmul/panels.h"

namespace cresset::cpu {

void emit_matmul(KernelContext& c, const MatmulSpec& spec);

/// The sizes of blocks that a dimension of n may be divided into: parts of at most `most`, as few as that takes and up to `more` - 1 more, each a multiple of `unit`.
template <class Consider>
void each_division(int64_t n, int64_t most, int64_t unit, int64_t more, Consider&& consider) {
  int64_t fewest = ceil_div(n, most);
  for (int64_t i = fewest; i < fewest + more; ++i) consider(equal_part(n, ceil_div(n, i), unit));
}

/// Whether there are so few rows that B is better read where it lies: thin_matmul.cpp.
bool is_thin(const MatmulSpec& spec, const Target& target);
/// The same product with rows and columns exchanged, of a `spec` that outlives it.
MatmulSpec exchanged(const MatmulSpec& spec);
void emit_thin_matmul(KernelContext& c, const MatmulSpec& spec);

/// Whether B runs along K, and its elements are best read where they lie: linear_matmul.cpp.
bool is_linear(KernelEmitter& k, const MatmulSpec& spec);
void emit_linear_matmul(KernelContext& c, const MatmulSpec& spec);

}  // namespace cresset::cpu
