// Depthwise convolutions between transposes, as vision transformers have them within their layers of neighbouring channels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// Gives depthwise convolutions, and what is computed element by element between them, channels last where that takes away more bytes of transposes than it adds. Whether it changed any.
bool use_channels_last_within_transposes(mlir::func::FuncOp function);

}  // namespace cresset::cpu
