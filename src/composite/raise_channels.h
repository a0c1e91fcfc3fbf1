// Raising of norms that go by channels: batch_norm in inference and in training, group_norm and instance norm.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

void raise_channels(Program& program, RaiseReport& report);

}  // namespace cresset::composite
