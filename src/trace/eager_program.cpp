#include "trace/eager_program.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <chrono>
#include <cstring>
#include <set>
#include <unordered_map>

#include "generated/operators.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/profile.h"
#include "trace/composite.h"
#include "trace/schema.h"
#include "trace/step.h"

namespace cresset::trace {
namespace {

constexpr int kAbsent = -1;

using Tensors = std::vector<at::Tensor>;
class EagerGraph;

// An operator that is compiled, alone.
struct Piece {
  std::shared_ptr<Program> program;
  std::vector<size_t> operands;  // of the operator, in the order of the program's inputs
  std::vector<size_t> results;   // likewise
};

// One node, without the leaves below it: whose bytes they are changes from run to run.
struct Step {
  const Operator* op;
  std::optional<c10::OperatorHandle> kernel;  // or its results are made here
  std::shared_ptr<EagerGraph> body;           // or they are a graph's,
  std::shared_ptr<Piece> piece;               // or PyTorch has nothing for it
  Node::Attributes attributes;
  Node::Types types;
  c10::SmallVector<int, 4> operands;  // places of values; kAbsent
  int results = 0;                    // the place of the first one; others follow
  c10::SmallVector<int, 4> ends;      // what is read here for the last time
};

// native_batch_norm would move the running statistics in place.
const char* kernel_name(const Step& s) {
  constexpr size_t kRunningMean = 3, kTraining = 0;
  bool moves = s.op == &op::native_batch_norm && s.operands[kRunningMean] != kAbsent && std::get<bool>(s.attributes[kTraining]);
  return moves ? "aten::_native_batch_norm_legit_functional" : s.op->eager;
}

bool is_recorded(const Step& s, const c10::Argument& a, size_t attribute) { return s.op->attributes[attribute] && a.name() == s.op->attributes[attribute]; }

c10::IValue as_argument(const Attribute& attribute, const c10::Argument& a, const std::function<at::Tensor(uint32_t)>& operand) {
  const bool is_float = inner_type(a).kind() == c10::TypeKind::FloatType;
  return std::visit(
      [&](const auto& v) -> c10::IValue {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) return {};
        else if constexpr (std::is_same_v<T, at::ScalarType>) return int64_t(v);
        else if constexpr (std::is_same_v<T, ScalarOperand>) return is_float ? c10::IValue(operand(v.operand).item().toDouble()) : c10::IValue(operand(v.operand).item());
        else if constexpr (std::is_same_v<T, int64_t>) return is_float ? c10::IValue(double(v)) : c10::IValue(v);
        else if constexpr (requires { v.begin(); } && !std::is_same_v<T, std::string>) {
          c10::List<typename T::value_type> list;
          for (auto x : v) list.push_back(x);
          return list;
        } else return c10::IValue(v);
      },
      attribute);
}

// PyTorch's kernel for the CPU takes masks that are added only; scaled_dot_product_attention makes them of others, too.
at::Tensor added_mask(const at::Tensor& mask, const at::Tensor& query) {
  return at::zeros(mask.sizes(), query.options()).masked_fill_(mask.logical_not(), -std::numeric_limits<double>::infinity());
}

// The arguments as the schema wants them. Walked once without values to see whether they are all there.
class Arguments {
 public:
  explicit Arguments(const Step& step) : step_(step), schema_(step.kernel->schema()) {}

  bool are_complete() const {
    size_t operand = 0, attribute = 0, numbers = 0, outs = 0;  // of what is written there is a dtype among the attributes
    for (const c10::Argument& a : schema_.arguments()) {
      if (is_tensor(a)) {
        ++(is_out(a) ? outs : operand);
      } else if (is_recorded(step_, a, attribute)) {
        const Attribute& value = step_.attributes[attribute++];
        numbers += std::holds_alternative<ScalarOperand>(value);
        if (is_list_of_tensors(a)) operand += size_t(std::get<int64_t>(value));
      } else if (!a.default_value() && a.type()->kind() != c10::TypeKind::OptionalType) {
        return false;
      }
    }
    return operand + numbers == step_.operands.size() && attribute + outs == step_.attributes.size();
  }

