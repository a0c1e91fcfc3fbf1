#include "cpu/native_program.h"

#include <chrono>
#include <cstring>

#include "llvm/ADT/ScopeExit.h"
#include "runtime/profile.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr double kLeastSeconds = 0.3e-3;  // of one thread's work, below which a run does not begin early

alignas(64) constexpr int64_t kNothingPacked[8] = {PackedWeight::Elsewhere};

}  // namespace

void ForeignCall::run(void* const* buffers) const {
  std::vector<const void*> from;
  std::vector<void*> to;
  for (size_t i : operands) from.push_back(buffers[i]);
  for (size_t i : results) to.push_back(buffers[i]);
  kernel->run(from.data(), to.data());
}

void NativeProgram::add_launch(const NativeKernel& native, ArrayRef<Value> buffers, const BufferPlan& plan, bool keeps_packed) {
  const Kernel& kernel = native.kernel;
  int64_t grain = std::max<int64_t>(1, std::min<int64_t>(kernel.tasks / 16, kernel.tasks * (Kernel::kParallelCost / 4) / std::max(kernel.cost, 1.0) + kernel.tasks / 64));
  if (kernel.parallel()) parallel_cost_ += kernel.cost;
  launches_.push_back({native.entry(), kernel.tasks, kernel.parallel() ? grain : 0, kernel.scratch_bytes, table_.size(), kernel.cost});
  add_buffers(buffers, plan);
  if (keeps_packed) {
    if (kernel.packed_bytes) packed_slots_.push_back({table_.size(), packed_bytes_}), packed_bytes_ += PackedWeight::kHeader + round_up(kernel.packed_bytes, 64);
    table_.push_back(const_cast<int64_t*>(kNothingPacked));
  }
  if (!native.arguments.empty()) table_.push_back(const_cast<int64_t*>(native.arguments.data()));
}

void NativeProgram::add_foreign(ForeignCall call, ArrayRef<Value> buffers, const BufferPlan& plan) {
  if (call.is_ours) parallel_cost_ = Kernel::kTogetherCost;  // as often as it goes round
  foreign_.push_back(std::make_shared<ForeignCall>(std::move(call)));
  launches_.push_back({nullptr, 1, 0, 0, table_.size(), 0, foreign_.back().get()});
  add_buffers(buffers, plan);
}

constexpr size_t kLeastSharedCopy = 1 << 19;  // bytes

void NativeProgram::copy_before(size_t from, size_t to, int64_t bytes) {
  Launch& launch = launches_.back();
  launch.from = launch.first + from, launch.to = launch.first + to, launch.copied_bytes = size_t(bytes);
  if (launch.copied_bytes >= kLeastSharedCopy) parallel_cost_ += double(bytes) / 2;
}

void NativeProgram::add_buffers(ArrayRef<Value> buffers, const BufferPlan& plan) {
  for (Value v : buffers) {
    Place place = plan.places.lookup(v);
    if (place.kind == Place::Input) input_slots_.push_back({table_.size(), place.index});
    if (place.kind == Place::Output) output_slots_.push_back({table_.size(), place.index});
    if (place.kind == Place::Kept) kept_slots_.push_back({table_.size(), place.index});
    if (place.kind == Place::Arena) arena_slots_.push_back({table_.size(), size_t(place.index), size_t(value_bytes(v))});
    table_.push_back(place.kind == Place::Constant ? constants[place.index]->data() : nullptr);
  }
}

void NativeProgram::place_temporaries(Arena& arena) {
  if (arena.data() != arena_seen_ || is_guarded())
    for (auto& [at, offset, bytes] : arena_slots_) table_[at] = arena.at(offset, bytes);
  arena_seen_ = arena.data();
  if (!kept_slots_.empty() && !kept_) place_kept();
}

void NativeProgram::place_kept() {
  kept_ = Buffer::allocate(kept_bytes);
  for (auto& [at, offset] : kept_slots_) table_[at] = static_cast<char*>(kept_->data()) + offset;
}

void NativeProgram::Weights::begin(ArrayRef<int64_t> weights, ArrayRef<Port> ports) {
  inputs.assign(weights.begin(), weights.end());
  fingerprint = Fingerprint(llvm::map_to_vector(weights, [&](int64_t i) { return ports[i].bytes; }));
}

