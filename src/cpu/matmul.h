// The register-tiled matrix product C[b,m,n] = sum_k A[b,m,k] B[b,k,n] behind dot_general and convolution.
//
// Blocking after Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008). A task owns a block of C. For
// each block of K it packs its part of A into panels of MR rows (together in L2) and its part of B into panels of NR columns
// (one in L1), and runs over all tiles of MR x NR, whose sums are registers. Sums of several blocks of K meet in scratch memory,
// in the accumulators' own type, and leave it once: through `store`, which may do more than storing.
#pragma once

#include "cpu/kernels.h"

namespace cresset::cpu {

struct MatmulSpec {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  mlir::Type a_type, b_type;
  mlir::Type type;  ///< of C: its compute type is that of the sums
  IR a = nullptr, b = nullptr;  ///< arrays

  /// Element offsets.
  std::function<IR(IR batch, IR m, IR k)> a_offset;
  std::function<IR(IR batch, IR k, IR n)> b_offset;
  /// Instead of b_offset: the element itself, in the compute type (a convolution's padded window).
  std::function<IR(IR batch, IR k, IR n)> b_element;
  /// Whether neighbours in that dimension are neighbours in memory.
  bool a_unit_k = false, a_unit_m = false, b_unit_n = false, b_unit_k = false;

  /// Takes the elements n, n + 1, … of a row of C, once each; vectors only if it says so.
  std::function<void(IR batch, IR m, IR n, IR sum, int lanes)> store;
  bool store_vectors = true;
};

void emit_matmul(KernelContext& c, const MatmulSpec& spec);

}  // namespace cresset::cpu