  torch::jit::Stack stack(const Tensors& values) const {
    auto at = [&](size_t operand) { return step_.operands[operand] == kAbsent ? at::Tensor() : values[step_.operands[operand]]; };
    torch::jit::Stack stack;
    size_t operand = 0, attribute = 0;
    for (const c10::Argument& a : schema_.arguments()) {
      if (is_out(a)) stack.push_back(at::empty({0}, step_.types[0].dtype));
      else if (is_tensor(a)) stack.push_back(tensor(a, at(operand++), stack));
      else if (!is_recorded(step_, a, attribute)) stack.push_back(a.default_value() ? *a.default_value() : c10::IValue());
      else if (const Attribute& value = step_.attributes[attribute++]; is_list_of_tensors(a)) stack.push_back(list(a, size_t(std::get<int64_t>(value)), operand, at));
      else stack.push_back(as_argument(value, a, at));
    }
    return stack;
  }

 private:
  c10::IValue tensor(const c10::Argument& a, const at::Tensor& t, const torch::jit::Stack& before) const {
    if (!t.defined()) return a.type()->kind() == c10::TypeKind::OptionalType ? c10::IValue() : c10::IValue(t);
    if (is_written(a)) return t.clone();
    if (a.name() == "attn_mask" && t.scalar_type() == at::kBool) return added_mask(t, before[0].toTensor());
    // PyTorch's kernel takes heads' widths to be dense; scaled_dot_product_attention chooses another one where they are not.
    const bool dense = step_.op == &op::_scaled_dot_product_flash_attention_for_cpu || step_.op == &op::_scaled_dot_product_flash_attention_for_cpu_backward;
    if (dense && t.dim() == 4 && t.stride(-1) != 1) return t.contiguous();
    return t;
  }
  template <class At>
  c10::IValue list(const c10::Argument& a, size_t count, size_t& operand, At at) const {
    c10::List<std::optional<at::Tensor>> some;
    c10::List<at::Tensor> all;
    const bool optional = a.type()->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::OptionalType;
    for (; count > 0; --count) {
      at::Tensor t = at(operand++);
      if (optional) some.push_back(t.defined() ? std::optional(t) : std::nullopt);
      else all.push_back(is_written(a) ? t.clone() : t);
    }
    return optional ? c10::IValue(some) : c10::IValue(all);
  }