bool NativeProgram::Weights::are_same(void* const* all) {
  auto start = std::chrono::steady_clock::now();
  uint64_t now = 0;
  together([&] { now = fingerprint.of(llvm::map_to_vector(inputs, [&](int64_t i) -> const void* { return all[i]; })); });
  if (profiling) profile("fingerprint of weights", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  bool same = last == now;
  changes = same || !last ? 0 : changes + 1;
  last = now;
  return same;
}

size_t NativeProgram::first_launch(void* const* inputs) {
  look_at_packed(inputs);
  if (keeps() && of_kept_.are_same(inputs)) return kept_launches_;
  if (kept_ && kept_.use_count() > 1) place_kept();
  return 0;
}

// Once nothing of what is kept has still to be made: then both read the same.
std::unique_ptr<Program> NativeProgram::twin() const {
  const bool packs = !packed_slots_.empty() && packed_state_ != PackedWeight::Complete;
  if (!foreign_.empty() || packs || (kept_launches_ && !kept_)) return nullptr;
  std::unique_ptr<NativeProgram> other(new NativeProgram(*this));
  other->arena_seen_ = nullptr;
  return other;
}

void NativeProgram::look_at_packed(void* const* inputs) {
  packed_has_changed_ = false;
  if (packed_slots_.empty() || of_packed_.inputs.empty()) return;
  of_packed_.are_same(inputs);
  packed_has_changed_ = of_packed_.changes > 0;
  if (packed_has_changed_) set_packed(PackedWeight::Elsewhere);
  // Reading all of them would take longer than packing them.
  if (of_packed_.changes_often() || !of_packed_.fingerprint.may_be_watched()) set_packed(PackedWeight::Elsewhere), packed_slots_.clear(), packed_.reset();
}

// Nothing is packed into memory of its own before the weights have been the same twice: in training they never are. From one run to the next, so that all tasks of a run, also those that began early, do the same.
void NativeProgram::end_run() {
  if (packed_slots_.empty() || packed_has_changed_ || packed_state_ == PackedWeight::Complete) return;
  set_packed(packed_state_ == PackedWeight::Elsewhere ? PackedWeight::Made : PackedWeight::Complete);
}

void NativeProgram::set_packed(PackedWeight::State state) {
  packed_state_ = state;
  if (state == PackedWeight::Made && (!packed_ || packed_.use_count() > 1)) packed_ = Buffer::allocate(packed_bytes_);
  for (auto [at, offset] : packed_slots_) {
    table_[at] = const_cast<int64_t*>(kNothingPacked);
    if (state == PackedWeight::Elsewhere) continue;
    auto* header = reinterpret_cast<int64_t*>(static_cast<char*>(packed_->data()) + offset);
    *header = state, table_[at] = header;
  }
}

void NativeProgram::begin_loop() {
  if (!packed_slots_.empty()) set_packed(PackedWeight::Made);
}

void NativeProgram::run(void* const* inputs, void* const* outputs) {
  Arena arena(stats_.arena_bytes);
  place_temporaries(arena);
  run_from(first_launch(inputs), 0, arena, inputs, outputs);
  end_run();
}

void NativeProgram::run_from(size_t next, int64_t done, Arena& arena, void* const* inputs, void* const* outputs) {
  llvm::scope_exit forget_kept([&] { of_kept_.last.reset(); });  // somebody else's kernel may raise before all is made
  for (auto& [at, input] : input_slots_) table_[at] = inputs[input];
  for (auto& [at, output] : output_slots_) table_[at] = outputs[output];
  auto run_next = [&] {
    if (!profiling) return run(launches_[next], done);
    auto start = std::chrono::steady_clock::now();
    run(launches_[next], done);
    if (!labels[next].empty()) profile(labels[next], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  // Somebody else's kernel may have threads of its own.
  auto is_ours = [&] { return !launches_[next].foreign || launches_[next].foreign->is_ours; };
  auto run_ours = [&] {
    for (; next < launches_.size() && is_ours(); ++next, done = 0) run_next();
  };
  while (next < launches_.size()) {
    if (parallel_cost_ >= Kernel::kTogetherCost) together(run_ours);
    else run_ours();
    if (next < launches_.size()) run_next(), ++next;
  }
  for (const Copy& copy : copies) {
    const void* from = copy.from.kind == Place::Input      ? inputs[copy.from.index]
                       : copy.from.kind == Place::Output   ? outputs[copy.from.index]
                       : copy.from.kind == Place::Constant ? constants[copy.from.index]->data()
                                                           : arena.at(copy.from.index, copy.bytes);
    std::memmove(outputs[copy.output], from, copy.bytes);
  }
  forget_kept.release();
}

void NativeProgram::copy(void* from, void* to, size_t bytes) {
  constexpr size_t kPartBytes = 1 << 16;
  if (bytes < kLeastSharedCopy || !are_together()) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto parts = [](void* const* buffers, int64_t begin, int64_t end, void*) {
    const size_t offset = size_t(begin) * kPartBytes, limit = std::min(size_t(end) * kPartBytes, *static_cast<const size_t*>(buffers[2]));
    std::memcpy(static_cast<char*>(buffers[1]) + offset, static_cast<const char*>(buffers[0]) + offset, limit - offset);
  };
  void* buffers[] = {from, to, &bytes};
  parallel_for(parts, buffers, 0, int64_t(llvm::divideCeil(bytes, kPartBytes)), 1, 0);
}

void NativeProgram::run(const Launch& launch, int64_t done) {
  if (launch.foreign) return launch.foreign->run(&table_[launch.first]);
  if (launch.copied_bytes && table_[launch.from] != table_[launch.to]) copy(table_[launch.from], table_[launch.to], launch.copied_bytes);
  if (launch.grain && are_together()) return parallel_for(launch.entry, &table_[launch.first], done, launch.tasks, launch.grain, launch.scratch_bytes);
  run_alone(launch.entry, &table_[launch.first], done, launch.tasks, launch.scratch_bytes);  // a second time tasks might read their own results
}

// Works on the program's own table: what a launch reads and writes is entered before its first task.
class NativeProgram::Early final : public EarlyRun {
 public:
  // Launches [begin, end); what is kept is taken to be right until finish().
  Early(NativeProgram& program, EarlyInputs& inputs, size_t begin, size_t end)
      : program_(program), inputs_(inputs), begin_(begin), next_(begin), end_(end), arena_(program.stats_.arena_bytes), outputs_(program.outputs_.size()) {
    program.place_temporaries(arena_);
    auto first = [&](const auto& slots) { return size_t(llvm::count_if(slots, [&](auto& slot) { return slot.first < program.end_of_buffers(begin - 1); })); };
    if (begin) input_slot_ = first(program.input_slots_), output_slot_ = first(program.output_slots_);
  }

  void advance(const std::atomic<bool>& stop) override {
    for (; next_ < end_; ++next_, done_ = 0) {
      if (stop || (done_ == 0 && !enter_buffers())) return;
      const Launch& launch = program_.launches_[next_];
      for (int64_t grain = launch.grain ? launch.grain : launch.tasks; done_ < launch.tasks; done_ = std::min(done_ + grain, launch.tasks)) {
        if (stop) return;
        run_alone(launch.entry, &program_.table_[launch.first], done_, std::min(done_ + grain, launch.tasks), launch.scratch_bytes);
      }
    }
  }
  BufferPtr output(size_t index) const override { return outputs_[index]; }
  void finish(void* const* inputs, void* const* outputs) override {
    size_t first = program_.first_launch(inputs);
    if (first < begin_ || program_.packed_has_changed_) next_ = first, done_ = 0;
    program_.run_from(next_, done_, arena_, inputs, outputs);
    program_.end_run();
  }

 private:
  // False if an input is not known yet.
  bool enter_buffers() {
    uint32_t known = inputs_.known.load(std::memory_order_acquire);
    size_t after = program_.end_of_buffers(next_);
    for (; input_slot_ < program_.input_slots_.size() && program_.input_slots_[input_slot_].first < after; ++input_slot_) {
      auto [at, input] = program_.input_slots_[input_slot_];
      if (inputs_.order[input] >= known) return false;
      program_.table_[at] = inputs_.data[inputs_.order[input]];
    }
    for (; output_slot_ < program_.output_slots_.size() && program_.output_slots_[output_slot_].first < after; ++output_slot_) {
      auto [at, output] = program_.output_slots_[output_slot_];
      if (!outputs_[output]) outputs_[output] = Buffer::allocate(program_.outputs_[output].bytes);
      program_.table_[at] = outputs_[output]->data();
    }
    return true;
  }

  NativeProgram& program_;
  EarlyInputs& inputs_;
  const size_t begin_;
  size_t next_, end_;      // launches
  int64_t done_ = 0;       // tasks of the next one
  size_t input_slot_ = 0, output_slot_ = 0;
  Arena arena_;
  std::vector<BufferPtr> outputs_;
};

std::unique_ptr<EarlyRun> NativeProgram::begin(EarlyInputs& inputs) {
  // Not what overwrites inputs: it can't be taken back. Nor what a plugin runs, who may count its calls.
  const size_t first = keeps() && of_kept_.last ? kept_launches_ : 0;
  size_t end = first, slot = 0;
  double cost = 0;
  for (; end < launches_.size() && !launches_[end].foreign && !launches_[end].copied_bytes; cost += launches_[end++].cost) {
    size_t after = end_of_buffers(end);
    bool overwrites = false;
    for (; slot < output_slots_.size() && output_slots_[slot].first < after; ++slot) overwrites |= outputs_[output_slots_[slot].second].aliased >= 0;
    if (overwrites) break;
  }
  if (cost * Kernel::kSecondsPerCost < kLeastSeconds || profiling || num_threads() == 1) return nullptr;
  return std::make_unique<Early>(*this, inputs, first, end);
}

}  // namespace cresset::cpu
