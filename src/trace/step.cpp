#include "trace/step.h"

#include <ATen/ATen.h>
#include <c10/core/AutogradState.h>
#include <c10/util/Logging.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <chrono>
#include <deque>
#include <fstream>
#include <list>
#include <sstream>

#include "composite/kernels.h"
#include "composite/raise.h"
#include "composite/selection.h"
#include "cpu/compiler.h"
#include "lowering/lowering.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/environment.h"
#include "runtime/profile.h"
#include "runtime/thread_pool.h"
#include "trace/capture.h"
#include "trace/cell.h"
#include "trace/composite.h"
#include "trace/eager_program.h"
#include "trace/hash.h"
#include "trace/split.h"
#include "trace/structure.h"
#include "trace/window.h"

namespace cresset::trace {
namespace {

constexpr size_t kMaxPending = 20000;   // nodes after which a window runs in any case
constexpr size_t kMaxPrograms = 512;
constexpr int kManyKernels = 16;  // which take LLVM more memory than it is worth keeping
// A program of changing sizes may be compiled for its own, which spares so much of the time of kernels that other sizes share, and takes so long for each kernel,
constexpr double kGain = 0.1, kKernelSeconds = 15e-3;
constexpr int kMostEagerRuns = 16;  // of a graph whose sizes change: from then on it is compiled in any case
constexpr int kLeastRuns = 16, kMostRuns = 1 << 20;  // after so many runs

struct Trace {
  size_t recorded = 0;          // results since the last execution
  int step_depth = 0;
  bool optimizing = false;      // within an optimizer's step
  int backwards = 0;            // ended since the last execution
  std::vector<int> graph_tasks; // running; nested ones (checkpointing) too
  int holders = 0;              // of values (HeldBuffers)
  bool executing = false;
  double execute_seconds = 0;
  std::vector<IndexCheck> checks;  // of pending work
  std::string composites;          // or "": CRESSET_COMPOSITES
  std::vector<composite::Reference> references;  // the user's, raised in every program; their modules are never freed
  bool watching = false;
  std::vector<std::shared_ptr<Program>> watched;
};
Trace& state() {
  static auto* t = new Trace;
  return *t;
}

// What of a graph a later one is compared with, to say why it is new.
struct CachedProgram {
  std::string hash;
  std::shared_ptr<Program> program;
  std::vector<std::string> lines;  // none if it was not compiled as a whole
  int shared_runs = 0;  // left before a compiled one is compiled for its own sizes; 0: it is
  int eager_runs = 0;   // by PyTorch's kernels, so far
};
std::list<CachedProgram>& cache() {  // most recently used first
  static auto* c = new std::list<CachedProgram>;
  return *c;
}
// The graphs that were compiled last, and whether each has come again. Where hardly one has (loops of any length, packed sequences), compiling the next one is not worth it either.
class Latest {
 public:
  void add(const std::string& hash) {
    graphs_.push_back({hash, false});
    if (graphs_.size() > kCount) graphs_.pop_front();
  }
  void came(const std::string& hash) {
    for (auto& [graph, again] : graphs_) again |= graph == hash;
  }
  bool were_in_vain() const { return graphs_.size() == kCount && llvm::count_if(graphs_, [](auto& graph) { return graph.second; }) <= 1; }

 private:
  static constexpr size_t kCount = 8;
  std::deque<std::pair<std::string, bool>> graphs_;
};
Latest& latest() {
  static auto* l = new Latest;
  return *l;
}
std::vector<CompileRecord>& records() {
  static auto* r = new std::vector<CompileRecord>;
  return *r;
}

std::string describe(const Node& n) {
  std::ostringstream out;
  out << n.op().name << '(';
  for (const Value& v : n.operands())
    if (v) out << v.type().dtype << at::IntArrayRef(v.type().sizes) << ' ';
  for (const Attribute& a : n.attributes())
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::vector<int64_t>>) out << at::IntArrayRef(v) << ' ';
          else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) out << v << ' ';
        },
        a);
  out << ')';
  return out.str();
}

