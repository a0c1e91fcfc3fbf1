// Random bits as vector code.
#pragma once

#include <array>

#include "cpu/emit/emitter.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

/// cresset.random_bits, which is emitted where its elements are asked for.
bool is_random_bits(mlir::Operation* op);
/// Elements so far apart share a block of four words.
int64_t spacing_of_random_bits(mlir::Operation* op);

/// The four words (i32) of the Philox4x32-10 blocks with these counters (a vector of i64, or one); `seed` is an i64.
std::array<IR, 4> emit_philox(KernelEmitter& k, IR counters, IR seed);

}  // namespace cresset::cpu
