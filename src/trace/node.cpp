#include "trace/node.h"

#include <c10/core/GradMode.h>
#include <pthread.h>
#include <torch/csrc/autograd/graph_task.h>

#include <chrono>
#include <thread>
#include <unordered_map>

#include "runtime/buffer.h"
#include "runtime/early_runner.h"
#include "trace/hash.h"

namespace cresset::trace {
namespace {

// Weak: a node leaves the table when it dies. Leaked on purpose, nodes may die while the process exits.
std::unordered_multimap<uint64_t, Node*>& table() {
  static auto* t = new std::unordered_multimap<uint64_t, Node*>;
  return *t;
}

}  // namespace

// A forked child has none of the threads that may have the trace: nobody has it meanwhile, unless it has waited for the thread that forks for this long, which may hold
// Python's lock. A recursive mutex knows its thread by a number that is another one in the child, which begins with a new mutex.
std::recursive_mutex& trace_mutex() {
  static std::recursive_mutex* m = new std::recursive_mutex;
  static bool held = false;
  static const int at_fork [[maybe_unused]] = [] {
    // Their locks are taken within this one, the memory's last: what is registered last is locked first.
    memory_stats();
    EarlyRunner::get();
    return pthread_atfork(
        [] {
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
          while (!(held = m->try_lock()) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::microseconds(100));
        },
        [] { if (held) m->unlock(); },
        [] { new (m) std::recursive_mutex; });
  }();
  return *m;
}

// A backward runs without gradients, unless it is to be differentiated itself and keeps its graph for that.
bool recomputing() { return c10::GradMode::is_enabled() && !torch::autograd::get_current_graph_task_keep_graph(); }

int64_t TensorType::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

NodePtr NodeFactory::make(const Operator& op, Node::Operands operands, Node::Attributes attributes, Node::Types types) {
  uint64_t h = reinterpret_cast<uint64_t>(&op);
  for (const Value& v : operands) h = mix(mix(h, reinterpret_cast<uint64_t>(v.node.get())), v.index);
  for (const Attribute& a : attributes) for_each_number(a, [&](uint64_t n) { h = mix(h, n); });
  for (const TensorType& t : types) {
    h = mix(h, uint64_t(t.dtype));
    for (int64_t s : t.sizes) h = mix(h, uint64_t(s));
  }
  std::lock_guard lock(trace_mutex());
  auto [begin, end] = table().equal_range(h);
  for (auto it = begin; it != end; ++it) {
    Node* n = it->second;
    if (c10::raw::intrusive_ptr::use_count(n) > 0 && n->op_ == &op && n->operands_ == operands && n->attributes_ == attributes && n->types_ == types)
      return NodePtr::reclaim_copy(n);
  }
  auto node = c10::make_intrusive<Node>();
  node->op_ = &op;
  node->operands_ = std::move(operands);
  node->attributes_ = std::move(attributes);
  node->types_ = std::move(types);
  node->hash_ = h;
  node->recomputed_ = recomputing();
  node->shared_ = true;
  table().emplace(h, node.get());
  return node;
}

NodePtr NodeFactory::input(BufferPtr buffer, TensorType type) {
  auto node = c10::make_intrusive<Node>();
  node->op_ = &builtin::input;
  node->types_.push_back(std::move(type));
  node->buffer_ = std::move(buffer);
  return node;
}

NodePtr NodeFactory::scalar(uint64_t bits, at::ScalarType dtype) {
  auto node = c10::make_intrusive<Node>();
  node->op_ = &builtin::scalar;
  node->types_.push_back({dtype, {}});
  node->number_bits_ = bits;
  return node;
}

Value make_value(const Operator& op, Node::Operands operands, Node::Attributes attributes, TensorType type) {
  Node::Types types;
  types.push_back(std::move(type));
  return {NodeFactory::make(op, std::move(operands), std::move(attributes), std::move(types)), 0};
}

// Long chains must not release each other recursively: operands go to a list that the outermost call empties.
Node::~Node() {
  std::lock_guard lock(trace_mutex());
  if (shared_) {
    auto [begin, end] = table().equal_range(hash_);
    for (auto it = begin; it != end; ++it)
      if (it->second == this) {
        table().erase(it);
        break;
      }
  }
  static auto* waiting = new std::vector<Value>;
  static bool draining = false;
  for (Value& v : operands_) waiting->push_back(std::move(v));
  if (draining) return;
  draining = true;
  while (!waiting->empty()) {
    Value v = std::move(waiting->back());
    waiting->pop_back();
  }
  draining = false;
}

}  // namespace cresset::trace
