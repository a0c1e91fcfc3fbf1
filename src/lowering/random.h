// Random numbers inside other operators' lowerings.
#pragma once

#include "lowering/builder.h"

namespace cresset::lowering {

/// 32 random bits (ui32) for each element, as the composite cresset.random_bits: counted in row-major order, element i takes word i / spacing mod 4 of Philox's
/// block i mod spacing + i / (4 spacing) · spacing + offset. Elements so far apart share a block: whole vectors of a row, or neighbouring rows.
Value random_bits(Builder& b, llvm::ArrayRef<int64_t> shape, const Scalar& seed, const Scalar& offset, int64_t spacing = 8);
/// Which elements dropout with probability p keeps.
Value is_kept(Builder& b, Value bits, double p);
/// f32 in [0, 1), multiples of 2^-digits; the same for the same seed and offset, whoever asks for them.
Value uniform_numbers(Builder& b, llvm::ArrayRef<int64_t> shape, const Scalar& seed, const Scalar& offset, int digits = 24);

}  // namespace cresset::lowering
