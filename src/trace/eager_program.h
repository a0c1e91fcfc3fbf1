// A graph that PyTorch's own kernels run, one operator after the other: for sizes that may never come again, which compiling would cost more than it gains, and of what is not lowered.
#pragma once

#include <memory>

#include "runtime/program.h"
#include "trace/split.h"

namespace cresset::trace {

/// Operators that PyTorch's CPU kernels don't compute, or not with the same results (`eager: none` in ops/aten.yaml), random numbers among them, become programs of their own by `compile`. Null if
/// there are no others. Its run raises a c10::Error, before anything is written, if a kernel refuses its arguments or gives something else than was recorded: whoever runs it compiles the graph then, unless it is the graph's program for good.
/// What is not lowered counts each run as a fallback; what has no results is there for what it raises, and its node's one result is false.
std::shared_ptr<Program> eager_program(const Graph& graph, const CompilePiece& compile, bool for_good = false);

}  // namespace cresset::trace
