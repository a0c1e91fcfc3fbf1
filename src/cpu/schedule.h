// In which order the kernels of a program run.
#pragma once

#include <vector>

#include "cpu/fusion.h"

namespace cresset::cpu {

/// Puts the kernels of fuse() in the order in which they are to run; `aliased[j]` is the input that output j may overwrite, or -1.
/// - What overwrites an input comes behind those that still read it, where nobody in between needs what it computes: then nothing is copied.
/// - What makes nothing that waits in memory, but reads much that would wait for it, runs as soon as it can if the program takes less memory then. That is a weight's gradient with the optimizer's
///   step behind it, which was recorded after the whole backward: up to there both factors of each gradient would be held.
void schedule(mlir::func::FuncOp main, std::vector<Fusion>& fusions, llvm::ArrayRef<int> aliased);

}  // namespace cresset::cpu
