// Random numbers inside other operators' lowerings.
#pragma once

#include "lowering/builder.h"

namespace cresset::lowering {

/// f32 in [0, 1), multiples of 2^-digits; the same for the same seed and offset, whoever asks for them.
Value uniform_numbers(Builder& b, llvm::ArrayRef<int64_t> shape, const Scalar& seed, const Scalar& offset, int digits = 24);

}  // namespace cresset::lowering
