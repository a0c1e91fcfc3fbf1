// The reference interpreter: evaluates StableHLO one element at a time, in double precision rounded to the element type
// after every operation. Slow, and meant to be right: what the compilers are compared with.
#pragma once

#include "interpreter/tensor.h"
#include "llvm/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace cresset::interpreter {

using Tensors = llvm::SmallVector<Tensor>;

/// The results of the function for these inputs. Composites are their decompositions. Errors name the operation that can't
/// be evaluated.
llvm::Expected<Tensors> interpret(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs);
/// The same of the module's function @main.
llvm::Expected<Tensors> interpret(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs);

}  // namespace cresset::interpreter