  const Step& step_;
  const c10::FunctionSchema& schema_;
};

Tensors flattened(torch::jit::Stack results) {
  Tensors all;
  for (c10::IValue& v : results) {
    if (v.isTensor()) all.push_back(std::move(v).toTensor());
    else if (v.isTensorList()) for (at::Tensor t : v.toTensorList()) all.push_back(std::move(t));
  }
  return all;
}

// PyTorch has no such kernel for the CPU, where autograd sees what linear consists of.
Tensors linear_backward(const Step& s, const Tensors& in) {
  const at::Tensor &x = in[0], &gradient = in[1], &weight = in[2];
  const auto& wanted = std::get<std::vector<bool>>(s.attributes[0]);
  at::Tensor rows = gradient.reshape({-1, gradient.size(-1)});
  return {wanted[0] ? rows.mm(weight).reshape(x.sizes()) : at::Tensor(), wanted[1] ? rows.t().mm(x.reshape({-1, x.size(-1)})) : at::Tensor(), wanted[2] ? rows.sum(0) : at::Tensor()};
}

const std::vector<int64_t>& integers(const Step& s, size_t attribute) { return std::get<std::vector<int64_t>>(s.attributes[attribute]); }
at::Tensor window(const at::Tensor& base, const Step& s) { return base.as_strided(integers(s, 0), integers(s, 1), base.storage_offset() + std::get<int64_t>(s.attributes[2])); }

// Of one that nobody else reads, its own memory may be written.
at::Tensor window_write(at::Tensor base, const at::Tensor& update, const Step& s) {
  window(base, s).copy_(update.reshape(integers(s, 0)));
  return base;
}

at::Tensor any_outside(const at::Tensor& x, const Step& s) {
  at::Tensor outside = x.lt(std::get<int64_t>(s.attributes[0])).logical_or_(x.ge(std::get<int64_t>(s.attributes[1])));
  if (auto* allowed = std::get_if<int64_t>(&s.attributes[2])) outside.logical_and_(x.ne(*allowed));
  return outside.any();
}

at::Tensor constant(const Step& s) {
  return std::visit(
      [&](const auto& v) -> at::Tensor {
        if constexpr (std::is_constructible_v<at::Scalar, decltype(v)>) return at::full({}, at::Scalar(v), s.types[0].dtype).expand(s.types[0].sizes);
        else TORCH_CHECK(false, "cresset: a constant that is no number");
      },
      s.attributes[0]);
}

// What lowering/builtin.cpp lowers, by PyTorch's views where it has them. `owned`: the first operand's memory is the result's to take.
at::Tensor builtin_result(const Step& s, const Tensors& in, bool owned) {
  const Operator* op = s.op;
  if (op == &builtin::constant) return constant(s);
  if (op == &builtin::window_read) return window(in[0].contiguous(), s);
  if (op == &builtin::window_write) return window_write(owned && in[0].is_contiguous() ? in[0] : in[0].clone(at::MemoryFormat::Contiguous), in[1], s);
  if (op == &builtin::reshape) return in[0].reshape(s.types[0].sizes);
  if (op == &builtin::permute) return in[0].permute(integers(s, 0));
  if (op == &builtin::convert) return in[0].to(s.types[0].dtype);
  if (op == &builtin::expand) return in[0].expand(s.types[0].sizes);
  if (op == &builtin::barrier) return in[0];
  if (op == &builtin::bitcast) return in[0].reshape({-1}).view(s.types[0].dtype);
  if (op == &builtin::any_outside) return any_outside(in[0], s);
  TORCH_CHECK(false, "cresset: ", op->name, " is no operator of PyTorch's");
}

// PyTorch's kernels of the CPU and nothing above them, whatever the caller has switched on.
class KernelsAlone {
  static c10::DispatchKeySet above() {
    using K = c10::DispatchKey;
    return c10::autocast_dispatch_keyset | c10::DispatchKeySet({K::Python, K::PythonTLSSnapshot, K::PythonDispatcher, K::Functionalize, K::FuncTorchBatched, K::FuncTorchVmapMode,
                                                                K::FuncTorchGradWrapper, K::FuncTorchDynamicLayerFrontMode, K::FuncTorchDynamicLayerBackMode});
  }
  at::AutoDispatchBelowADInplaceOrView no_autograd_;
  c10::impl::ExcludeDispatchKeyGuard nothing_else_{above()};
};

at::Tensor over(void* data, const TensorType& type) { return at::from_blob(data, type.sizes, at::TensorOptions().dtype(type.dtype)); }
void check(const at::Tensor& t, const TensorType& type) {
  TORCH_CHECK(t.defined() && t.sizes() == at::IntArrayRef(type.sizes) && t.scalar_type() == type.dtype, "cresset: PyTorch's kernels give another result than was recorded");
}

// Which results of each node are read.
using Used = llvm::DenseMap<const Node*, std::set<uint32_t>>;
Used used_of(const Graph& graph) {
  Used used;
  for (const NodePtr& n : graph.nodes)
    for (const Value& v : n->operands())
      if (v) used[v.node.get()].insert(v.index);
  for (const Value& v : graph.outputs) used[v.node.get()].insert(v.index);
  return used;
}

Piece piece_of(const Node& n, const std::set<uint32_t>& used, const CompilePiece& compile) {
  Piece piece;
  Node::Operands operands;
  llvm::DenseMap<const Node*, size_t> operand_of;
  for (auto [i, v] : llvm::enumerate(n.operands())) {
    operands.push_back(v ? Value{NodeFactory::input(nullptr, v.type()), 0} : Value());
    if (v) operand_of[operands.back().node.get()] = i;
  }
  NodePtr alone = NodeFactory::make(n.op(), std::move(operands), n.attributes(), n.types());
  std::vector<Value> results;
  for (uint32_t i : used) results.push_back({alone, i}), piece.results.push_back(i);
  Graph graph = make_graph(results);
  for (const NodePtr& leaf : graph.inputs) piece.operands.push_back(operand_of.at(leaf.get()));
  piece.program = compile(graph, true, 1);
  return piece;
}

Tensors piece_results(const Step& s, const Tensors& in) {
  Tensors from, results(s.types.size());
  std::vector<void*> inputs, outputs;
  for (size_t i : s.piece->operands) from.push_back(in[i].contiguous()), inputs.push_back(from.back().data_ptr());
  for (size_t i : s.piece->results) results[i] = at::empty(s.types[i].sizes, s.types[i].dtype), outputs.push_back(results[i].data_ptr());
  s.piece->program->run(inputs.data(), outputs.data());
  return results;
}

class EagerGraph {
 public:
  EagerGraph(const Graph& graph, const CompilePiece& compile) {
    llvm::DenseMap<const Node*, int> place;
    auto place_of = [&](const Value& v) { return v ? place.at(v.node.get()) + int(v.index) : kAbsent; };
    Used used = used_of(graph);
    for (const NodePtr& n : graph.inputs) place[n.get()] = inputs_++;
    values_ = inputs_;
    for (const NodePtr& n : graph.nodes) {
      Step step{&n->op(), {}, {}, {}, n->attributes(), n->types(), {}, values_, {}};
      place[n.get()] = step.results;
      values_ += int(n->types().size());
      for (const Value& v : n->operands()) step.operands.push_back(place_of(v));
      if (const Body* body = n->op().body) find_body(step, *body, compile);
      else if (!find_kernel(step)) step.piece = std::make_shared<Piece>(piece_of(*n, used[n.get()], compile));
      steps_.push_back(std::move(step));
    }
    for (const Value& v : graph.outputs) results_.push_back({place_of(v), v.type()});
    find_ends();
  }

