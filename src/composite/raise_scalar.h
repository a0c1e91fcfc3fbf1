// Raising of element-wise composites and their gradients.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

void raise_scalars(Program& program, RaiseReport& report);
void raise_scalar_gradients(Program& program, RaiseReport& report);

/// "file.py:12" or the name that the location of a value has.
std::string where(mlir::Value v);

}  // namespace cresset::composite
