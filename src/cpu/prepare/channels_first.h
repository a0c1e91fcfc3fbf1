// Foreign convolutions of images whose channels are neighbours, as JAX has them, turned into those that the kernels are made for.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// Gives convolutions of [images, …, channels], that no kernel takes as they are, channels in front of the places, and what lies between them too, as transposes sink. Depthwise ones, which a kernel takes,
/// and those of one place follow what is in front of them; without, the latter are products of matrices. Also their gradients, by the kernel [channels, …, images]. Whether it changed any; what
/// follows is seen next time.
bool use_channels_first(mlir::func::FuncOp function);

}  // namespace cresset::cpu
