#include "cpu/schedule.h"

#include <numeric>
#include <tuple>

#include "cpu/plan.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

// A kernel stays where it is, at (i, false, i), or moves behind kernel k and what else has been moved there before: (k, true, i).
using Position = std::tuple<int, bool, int>;

class Scheduler {
 public:
  Scheduler(func::FuncOp main, std::vector<Fusion>& fusions, ArrayRef<int> aliased) : fusions_(fusions) {
    Block& block = main.getBody().front();
    for (auto [j, v] : llvm::enumerate(block.getTerminator()->getOperands())) {
      returned_.insert(v);
      if (aliased[j] >= 0) overwritten_[v] = block.getArgument(aliased[j]);
    }
    note_uses();
  }

  void delay_overwriting() {
    std::vector<Position> positions;
    for (auto [i, fusion] : llvm::enumerate(fusions_)) {
      int wait = int(i), needed = int(fusions_.size());
      for (Value v : fusion.outputs) {
        if (Value input = overwritten_.lookup(v); input && readers_.contains(input)) wait = std::max(wait, readers_[input].back());
        if (auto it = readers_.find(v); it != readers_.end()) needed = std::min(needed, it->second.front());
      }
      if (needed <= wait) wait = int(i);
      positions.push_back({wait, wait > int(i), int(i)});
    }
    reorder(positions);
  }

  void release_sooner() {
    constexpr int64_t kLeastSaved = 8 << 20;  // overwriting anything ends what may run before all is recorded (runtime/early_runner.h)
    for (int i = 0; i < int(fusions_.size()); ++i) positions_.push_back({i, false, i});
    const int64_t now = most_alive();
    if (now < kLeastSaved) return;
    for (int i = 0; i < int(fusions_.size()); ++i) {
      earliest_.push_back(earliest(i));
      if (earliest_[i] < i && releases_memory(i)) move_behind(earliest_[i], i);
    }
    if (most_alive() + kLeastSaved <= now) reorder(positions_);
  }

 private:
  void note_uses() {
    makers_.clear(), readers_.clear();
    for (auto [i, fusion] : llvm::enumerate(fusions_)) {
      for (Value v : fusion.outputs) makers_[v] = int(i);
      for (Value v : fusion.inputs) readers_[v].push_back(int(i));
    }
  }
  void reorder(std::vector<Position>& positions) {
    llvm::sort(positions);
    std::vector<Fusion> sorted;
    for (auto [behind, is_moved, i] : positions) sorted.push_back(std::move(fusions_[i]));
    fusions_ = std::move(sorted);
    note_uses();
  }

  // Behind which kernel this one can run. What takes little memory, as an optimizer's rates, can be made for it by then.
  int earliest(int i) {
    int last = -1;
    auto wait_for_readers = [&](Value v) {
      if (auto readers = readers_.find(v); readers != readers_.end())
        for (int reader : readers->second)
          if (reader != i) last = std::max(last, behind(reader));
    };
    for_each_maker(i, [&](int maker) { last = std::max(last, makes_little(maker) ? earliest_[maker] : behind(maker)); });
    for (Value v : fusions_[i].outputs)
      if (Value input = overwritten_.lookup(v)) wait_for_readers(input);
    if (fusions_[i].in_place) wait_for_readers(updated_by(fusions_[i].product));
    return last;
  }
  void move_behind(int kernel, int i) {
    SmallVector<int> moved = {i};
    while (!moved.empty()) {
      int next = moved.pop_back_val();
      positions_[next] = {kernel, true, next};
      for_each_maker(next, [&](int maker) { if (behind(maker) > kernel) moved.push_back(maker); });
    }
  }
  int behind(int i) const { return std::get<0>(positions_[i]); }
  void for_each_maker(int i, llvm::function_ref<void(int)> f) {
    for (Value v : fusions_[i].inputs)
      if (auto maker = makers_.find(v); maker != makers_.end()) f(maker->second);
  }
  // Temporaries: what is neither given to the program nor returned by it has memory of its own.
  int64_t bytes_of(ArrayRef<Value> values) {
    int64_t bytes = 0;
    for (Value v : values) bytes += makers_.contains(v) && !returned_.contains(v) ? value_bytes(v) : 0;
    return bytes;
  }
  bool makes_little(int i) {
    constexpr int64_t kLittle = 4 << 10;
    return bytes_of(fusions_[i].outputs.getArrayRef()) <= kLittle;
  }
  bool releases_memory(int i) {
    constexpr int64_t kFew = 4;
    return bytes_of(fusions_[i].outputs.getArrayRef()) * kFew < bytes_of(fusions_[i].inputs.getArrayRef());
  }
  // Bytes of temporaries, where kernels are at their positions.
  int64_t most_alive() {
    auto positions = positions_;
    llvm::sort(positions);
    std::vector<int> place(fusions_.size());
    for (auto [k, position] : llvm::enumerate(positions)) place[std::get<2>(position)] = int(k);
    std::vector<int64_t> begun(fusions_.size() + 1);  // less what ended before
    for (auto [v, maker] : makers_) {
      const int64_t bytes = bytes_of(v);
      int end = place[maker];
      if (auto readers = readers_.find(v); readers != readers_.end())
        for (int reader : readers->second) end = std::max(end, place[reader]);
      begun[place[maker]] += bytes, begun[end + 1] -= bytes;
    }
    std::partial_sum(begun.begin(), begun.end(), begun.begin());
    return *llvm::max_element(begun);
  }

  std::vector<Fusion>& fusions_;
  std::vector<Position> positions_;
  std::vector<int> earliest_;
  llvm::DenseSet<Value> returned_;
  DenseMap<Value, Value> overwritten_;  // by results
  DenseMap<Value, int> makers_;
  DenseMap<Value, std::vector<int>> readers_;  // in order
};

}  // namespace

void schedule(func::FuncOp main, std::vector<Fusion>& fusions, ArrayRef<int> aliased) {
  Scheduler scheduler(main, fusions, aliased);
  scheduler.delay_overwriting();
  scheduler.release_sooner();
}

}  // namespace cresset::cpu
