// The same bytes as elements of another width: kernels know bits of one width, so wider ones are put together of parts, and taken apart, by shifts; the first part is the lowest
// (specification, bitcast_convert).
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

void add_bitcasts(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
