// Products of few rows each that are one product together, as the steps of a recurrent layer and their gradients.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::cpu {

/// Few rows by the same matrix, none of which depends on another, become one product of all rows; a sum of products over few terms each becomes one product over
/// all terms. True if anything was joined; the operations are in another order then.
bool join_products(mlir::func::FuncOp function);

}  // namespace cresset::cpu
