// What is recorded between two executions, compared with recent windows while it is recorded: where it first differs is the line that a recompile names, and
// until then the program that such a window was may begin to run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "trace/node.h"

namespace cresset::trace {

/// Tells the places of windows apart: a hash of the operators that this one has so far, whatever their numbers.
uint64_t place_in_window();

/// Notes an operator, by a hash of it and one of its constant numbers, and what it reads; true if this is where the window first differs
/// from all recent ones and `location_hook` should be asked (without the lock: it takes Python's) for the line, so that a recompile can name it.
bool note_operator(uint64_t kind, uint64_t constants, c10::ArrayRef<Value> operands, c10::ArrayRef<Value> numbers = {});
void note_location(const Operator& op, std::string where);
/// The operator and line noted, or "".
const std::string& noted_location();
/// "file.py:12" of the running Python line outside PyTorch, or "". Set by the binding.
extern std::string (*location_hook)();

/// The run that has begun, if it is of this program with these inputs, to be finished before the window ends. Otherwise what it has done is thrown away.
std::unique_ptr<EarlyRun> take_early_run(const std::shared_ptr<Program>& program, const std::vector<NodePtr>& inputs);
/// Before a program is run otherwise.
void drop_early_run();

/// The window was executed as this program (one of several where an operator could not be compiled).
void note_executed(const std::shared_ptr<Program>& program, const std::vector<NodePtr>& inputs);
void end_window();

}  // namespace cresset::trace