std::string difference(const std::vector<std::string>& lines) {
  const CachedProgram* nearest = nullptr;
  size_t best = 0;
  for (const CachedProgram& known : cache()) {
    if (known.lines.empty()) continue;
    size_t same = 0;
    while (same < lines.size() && same < known.lines.size() && lines[same] == known.lines[same]) ++same;
    if (!nearest || same > best) nearest = &known, best = same;
  }
  if (!nearest) return "the first program";
  std::ostringstream out;
  out << "differs from " << nearest->hash.substr(0, 8) << " at operator " << best << ": ";
  if (best < lines.size() && best < nearest->lines.size()) out << nearest->lines[best] << " became " << lines[best];
  else if (best < lines.size()) out << "it goes on with " << lines[best];
  else if (best < nearest->lines.size()) out << "it ends before " << nearest->lines[best];
  else out << "other results are wanted, other buffers may be overwritten, or there are more or fewer threads";
  return out.str();
}

// Kept for the process: contexts are dear to make. Leaked, as MLIR objects must not meet static destructors.
mlir::MLIRContext& context() {
  static auto* c = lowering::make_context().release();
  return *c;
}

std::string dump(mlir::ModuleOp module, const std::string& hash) {
  std::string_view directory = setting("CRESSET_DUMP");
  if (directory.empty()) return {};
  std::string path = std::string(directory) + "/" + std::to_string(records().size()) + "_" + hash.substr(0, 8) + ".mlir";
  (void)llvm::sys::fs::create_directories(llvm::StringRef(directory));  // where that fails writing does
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  TORCH_CHECK(!error, "CRESSET_DUMP: cannot write ", path, ": ", error.message());
  module.print(file);
  return path;
}

// CRESSET_RAISE=0 leaves decomposed operators as they are.
bool raises() { return !is_switched_off("CRESSET_RAISE"); }
// CRESSET_EXCESS_PRECISION=0 rounds after every operator, as eager does.
bool has_excess_precision() { return !is_switched_off("CRESSET_EXCESS_PRECISION"); }

composite::Selection selection_of(const std::string& text, std::vector<std::string>* warnings = nullptr) {
  try {
    composite::Selection selection(text);
    auto found = selection.check_names();
    if (warnings) *warnings = std::move(found);
    return selection;
  } catch (const std::invalid_argument& error) {
    TORCH_CHECK_VALUE(false, "cresset: ", error.what());
  }
}

// Lowered, with the composites that the user keeps.
mlir::OwningOpRef<mlir::ModuleOp> whole(const Graph& graph, composite::Report& report) {
  auto module = lowering::lower(graph, context());
  // One operator is no spelling of another; only what a user has may be.
  if (raises() && (graph.nodes.size() > 1 || !state().references.empty())) {
    composite::raise(*module, nullptr, state().references);
    mlir::ScopedDiagnosticHandler silent(&context(), [](mlir::Diagnostic&) { return mlir::success(); });
    if (mlir::failed(mlir::verify(*module))) {  // rather decomposed than wrong
      count("cresset.raising_undone");
      module = lowering::lower(graph, context());
    }
  }
  TORCH_CHECK(succeeded(composite::select(*module, selection_of(composites()), report)), "cresset: composites can't be decomposed");
  return module;
}

}  // namespace

bool in_backward() { return torch::autograd::get_current_graph_task_id() >= 0; }
HeldBuffers::HeldBuffers() {
  std::lock_guard lock(trace_mutex());
  ++state().holders;
}
HeldBuffers::~HeldBuffers() {
  std::lock_guard lock(trace_mutex());
  --state().holders;
}

