// Products of numbers that are quantised to bytes: q = round(x / scale) + zero.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// A product of two operands that are (q - zero) * scale, whose zeros and scales do not vary along what is summed, becomes one of the bytes themselves, exactly summed in i32
/// (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018, section 2.3):
/// sum (p - a)(q - b) = sum p q - a sum q - b sum p + n a b.
void add_quantised_products(mlir::RewritePatternSet& rules);

}  // namespace cresset::cpu
