// What is compiled and run as one program: the pending nodes below a set of roots.
#pragma once

#include <string>
#include <vector>

#include "trace/node.h"

namespace cresset::trace {

struct Graph {
  /// builtin::input and builtin::scalar leaves in order of first use: the program's inputs.
  std::vector<NodePtr> inputs;
  /// All other nodes, operands first.
  std::vector<NodePtr> nodes;
  /// The program's results.
  std::vector<Value> outputs;
  /// For each output the index of the input whose buffer it may take over (donation), or -1.
  std::vector<int> aliased;
  /// Of structure, types, attributes, aliasing and the composites' selection; not of buffers and numbers. The same in every process.
  std::string hash;
};

}  // namespace cresset::trace