std::string composites() {
  if (!state().composites.empty()) return state().composites;
  std::string_view text = setting("CRESSET_COMPOSITES");
  return std::string(text.empty() ? "default" : text);
}
std::vector<std::string> check_composites(const std::string& text) {
  std::vector<std::string> warnings;
  selection_of(text, &warnings);
  return warnings;
}
std::string own_composites() { return state().composites; }
void add_raised(const std::string& library) {
  std::lock_guard lock(trace_mutex());
  sync();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(library, &context());
  TORCH_CHECK_VALUE(module, "cresset: the library of composites to raise is no StableHLO module");
  auto references = composite::read_library(*module);
  TORCH_CHECK_VALUE(!references.empty(), "cresset: the library has no composite of one result and at most four tensors that could be raised");
  module.release();
  auto& all = state().references;
  all.insert(all.end(), references.begin(), references.end());
}
void set_composites(const std::string& text) {
  std::lock_guard lock(trace_mutex());
  sync();
  state().composites = text;
}
void begin_watch() {
  std::lock_guard lock(trace_mutex());
  state().watching = true;
  state().watched.clear();
}
std::vector<std::shared_ptr<Program>> end_watch() {
  std::lock_guard lock(trace_mutex());
  state().watching = false;
  return std::exchange(state().watched, {});
}
void note_run(const std::shared_ptr<Program>& program) {
  if (state().watching) state().watched.push_back(program);
}

Graph make_graph(const std::vector<Value>& outputs) {
  Graph graph;
  graph.outputs = outputs;
  graph.aliased.assign(outputs.size(), -1);
  llvm::DenseMap<const Node*, uint64_t> numbers;
  Digest d;
  std::vector<std::pair<const Node*, size_t>> stack;
  auto leave = [&](const Node* n) {
    uint64_t number = numbers.size();
    numbers[n] = number;
    (is_leaf(*n) ? graph.inputs : graph.nodes).push_back(NodePtr::reclaim_copy(const_cast<Node*>(n)));
    d.add(std::string_view(n->op().name));
    d.add(std::string_view(n->op().overload));
    for (const Value& v : n->operands()) d.add(v ? numbers[v.node.get()] << 32 | v.index : ~0ull);
    for (const Attribute& a : n->attributes()) for_each_number(a, [&](uint64_t number) { d.add(number); });
    for (const TensorType& t : n->types()) {
      d.add(uint64_t(t.dtype) << 8 | t.sizes.size());
      for (int64_t s : t.sizes) d.add(uint64_t(s));
    }
  };
  for (const Value& root : outputs) {
    if (!numbers.count(root.node.get())) stack.push_back({root.node.get(), 0});
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (next == 0 && numbers.count(n)) {
        stack.pop_back();
        continue;
      }
      if (next < n->operands().size()) {
        const Value& v = n->operands()[next++];
        if (v && !numbers.count(v.node.get())) stack.push_back({v.node.get(), 0});
      } else {
        const Node* done = n;
        stack.pop_back();
        if (!numbers.count(done)) leave(done);
      }
    }
    d.add(numbers[root.node.get()] << 32 | root.index);
  }
  d.add(std::string_view(composites()));
  d.add(uint64_t(at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL)));  // which lowerings write to products
  d.add(uint64_t(composite::registry_generation()));
  d.add(uint64_t(raises() ? 1 + state().references.size() : 0) << 1 | has_excess_precision());
  graph.hash = d.hex();
  return graph;
}

