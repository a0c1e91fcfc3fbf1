// When pending work runs, and how: roots → graph → program cache → run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "trace/graph.h"

namespace cresset::trace {

class Cell;

/// Called before an operator is recorded, while no value is held outside the cells: runs the trace if it has become long.
void bound_trace();
/// Called for every recorded result: watches for the end of a backward.
void note_recorded();

/// Whether this thread runs a backward.
bool in_backward();

/// While there is one, somebody holds values without the lock: what runs meanwhile must not overwrite its inputs.
struct HeldBuffers {
  HeldBuffers();
  ~HeldBuffers();
  HeldBuffers(const HeldBuffers&) = delete;
};

/// That integers lie outside [low, high) (`allowed` apart), in a program: indices, which compiled code clamps, and divisors.
struct IndexCheck {
  Value outside;  ///< builtin::any_outside
  std::string message;
  bool index_error;  ///< the class eager raises: IndexError, or RuntimeError
  void raise() const;
};
/// Lets the program that computes `outside` raise after it has run, if that is true.
void check_later(Value outside, std::string message, bool index_error);
/// The same of integers, a value or a tensor's.
void check_later(const Value& integers, int64_t low, int64_t high, std::optional<int64_t> allowed, std::string message, bool index_error);
void check_later(const at::Tensor& integers, int64_t low, int64_t high, std::optional<int64_t> allowed, std::string message, bool index_error);
/// The checks recorded since the last execution, for a program that somebody else runs.
std::vector<IndexCheck> take_checks();

/// Runs what is pending so that this cell has bytes; raises if it could not be computed, whatever became of the rest.
void run_for(Cell& cell);
/// The bytes of a value by a program of its own; nothing else runs, and whatever holds the value holds it as before.
BufferPtr computed(Value value);

/// An optimizer's step begins. Zeros that it reads are its states, new ones: they get bytes, as they have in every later step, so that all steps are one program.
void begin_optimizer_step();
bool in_optimizer_step();
/// It has ended: what is pending runs now, so that every step of a loop is the same program.
void end_optimizer_step();

/// Within begin and end of a step only reads execute; its end executes everything.
void begin_step();
void end_step();

/// A graph over these results, with its inputs, nodes and hash (without donations).
Graph make_graph(const std::vector<Value>& outputs);

/// The program of a graph, from the cache or made, after `runs` of it since it was asked for. Raises c10::Error naming the operator if it can't be compiled. `changes`: a
/// second set of sizes will not be the last one. Where sizes change, PyTorch's own kernels may run one that comes for the first time, and a compiled program is compiled in haste at first.
std::shared_ptr<Program> program_for(const Graph& graph, bool changes = false, int runs = 1);
/// Whether it is worth asking again: the next time if it is not compiled.
bool is_provisional(const Program& program);
/// Runs the graph's program; puts a compiled one in its place if PyTorch's kernels can't run it.
void run(std::shared_ptr<Program>& program, const Graph& graph, bool changes, void* const* inputs, void* const* outputs);

/// Composites of a library (composite::read_library) that are raised in every program from here on; what is pending runs first. Raises a ValueError if the text is no module or has none.
void add_raised(const std::string& library);

/// Which composites stay whole (composite::Selection) from here on; what is pending runs first. "" goes back to CRESSET_COMPOSITES.
void set_composites(const std::string& selection);
/// Raises a ValueError that says what is wrong with the text. Returns what to warn of (Selection::check_names).
std::vector<std::string> check_composites(const std::string& selection);
std::string composites();
std::string own_composites();  ///< as set, or ""

/// The programs that were run or called since the watch began; for `explain`. Watches don't nest.
void begin_watch();
std::vector<std::shared_ptr<Program>> end_watch();
void note_run(const std::shared_ptr<Program>& program);

/// The StableHLO of a graph as it would be compiled, or with every composite as a custom_call.
std::string stablehlo_text(const Graph& graph, bool custom_calls);

/// One compilation, for reports.
struct CompileRecord {
  std::string hash;
  size_t nodes = 0;
  double seconds = 0;
  std::string why;   ///< what differs from the nearest program known before
  std::string where; ///< the operator and Python line at which the trace first went another way, if known
  std::string path;  ///< the StableHLO, if CRESSET_DUMP is set
  ProgramStats stats;
};
std::vector<CompileRecord> compile_records();

/// Counters, compilations and memory as text.
std::string metrics_report();

}  // namespace cresset::trace
