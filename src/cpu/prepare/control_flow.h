// Loops and branches: every region is a program of its own, which a kernel of the program around it runs.
#pragma once

#include <functional>
#include <memory>

#include "composite/kernels.h"
#include "composite/selection.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/program.h"

namespace cresset::cpu {

using ForeignKernels = llvm::DenseMap<mlir::Operation*, std::unique_ptr<composite::Kernel>>;  // of composites

/// Compiles @main of a module, which it consumes.
using CompileRegion = llvm::function_ref<llvm::Expected<std::unique_ptr<Program>>(mlir::ModuleOp)>;

/// Replaces each `while`, `if` and `case` of @main by a composite that stands for it and has a kernel in `kernels`. One of whose regions something can't be compiled is
/// interpreted, which the report says. `stats` grows by the regions' memory and kernels.
void compile_control_flow(mlir::ModuleOp module, mlir::func::FuncOp main, CompileRegion compile, ForeignKernels& kernels, composite::Report& report, ProgramStats& stats);

/// Whether a composite stands for control flow: what it runs tells its own kernels when a program is profiled.
bool is_control_flow(mlir::Operation* op);

}  // namespace cresset::cpu
