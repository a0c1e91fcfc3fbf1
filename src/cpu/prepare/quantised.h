// Products of numbers that are quantised to bytes: q = round(x / scale) + zero.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace cresset::cpu {

/// A product of two operands that are (q - zero) * scale, whose zeros and scales do not vary along what is summed, becomes one of the bytes themselves, exactly summed in i32
/// (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018, section 2.3):
/// sum (p - a)(q - b) = sum p q - a sum q - b sum p + n a b. A number a is taken away where the product reads p.
void add_quantised_products(mlir::RewritePatternSet& rules);
/// Of one operand that is q * scale, the bytes become floats where they are read, and the scale comes afterwards. To be applied when nothing is left to show that the other one is quantised.
void add_products_of_one_quantised(mlir::RewritePatternSet& rules);
/// A convolution, too, becomes one of bytes, with channels as the last dimension (cpu/convolution/channels_last.cpp) and transposes around it that sink (cpu/prepare/sink_transposes.h).
void add_quantised_convolutions(mlir::RewritePatternSet& rules);

/// On @main: zeros that are arguments are not taken for 0.
inline constexpr const char* kAssumesNothing = "cresset.assumes_nothing";
/// On an argument that the program is only right for while it is 0 throughout.
inline constexpr const char* kAssumedZero = "cresset.assumed_zero";

}  // namespace cresset::cpu
