// A changed size recompiles only what depends on it: a graph of known operators whose sizes change from run to run (a cache that grows with each
// generated token) becomes pieces, in turn of operators that changed and of operators that did not. The latter are in the program cache already, the
// former are few, and as many layers have equal ones, most are compiled once for each size.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/program.h"
#include "trace/graph.h"

namespace cresset::trace {

/// An input or output of this type.
Port port_of(const TensorType& type);

/// The program of one piece; of operators that change with `changing`, which is in the graph `times` times.
using CompilePiece = std::function<std::shared_ptr<Program>(const Graph& piece, bool changing, int times)>;

/// The graph in pieces; null where so much changes that it is rather compiled whole. `compile` is asked once for equal ones.
std::shared_ptr<Program> split_program(const Graph& graph, const std::vector<bool>& changing, const CompilePiece& compile);

/// The same wherever something changes.
std::shared_ptr<Program> split_apart(const Graph& graph, const std::vector<bool>& changing, const CompilePiece& compile);

}  // namespace cresset::trace
