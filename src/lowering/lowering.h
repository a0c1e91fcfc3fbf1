// ATen → StableHLO: a graph of nodes in, a module out.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "trace/graph.h"

namespace cresset::lowering {

/// Every operator of the catalogue is a composite. @main takes graph.inputs and returns graph.outputs; donations are `tf.aliasing_output` on arguments, weights `cresset.weight`. Locations carry the
/// operators' names. Raises (c10::Error) with the operator's name if a node can't be lowered; the same text in every process.
mlir::OwningOpRef<mlir::ModuleOp> lower(const trace::Graph& graph, mlir::MLIRContext& context);

/// With the dialects that lowering and compiler need.
std::unique_ptr<mlir::MLIRContext> make_context();

}  // namespace cresset::lowering
