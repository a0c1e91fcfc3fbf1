#include "trace/capture.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <c10/util/strides.h>

#include <atomic>
#include <cstring>
#include <unordered_map>

#include "cresset/metrics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "runtime/profile.h"
#include "runtime/thread_pool.h"
#include "trace/cell.h"
#include "trace/composite.h"
#include "trace/step.h"
#include "trace/window.h"

namespace cresset::trace {

std::pair<int64_t, int64_t> (*draw_random)() = nullptr;

at::Tensor cpu_tensor(BufferPtr buffer, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset, at::ScalarType dtype) {
  auto* data = static_cast<char*>(buffer->data()) + offset * int64_t(c10::elementSize(dtype));
  // May be resized, as any result.
  return at::for_blob(data, sizes).strides(strides).deleter([buffer](void*) mutable { buffer.reset(); }).options(at::TensorOptions().dtype(dtype)).resizeable_storage().allocator(c10::GetAllocator(at::kCPU)).make_tensor();
}

namespace {

struct Capture {
  bool calls_kernels = false;
  std::vector<std::pair<NodePtr, NodePtr>> randoms;  // seed, offset
  bool drawn = false;                                // a program draws them
  // Their buffers are held here, so that a capture that is given up never has the caller's memory overwritten.
  std::vector<at::Tensor> stand_ins;
  std::vector<BufferPtr> buffers;
  std::vector<BufferPtr> known;  // of them, those whose values the program may be specialised to
  std::vector<IndexCheck> checks;
  std::vector<std::string> warnings;
};
// Other threads go on meanwhile.
thread_local Capture* current = nullptr;

Capture& capture() {
  TORCH_CHECK(current, "cresset: this thread has no capture under way");
  return *current;
}

at::Tensor device_tensor(BufferPtr buffer, const TensorType& type, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset, at::ScalarType dtype) {
  auto t = new_tensor(buffer->size(), dtype, sizes, strides);
  Cell::of(t).materialise(NodeFactory::input(std::move(buffer), type));
  t.unsafeGetTensorImpl()->set_storage_offset(offset);
  return t;
}

bool all_on_cpu(const std::vector<at::Tensor>& inputs) {
  return llvm::all_of(inputs, [](const at::Tensor& t) { return t.device().is_cpu(); });
}

// What draws for tensors on the CPU moves the CPU's generator, which those who run a function again, as checkpoints, put back.
void draw_for_cpu(int64_t& seed, std::vector<int64_t>& offsets) {
  if (offsets.empty()) return;
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard lock(generator.mutex());
  seed = int64_t(at::check_generator<at::CPUGeneratorImpl>(generator)->random64());
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = int64_t(i) * kRandomBlocks;
}

bool is_marked(const at::Tensor& t) { return t.is_conj() || t.is_neg(); }
// Programs see bytes: a view that is only marked as conjugate or negative is computed first.
at::Tensor resolved(const at::Tensor& t) { return is_marked(t) ? t.resolve_conj().resolve_neg() : t; }

// Of the bytes of such a tensor, as programs know them: a complex number is a pair of real ones.
TensorType type_of_bytes(at::ScalarType dtype, at::IntArrayRef sizes) {
  TensorType type{c10::toRealValueType(dtype), at::DimVector(sizes)};
  if (c10::isComplexType(dtype)) type.sizes.push_back(2);
  return type;
}

// Bytes from the first to the last element.
size_t span(const at::Tensor& t) { return t.numel() ? at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.itemsize()) : 0; }

// The input's bytes as the graph saw them; complex numbers may be pairs of real ones, and the other way round.
at::Tensor part_of(const at::Tensor& input, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  at::Tensor base = input;
  if (input.is_complex() && !c10::isComplexType(dtype)) base = at::view_as_real(input);
  if (!input.is_complex() && c10::isComplexType(dtype) && input.scalar_type() == c10::toRealValueType(dtype)) base = at::view_as_complex(input.as_strided({0, 2}, {2, 1}));
  if (base.scalar_type() != dtype) {  // as a row of whole elements of either type
    int64_t from = int64_t(base.itemsize()), step = std::max<int64_t>(1, int64_t(c10::elementSize(dtype)) / from);
    base = base.as_strided({int64_t(span(base)) / from / step * step}, {1}).view(dtype);
  }
  return base.as_strided(sizes, strides, offset + base.storage_offset());
}

char* first_byte(Buffer& storage, const at::Tensor& t) { return static_cast<char*>(storage.data()) + t.storage_offset() * int64_t(t.itemsize()); }

// Writes a result into an input, in place.
void overwrite(const at::Tensor& t, const BufferPtr& result, const TensorType& type) {
  t.unsafeGetTensorImpl()->bump_version();
  if (t.numel() == 0) return;
  if (t.device().is_cpu()) {
    std::memcpy(t.mutable_data_ptr(), result->data(), span(t));
    return;
  }
  Cell& cell = Cell::of(t);
  if (t.storage_offset() == 0 && span(t) == cell.nbytes()) {
    cell.materialise(NodeFactory::input(result, type));
    return;
  }
  BufferPtr fresh = bytes(cell)->copy();
  std::memcpy(first_byte(*fresh, t), result->data(), span(t));
  replace_bytes(cell, std::move(fresh), t.scalar_type());
}

}  // namespace