namespace {

// A kernel is divided for the threads that it was compiled for.
std::string key_of(const Graph& graph) {
  std::string hash = graph.hash + "," + std::to_string(num_threads());
  for (int a : graph.aliased) hash += "," + std::to_string(a);
  hash += ",";
  for (bool weight : graph.weights()) hash += weight ? 'w' : '-';
  return hash;
}
CachedProgram* find_cached(const std::string& hash) {
  static Counter hits("cresset.cache_hit");
  auto it = std::find_if(cache().begin(), cache().end(), [&](const CachedProgram& known) { return known.hash == hash; });
  if (it == cache().end()) return nullptr;
  hits.add();
  latest().came(hash);
  cache().splice(cache().begin(), cache(), it);
  return &cache().front();
}
void keep(CachedProgram program) {
  cache().remove_if([&](const CachedProgram& known) { return known.hash == program.hash; });
  cache().push_front(std::move(program));
  if (cache().size() > kMaxPrograms) cache().pop_back();
}
std::vector<std::string> described(const Graph& graph) {
  std::vector<std::string> lines;
  for (const NodePtr& n : graph.nodes) lines.push_back(describe(*n));
  return lines;
}

std::shared_ptr<Program> program_around_kernels(const Graph& graph);

// What compiling has freed lies between what it has left, where arrays do not fit: without this the process would keep it.
void give_back_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// `lines` are the graph's, if there are any yet.
std::shared_ptr<Program> compiled(const Graph& graph, std::vector<std::string>& lines, bool sizes_change) {
  if (!llvm::all_of(graph.nodes, [](const NodePtr& n) { return is_lowered(n->op()); })) return program_around_kernels(graph);
  static Counter compiles("cresset.compile");
  auto start = std::chrono::steady_clock::now();
  if (lines.empty()) lines = described(graph);
  composite::Report report;
  auto module = whole(graph, report);
  CompileRecord record{graph.hash, graph.nodes.size(), 0, difference(lines), noted_location(), dump(*module, graph.hash), {}};
  auto program = cpu::compile(*module, {.report = &report, .sizes_change = sizes_change, .excess_precision = has_excess_precision()});
  if (!program) TORCH_CHECK(false, "cresset: a program of ", graph.nodes.size(), " operators can't be compiled: ", llvm::toString(program.takeError()));
  compiles.add();
  record.stats = (*program)->stats();
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  records().push_back(record);
  module = {};
  if (record.stats.unique_kernels >= kManyKernels) give_back_freed_memory();
  return std::move(*program);
}

// Until what it could have gained by code of its own is what that takes to compile.
int runs_in_haste(const Program& program) {
  if (program.stats().shared_seconds == 0) return 0;
  return int(std::clamp(program.stats().unique_kernels * kKernelSeconds / (kGain * program.stats().shared_seconds), double(kLeastRuns), double(kMostRuns)));
}

// What `compile` makes of a graph, which goes into the costs of its structure.
std::shared_ptr<Program> with_costs(const Graph& graph, const std::shared_ptr<const Structure>& changing, llvm::function_ref<std::shared_ptr<Program>()> compile) {
  if (!changing) return compile();
  std::shared_ptr<Costs> costs = changing->costs;
  auto start = std::chrono::steady_clock::now();
  auto program = compile();
  costs->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), costs->lost_seconds = 0;
  return measured(std::move(program), costs, work_of(graph));
}

// Whether a size that comes for the first time is compiled in any case: because somebody wants to see programs, or has kernels for them.
bool compiles_every_size() {
  return setting("CRESSET_NEW_SIZES") == "compiled" || state().watching || profiling || composite::has_own_kernels() || !setting("CRESSET_DUMP").empty();
}
// CRESSET_NEW_SIZES=eager, for tests: PyTorch's kernels are the first to run any program, whether sizes change or not.
bool runs_all_eagerly() { return setting("CRESSET_NEW_SIZES") == "eager"; }

std::shared_ptr<Program> program_of_piece(const Graph& piece, bool changes, int times, bool once);
CompilePiece pieces(bool once) {
  return [once](const Graph& piece, bool changes, int times) { return program_of_piece(piece, changes, times, once); };
}

// By PyTorch's kernels, if that is expected to be faster than compiling a graph that is run so many times. Null if not. `in_vain`: it is not expected to come again.
std::shared_ptr<Program> eager_program_for(const Graph& graph, const std::shared_ptr<const Structure>& changing, int times, bool in_vain = false) {
  static Counter eager("cresset.eager");
  bool pays = !compiles_every_size() && (changing ? !changing->costs->pays_to_compile(times * work_of(graph)) : in_vain);
  if (!pays && !runs_all_eagerly()) return nullptr;
  auto program = eager_program(graph, pieces(false));
  if (!program) return nullptr;
  eager.add();
  return changing ? measured(std::move(program), changing->costs, work_of(graph)) : program;
}

