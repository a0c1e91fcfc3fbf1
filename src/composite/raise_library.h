// Raising of the user's own composites, by their reference functions alone.
#pragma once

#include "composite/raise.h"
#include "composite/region.h"

namespace cresset::composite {

/// Finds in the program what the references compute: element-wise ones in any shape, by their values; others in the shapes they are written in.
void raise_references(Program& program, mlir::ArrayRef<Reference> references, RaiseReport& report);

}  // namespace cresset::composite
