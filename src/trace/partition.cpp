#include "trace/partition.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "composite/catalogue.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "trace/capture.h"
#include "trace/cell.h"

namespace cresset::trace {
namespace {

using Key = std::pair<const Node*, uint32_t>;  // of a value
Key key_of(const Value& v) { return {v.node.get(), v.index}; }

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

// Dinic's algorithm.
class Flow {
 public:
  int vertex() {
    out_.emplace_back();
    return int(out_.size()) - 1;
  }
  void edge(int from, int to, int64_t capacity) {
    out_[from].push_back(int(edges_.size()));
    edges_.push_back({to, capacity});
    out_[to].push_back(int(edges_.size()));
    edges_.push_back({from, 0});
  }
  /// After the largest flow: for each vertex whether the sink can still be reached. Of all least cuts this is the one nearest to the sink.
  std::vector<bool> reaching(int source, int sink) {
    while (levels(source, sink)) {
      next_.assign(out_.size(), 0);
      while (augment(source, sink)) {
      }
    }
    std::vector<bool> reaches(out_.size());
    std::vector<int> queue{sink};
    reaches[sink] = true;
    while (!queue.empty()) {
      int v = queue.back();
      queue.pop_back();
      for (int e : out_[v])
        if (int from = edges_[e].to; edges_[e ^ 1].left > 0 && !reaches[from]) reaches[from] = true, queue.push_back(from);
    }
    return reaches;
  }

