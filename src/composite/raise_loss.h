// Raising of nll_loss: what picks the label's element of each row, with its sum or mean; of log probabilities, or of numbers whose log_softmax it takes on the way.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

enum Reduction { None = 0, Mean = 1, Sum = 2 };  // as in ATen

void raise_losses(Program& program, RaiseReport& report);
/// Their gradients in terms of the scores or of log probabilities.
void raise_loss_gradients(Program& program, RaiseReport& report);

}  // namespace cresset::composite
