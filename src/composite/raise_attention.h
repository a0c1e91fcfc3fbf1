// Raising of attention: two products with a softmax between them.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

/// Goes by raised softmaxes.
void raise_attention(Program& program, RaiseReport& report);

}  // namespace cresset::composite
