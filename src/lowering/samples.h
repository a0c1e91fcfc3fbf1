// Weighted sums of elements along a dimension, as resizing and pooling take them: the same for all lines.
#pragma once

#include <vector>

#include "lowering/builder.h"

namespace cresset::lowering {

/// What one result position reads: the sum of weight · in[index] over its taps, equally many for all. Of up to eight what has the weight 0 is not looked at: an infinity there does not count.
struct Tap {
  int64_t index;
  double weight;
};
using Samples = std::vector<llvm::SmallVector<Tap, 4>>;

/// What each of the `in` positions is read by, in order: their gradients are sampled by it.
Samples transposed(const Samples& samples, int64_t in);

/// Samples the last dimensions of x, whose sizes become `to`, one after the other where there is least to do.
Value resample(Builder& b, Value x, llvm::ArrayRef<int64_t> to, llvm::function_ref<Samples(size_t k)> samples_of);

}  // namespace cresset::lowering