// Of a piece of a graph, which comes `times` times in it, and whose operators change or don't. `once`: the graph's sizes have not come before.
std::shared_ptr<Program> program_of_piece(const Graph& piece, bool changes, int times, bool once) {
  std::string hash = key_of(piece);
  if (CachedProgram* known = find_cached(hash); known && (once || known->program->stats().compiled)) return known->program;
  std::vector<std::string> lines;
  auto changing = changes ? changing_structure(piece, true) : nullptr;
  auto program = once ? eager_program_for(piece, changing, times) : nullptr;
  if (!program) program = with_costs(piece, changing, [&] { return compiled(piece, lines, changes); });
  keep({hash, program, std::move(lines)});
  return program;
}

// Of a graph that is not lowered as a whole: programs, and between them PyTorch's kernels.
std::shared_ptr<Program> program_around_kernels(const Graph& graph) {
  std::vector<bool> apart;
  for (const NodePtr& n : graph.nodes) apart.push_back(!is_lowered(n->op()));
  return split_apart(graph, apart, [](const Graph& piece, bool apart, int times) {
    return apart ? eager_program(piece, pieces(false), true) : program_of_piece(piece, false, times, false);
  });
}

// For sizes that come for the first time: what depends on them may be left to PyTorch's kernels. Of pieces only where nothing is overwritten, so that the graph can be run again if one of these kernels refuses.
std::shared_ptr<Program> program_for_once(const Graph& graph, const std::shared_ptr<const Structure>& changing, bool in_vain) {
  bool in_pieces = changing && !changing->costs->needs_compiler && !runs_all_eagerly() && !compiles_every_size() && !graph.overwrites();
  auto program = in_pieces ? split_program(graph, changing->changes, pieces(true)) : nullptr;
  return program ? program : eager_program_for(graph, changing, 1, in_vain);
}

std::shared_ptr<Program> compiled_for(const Graph& graph, std::vector<std::string>& lines, const std::shared_ptr<const Structure>& changing) {
  return with_costs(graph, changing, [&] {
    auto program = changing ? split_program(graph, changing->changes, pieces(false)) : nullptr;
    return program ? program : compiled(graph, lines, changing != nullptr);
  });
}

// Whether a size that comes again is left to PyTorch's kernels still: until compiling it would have paid for the runs that it has had, or it has come often, as estimates may be wrong.
bool waits(CachedProgram& known, const Costs& costs, const Graph& graph, int runs) {
  if (!costs.eager.is_known() || compiles_every_size() || runs_all_eagerly()) return false;
  known.eager_runs += runs;
  return known.eager_runs < kMostEagerRuns && !costs.pays_to_compile(known.eager_runs * work_of(graph));
}

}  // namespace

bool is_provisional(const Program& program) { return !program.stats().compiled || program.stats().shared_seconds > 0; }

std::shared_ptr<Program> program_for(const Graph& graph, bool changes, int runs) {
  std::string hash = key_of(graph);
  CachedProgram* known = find_cached(hash);
  if (known && known->program->stats().compiled) {
    if (known->shared_runs > 0 && (known->shared_runs = std::max(known->shared_runs - runs, 0)) == 0) known->program = compiled(graph, known->lines, false);
    return known->program;
  }
  auto lines = known ? known->lines : std::vector<std::string>();
  auto changing = changing_structure(graph, changes);
  if (known && changing && waits(*known, *changing->costs, graph, runs)) return known->program;
  auto program = known ? nullptr : program_for_once(graph, changing, !changes && latest().were_in_vain());
  if (!program) program = compiled_for(graph, lines, changing);
  if (!changes && program->stats().compiled) latest().add(hash);  // somebody else knows of the others that they come again
  keep({hash, program, std::move(lines), runs_in_haste(*program)});
  return program;
}

void run(std::shared_ptr<Program>& program, const Graph& graph, bool changes, void* const* inputs, void* const* outputs) {
  try {
    return program->run(inputs, outputs);
  } catch (const c10::Error& error) {
    static Counter failures("cresset.eager_failed");
    if (program->stats().compiled) throw;
    failures.add();
    LOG(INFO) << "cresset: compiled after all, as PyTorch's kernels say: " << error.what_without_backtrace();  // with TORCH_CPP_LOG_LEVEL=INFO
  }
  if (auto changing = changing_structure(graph, changes)) changing->costs->needs_compiler = true;
  program = program_for(graph, changes);
  program->run(inputs, outputs);
}

