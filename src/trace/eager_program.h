// A graph that PyTorch's own kernels run, one operator after the other: for sizes that may never come again, which compiling would cost more than it gains.
#pragma once

#include <memory>

#include "runtime/program.h"
#include "trace/graph.h"

namespace cresset::trace {

/// Its run raises a c10::Error, before anything is written, if a kernel refuses its arguments or gives something else than was recorded: whoever runs it compiles the graph then.
/// Null if the graph holds what PyTorch's CPU kernels can't compute: random numbers of the device's generator, users' composites.
std::shared_ptr<Program> eager_program(const Graph& graph);

}  // namespace cresset::trace
