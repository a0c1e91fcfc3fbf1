// A compiled program: what the compiler hands to whoever wants to run it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer.h"

namespace cresset {

/// One input or output of a Program: a dense row-major array.
struct Port {
  std::string type;            ///< StableHLO element type: "f32", "bf16", "i64", "i1" (stored as one byte per element)
  std::vector<int64_t> shape;  ///< empty for a scalar
  size_t bytes = 0;
  int aliased = -1;            ///< for an output: the input whose buffer it may take over (donation), or -1
};

/// What a program costs, for reports.
struct ProgramStats {
  size_t arena_bytes = 0;      ///< planned temporary memory
  size_t temporary_bytes = 0;  ///< sum of all temporaries before reuse
  size_t donated_bytes = 0;    ///< of results that overwrite inputs nobody else holds
  size_t kept_bytes = 0;       ///< of what depends on weights alone and is kept between runs
  int kernels = 0;             ///< kernel launches in a run
  int unique_kernels = 0;      ///< kernels compiled
  double compile_seconds = 0;
  bool compiled = true;        ///< or PyTorch's own kernels run it
  double shared_seconds = 0;   ///< about what kernels take whose code is not for these sizes alone
};

/// What became of the composites of a program that look alike.
struct CompositeFate {
  std::string name, attributes, types;
  std::string became;  ///< "kernel NAME" or "decomposed"
  std::string why;
  int64_t version = 0, count = 0;
};

/// The inputs of an early run, in the order in which they become known.
struct EarlyInputs {
  std::vector<uint32_t> order;     ///< for each of the program's inputs, its place in `data`
  std::vector<void*> data;         ///< as many as there will be
  std::atomic<uint32_t> known{0};  ///< of `data`, so far
};

/// One run of a Program, in two parts. Not beside another run of the same program.
class EarlyRun {
 public:
  virtual ~EarlyRun() = default;
  /// Runs kernels on the calling thread alone: until one reads an input that is not known, or until `stop`.
  virtual void advance(const std::atomic<bool>& stop) = 0;
  /// The memory of an output that a kernel has begun to write; null if none has.
  virtual BufferPtr output(size_t index) const = 0;
  /// Runs the rest on all threads. As Program::run, with the same memory as before for the inputs that were known and the outputs above.
  virtual void finish(void* const* inputs, void* const* outputs) = 0;
};

/// Thread-safe to destroy; `run` must not be entered twice at once for the same Program (it owns one arena).
class Program {
 public:
  virtual ~Program() = default;

  /// Runs to the end. `inputs[i]` and `outputs[j]` are dense arrays in the order of inputs()/outputs(); no alignment
  /// beyond the element's is assumed. outputs[j] == inputs[i] only if outputs()[j].aliased == i; other overlaps are not
  /// allowed.
  virtual void run(void* const* inputs, void* const* outputs) = 0;

  /// Another instance with the same code, for a run beside one of this. Not beside a run itself. Null if there is none, or not yet.
  virtual std::unique_ptr<Program> twin() const { return nullptr; }

  /// Before the runs of one loop, of which this is the body: until it is called again, what the loop reads and does not change is the same bytes.
  virtual void begin_loop() {}

  /// A run that begins before all inputs are known (on the thread of runtime/early_runner.h). `inputs` is alive as long as the run. Null if that is not possible or would not pay.
  virtual std::unique_ptr<EarlyRun> begin(EarlyInputs& /*inputs*/) { return nullptr; }

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const ProgramStats& stats() const { return stats_; }
  /// What became of its composites.
  const std::vector<CompositeFate>& composites() const { return composites_; }

 protected:
  std::vector<Port> inputs_, outputs_;
  ProgramStats stats_;
  std::vector<CompositeFate> composites_;
};

}  // namespace cresset