at::Tensor stand_in(const at::Tensor& given, bool known, bool weight) {
  at::Tensor t = resolved(given);
  std::lock_guard lock(trace_mutex());
  BufferPtr buffer;
  if (t.device().is_cpu()) {
    buffer = Buffer::wrap(const_cast<void*>(t.numel() ? t.const_data_ptr() : nullptr), span(t), std::make_shared<c10::Storage>(t.storage()));
  } else {
    BufferPtr whole = bytes(t);
    buffer = Buffer::wrap(first_byte(*whole, t), span(t), whole);
  }
  at::DimVector flat{int64_t(span(t) / t.itemsize())};
  TensorType type = type_of_bytes(t.scalar_type(), t.is_contiguous() ? t.sizes() : at::IntArrayRef(flat));
  capture().buffers.push_back(buffer);
  if (known) capture().known.push_back(buffer);
  capture().stand_ins.push_back(device_tensor(std::move(buffer), type, t.sizes(), t.strides(), 0, t.scalar_type()));
  Cell::of(capture().stand_ins.back()).content().node->set_weight(weight);
  return capture().stand_ins.back();
}

at::Tensor stand_in(const TensorType& type) {
  std::lock_guard lock(trace_mutex());
  capture().buffers.push_back(Buffer::wrap(nullptr, size_t(type.numel()) * c10::elementSize(type.dtype), nullptr));
  capture().stand_ins.push_back(device_tensor(capture().buffers.back(), type_of_bytes(type.dtype, type.sizes), type.sizes, c10::contiguous_strides(type.sizes), 0, type.dtype));
  return capture().stand_ins.back();
}

bool capturing() { return current; }
bool capture_calls_kernels() { return current && current->calls_kernels; }
const void* capture_of_thread() { return current; }
std::vector<IndexCheck>* checks_of_capture() { return current ? &current->checks : nullptr; }

bool is_random(const Node& leaf) {
  return current && llvm::any_of(current->randoms, [&](auto& numbers) { return numbers.first.get() == &leaf || numbers.second.get() == &leaf; });
}
bool is_input_of_capture(const Node& leaf) { return current && leaf.buffer() && llvm::is_contained(current->buffers, leaf.buffer()); }

bool has_own_leaf(const Cell& cell) {
  for (auto [stand_in, buffer] : llvm::zip(capture().stand_ins, capture().buffers))
    if (&Cell::of(stand_in) == &cell) return cell.content() && !cell.pending() && cell.content().node->buffer() == buffer;
  return false;
}

// Whether a value follows from constants alone, as the shapes of a pyramid's levels do, and from what is known.
static bool is_constant(const Value& v) {
  std::vector<const Node*> work{v.node.get()};
  llvm::DenseSet<const Node*> seen;
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    if (!seen.insert(node).second) continue;
    if ((is_input_of_capture(*node) && !llvm::is_contained(capture().known, node->buffer())) || is_random(*node)) return false;
    for (const Value& operand : node->operands())
      if (operand) work.push_back(operand.node.get());
  }
  return true;
}

void check_readable(const Cell& cell) {
  if (!current || !cell.content()) return;
  TORCH_CHECK(is_constant(cell.content()), "cresset: a value is read while its graph is captured: an operator that is not lowered, or .item(), cannot be part of a captured program");
}

void begin_capture(bool calls_kernels) {
  std::lock_guard lock(trace_mutex());
  TORCH_CHECK(!current, "cresset: a capture is under way already");
  sync();  // what this thread has pending is no part of the graph
  current = new Capture;
  current->calls_kernels = calls_kernels;
}

