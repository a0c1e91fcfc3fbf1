#include "trace/composite.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "trace/step.h"
#include "trace/window.h"

namespace cresset::trace {
namespace {

struct Recording {
  Recording* around;                         // the body that this one is recorded within
  std::vector<at::Tensor> placeholders;      // undefined for absent arguments
  std::vector<NodePtr> leaves;               // theirs
  std::unordered_set<NodePtr> known_before;  // materialised values that exist already
  std::vector<std::pair<size_t, ArgumentCheck>> checks;
};
// Other threads go on meanwhile. A backward within a body runs on its thread (note_recorded).
thread_local Recording* recording = nullptr;

// What is still held of the body is nobody's.
void end_recording() {
  Cell::forget(recording);
  for (const at::Tensor& placeholder : recording->placeholders)
    if (placeholder.defined()) Cell::of(placeholder).forget();
  delete std::exchange(recording, recording->around);
}

std::string* forever(const std::string& text) { return new std::string(text); }

// Operators live as long as the process; equal ones are one object.
const Operator* intern(const std::string& name, int version, std::vector<std::string> attributes, Body body) {
  static auto* known = new std::map<std::string, const Operator*>;
  // Programs are told apart by name and overload.
  std::string overload = std::to_string(version) + '|' + body.graph.hash;
  for (uint32_t operand : body.operand_of_input) overload += ',' + std::to_string(operand);
  for (const std::string& a : attributes) overload += '|' + a;
  const Operator*& op = (*known)[name + '|' + overload];
  if (op) return op;
  auto* names = new std::vector<const char*>;
  for (const std::string& a : attributes) names->push_back(forever(a)->c_str());
  names->push_back(nullptr);
  const char* own = forever(name)->c_str();
  return op = new Operator{own, forever(overload)->c_str(), new Counter("cresset::" + name), own, nullptr, names->data(), nullptr, version, new Body(std::move(body))};
}

}  // namespace

bool recording_body() { return recording; }
const void* body_of_thread() { return recording; }
void check_not_in_body(const char* what) {
  TORCH_CHECK(!recording, "cresset: a composite's function must not ", what);
}
static bool is_argument(const Cell& cell) {
  return std::any_of(recording->placeholders.begin(), recording->placeholders.end(), [&](const at::Tensor& p) { return p.defined() && &Cell::of(p) == &cell; });
}
void check_read_in_body(const Cell& cell) {  // what is there already: see end_body
  if (!recording || !cell.pending() || cell.graph() == recording) return;
  TORCH_CHECK(is_argument(cell), "cresset: a composite's function uses a tensor that is not one of its arguments; pass it as an argument");
}
void check_written_in_body(const Cell& cell) {
  if (!recording || !cell.content() || cell.graph() == recording) return;
  TORCH_CHECK(is_argument(cell), "cresset: a composite's function must not write to a tensor that was there before; return the new value instead");  // arguments: see end_body
}

MaybeTensors begin_body(const MaybeTensors& arguments) {
  std::lock_guard lock(trace_mutex());
  auto body = std::make_unique<Recording>(recording);
  for (Cell* c = Cell::first(); c; c = c->next())
    if (c->content() && !c->pending()) body->known_before.insert(c->content().node);
  MaybeTensors result;
  for (const auto& argument : arguments) {
    if (!argument || !argument->defined()) {
      body->placeholders.emplace_back();
      body->leaves.emplace_back();
      result.emplace_back();
      continue;
    }
    TensorType type{argument->scalar_type(), at::DimVector(argument->sizes())};
    body->leaves.push_back(NodeFactory::input({}, type));
    auto dense = at::empty_like(*argument, argument->options().device(at::kMeta));
    body->placeholders.push_back(make_tensor({body->leaves.back(), 0}, dense.strides()));
    result.push_back(body->placeholders.back());
  }
  recording = body.release();
  return result;
}

void abort_body() {
  std::lock_guard lock(trace_mutex());
  if (recording) end_recording();
}

void check_argument(Value value, ArgumentCheck check) {
  std::lock_guard lock(trace_mutex());
  auto moves = [](const Operator& op) { return &op == &builtin::reshape || &op == &builtin::permute || &op == &builtin::convert || &op == &builtin::expand; };
  while (moves(value.node->op())) value = value.node->operands()[0];
  auto leaf = std::find(recording->leaves.begin(), recording->leaves.end(), value.node);
  if (leaf != recording->leaves.end()) recording->checks.push_back({size_t(leaf - recording->leaves.begin()), std::move(check)});
}

std::shared_ptr<Composite> end_body(const std::string& name, int version, const std::vector<std::pair<std::string, Attribute>>& attributes,
                                    const std::vector<at::Tensor>& results) {
  std::lock_guard lock(trace_mutex());
  TORCH_CHECK(recording, "cresset: no composite is being recorded");
  std::unordered_map<const Node*, uint32_t> argument_of;
  for (size_t i = 0; i < recording->leaves.size(); ++i) {
    if (!recording->leaves[i]) continue;
    argument_of[recording->leaves[i].get()] = uint32_t(i);
    if (recording->placeholders[i].numel() == 0) continue;  // nobody can
    Value now = read(recording->placeholders[i]);
    TORCH_CHECK(now.node == recording->leaves[i], "cresset: composite ", name, " changes its argument ", i, " in place; return the new value instead");
  }
  auto composite = std::make_shared<Composite>();
  composite->checks_ = std::move(recording->checks);
  std::vector<Value> values;
  for (const at::Tensor& t : results) {
    TORCH_CHECK(t.defined() && t.device().type() == c10::DeviceType::PrivateUse1, "cresset: composite ", name, " must return tensors of its arguments' device");
    values.push_back(read(t));
    auto dense = at::empty_like(t, t.options().device(at::kMeta));
    composite->types_.push_back({t.scalar_type(), at::DimVector(t.sizes())});
    composite->strides_.emplace_back(dense.strides());
  }
  Body body;
  body.graph = make_graph(values);
  for (const NodePtr& input : body.graph.inputs) {
    if (auto it = argument_of.find(input.get()); it != argument_of.end()) {
      body.operand_of_input.push_back(it->second);
      continue;
    }
    TORCH_CHECK(!recording->known_before.count(input), "cresset: composite ", name, " uses a tensor that is not one of its arguments; pass it as an argument");
    TORCH_CHECK(&input->op() == &builtin::scalar || input->buffer(), "cresset: composite ", name, " uses an argument of the composite around it; pass it as an argument");
    body.operand_of_input.push_back(uint32_t(recording->leaves.size() + composite->leaves_.size()));
    composite->leaves_.push_back(input);
  }
  std::vector<std::string> names;
  for (const auto& [attribute, value] : attributes) {
    names.push_back(attribute);
    composite->attributes_.push_back(value);
  }
  composite->op_ = intern(name, version, std::move(names), std::move(body));
  end_recording();
  return composite;
}

std::vector<at::Tensor> Composite::record(const MaybeTensors& arguments) const {
  for (const auto& [argument, check] : checks_) check(*arguments[argument]);
  std::lock_guard lock(trace_mutex());
  op_->counter->add();
  Node::Operands operands;
  for (const auto& argument : arguments) operands.push_back(argument && argument->defined() ? read(*argument) : Value());
  for (const NodePtr& leaf : leaves_) operands.push_back({leaf, 0});
  NodePtr node = NodeFactory::make(*op_, std::move(operands), attributes_, Node::Types(types_.begin(), types_.end()));
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < types_.size(); ++i) {
    results.push_back(make_tensor({node, uint32_t(i)}, strides_[i]));
    note_recorded();
  }
  note_operator(reinterpret_cast<uint64_t>(this), 0, node->operands());
  return results;
}

}  // namespace cresset::trace
