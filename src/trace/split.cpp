#include "trace/split.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "trace/step.h"

namespace cresset::trace {
namespace {

constexpr size_t kWorthwhile = 12;  // operators that did not change, and a quarter of all

// Costs nothing where it is read, and a copy between two pieces.
bool is_layout(const Node& n) {
  const Operator* op = &n.op();
  return op == &builtin::constant || op == &builtin::window_read || op == &builtin::reshape || op == &builtin::permute || op == &builtin::expand || op == &builtin::bitcast ||
         op == &builtin::barrier;
}

// What its one reader had better make of inputs itself, which are fewer bytes: weights of few bits.
llvm::DenseSet<const Node*> made_of_less(const Graph& graph, const std::vector<bool>& changes) {
  constexpr size_t kMostInputs = 8;
  using Inputs = llvm::SmallDenseSet<const Node*, 8>;
  llvm::DenseMap<const Node*, Inputs> made_of;
  llvm::DenseMap<const Node*, int> readers;
  llvm::DenseSet<const Node*> found;
  auto bytes = [](const TensorType& t) { return t.numel() * int64_t(c10::elementSize(t.dtype)); };
  for (const NodePtr& n : graph.nodes)
    for (const Value& v : n->operands())
      if (v) ++readers[v.node.get()];
  for (const Value& v : graph.outputs) readers[v.node.get()] += 2;
  for (auto [i, n] : llvm::enumerate(graph.nodes)) {
    Inputs inputs;
    bool known = !changes[i] && n->types().size() == 1 && !n->op().composite;  // a product of weights, say, costs more than what is read
    for (const Value& v : n->operands()) {
      if (!v) continue;
      auto inner = made_of.find(v.node.get());
      if (is_leaf(*v.node)) inputs.insert(v.node.get());
      else if (inner == made_of.end()) known = false;
      else inputs.insert(inner->second.begin(), inner->second.end());
    }
    if (!known || inputs.size() > kMostInputs) continue;
    int64_t read = 0;
    for (const Node* leaf : inputs) read += bytes(leaf->types()[0]);
    if (readers[n.get()] == 1 && 4 * read <= 3 * bytes(n->types()[0])) found.insert(n.get());
    made_of[n.get()] = std::move(inputs);
  }
  return found;
}

// Where a value lies while the pieces run.
struct Place {
  enum Kind { Input, Output, Between } kind;
  size_t index;
};

class SplitProgram final : public Program {
 public:
  struct Piece {
    std::shared_ptr<Program> program;
    std::vector<Place> inputs, outputs;
    std::vector<size_t> ends;  // what lies between pieces and is read here for the last time
  };
  void run(void* const* inputs, void* const* outputs) override {
    std::vector<BufferPtr> between(values);
    auto at = [&](Place p) { return p.kind == Place::Input ? inputs[p.index] : p.kind == Place::Output ? outputs[p.index] : between[p.index]->data(); };
    std::vector<void*> from, to;
    for (const Piece& piece : pieces) {
      from.clear(), to.clear();
      for (size_t i = 0; i < piece.outputs.size(); ++i)
        if (piece.outputs[i].kind == Place::Between) between[piece.outputs[i].index] = Buffer::allocate(piece.program->outputs()[i].bytes);
      for (Place p : piece.inputs) from.push_back(at(p));
      for (Place p : piece.outputs) to.push_back(at(p));
      piece.program->run(from.data(), to.data());
      for (size_t value : piece.ends) between[value].reset();
    }
    for (auto& [place, output] : copies) std::memcpy(outputs[output], at(place), outputs_[output].bytes);
  }
  std::unique_ptr<Program> twin() const override {
    auto other = std::make_unique<SplitProgram>(*this);
    std::map<std::shared_ptr<Program>, std::shared_ptr<Program>> twins;  // pieces that are alike have one
    for (Piece& piece : other->pieces) {
      auto& twin = twins[piece.program];
      if (!twin) twin = piece.program->twin();
      if (!twin) return nullptr;
      piece.program = twin;
    }
    return other;
  }
  using Program::composites_;
  using Program::inputs_;
  using Program::outputs_;
  using Program::stats_;
  std::vector<Piece> pieces;
  size_t values = 0;  // between pieces
  std::vector<std::pair<Place, size_t>> copies;
};

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<bool>& changes) : graph_(graph), made_of_less_(made_of_less(graph, changes)) {
    // Pieces of even number are of operators that did not change, pieces of odd number of those that did. A result that is only shown otherwise than one of the latter stays with it.
    llvm::DenseSet<const Node*> results;
    for (const Value& v : graph.outputs) results.insert(v.node.get());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& n = *graph.nodes[i];
      int own = changes[i], first = 0;
      for (const Value& v : n.operands())
        if (v && !is_leaf(*v.node)) first = std::max(first, is_repeated(*v.node, own) ? reads_after_[v.node.get()] : piece_of_[v.node.get()]);
      reads_after_[&n] = first;
      bool stays = first % 2 == 1 && is_layout(n) && results.contains(&n);
      piece_of_[&n] = first % 2 == own || stays ? first : first + 1;
      members_[piece_of_[&n]].push_back(graph.nodes[i]);
    }
  }

  std::shared_ptr<Program> split(const CompilePiece& compile) {
    auto program = divided();
    compile_pieces(*program, compile);
    return program;
  }

 private:
  std::shared_ptr<SplitProgram> divided() {
    for (const Value& v : graph_.outputs)
      if (!is_leaf(*v.node)) wanted_[piece_of_[v.node.get()]].insert(key(v));
    for (const NodePtr& n : graph_.nodes)
      if (!is_layout(*n)) find_boundaries(*n, piece_of_[n.get()]);
    for (auto it = wanted_.rbegin(); it != wanted_.rend(); ++it)  // what a piece wants comes from those before it
      for (Key k : it->second)
        if (is_layout(*k.first)) find_boundaries(*k.first, it->first);
    auto program = std::make_shared<SplitProgram>();
    for (const Value& v : graph_.outputs)
      if (is_leaf(*v.node)) last_input_[v.node.get()] = std::numeric_limits<int>::max();  // copied when all pieces have run
    for (size_t i = 0; i < graph_.inputs.size(); ++i) places_[{graph_.inputs[i].get(), 0}] = {Place::Input, i}, program->inputs_.push_back(port_of(graph_.inputs[i]->types()[0]));
    for (const Value& v : graph_.outputs) program->outputs_.push_back(port_of(v.type()));
    for (size_t j = 0; j < graph_.outputs.size(); ++j) program->outputs_[j].aliased = graph_.aliased[j];
    for (auto& [piece, keys] : wanted_) add_piece(*program, piece);
    for (size_t j = 0; j < graph_.outputs.size(); ++j) {
      Place p = places_.at(key(graph_.outputs[j]));
      if (p.kind != Place::Output || p.index != j) program->copies.push_back({p, j}), program->outputs_[j].aliased = -1;
      if (p.kind == Place::Between) kept_.insert(p.index);
    }
    for (auto& [value, piece] : last_read_)
      if (!kept_.count(value)) program->pieces[piece].ends.push_back(value);
    return program;
  }

  using Key = std::pair<const Node*, uint32_t>;
  static Key key(const Value& v) { return {v.node.get(), v.index}; }
  // Made again in the piece that reads it, unless that piece would change with it.
  bool is_repeated(const Node& n, int piece) { return (is_layout(n) || made_of_less_.contains(&n)) && (piece % 2 == 1 || piece_of_[&n] % 2 == 0); }

  void find_boundaries(const Node& n, int piece) {
    for (const Value& v : n.operands()) {
      if (!v || is_leaf(*v.node)) {
        if (v) last_input_[v.node.get()] = std::max(last_input_[v.node.get()], piece);
      } else if (is_repeated(*v.node, piece)) {
        find_boundaries(*v.node, piece);
      } else if (piece_of_[v.node.get()] != piece) {
        wanted_[piece_of_[v.node.get()]].insert(key(v));
      }
    }
  }

  // The node with this piece's leaves in the place of what other pieces compute.
  NodePtr rebuilt(const NodePtr& n, int piece) {
    if (is_leaf(*n)) return n;
    if (auto known = rebuilt_.find(n.get()); known != rebuilt_.end()) return known->second;
    Node::Operands operands;
    for (const Value& v : n->operands()) {
      if (v && !is_leaf(*v.node) && !is_repeated(*v.node, piece) && piece_of_[v.node.get()] != piece) {
        auto [leaf, added] = leaves_.insert({key(v), nullptr});
        if (added) leaf->second = NodeFactory::input(nullptr, v.type());
        operands.push_back({leaf->second, 0});
      } else {
        operands.push_back(v ? Value{rebuilt(v.node, piece), v.index} : Value());
      }
    }
    return rebuilt_[n.get()] = NodeFactory::make(n->op(), std::move(operands), n->attributes(), n->types());
  }

  void add_piece(SplitProgram& program, int number) {
    rebuilt_.clear(), leaves_.clear();
    std::vector<Value> outputs;
    std::vector<Key> keys;
    for (const NodePtr& n : members_[number])  // in order, so that long chains are not walked by recursion
      if (!is_layout(*n)) rebuilt(n, number);
    for (const NodePtr& n : members_[number])
      for (uint32_t i = 0; i < n->types().size(); ++i)
        if (wanted_[number].count({n.get(), i})) outputs.push_back({rebuilt(n, number), i}), keys.push_back({n.get(), i});
    Graph graph = make_graph(outputs);
    std::map<const Node*, Key> boundary;
    for (auto& [value, leaf] : leaves_) boundary[leaf.get()] = value;
    SplitProgram::Piece piece;
    size_t position = program.pieces.size();
    std::unordered_map<size_t, int> own_input;  // the program's inputs among the piece's
    for (const NodePtr& n : graph.inputs) {
      auto it = boundary.find(n.get());
      Place p = places_.at(it == boundary.end() ? Key{n.get(), 0} : it->second);
      if (p.kind == Place::Between) last_read_[p.index] = position;
      if (p.kind == Place::Input) own_input[p.index] = int(piece.inputs.size());
      piece.inputs.push_back(p);
    }
    for (size_t k = 0; k < keys.size(); ++k) {
      size_t j = std::find_if(graph_.outputs.begin(), graph_.outputs.end(), [&](const Value& v) { return key(v) == keys[k]; }) - graph_.outputs.begin();
      bool result = j < graph_.outputs.size();
      if (int donor = result ? graph_.aliased[j] : -1; donor >= 0) {
        // Its buffer is overwritten here, if no later piece reads it.
        auto last = last_input_.find(graph_.inputs[donor].get());
        result = last == last_input_.end() || last->second <= number;
        if (auto own = own_input.find(size_t(donor)); result && own != own_input.end()) graph.aliased[k] = own->second;
      }
      places_[keys[k]] = result ? Place{Place::Output, j} : Place{Place::Between, program.values++};
      piece.outputs.push_back(places_[keys[k]]);
    }
    graphs_.push_back({std::move(graph), number % 2 == 1});
    program.pieces.push_back(std::move(piece));
  }

  void compile_pieces(SplitProgram& program, const CompilePiece& compile) {
    struct Alike {
      int times = 0;
      std::shared_ptr<Program> program;
    };
    std::map<std::tuple<std::string, std::vector<int>, std::vector<bool>>, Alike> kinds;
    auto kind_of = [&](const Graph& graph) -> Alike& { return kinds[{graph.hash, graph.aliased, graph.weights()}]; };
    for (auto& [graph, changes] : graphs_) ++kind_of(graph).times;
    for (auto [piece, graph] : llvm::zip(program.pieces, graphs_)) {
      Alike& kind = kind_of(graph.first);
      if (!kind.program) kind.program = compile(graph.first, graph.second, kind.times);
      piece.program = kind.program;
      add_stats(program, *piece.program);
    }
  }

  static void add_stats(SplitProgram& program, const Program& piece) {
    const ProgramStats& stats = piece.stats();
    program.stats_.compiled &= stats.compiled;
    program.stats_.arena_bytes = std::max(program.stats_.arena_bytes, stats.arena_bytes);
    program.stats_.temporary_bytes += stats.temporary_bytes;
    program.stats_.shared_seconds += stats.shared_seconds;
    program.stats_.kernels += stats.kernels;
    program.stats_.donated_bytes += stats.donated_bytes;
    program.stats_.kept_bytes += stats.kept_bytes;
    program.composites_.insert(program.composites_.end(), piece.composites().begin(), piece.composites().end());
  }

  const Graph& graph_;
  const llvm::DenseSet<const Node*> made_of_less_;
  std::vector<std::pair<Graph, bool>> graphs_;   // of each piece, and whether its operators change
  std::map<int, std::vector<NodePtr>> members_;  // likewise, operands first
  std::unordered_map<const Node*, int> piece_of_, reads_after_, last_input_;
  std::map<int, std::set<Key>> wanted_;  // what each piece has to hand on
  std::map<Key, Place> places_;
  std::map<Key, NodePtr> leaves_;  // of the piece under construction
  std::unordered_map<const Node*, NodePtr> rebuilt_;
  std::map<size_t, size_t> last_read_;  // values between pieces
  std::unordered_set<size_t> kept_;
};

}  // namespace

Port port_of(const TensorType& type) {
  return {c10::toString(type.dtype), {type.sizes.begin(), type.sizes.end()}, size_t(type.numel()) * c10::elementSize(type.dtype), -1};
}

std::shared_ptr<Program> split_program(const Graph& graph, const std::vector<bool>& changing, const CompilePiece& compile) {
  static Counter splits("cresset.split");
  size_t all = 0, unchanged = 0;
  for (size_t i = 0; i < changing.size(); ++i)
    if (!is_layout(*graph.nodes[i])) ++all, unchanged += !changing[i];
  if (unchanged == all || unchanged < kWorthwhile || unchanged * 4 < all) return nullptr;
  splits.add();
  return split_apart(graph, changing, compile);
}

std::shared_ptr<Program> split_apart(const Graph& graph, const std::vector<bool>& changing, const CompilePiece& compile) { return Splitter(graph, changing).split(compile); }

}  // namespace cresset::trace