void warn_of_capture(std::string text) { capture().warnings.push_back(std::move(text)); }

std::vector<std::string> abort_capture() {
  if (!current) return {};
  std::unique_ptr<Capture> ended(current);  // and freed without the lock: Python's lock is taken for what Python knows of
  std::lock_guard lock(trace_mutex());
  // What was recorded on the stand-ins must never run: they forget it, and so does what is still held of it.
  for (const at::Tensor& t : current->stand_ins) Cell::of(t).forget();
  for (const BufferPtr& buffer : current->buffers) buffer->release();
  Cell::forget(current);
  current = nullptr;
  return std::move(ended->warnings);
}

void note_random(const NodePtr& seed, const NodePtr& offset) {
  check_not_in_body("draw random numbers: every call would draw the same; draw them outside and pass them as an argument");
  if (current) current->randoms.push_back({seed, offset});
}

// Collects the program's results, each once, and what stands for inputs and outputs.
class CapturedProgram::Builder {
 public:
  explicit Builder(const std::vector<at::Tensor>& inputs) : inputs_(inputs) {
    std::unordered_map<const Cell*, const Buffer*> stand_ins;
    for (auto [t, buffer] : llvm::zip(capture().stand_ins, capture().buffers)) stand_ins[&Cell::of(t)] = buffer.get();
    for (size_t i = 0; i < inputs.size(); ++i) {
      Cell& cell = Cell::of(inputs[i]);
      captured_->inputs_.push_back({at::DimVector(inputs[i].sizes()), at::DimVector(inputs[i].strides()), inputs[i].scalar_type()});
      input_of_.insert({&cell, int(i)});
      auto stand_in = stand_ins.find(&cell);
      TORCH_CHECK(stand_in != stand_ins.end(), "cresset: input ", i, " of the capture is not a stand-in");
      input_over_.insert({stand_in->second, int(i)});
      if (cell.pending() || (cell.content() && cell.content().node->buffer().get() != stand_in->second))
        captured_->written_.push_back({int(i), result_of(cell.content())});
    }
  }

  void add_output(const at::Tensor& t, bool may_share) {
    Output out;
    if (t.defined()) {
      Cell& cell = Cell::of(t);
      out.sizes = at::DimVector(t.sizes()), out.strides = at::DimVector(t.strides());
      out.offset = t.storage_offset(), out.dtype = t.scalar_type();
      out.conjugate = t.is_conj(), out.negative = t.is_neg();
      auto it = input_of_.find(&cell);
      if (it != input_of_.end()) out.input = it->second, out.itself = t.is_same(inputs_[it->second]);
      else out.storage = storage_of(cell, t, may_share);
    } else {
      out.input = -2;
    }
    captured_->outputs_.push_back(std::move(out));
  }

  void add_checks() {
    for (IndexCheck& check : take_checks()) {
      size_t result = result_of(check.outside);
      captured_->checks_.push_back({std::move(check), result});
      captured_->checks_.back().first.outside = {};
    }
  }

  std::shared_ptr<CapturedProgram> finish() {
    Graph graph = make_graph(results_);
    for (const Value& v : results_) captured_->types_.push_back(v.type());
    for (const NodePtr& n : graph.inputs) captured_->leaves_.push_back(leaf_of(n));
    alias_written(graph);
    if (!results_.empty()) captured_->program_ = program_for(graph, true);
    if (captured_->program_ && is_provisional(*captured_->program_)) captured_->graph_ = std::move(graph);
    captured_->randoms_ = capture().drawn ? 0 : int(capture().randoms.size());
    capture().drawn = true;
    return captured_;
  }

