// The register-tiled matrix product C[b,m,n] = sum_k A[b,m,k] B[b,k,n] behind dot_general and convolution.
//
// Blocking after Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008): a task owns a block of C;
// for each block of K it packs one panel of B after the other (KC x NR, in L1) and runs all tiles of MR x NR over it. A is read
// in place when its rows are contiguous, otherwise packed into panels too (MC x KC, in L2). Packing within the task means
// that a weight used by few rows, as in a training step, is read from memory just once.
#pragma once

#include "cpu/kernels.h"

namespace cresset::cpu {

struct MatmulSpec {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  mlir::Type a_type, b_type, c_type;
  IR a = nullptr, b = nullptr, c = nullptr;  ///< arrays

  /// Element offsets.
  std::function<IR(IR batch, IR m, IR k)> a_offset;
  std::function<IR(IR batch, IR k, IR n)> b_offset;
  std::function<IR(IR batch, IR m, IR n)> c_offset;
  /// Instead of b_offset: the element itself, in the compute type (a convolution's padded window).
  std::function<IR(IR batch, IR k, IR n)> b_element;
  /// Whether neighbours in that dimension are neighbours in memory.
  bool a_unit_k = false, a_unit_m = false, b_unit_n = false, b_unit_k = false, c_unit_n = true;
};

void emit_matmul(KernelContext& c, const MatmulSpec& spec);

}  // namespace cresset::cpu
