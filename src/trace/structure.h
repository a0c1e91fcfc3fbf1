// What is known of graphs that differ in sizes and integers only: which of their operators change, and what running and compiling them costs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "trace/graph.h"

namespace cresset::trace {

/// Of runs of different sizes: seconds in proportion to the work. The first run, which finds nothing in place, tells too little.
class Pace {
 public:
  void add(double seconds, double work);
  bool is_known() const { return runs_ > 1; }
  double seconds(double work) const { return pace_ * work; }

 private:
  double pace_ = 0;
  int64_t runs_ = 0;
};

/// What the sizes of one structure have cost so far.
struct Costs {
  Pace compiled, eager;         ///< runs of compiled programs, and by PyTorch's own kernels
  double compile_seconds = 0;   ///< of the last size that was compiled; 0: none was
  double lost_seconds = 0;      ///< by PyTorch's kernels, since then
  bool needs_compiler = false;  ///< PyTorch's kernels could not run one

  /// Whether a size that has not come before is to be compiled at once: if its first run gains more than compiling takes. The first one is, and one whenever as much has been lost by not
  /// compiling as the last compilation took: what it takes shrinks with the sizes that are known.
  bool pays_to_compile(double work) const;
};

struct Structure {
  std::vector<std::string> sizes;   ///< the first graphs' hashes
  std::vector<uint64_t> operators;  ///< digests of sizes and integers, as they were when they were first seen
  std::vector<bool> changes;        ///< and which of them have been otherwise since
  std::shared_ptr<Costs> costs = std::make_shared<Costs>();
};

/// That of a graph whose sizes change: from the third set of sizes on, or from the second one of a graph that is known to change; null before.
std::shared_ptr<const Structure> changing_structure(const Graph& graph, bool known_to_change = false);

/// About how much the graph computes: the elements of its operators' results.
double work_of(const Graph& graph);

/// The program, whose runs are added to the costs.
std::shared_ptr<Program> measured(std::shared_ptr<Program> program, std::shared_ptr<Costs> costs, double work);

}  // namespace cresset::trace
