// What is compiled and run as one program: the pending nodes below a set of roots.
#pragma once

#include <algorithm>
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
  bool overwrites() const { return std::any_of(aliased.begin(), aliased.end(), [](int a) { return a >= 0; }); }
  /// The inputs that are weights which no output may overwrite: in most runs they are the same bytes.
  std::vector<bool> weights() const {
    std::vector<bool> result(inputs.size());
    if (overwrites()) return result;
    for (size_t i = 0; i < inputs.size(); ++i) result[i] = inputs[i]->is_weight();
    return result;
  }
  /// Of structure, types, attributes, aliasing and the composites' selection; not of buffers and numbers. The same in every process.
  std::string hash;
};

}  // namespace cresset::trace