 private:
  struct Edge {
    int to;
    int64_t left;
  };
  bool levels(int source, int sink) {
    level_.assign(out_.size(), -1);
    level_[source] = 0;
    std::vector<int> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (int e : out_[queue[i]])
        if (edges_[e].left > 0 && level_[edges_[e].to] < 0) level_[edges_[e].to] = level_[queue[i]] + 1, queue.push_back(edges_[e].to);
    return level_[sink] >= 0;
  }
  bool augment(int source, int sink) {
    std::vector<int> path;  // edges
    for (int v = source; v != sink;) {
      auto& next = next_[v];
      while (next < out_[v].size() && !(edges_[out_[v][next]].left > 0 && level_[edges_[out_[v][next]].to] == level_[v] + 1)) ++next;
      if (next < out_[v].size()) {
        path.push_back(out_[v][next]);
        v = edges_[path.back()].to;
      } else if (path.empty()) {
        return false;
      } else {
        v = edges_[path.back() ^ 1].to;
        path.pop_back();
        ++next_[v];
      }
    }
    int64_t amount = kUnbounded;
    for (int e : path) amount = std::min(amount, edges_[e].left);
    for (int e : path) edges_[e].left -= amount, edges_[e ^ 1].left += amount;
    return true;
  }
  std::vector<Edge> edges_;  // each followed by its reverse
  std::vector<std::vector<int>> out_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

// What an operator costs little to compute again.
bool is_cheap(const Operator& op) {
  static auto* known = new llvm::DenseMap<const Operator*, bool>;
  auto [it, added] = known->insert({&op, false});
  if (!added) return it->second;
  std::string_view name = op.name;
  if (op.body || !is_lowered(op) || (op.composite && composite::is_saved(op.composite))) return false;
  static const std::set<std::string_view> others{"aten::fill", "aten::zero", "aten::cat", "aten::stack", "aten::constant_pad_nd", "aten::triu", "aten::tril", "aten::flip", "aten::roll", "aten::repeat"};
  if (name.starts_with("cresset::") || others.count(name)) return it->second = true;
  auto schema = c10::Dispatcher::singleton().findSchema({op.name, op.overload});
  return it->second = schema && (schema->hasTag(at::Tag::pointwise) || schema->hasTag(at::Tag::reduction));
}

bool can_be_repeated(const Node& n) {
  if (n.operands().empty()) return true;
  // A scalar operand within a capture is the seed or offset of random numbers.
  return is_cheap(n.op()) && std::none_of(n.operands().begin(), n.operands().end(), [](const Value& v) { return v && &v.node->op() == &builtin::scalar; });
}

int64_t bytes_of(const TensorType& t) { return t.numel() * int64_t(c10::elementSize(t.dtype)); }

// The nodes below the roots, operands first; not below what `stops`.
template <class Stops>
std::vector<Node*> ordered(const std::vector<Value>& roots, Stops stops) {
  std::vector<Node*> order;
  llvm::DenseSet<const Node*> seen;
  std::vector<std::pair<Node*, size_t>> stack;
  auto enter = [&](const Value& v) {
    if (v && !stops(v) && seen.insert(v.node.get()).second) stack.push_back({v.node.get(), 0});
  };
  for (const Value& root : roots) {
    enter(root);
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (next < n->operands().size()) {
        enter(n->operands()[next++]);
      } else {
        order.push_back(n);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<Value> contents(const std::vector<at::Tensor>& tensors) {
  std::vector<Value> values;
  for (const at::Tensor& t : tensors)
    if (t.defined() && Cell::of(t).content()) values.push_back(Cell::of(t).content());
  return values;
}

// Which values the forward's program hands over. `order`: the gradients' nodes; `gone`: leaves that the backward will not find, as the forward wrote over them
// or drew them.
std::vector<Value> choose(const std::vector<Node*>& order, const llvm::DenseSet<const Node*>& forward, const llvm::DenseSet<const Node*>& tangents,
                          const llvm::DenseSet<const Node*>& gone) {
  Flow flow;
  int source = flow.vertex(), sink = flow.vertex();
  llvm::DenseMap<const Node*, int> computed;  // its vertex; of those that do not depend on tangents
  llvm::DenseMap<Key, int> used;
  std::vector<std::pair<Value, std::pair<int, int>>> candidates;  // and the ends of its edge
  llvm::DenseSet<const Node*> dependent = tangents;
  for (Node* n : order) {
    bool depends = dependent.count(n) || std::any_of(n->operands().begin(), n->operands().end(), [&](const Value& v) { return v && dependent.count(v.node.get()); });
    if (depends) dependent.insert(n);
    int vertex = depends ? sink : flow.vertex();
    if (!depends) computed[n] = vertex;
    if (!depends && (is_leaf(*n) || (forward.count(n) && !can_be_repeated(*n)))) flow.edge(source, vertex, kUnbounded);
    for (const Value& v : n->operands()) {
      if (!v || dependent.count(v.node.get())) continue;
      auto [it, added] = used.insert({key_of(v), -1});
      if (added) {
        it->second = flow.vertex();
        bool leaf = is_leaf(*v.node) && !gone.count(v.node.get()), can_be_saved = is_leaf(*v.node) || forward.count(v.node.get());
        flow.edge(computed[v.node.get()], it->second, leaf ? 0 : can_be_saved ? bytes_of(v.type()) + 1 : kUnbounded);  // an input is there in any case
        if (!leaf && can_be_saved) candidates.push_back({v, {computed[v.node.get()], it->second}});
      }
      flow.edge(it->second, vertex, kUnbounded);
    }
  }
  std::vector<bool> reaches = flow.reaching(source, sink);
  std::vector<Value> chosen;
  for (auto& [value, ends] : candidates)
    if (!reaches[ends.first] && reaches[ends.second]) chosen.push_back(value);
  return chosen;
}

}  // namespace

Partition partition(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& tangents,
                    const std::vector<at::Tensor>& gradients) {
  std::lock_guard lock(trace_mutex());
  TORCH_CHECK(capturing(), "cresset: a forward and its gradient are parted within a capture");
  auto nowhere = [](const Value&) { return false; };
  llvm::DenseSet<const Node*> forward, given;
  for (Node* n : ordered(contents(outputs), nowhere)) forward.insert(n);
  for (const Value& v : contents(tangents)) given.insert(v.node.get());
  Partition result;
  llvm::DenseMap<Key, Value> replaced;
  std::vector<Node*> order = ordered(contents(gradients), nowhere);
  llvm::DenseSet<const Node*> now_there, gone;
  for (const at::Tensor& t : inputs)
    if (has_own_leaf(Cell::of(t))) now_there.insert(Cell::of(t).content().node.get());
  for (Node* n : order)
    if (is_random(*n) || (is_leaf(*n) && is_input_of_capture(*n) && !now_there.count(n) && !given.count(n))) gone.insert(n);
  for (const Value& v : choose(order, forward, given, gone)) {
    result.saved.push_back(make_tensor(v, c10::contiguous_strides(v.type().sizes)));
    result.stand_ins.push_back(stand_in(v.type()));
    replaced[key_of(v)] = Cell::of(result.stand_ins.back()).content();
  }
  // Nodes don't change: what is above a saved value is made anew on its stand-in.
  llvm::DenseMap<const Node*, NodePtr> anew;
  auto now = [&](const Value& v) {
    auto it = replaced.find(key_of(v));
    return it != replaced.end() ? it->second : Value{anew.lookup(v.node.get()), v.index};
  };
  llvm::DenseSet<const Node*> leaves;
  for (Node* n : ordered(contents(gradients), [&](const Value& v) { return replaced.count(key_of(v)) > 0; })) {
    Node::Operands operands;
    for (const Value& v : n->operands()) operands.push_back(v ? now(v) : Value());
    if (is_leaf(*n)) leaves.insert(n);
    bool same = std::equal(operands.begin(), operands.end(), n->operands().begin());
    anew[n] = same ? NodePtr::reclaim_copy(n) : NodeFactory::make(n->op(), std::move(operands), n->attributes(), n->types());
  }
  llvm::DenseSet<const Cell*> done;
  for (const at::Tensor& t : gradients)
    if (t.defined() && Cell::of(t).content() && done.insert(&Cell::of(t)).second) {
      Value v = now(Cell::of(t).content());
      if (!(v == Cell::of(t).content())) Cell::of(t).set_content(std::move(v));
    }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Cell& cell = Cell::of(inputs[i]); has_own_leaf(cell) && leaves.count(cell.content().node.get())) result.used.push_back(i);
  return result;
}

}  // namespace cresset::trace
