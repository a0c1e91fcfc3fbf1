// Raising of what works on rows: softmax, log_softmax, layer_norm, rms_norm, and gradients.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

void raise_rows(Program& program, RaiseReport& report);
void raise_row_gradients(Program& program, RaiseReport& report);

}  // namespace cresset::composite
