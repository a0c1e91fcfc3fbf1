// Raising of nll_loss: what picks the label's element of each row, with its sum or mean; of log probabilities, or of numbers whose log_softmax it takes on the way.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"
#include "composite/sampler.h"

namespace cresset::composite {

enum Reduction { None = 0, Mean = 1, Sum = 2 };  // as in ATen

/// Labels brought among the classes: others would be no labels of an nll_loss.
bool is_bounded_label(mlir::Value v);
/// Labels at random for each row; and those for which a value, computed from the inputs, may do something else: the first and last classes, what is no class, and those around its integer constants.
Sampler::Field random_labels(unsigned seed, int64_t classes);
llvm::SmallVector<int64_t> telling_labels(mlir::Value v, mlir::ArrayRef<mlir::Value> inputs, int64_t classes);

void raise_losses(Program& program, RaiseReport& report);
/// Their gradients in terms of the scores or of log probabilities.
void raise_loss_gradients(Program& program, RaiseReport& report);

}  // namespace cresset::composite