std::string stablehlo_text(const Graph& graph, bool custom_calls) {
  composite::Report report;
  auto module = whole(graph, report);
  if (custom_calls) composite::to_custom_calls(*module, [](mlir::stablehlo::CompositeOp) { return true; });
  std::string text;
  llvm::raw_string_ostream(text) << *module << "\n";
  return text;
}

namespace {

void end_trace() {
  state().recorded = 0;
  state().backwards = 0;
  end_window();
}

// A buffer that only the trace still holds may be overwritten by its cell's new value. `output_of`: each cell's.
void alias_outputs(Graph& graph, const std::vector<Cell*>& cells, const std::vector<size_t>& output_of) {
  if (state().holders > 0) return;
  llvm::DenseSet<const Node*> visible;
  llvm::DenseSet<const Cell*> computed(cells.begin(), cells.end());
  for (Cell* c = Cell::first(); c; c = c->next()) {
    if (c->pending() && !computed.count(c)) return;  // it may read any of them
    if (c->content() && !c->pending()) visible.insert(c->content().node.get());
  }
  llvm::DenseMap<const Node*, int> input_number;
  for (size_t i = 0; i < graph.inputs.size(); ++i) input_number[graph.inputs[i].get()] = int(i);
  std::vector<bool> taken(graph.inputs.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const Node* origin = cells[i]->origin();
    auto it = input_number.find(origin);
    if (it == input_number.end() || taken[it->second] || graph.aliased[output_of[i]] >= 0) continue;
    if (visible.count(origin) || origin->buffer().use_count() != 1) continue;
    const TensorType &from = origin->types()[0], &to = graph.outputs[output_of[i]].type();
    if (from.dtype != to.dtype || from.numel() != to.numel()) continue;
    graph.aliased[output_of[i]] = it->second;
    taken[it->second] = true;
  }
}

// Runs what the cells wait for. With an error nothing has happened: they still wait; a check that fails is thrown after the run.
void execute(const std::vector<Cell*>& cells, const std::vector<IndexCheck>& checks) {
  static Counter executions("cresset.execute");
  Trace& trace = state();
  // Results: each pending value once.
  std::vector<Value> outputs;
  std::vector<size_t> output_of;
  llvm::DenseMap<std::pair<const Node*, uint32_t>, size_t> known;
  for (Cell* c : cells) {
    auto [position, added] = known.insert({{c->content().node.get(), c->content().index}, outputs.size()});
    if (added) outputs.push_back(c->content());
    output_of.push_back(position->second);
  }
  for (const IndexCheck& check : checks) outputs.push_back(check.outside);
  Graph graph = make_graph(outputs);
  alias_outputs(graph, cells, output_of);
  auto program = program_for(graph);
  note_run(program);
  auto begun = take_early_run(program, graph.inputs);

  auto start = std::chrono::steady_clock::now();
  std::vector<void*> inputs, results;
  std::vector<BufferPtr> buffers;
  for (const NodePtr& n : graph.inputs) inputs.push_back(n->data());
  try {
    for (size_t j = 0; j < outputs.size(); ++j) {
      BufferPtr given = graph.aliased[j] >= 0 ? graph.inputs[graph.aliased[j]]->buffer() : begun ? begun->output(j) : nullptr;
      buffers.push_back(given ? given : Buffer::allocate(program->outputs()[j].bytes));
      results.push_back(buffers.back()->data());
    }
    llvm::SaveAndRestore executing(trace.executing, true);
    if (begun) begun->finish(inputs.data(), results.data());
    else run(program, graph, false, inputs.data(), results.data());
  } catch (const std::runtime_error& error) {
    // A kernel of a plugin failed. What was to be overwritten may be lost.
    if (graph.overwrites())
      for (Cell* c : cells) c->fail(error.what());
    TORCH_CHECK(false, error.what());
  } catch (const std::bad_alloc&) {
    size_t wanted = program->stats().arena_bytes;
    for (const Port& port : program->outputs()) wanted += port.bytes;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "cresset: out of memory: ", graph.nodes.size(), " pending operators need ", wanted >> 20, " MiB for results and temporaries, ",
                     memory_stats().in_use >> 20, " MiB are in use");
  }
  trace.execute_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  executions.add();
  note_executed(program, graph.inputs);

