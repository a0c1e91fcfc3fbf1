#include "trace/window.h"

#include <algorithm>

#include "runtime/early_runner.h"
#include "runtime/environment.h"
#include "trace/capture.h"
#include "trace/composite.h"
#include "trace/hash.h"
#include "trace/step.h"

namespace cresset::trace {
namespace {

constexpr size_t kKnownWindows = 8;     // recent windows that a new one is compared with while it is recorded
constexpr size_t kFewestOperators = 8;  // of a window that is worth waking a thread for
constexpr int kMostInVain = 3;

// A recent window. What its program read is told by the order in which its leaves first appeared.
struct Known {
  std::vector<uint64_t> operators;  // by hash
  std::shared_ptr<Program> program;  // or null
  std::vector<uint32_t> order;       // of the program's inputs
  uint32_t leaves = 0;
  Known* followed_by = nullptr;
  int in_vain = 0;  // early runs, since it last was the same program twice
};

struct Window {
  uint64_t place = 0;  // a hash of its operators so far, whatever their numbers
  uint64_t mark = 1;  // of the nodes that were seen in it; another one also if nothing was executed
  Known now;
  int programs = 0;
  std::vector<std::unique_ptr<Known>> known;  // different ones; the latest last
  std::vector<Known*> like;                   // those that began as this window does
  Known* previous = nullptr;                  // the one before this window
  bool diverged = false;
  std::string where;

  Known* expected = nullptr;  // what the early run is of
  std::unique_ptr<EarlyRun> run;
  EarlyInputs inputs;
  std::vector<NodePtr> held;  // what the early run may read
};
Window& window() {
  static auto* w = new Window;
  return *w;
}

bool early_runs_wanted() {
  static const bool wanted = !is_switched_off("CRESSET_EARLY");
  return wanted;
}

// Of the windows that begin as this one, the one that followed the last time, or else the latest.
void begin_early_run() {
  Window& w = window();
  Known* next = w.previous ? w.previous->followed_by : nullptr;
  Known& expected = std::find(w.like.begin(), w.like.end(), next) != w.like.end() ? *next : *w.like.back();
  if (!expected.program || expected.operators.size() < kFewestOperators || expected.in_vain >= kMostInVain || !early_runs_wanted()) return;
  w.inputs.order = expected.order;
  w.inputs.data.assign(expected.leaves, nullptr);
  w.inputs.known = 0;
  try {
    w.run = expected.program->begin(w.inputs);
  } catch (const std::bad_alloc&) {
    return;  // the window's execution will say so
  }
  w.expected = &expected;
  if (w.run && !EarlyRunner::get().start(*w.run)) w.run = nullptr;
}

void remember(Known now) {
  Window& w = window();
  auto same = std::find_if(w.known.begin(), w.known.end(), [&](const auto& known) { return known->operators == now.operators; });
  if (same != w.known.end()) {
    now.followed_by = (*same)->followed_by;
    if (now.program != (*same)->program) now.in_vain = (*same)->in_vain;  // other results are wanted than the last time
    **same = std::move(now);
    std::rotate(same, same + 1, w.known.end());
  } else {
    w.known.push_back(std::make_unique<Known>(std::move(now)));
  }
  if (w.previous) w.previous->followed_by = w.known.back().get();
  w.previous = w.known.back().get();
  if (w.known.size() <= kKnownWindows) return;
  for (const auto& known : w.known)
    if (known->followed_by == w.known.front().get()) known->followed_by = nullptr;
  w.known.erase(w.known.begin());
}

// Numbers the leaves below a value in the order in which they appear. What lies between are windows and conversions, which are not operators of the user's.
void note_leaves(const Value& value) {
  Window& w = window();
  if (!value || value.node->mark() == w.mark) return;
  c10::SmallVector<const Node*, 8> waiting{value.node.get()};
  while (!waiting.empty()) {
    const Node* n = waiting.pop_back_val();
    if (n->mark() == w.mark) continue;
    n->set_mark(w.mark, w.now.leaves);
    if (!is_leaf(*n)) {
      if (is_builtin(n->op()))
        for (const Value& v : n->operands())
          if (v) waiting.push_back(v.node.get());
      continue;
    }
    ++w.now.leaves;
    if (!w.run || n->number_in_window() >= w.inputs.data.size()) continue;
    w.held.push_back(NodePtr::reclaim_copy(const_cast<Node*>(n)));
    w.inputs.data[n->number_in_window()] = n->data();
    w.inputs.known.store(w.now.leaves, std::memory_order_release);
    EarlyRunner::get().notify();
  }
}

}  // namespace

std::string (*location_hook)() = nullptr;

uint64_t place_in_window() { return window().place; }

bool note_operator(uint64_t kind, uint64_t constants, c10::ArrayRef<Value> operands, c10::ArrayRef<Value> numbers) {
  if (capturing() || recording_body()) return false;
  Window& w = window();
  w.place = mix(w.place, kind);
  uint64_t hash = mix(kind, constants);
  size_t position = w.now.operators.size();
  w.now.operators.push_back(hash);
  bool diverges = false;
  if (!w.diverged && !w.known.empty()) {
    if (position == 0)
      for (const auto& known : w.known) w.like.push_back(known.get());
    std::erase_if(w.like, [&](Known* known) { return position >= known->operators.size() || known->operators[position] != hash; });
    diverges = w.diverged = w.like.empty();
  }
  if (position == 0 && !w.like.empty()) begin_early_run();
  else if (w.run && std::find(w.like.begin(), w.like.end(), w.expected) == w.like.end()) drop_early_run();
  for (const Value& v : operands) note_leaves(v);
  for (const Value& v : numbers) note_leaves(v);
  return diverges && location_hook;
}

void note_location(const Operator& op, std::string where) {
  if (where.empty()) where = in_backward() ? "in a backward" : "";
  window().where = std::string(op.name) + (where.empty() ? "" : " at " + where);
}
const std::string& noted_location() { return window().where; }

std::unique_ptr<EarlyRun> take_early_run(const std::shared_ptr<Program>& program, const std::vector<NodePtr>& inputs) {
  static Counter taken("cresset.begun_early");
  Window& w = window();
  if (!w.run) return nullptr;
  bool same = program == w.expected->program;
  for (size_t i = 0; same && i < inputs.size(); ++i) same = inputs[i]->mark() == w.mark && inputs[i]->number_in_window() == w.inputs.order[i];
  if (!same) drop_early_run();
  else EarlyRunner::get().stop(), taken.add();
  return std::move(w.run);
}

void drop_early_run() {
  static Counter dropped("cresset.begun_in_vain");
  Window& w = window();
  if (!w.run) return;
  EarlyRunner::get().stop();
  w.run = nullptr;
  w.held.clear();
  ++w.expected->in_vain;
  dropped.add();
}

void note_executed(const std::shared_ptr<Program>& program, const std::vector<NodePtr>& inputs) {
  Window& w = window();
  w.now.program = ++w.programs == 1 ? program : nullptr;
  w.now.order.clear();
  for (const NodePtr& n : inputs) {
    if (n->mark() != w.mark) w.now.program = nullptr;
    w.now.order.push_back(n->number_in_window());
  }
}

void end_window() {
  Window& w = window();
  drop_early_run();
  w.held.clear();
  if (!w.now.operators.empty()) remember(std::move(w.now));
  w.now = {};
  w.place = 0;
  w.like.clear();
  w.expected = nullptr;
  w.programs = 0;
  w.diverged = false;
  w.where.clear();
  ++w.mark;
}

}  // namespace cresset::trace
