#include "trace/structure.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "llvm/ADT/DenseMap.h"
#include "trace/composite.h"
#include "trace/hash.h"

namespace cresset::trace {
namespace {

constexpr size_t kKnownSizes = 2;  // that are compiled for themselves: two sizes that alternate (the last batch of an epoch) stay so
constexpr size_t kMaxStructures = 1024;
constexpr double kNewest = 0.3;    // of a pace is the newest run

std::unordered_map<std::string, std::shared_ptr<Structure>>& structures() {
  static auto* s = new std::unordered_map<std::string, std::shared_ptr<Structure>>;
  return *s;
}

// Everything but sizes and integers.
std::string structure_of(const Graph& graph) {
  llvm::DenseMap<const Node*, uint64_t> numbers;
  Digest d;
  auto types = [&](const Node& n) {
    for (const TensorType& t : n.types()) d.add(uint64_t(t.dtype) << 8 | t.sizes.size());
  };
  for (const NodePtr& n : graph.inputs) numbers[n.get()] = numbers.size(), types(*n);
  for (const NodePtr& n : graph.nodes) {
    numbers[n.get()] = numbers.size();
    // A body is recorded anew for other sizes.
    if (const Body* body = n->op().body) d.add(std::string_view(n->op().name)), d.add(std::string_view(structure_of(body->graph)));
    else d.add(uint64_t(reinterpret_cast<uintptr_t>(&n->op())));
    for (const Value& v : n->operands()) d.add(v ? numbers[v.node.get()] << 32 | v.index : ~0ull);
    for (const Attribute& a : n->attributes()) {
      d.add(a.index());
      if (auto* b = std::get_if<bool>(&a)) d.add(*b);
      if (auto* x = std::get_if<double>(&a)) d.add(c10::bit_cast<uint64_t>(*x));
      if (auto* t = std::get_if<at::ScalarType>(&a)) d.add(uint64_t(*t));
      if (auto* s = std::get_if<std::string>(&a)) d.add(std::string_view(*s));
    }
    types(*n);
  }
  for (const Value& v : graph.outputs) d.add(numbers[v.node.get()] << 32 | v.index);
  return d.hex();
}

uint64_t sizes_of(const Node& n) {
  uint64_t h = 0;
  auto sizes = [&](const TensorType& t) {
    for (int64_t s : t.sizes) h = mix(h, uint64_t(s));
  };
  for (const Value& v : n.operands()) if (v) sizes(v.type());
  for (const TensorType& t : n.types()) sizes(t);
  for (const Attribute& a : n.attributes()) {
    if (auto* i = std::get_if<int64_t>(&a)) h = mix(h, uint64_t(*i));
    if (auto* list = std::get_if<std::vector<int64_t>>(&a)) for (int64_t i : *list) h = mix(h, uint64_t(i));
    if (auto* list = std::get_if<std::vector<bool>>(&a)) for (bool i : *list) h = mix(h, i);
    if (auto* list = std::get_if<std::vector<double>>(&a)) for (double x : *list) h = mix(h, c10::bit_cast<uint64_t>(x));
    if (auto* z = std::get_if<c10::complex<double>>(&a)) h = mix(mix(h, c10::bit_cast<uint64_t>(z->real())), c10::bit_cast<uint64_t>(z->imag()));
  }
  return h;
}

class MeasuredProgram final : public Program {
 public:
  MeasuredProgram(std::shared_ptr<Program> program, std::shared_ptr<Costs> costs, double work) : program_(std::move(program)), costs_(std::move(costs)), work_(work) {
    inputs_ = program_->inputs(), outputs_ = program_->outputs();
    stats_ = program_->stats(), composites_ = program_->composites();
  }

  void run(void* const* inputs, void* const* outputs) override {
    auto start = std::chrono::steady_clock::now();
    program_->run(inputs, outputs);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    (stats_.compiled ? costs_->compiled : costs_->eager).add(seconds, work_);
    if (!stats_.compiled) costs_->lost_seconds += std::max(0.0, seconds - costs_->compiled.seconds(work_));
  }
  std::unique_ptr<EarlyRun> begin(EarlyInputs& inputs) override { return program_->begin(inputs); }
  std::unique_ptr<Program> twin() const override { return program_->twin(); }  // whose runs beside others tell nothing

 private:
  std::shared_ptr<Program> program_;
  std::shared_ptr<Costs> costs_;
  double work_;
};

}  // namespace

void Pace::add(double seconds, double work) {
  double now = seconds / std::max(work, 1.0);
  pace_ = runs_ == 0 ? now : runs_ == 1 ? std::min(pace_, now) : pace_ + kNewest * (now - pace_);
  ++runs_;
}

bool Costs::pays_to_compile(double work) const {
  if (needs_compiler || compile_seconds == 0 || lost_seconds > compile_seconds) return true;
  return eager.is_known() && eager.seconds(work) - compiled.seconds(work) > compile_seconds;
}

std::shared_ptr<const Structure> changing_structure(const Graph& graph, bool known_to_change) {
  if (structures().size() > kMaxStructures) structures().clear();
  std::vector<uint64_t> operators;
  for (const NodePtr& n : graph.nodes) operators.push_back(sizes_of(*n));
  std::shared_ptr<Structure>& structure = structures()[structure_of(graph)];
  if (!structure) structure = std::make_shared<Structure>();
  Structure& known = *structure;
  if (known.operators.empty()) known.operators = operators, known.changes.resize(operators.size());
  for (size_t i = 0; i < operators.size(); ++i)
    if (operators[i] != known.operators[i]) known.changes[i] = true;
  auto& sizes = known.sizes;
  if (std::find(sizes.begin(), sizes.end(), graph.hash) == sizes.end() && sizes.size() <= kKnownSizes) sizes.push_back(graph.hash);
  return sizes.size() > (known_to_change ? 1 : kKnownSizes) ? structure : nullptr;
}

double work_of(const Graph& graph) {
  double work = 0;
  for (const NodePtr& n : graph.nodes)
    for (const TensorType& t : n->types()) work += double(t.numel());
  return work;
}

std::shared_ptr<Program> measured(std::shared_ptr<Program> program, std::shared_ptr<Costs> costs, double work) {
  return std::make_shared<MeasuredProgram>(std::move(program), std::move(costs), work);
}

}  // namespace cresset::trace