 private:
  size_t result_of(const Value& v) {
    for (auto& [index, at] : known_[v.node.get()])
      if (index == v.index) return at;
    known_[v.node.get()].push_back({v.index, results_.size()});
    results_.push_back(v);
    return results_.size() - 1;
  }
  size_t storage_of(Cell& cell, const at::Tensor& t, bool may_share) {
    // Nobody wrote into it; into an empty one nobody can.
    if (at::ScalarType real = c10::toRealValueType(t.scalar_type()); !cell.content())
      cell.set_content(make_value(builtin::constant, {}, {Attribute(0.0)}, {real, {int64_t(cell.nbytes()) / int64_t(c10::elementSize(real))}}));
    auto [known, added] = storage_of_.insert({&cell, captured_->storages_.size()});
    if (added) {
      size_t result = result_of(cell.content());
      bool copied = !may_share && llvm::any_of(captured_->storages_, [&](auto& s) { return s.result == result; });
      captured_->storages_.push_back({result, copied, 0});
    }
    ++captured_->storages_[known->second].shown;
    return known->second;
  }
  // A result that nothing else shows may be written over the input that it becomes.
  void alias_written(Graph& graph) {
    for (auto& [input, result] : captured_->written_) {
      auto shows = [result = result](const Storage& s) { return s.result == result; };
      auto leaf = llvm::find_if(captured_->leaves_, [input = input](const Leaf& l) { return l.input == input; });
      if (llvm::count_if(captured_->written_, [result = result](auto& written) { return written.second == result; }) > 1) continue;  // several inputs become it
      if (graph.aliased[result] >= 0 || leaf == captured_->leaves_.end() || llvm::any_of(captured_->storages_, shows)) continue;
      size_t at = leaf - captured_->leaves_.begin();
      const TensorType &from = graph.inputs[at]->types()[0], &to = captured_->types_[result];
      if (from.dtype != to.dtype || from.numel() != to.numel()) continue;
      graph.aliased[result] = int(at);
    }
  }
  Leaf leaf_of(const NodePtr& n) {
    Leaf leaf;
    if (auto it = n->buffer() ? input_over_.find(n->buffer().get()) : input_over_.end(); it != input_over_.end()) leaf.input = it->second;
    else leaf.node = n, leaf.buffer = n->buffer();
    for (size_t r = 0; r < capture().randoms.size(); ++r) {
      if (capture().randoms[r].first == n) leaf.random = 0;
      if (capture().randoms[r].second == n) leaf.random = int(r) + 1;
    }
    TORCH_CHECK(leaf.random < 0 || !capture().drawn, "cresset: a second program of a capture draws random numbers");
    return leaf;
  }

  const std::vector<at::Tensor>& inputs_;
  std::shared_ptr<CapturedProgram> captured_ = std::make_shared<CapturedProgram>();
  std::vector<Value> results_;
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> known_;  // of them: index, place
  std::unordered_map<const Cell*, int> input_of_;
  std::unordered_map<const Buffer*, int> input_over_;
  std::unordered_map<const Cell*, size_t> storage_of_;
};

std::shared_ptr<CapturedProgram> captured_program(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved) {
  std::lock_guard lock(trace_mutex());
  CapturedProgram::Builder builder(inputs);
  for (const at::Tensor& t : outputs) builder.add_output(t, false);
  for (const at::Tensor& t : saved) builder.add_output(t, true);
  builder.add_checks();
  return builder.finish();
}

static std::string captured_text(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, bool custom_calls) {
  std::lock_guard lock(trace_mutex());
  std::vector<Value> results;
  for (const at::Tensor& t : outputs) results.push_back(read(t.is_complex() ? at::view_as_real(t.resolve_conj()) : t));
  Graph graph = make_graph(results);
  std::vector<NodePtr> ordered;
  for (const at::Tensor& t : inputs) {
    auto stand_in = std::find_if(capture().stand_ins.begin(), capture().stand_ins.end(), [&](const at::Tensor& s) { return &Cell::of(s) == &Cell::of(t); });
    TORCH_CHECK(stand_in != capture().stand_ins.end(), "cresset: an input of the capture is not a stand-in");
    const BufferPtr& buffer = capture().buffers[stand_in - capture().stand_ins.begin()];
    auto used = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const NodePtr& n) { return n && n->buffer() == buffer; });
    ordered.push_back(used != graph.inputs.end() ? std::exchange(*used, {}) : NodeFactory::input(buffer, type_of_bytes(t.scalar_type(), t.sizes())));
  }
  for (NodePtr& n : graph.inputs)
    if (n) ordered.push_back(std::move(n));
  graph.inputs = std::move(ordered);
  return stablehlo_text(graph, custom_calls);
}

std::string end_capture_as_text(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, bool custom_calls) {
  std::string text = captured_text(inputs, outputs, custom_calls);
  abort_capture();
  return text;
}

