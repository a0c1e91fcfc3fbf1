// One program for a graph that somebody else guards (torch.compile): its operators are recorded once on stand-ins for the
// inputs, and the program is then called directly.
//
//   begin_capture();  stand-ins = stand_in(…);  outputs = run the graph on them;  program = captured_program(stand-ins, outputs);  abort_capture()
//   results = program->run(inputs)
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "trace/step.h"

namespace cresset::trace {

/// A device tensor over the same bytes as `t` (a CPU or device tensor; nothing is copied) with its sizes and strides, to record
/// a graph on. Within a capture only; reading its value is an error, as the program would keep it as a constant, unless it is `known`. `weight`: its bytes
/// are the same in most calls.
at::Tensor stand_in(const at::Tensor& t, bool known = false, bool weight = false);
/// One for a value that another program of the same capture computes; dense.
at::Tensor stand_in(const TensorType& type);

class Cell;

class CapturedProgram {
 public:
  /// Nothing if sizes, strides or dtypes are other than captured, or if an input that is written to shares its memory; storage offsets may be any, and tensors
  /// on the CPU or the device. Inputs that the graph writes to are written in place. Results are device tensors if an input of rank > 0 is one, CPU tensors
  /// otherwise. Threads that call it, or others, at the same time run beside each other as long as there are processors for them, and else take turns.
  std::optional<std::vector<at::Tensor>> run(const std::vector<at::Tensor>& inputs);
  bool takes(const std::vector<at::Tensor>& inputs) const;
  /// The inputs that it changes in place. None of them may share its memory with another input.
  std::vector<int> written() const;
  /// Whether each run draws random numbers anew.
  bool draws() const { return randoms_; }

 private:
  class Builder;
  friend std::shared_ptr<CapturedProgram> captured_program(const std::vector<at::Tensor>&, const std::vector<at::Tensor>&, const std::vector<at::Tensor>&);
  struct Output {
    int input = -1;      ///< the result is part of this input
    bool itself = false; ///< or the very tensor
    size_t storage = 0;  ///< or shows this one of storages_
    at::DimVector sizes, strides;
    int64_t offset = 0;
    at::ScalarType dtype = at::kFloat;
    bool conjugate = false, negative = false;  ///< marks of views, as PyTorch has them
  };
  struct Storage {
    size_t result;  ///< of the program
    bool copied;    ///< another one has that result for its memory
    int shown;      ///< outputs that are parts of it
  };
  struct Leaf {
    int input = -1;  ///< which tensor's storage, or a kept leaf
    int random = -1; ///< 0: seed, 1, 2, …: offset number n - 1
    NodePtr node;
    BufferPtr buffer;  ///< of a kept leaf: held, so that nobody overwrites it
  };
  struct Input {
    at::DimVector sizes, strides;
    at::ScalarType dtype;
  };
  /// The results, of whoever has the trace.
  std::vector<at::Tensor> run_in_turn(const std::vector<at::Tensor>& inputs);
  /// Those of tensors on the CPU, by an instance of its own; nothing if there is none to spare, or no processor.
  std::optional<std::vector<at::Tensor>> run_beside(const std::vector<at::Tensor>& inputs);
  void add_twin();
  /// The program's results.
  std::vector<BufferPtr> compute(const std::vector<at::Tensor>& inputs, const Program* program, llvm::function_ref<void(void* const* inputs, void* const* outputs)> run);
  /// Writes back what was changed, and shows the rest.
  std::vector<at::Tensor> finish(const std::vector<at::Tensor>& inputs, const std::vector<BufferPtr>& results) const;
  /// The outputs that stand for these.
  std::vector<at::Tensor> show(const std::vector<at::Tensor>& inputs, const std::vector<BufferPtr>& results) const;

  std::shared_ptr<Program> program_;
  std::optional<Graph> graph_;  // as long as the program is provisional
  int runs_ = 0;                // of it
  std::vector<Input> inputs_;
  std::vector<Leaf> leaves_;
  std::vector<Output> outputs_;
  std::vector<Storage> storages_;
  std::vector<TensorType> types_;                   // of the program's results
  std::vector<std::pair<int, size_t>> written_;     // input, result: written back, or straight to a CPU tensor's memory where the program may
  std::vector<std::pair<IndexCheck, size_t>> checks_;  // and the results that tell
  int randoms_ = 0;
  std::mutex twins_mutex_;
  std::vector<std::unique_ptr<Program>> twins_;  // that nobody runs now
};

/// Of what this thread records from here on; other threads go on as they were.
/// `calls_kernels`: what is not lowered is recorded as well, to be run by PyTorch's kernels; else it raises.
void begin_capture(bool calls_kernels = false);
/// Ends it: what was recorded on the stand-ins is forgotten. Returns what was to be said of it.
std::vector<std::string> abort_capture();
/// For whoever ends the capture to say.
void warn_of_capture(std::string text);
/// A program of what has been recorded, from these stand-ins to these tensors; the capture goes on. Outputs share memory where the recorded tensors did, and never because
/// their values are equal; `saved` are further results, which may share an output's memory.
std::shared_ptr<CapturedProgram> captured_program(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved = {});

/// The graph as StableHLO text, composites whole, and the capture's end. @main takes the stand-ins in order, used or not, then other
/// tensors that the graph reads; with `custom_calls` each composite is a stablehlo.custom_call with the attributes as its backend_config.
std::string end_capture_as_text(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, bool custom_calls);

/// Whether a leaf is what a stand-in of this capture began with.
bool is_input_of_capture(const Node& leaf);
/// Whether a stand-in's cell still has what it began with, and not what another one began with.
bool has_own_leaf(const Cell& cell);
/// Whether it is a seed or an offset of this capture's random numbers.
bool is_random(const Node& leaf);
/// Whether this thread captures a graph: values must not be read now.
bool capturing();
/// Whether it takes what is not lowered.
bool capture_calls_kernels();
/// Tells its capture from others; null without.
const void* capture_of_thread();
/// Of what it has recorded; null without.
std::vector<IndexCheck>* checks_of_capture();
/// Raises within a capture if this cell's value depends on the graph's inputs or on random numbers.
void check_readable(const Cell& cell);

/// Random operators report their seed and offset leaves, which a captured program draws anew at each call.
void note_random(const NodePtr& seed, const NodePtr& offset);
/// Draws an offset (first) and tells the seed (second) of the default generator; set by the device.
extern std::pair<int64_t, int64_t> (*draw_random)();
/// How far apart the offsets are, in blocks of four words: enough for any one tensor.
constexpr int64_t kRandomBlocks = int64_t(1) << 31;

/// A tensor on the CPU over a buffer's bytes, which it keeps.
at::Tensor cpu_tensor(BufferPtr buffer, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset, at::ScalarType dtype);

}  // namespace cresset::trace