  // Which threads can't run at the same time.
  bool has_programs() const {
    return llvm::any_of(steps_, [](const Step& s) { return s.piece || (s.body && s.body->has_programs()); });
  }

  Tensors run(Tensors inputs) const {
    Tensors values = std::move(inputs), results;
    values.resize(size_t(values_));
    for (const Step& s : steps_) run_step(s, values);
    for (auto& [place, type] : results_) {
      check(values[place], type);
      results.push_back(values[place]);
    }
    return results;
  }

 private:
  static bool find_kernel(Step& step) {
    if (is_builtin(*step.op) || step.op == &op::linear_backward) return true;
    if (!step.op->eager) return false;
    step.kernel = c10::Dispatcher::singleton().findSchema({kernel_name(step), step.op->overload});
    if (step.kernel && !Arguments(step).are_complete()) step.kernel.reset();
    return step.kernel.has_value();
  }
  static void find_body(Step& step, const Body& body, const CompilePiece& compile) {
    decltype(step.operands) read;
    for (uint32_t operand : body.operand_of_input) read.push_back(step.operands[operand]);
    step.operands = std::move(read);
    step.body = std::make_shared<EagerGraph>(body.graph, compile);
  }

  void find_ends() {
    std::unordered_map<int, Step*> last;
    for (Step& s : steps_) {
      for (size_t i = 0; i < s.types.size(); ++i) last[s.results + int(i)] = &s;
      for (int v : s.operands)
        if (v >= inputs_) last[v] = &s;
    }
    for (auto& [place, type] : results_) last.erase(place);
    for (auto& [value, step] : last) step->ends.push_back(value);
  }