bool CapturedProgram::takes(const std::vector<at::Tensor>& inputs) const {
  TORCH_CHECK(inputs.size() == inputs_.size(), "cresset: the captured program takes ", inputs_.size(), " tensors, not ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].scalar_type() != inputs_[i].dtype || inputs[i].sizes() != at::IntArrayRef(inputs_[i].sizes) || inputs[i].strides() != at::IntArrayRef(inputs_[i].strides))
      return false;
  if (written_.empty()) return true;
  llvm::SmallDenseMap<const void*, int, 64> holders;  // of each storage
  auto storage = [&](size_t i) { return inputs[i].unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl(); };
  for (size_t i = 0; i < inputs.size(); ++i) ++holders[storage(i)];
  return llvm::all_of(written_, [&](auto& w) { return holders[storage(w.first)] == 1; });
}
std::vector<int> CapturedProgram::written() const {
  std::vector<int> all;
  for (auto& [input, result] : written_) all.push_back(input);
  return all;
}

namespace {

// Counts the threads of runs.
class AtWork {
 public:
  AtWork() { all_ += threads_; }
  ~AtWork() { all_ -= threads_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  /// Whether there are processors for one more run, beside that of whoever has the trace.
  static bool leaves_room() { return std::max<int>(all_, num_threads()) + num_threads() <= num_processors(); }

 private:
  static inline std::atomic<int> all_{0};
  const int threads_ = num_threads();
};

}  // namespace

std::optional<std::vector<at::Tensor>> CapturedProgram::run(const std::vector<at::Tensor>& inputs) {
  if (llvm::any_of(inputs, is_marked)) {
    std::vector<at::Tensor> plain;
    for (const at::Tensor& t : inputs) plain.push_back(resolved(t));
    auto results = run(plain);
    for (auto& [input, result] : written_)
      if (results && is_marked(inputs[input])) inputs[input].detach().copy_(plain[input]);
    return results;
  }
  if (!takes(inputs)) return std::nullopt;
  std::unique_lock lock(trace_mutex(), std::try_to_lock);
  if (!lock) {
    if (auto results = run_beside(inputs)) return results;
    lock.lock();
    add_twin();
  }
  AtWork here;
  return run_in_turn(inputs);
}

std::vector<at::Tensor> CapturedProgram::run_in_turn(const std::vector<at::Tensor>& inputs) {
  constexpr int kTogether = 16;  // asking takes its time
  if (graph_ && runs_++ > 0 && (!program_->stats().compiled || runs_ % kTogether == 0)) {
    auto before = std::exchange(program_, program_for(*graph_, true, program_->stats().compiled ? kTogether : 1));
    if (!is_provisional(*program_)) graph_.reset();
    std::lock_guard lock(twins_mutex_);
    if (program_ != before) twins_.clear();
  }
  return finish(inputs, compute(inputs, program_.get(), [&](void* const* from, void* const* to) {
    note_run(program_);
    drop_early_run();
    if (graph_) cresset::trace::run(program_, *graph_, true, from, to);
    else program_->run(from, to);
  }));
}

// For the next time that two threads run it at once. Programs that draw random numbers, change their inputs or are not compiled do it in turn.
void CapturedProgram::add_twin() {
  if (!program_ || !program_->stats().compiled || randoms_ || !written_.empty() || profiling) return;
  drop_early_run();  // it may be of this program
  auto twin = program_->twin();
  std::lock_guard lock(twins_mutex_);
  if (twin) twins_.push_back(std::move(twin));
}

std::optional<std::vector<at::Tensor>> CapturedProgram::run_beside(const std::vector<at::Tensor>& inputs) {
  if (profiling || !AtWork::leaves_room() || !all_on_cpu(inputs)) return std::nullopt;
  std::unique_ptr<Program> twin;
  {
    std::lock_guard lock(twins_mutex_);
    if (twins_.empty()) return std::nullopt;
    twin = std::move(twins_.back());
    twins_.pop_back();
  }
  static Counter beside("cresset.run_beside");
  beside.add();
  AtWork here;
  auto results = compute(inputs, twin.get(), [&](void* const* from, void* const* to) { twin->run(from, to); });
  {
    std::lock_guard lock(twins_mutex_);
    twins_.push_back(std::move(twin));
  }
  return finish(inputs, results);
}

std::vector<at::Tensor> CapturedProgram::finish(const std::vector<at::Tensor>& inputs, const std::vector<BufferPtr>& results) const {
  for (auto& [input, result] : written_)
    if (results[result]) overwrite(inputs[input], results[result], types_[result]);
  return show(inputs, results);
}

std::vector<BufferPtr> CapturedProgram::compute(const std::vector<at::Tensor>& inputs, const Program* program, llvm::function_ref<void(void* const*, void* const*)> run) {
  std::vector<int64_t> offsets(randoms_);
  int64_t seed = 0;
  if (all_on_cpu(inputs)) draw_for_cpu(seed, offsets);
  else for (int64_t& o : offsets) std::tie(seed, o) = draw_random();
  std::vector<BufferPtr> results;
  if (!program) return results;
  std::vector<BufferPtr> held;
  std::vector<uint64_t> numbers(leaves_.size());
  std::vector<void*> pointers, result_pointers;
  for (const Port& port : program->outputs()) {
    int input = port.aliased < 0 ? -1 : leaves_[port.aliased].input;
    bool here = input >= 0 && inputs[input].device().is_cpu() && inputs[input].numel();
    result_pointers.push_back(here ? inputs[input].mutable_data_ptr() : nullptr);  // asked for first: it may move what PyTorch shares until somebody writes
    if (here) inputs[input].unsafeGetTensorImpl()->bump_version();
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (leaf.input >= 0) {
      const at::Tensor& t = inputs[leaf.input];
      if (t.device().is_cpu()) {
        pointers.push_back(const_cast<void*>(t.numel() ? t.const_data_ptr() : nullptr));
      } else {
        held.push_back(bytes(t));
        pointers.push_back(first_byte(*held.back(), t));
      }
    } else if (leaf.node->buffer()) {
      pointers.push_back(leaf.node->buffer()->data());
    } else {
      numbers[i] = leaf.random == 0 ? uint64_t(seed) : leaf.random > 0 ? uint64_t(offsets[leaf.random - 1]) : leaf.node->number_bits();
      pointers.push_back(&numbers[i]);
    }
  }
  for (auto [port, pointer] : llvm::zip(program->outputs(), result_pointers)) {
    results.push_back(pointer ? BufferPtr() : Buffer::allocate(port.bytes));
    if (!pointer) pointer = results.back()->data();
  }
  run(pointers.data(), result_pointers.data());
  for (auto& [check, result] : checks_)
    if (*static_cast<const bool*>(result_pointers[result])) check.raise();
  return results;
}

std::vector<at::Tensor> CapturedProgram::show(const std::vector<at::Tensor>& inputs, const std::vector<BufferPtr>& results) const {
  std::vector<BufferPtr> storages;
  for (const Storage& s : storages_) storages.push_back(s.copied ? results[s.result]->copy() : results[s.result]);
  const bool cpu = all_on_cpu(inputs);
  auto tensor = [&](size_t storage, const at::DimVector& sizes, const at::DimVector& strides, int64_t offset, at::ScalarType dtype) {
    if (cpu) return cpu_tensor(storages[storage], sizes, strides, offset, dtype);
    return device_tensor(storages[storage], types_[storages_[storage].result], sizes, strides, offset, dtype);
  };
  std::vector<at::Tensor> shown, whole(storages_.size());
  for (const Output& out : outputs_) {
    if (out.itself) {
      shown.push_back(inputs[out.input]);
      continue;
    }
    if (out.input == -2) shown.emplace_back();
    else if (out.input >= 0) shown.push_back(part_of(inputs[out.input], out.dtype, out.sizes, out.strides, out.offset));
    else if (storages_[out.storage].shown == 1) shown.push_back(tensor(out.storage, out.sizes, out.strides, out.offset, out.dtype));
    else {  // Views of one tensor: what is written to one of them, gradients too, the others have.
      at::Tensor& base = whole[out.storage];
      if (!base.defined()) {
        at::ScalarType narrowest = out.dtype;  // which divides the storage
        for (const Output& other : outputs_)
          if (other.input == -1 && other.storage == out.storage && c10::elementSize(other.dtype) < c10::elementSize(narrowest)) narrowest = other.dtype;
        base = tensor(out.storage, {int64_t(storages[out.storage]->size()) / int64_t(c10::elementSize(narrowest))}, {1}, 0, narrowest);
      }
      shown.push_back(part_of(base, out.dtype, out.sizes, out.strides, out.offset));
    }
    if (out.conjugate) shown.back() = at::_conj(shown.back());
    if (out.negative) shown.back() = at::_neg_view(shown.back());
  }
  return shown;
}

}  // namespace cresset::trace
