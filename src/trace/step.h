// When pending work runs, and how: roots → graph → program cache → run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "trace/graph.h"

namespace cresset::trace {

/// Grows by one with each executed window.
uint64_t window_number();

/// Called for every recorded result: bounds the trace's size and watches for the end of a backward.
void note_recorded();

/// An optimizer step has ended: what is pending runs now, so that every step of a loop is the same program.
void window_end();

/// Within begin and end of a step only reads execute; its end executes everything.
void begin_step();
void end_step();

/// A graph over these results, with its inputs, nodes and hash (without donations).
Graph make_graph(const std::vector<Value>& outputs);

/// The program of a graph, from the cache or compiled. Raises c10::Error naming the operator if it can't be compiled.
std::shared_ptr<Program> program_for(const Graph& graph);

/// One compilation, for reports.
struct CompileRecord {
  std::string hash;
  size_t nodes = 0;
  double seconds = 0;
  std::string why;   ///< what differs from the nearest program known before
  std::string path;  ///< the StableHLO, if CRESSET_DUMP is set
  ProgramStats stats;
};
std::vector<CompileRecord> compile_records();

/// Counters, compilations and memory as text.
std::string metrics_report();

}  // namespace cresset::trace