  std::vector<NodePtr> leaves;
  for (size_t j = 0; j < outputs.size(); ++j) leaves.push_back(NodeFactory::input(buffers[j], outputs[j].type()));
  for (size_t i = 0; i < cells.size(); ++i) cells[i]->materialise(leaves[output_of[i]]);
  for (size_t i = 0; i < checks.size(); ++i)
    if (*static_cast<const bool*>(results[outputs.size() - checks.size() + i])) throw checks[i];
}

// All of these cells that can be computed; the others remember why not. The first error, if there was one.
std::optional<c10::Error> execute_possible(const std::vector<Cell*>& cells) {
  try {
    execute(cells, {});
    return std::nullopt;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    if (cells.size() == 1) {
      cells[0]->fail(error.what_without_backtrace());
      return error;
    }
    size_t half = cells.size() / 2;
    auto first = execute_possible({cells.begin(), cells.begin() + half}), second = execute_possible({cells.begin() + half, cells.end()});
    return first ? first : second;
  }
}

}  // namespace

void IndexCheck::raise() const {
  TORCH_CHECK_INDEX(!index_error, message);
  TORCH_CHECK(index_error, message);
}

// A capture has its own.
static std::vector<IndexCheck>& checks_now() {
  auto* captured = checks_of_capture();
  return captured ? *captured : state().checks;
}

void check_later(const Value& integers, int64_t low, int64_t high, std::optional<int64_t> allowed, std::string message, bool index_error) {
  std::lock_guard lock(trace_mutex());
  check_later(make_value(builtin::any_outside, {integers}, {low, high, allowed ? Attribute(*allowed) : Attribute()}, {at::kBool, {}}), std::move(message), index_error);
}

void check_later(const at::Tensor& integers, int64_t low, int64_t high, std::optional<int64_t> allowed, std::string message, bool index_error) {
  std::lock_guard lock(trace_mutex());
  check_later(read(integers), low, high, allowed, std::move(message), index_error);
}

void check_later(Value outside, std::string message, bool index_error) {
  std::lock_guard lock(trace_mutex());
  std::vector<IndexCheck>& checks = checks_now();
  for (const IndexCheck& known : checks)
    if (known.outside == outside && known.message == message) return;
  checks.push_back({std::move(outside), std::move(message), index_error});
}

std::vector<IndexCheck> take_checks() {
  std::lock_guard lock(trace_mutex());
  return std::exchange(checks_now(), {});
}

namespace {

// Runs all that is pending. What can't be computed does not keep the rest from it, and is returned; an index out of range is thrown.
std::optional<c10::Error> run_pending() {
  // What is recorded on a capture's stand-ins belongs to the captured program.
  if (state().executing || capturing() || recording_body()) return std::nullopt;
  llvm::scope_exit at_exit(end_trace);
  std::vector<Cell*> cells;
  for (Cell* c = Cell::first(); c; c = c->next())
    if (c->pending() && !c->graph() && c->failure().empty()) cells.push_back(c);
  auto checks = take_checks();
  if (cells.empty() && checks.empty()) return std::nullopt;
  std::optional<c10::Error> ran_into;
  try {
    execute(cells, checks);
    return std::nullopt;
  } catch (const IndexCheck& failed) {
    failed.raise();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    ran_into = error;
  }
  std::erase_if(cells, [](Cell* c) { return !c->failure().empty(); });
  // The checks first: they read what the cells' programs may overwrite.
  std::optional<IndexCheck> failed;
  for (const IndexCheck& check : checks) {
    try {
      execute({}, {check});
    } catch (const IndexCheck& outside) {
      failed = outside;
    } catch (const c10::Error&) {
      // Its indices are what can't be computed; so is what reads them.
    }
  }
  auto error = cells.empty() ? std::nullopt : execute_possible(cells);
  if (failed) failed->raise();
  return error ? error : ran_into;
}

}  // namespace

