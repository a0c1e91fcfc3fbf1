// A compiled program as it runs: a list of launches over one table of buffers.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "composite/kernels.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/kept.h"
#include "cpu/plan.h"
#include "runtime/arena.h"
#include "runtime/program.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

/// A composite that somebody else runs; its operands and results are positions among the launch's buffers.
struct ForeignCall {
  std::unique_ptr<composite::Kernel> kernel;
  std::vector<size_t> operands, results;
  bool is_ours = false;  // control flow
  void run(void* const* buffers) const;
};

/// One kernel of the program; its buffers stand in the program's table from `first` on.
struct Launch {
  KernelFunction entry;
  int64_t tasks;
  int64_t grain;  // tasks a thread takes at a time; 0: the calling thread does all
  size_t scratch_bytes;
  size_t first;
  double cost = 0;  // see Kernel::cost
  const ForeignCall* foreign = nullptr;  // in place of `entry`
  size_t from = 0, to = 0, copied_bytes = 0;  // positions in the table: what is overwritten in part is copied first, unless it is there already
};

class NativeProgram final : public Program {
 public:
  void run(void* const* inputs, void* const* outputs) override;
  std::unique_ptr<Program> twin() const override;
  void begin_loop() override;
  std::unique_ptr<EarlyRun> begin(EarlyInputs& inputs) override;

  void add_launch(const NativeKernel& native, llvm::ArrayRef<mlir::Value> buffers, const BufferPlan& plan, bool keeps_packed);
  /// Of the last launch: positions among its buffers.
  void copy_before(size_t from, size_t to, int64_t bytes);
  void add_foreign(ForeignCall call, llvm::ArrayRef<mlir::Value> buffers, const BufferPlan& plan);
  /// The launches so far are those whose results are kept as long as these inputs are the same bytes.
  void keep_launches(llvm::ArrayRef<int64_t> weights) { kept_launches_ = launches_.size(), of_kept_.begin(weights, inputs_); }
  /// What kernels pack of these inputs is kept, too, where writes to them can be watched. In a loop's body there are none.
  void keep_packed(llvm::ArrayRef<int64_t> weights) { of_packed_.begin(weights, inputs_); }

  using Program::composites_;
  using Program::inputs_;
  using Program::outputs_;
  using Program::stats_;
  std::vector<std::shared_ptr<NativeKernel>> kernels;  // holds their code
  std::vector<std::string> labels;                     // of the launches, for profiles; empty where those of a loop tell theirs
  std::vector<Copy> copies;
  std::vector<BufferPtr> constants;
  size_t kept_bytes = 0;  // of kept results
  size_t packed_bytes() const { return packed_bytes_; }
  int count() const { return int(launches_.size()); }

 private:
  class Early;
  void add_buffers(llvm::ArrayRef<mlir::Value> buffers, const BufferPlan& plan);
  /// Where the buffers of a launch end in the table.
  size_t end_of_buffers(size_t launch) const { return launch + 1 < launches_.size() ? launches_[launch + 1].first : table_.size(); }
  void place_temporaries(Arena& arena);
  void place_kept();
  /// The first launch that has to run: those whose results are kept need not while the weights are as they were.
  size_t first_launch(void* const* inputs);
  bool keeps() const { return kept_launches_ && !of_kept_.changes_often(); }
  /// Looks at the weights of what is packed.
  void look_at_packed(void* const* inputs);
  /// After a run: packed weights go from one state to the next, those that have not changed.
  void end_run();
  void set_packed(PackedWeight::State state);
  /// From launch `next` on, of whose tasks the first `done` have run.
  void run_from(size_t next, int64_t done, Arena& arena, void* const* inputs, void* const* outputs);
  static void copy(void* from, void* to, size_t bytes);
  void run(const Launch& launch, int64_t done);

  std::vector<std::shared_ptr<ForeignCall>> foreign_;
  std::vector<Launch> launches_;
  std::vector<void*> table_;                                             // every launch's buffers, one after the other
  std::vector<std::pair<size_t, int64_t>> input_slots_, output_slots_;   // position in the table; number of the input or output
  std::vector<std::tuple<size_t, size_t, size_t>> arena_slots_;          // position in the table; offset in the arena, bytes
  double parallel_cost_ = 0;                                             // of launches for several threads
  char* arena_seen_ = nullptr;                                           // what the table says

  // Inputs that are weights, and what they were in the run before.
  struct Weights {
    void begin(llvm::ArrayRef<int64_t> weights, llvm::ArrayRef<Port> ports);
    bool are_same(void* const* all);
    bool changes_often() const { return changes > kMostChanges; }

    static constexpr int kMostChanges = 2;  // one run after the other: then they are no constants
    std::vector<int64_t> inputs;
    Fingerprint fingerprint;
    std::optional<uint64_t> last;  // none: there was no run
    int changes = 0;
  };

  size_t kept_launches_ = 0;              // at the beginning
  Weights of_kept_, of_packed_;           // that they read, that kernels pack
  std::vector<std::pair<size_t, int64_t>> kept_slots_;  // position in the table; offset in kept_
  BufferPtr kept_;  // as packed_, maybe a twin's too: who writes takes one of its own
  bool packed_has_changed_ = false;  // since the run before
  std::vector<std::pair<size_t, size_t>> packed_slots_;  // position in the table; offset in packed_
  size_t packed_bytes_ = 0;
  BufferPtr packed_;
  PackedWeight::State packed_state_ = PackedWeight::Elsewhere;
};

}  // namespace cresset::cpu