  void run_step(const Step& s, Tensors& values) const {
    Tensors results;
    if (s.kernel) {
      torch::jit::Stack stack = Arguments(s).stack(values);
      const auto start = std::chrono::steady_clock::now();
      s.kernel->redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
      results = flattened(std::move(stack));
      if (!is_lowered(*s.op)) note_fallback(s, start, results);
    } else {
      Tensors in;
      for (int v : s.operands) in.push_back(v == kAbsent ? at::Tensor() : values[v]);
      if (s.body) results = s.body->run(std::move(in));
      else if (s.piece) results = piece_results(s, in);
      else if (s.op == &op::linear_backward) results = linear_backward(s, in);
      else results.push_back(builtin_result(s, in, is_taken_over(s, in, values)));
    }
    for (size_t i = 0; i < std::min(s.types.size(), results.size()); ++i) values[s.results + i] = std::move(results[i]);
    for (int v : s.ends) values[v].reset();
  }

  static void note_fallback(const Step& s, std::chrono::steady_clock::time_point start, Tensors& results) {
    if (profiling) profile(s.op->name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (s.kernel->schema().returns().empty()) results.push_back(at::zeros({}, at::kBool));
    else s.op->counter->add();
  }

  // Whether nobody else has the first operand, and what it lies over is no input's memory.
  static bool is_taken_over(const Step& s, const Tensors& in, Tensors& values) {
    if (in.empty() || !llvm::is_contained(s.ends, s.operands[0])) return false;
    values[s.operands[0]].reset();
    return in[0].use_count() == 1 && in[0].storage().use_count() == 1 && in[0].storage().resizable();
  }

  std::vector<Step> steps_;
  std::vector<std::pair<int, TensorType>> results_;
  int inputs_ = 0, values_ = 0;
};

class EagerProgram final : public Program {
 public:
  EagerProgram(const Graph& graph, const CompilePiece& compile, bool for_good) : operators_(graph, compile) {
    for (const NodePtr& n : graph.inputs) from_.push_back(n->types()[0]), inputs_.push_back(port_of(from_.back()));
    for (auto [v, aliased] : llvm::zip(graph.outputs, graph.aliased)) {
      to_.push_back(v.type()), outputs_.push_back(port_of(v.type()));
      outputs_.back().aliased = aliased;
    }
    stats_.compiled = for_good;
  }

  std::unique_ptr<Program> twin() const override { return operators_.has_programs() ? nullptr : std::make_unique<EagerProgram>(*this); }
  void run(void* const* inputs, void* const* outputs) override {
    KernelsAlone guard;
    Tensors in, out;
    for (auto [data, type] : llvm::zip(llvm::ArrayRef(inputs, from_.size()), from_)) in.push_back(over(data, type));
    out = operators_.run(in);
    for (at::Tensor& result : out)  // it may be a view of an input that another result is about to overwrite
      if (llvm::any_of(in, [&](const at::Tensor& t) { return t.is_alias_of(result); })) result = result.clone();
    for (auto [data, type, result] : llvm::zip(llvm::ArrayRef(outputs, to_.size()), to_, out)) {
      if (result.is_contiguous()) std::memcpy(data, result.const_data_ptr(), result.nbytes());
      else over(data, type).copy_(result);
    }
  }

 private:
  std::vector<TensorType> from_, to_;
  EagerGraph operators_;
};

}  // namespace

std::shared_ptr<Program> eager_program(const Graph& graph, const CompilePiece& compile, bool for_good) {
  auto is_eager = [](const NodePtr& n) { return n->op().eager || n->op().body; };
  return llvm::any_of(graph.nodes, is_eager) ? std::make_shared<EagerProgram>(graph, compile, for_good) : nullptr;
}

}  // namespace cresset::trace