void sync() {
  std::lock_guard lock(trace_mutex());
  if (auto error = run_pending()) throw *error;
}

void run_for(Cell& cell) {
  std::lock_guard lock(trace_mutex());
  if (cell.failure().empty()) run_pending();
  TORCH_CHECK(cell.failure().empty(), cell.failure());
}

BufferPtr computed(Value value) {
  std::lock_guard lock(trace_mutex());
  at::DimVector strides = c10::contiguous_strides(value.type().sizes);
  at::Tensor holder = make_tensor(std::move(value), strides);
  Cell& cell = Cell::of(holder);
  execute({&cell}, {});
  return cell.content().node->buffer();
}

void bound_trace() {
  if (state().recorded > kMaxPending && state().step_depth == 0) sync();
}

void note_recorded() {
  Trace& trace = state();
  ++trace.recorded;
  int task = torch::autograd::get_current_graph_task_id();
  if (task < 0) {
    trace.graph_tasks.clear();
    // This thread's backwards run on itself: recording has nothing to gain from the engine's thread of the device, and waking it costs more than an operator.
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    return;
  }
  if (std::find(trace.graph_tasks.begin(), trace.graph_tasks.end(), task) != trace.graph_tasks.end()) return;
  trace.graph_tasks.push_back(task);
  torch::autograd::Engine::get_default_engine().queue_callback([task] {
    std::lock_guard lock(trace_mutex());
    std::erase(state().graph_tasks, task);
    // A loop without an optimizer's hook: its second backward ends the window.
    if (state().graph_tasks.empty() && ++state().backwards > 1 && state().step_depth == 0) sync();
  });
}

void begin_optimizer_step() {
  std::lock_guard lock(trace_mutex());
  state().optimizing = true;
}
bool in_optimizer_step() { return state().optimizing; }
void end_optimizer_step() {
  std::lock_guard lock(trace_mutex());
  state().optimizing = false;
  if (state().step_depth == 0) sync();
}
void begin_step() {
  std::lock_guard lock(trace_mutex());
  ++state().step_depth;
}
void end_step() {
  std::lock_guard lock(trace_mutex());
  if (--state().step_depth == 0) sync();
}

std::vector<CompileRecord> compile_records() {
  std::lock_guard lock(trace_mutex());
  return records();
}

std::string metrics_report() {
  std::ostringstream out;
  out << "Counters\n";
  for (auto& [name, value] : counters()) out << "  " << name << "  " << value << "\n";
  out << "Programs compiled\n";
  for (const CompileRecord& r : compile_records())
    out << "  " << r.hash.substr(0, 8) << "  " << r.nodes << " operators, " << r.stats.kernels << " kernels (" << r.stats.unique_kernels << " unique), "
        << r.seconds << " s, arena " << (r.stats.arena_bytes >> 20) << " MiB of " << (r.stats.temporary_bytes >> 20) << " MiB of temporaries, " << (r.stats.donated_bytes >> 20) << " MiB written over inputs, "
        << (r.stats.kept_bytes >> 20) << " MiB kept of weights alone: " << r.why
        << (r.where.empty() ? "" : "; first recorded otherwise: ") << r.where << "\n";
  {
    std::lock_guard lock(trace_mutex());
    out << "Programs ran for " << state().execute_seconds << " s in all\n";
  }
  MemoryStats m = memory_stats();
  out << "Memory\n  in use " << (m.in_use >> 20) << " MiB, peak " << (m.peak >> 20) << " MiB, kept for reuse " << (m.cached >> 20) << " MiB\n";
  return out.str();
}

}  // namespace cresset::trace
