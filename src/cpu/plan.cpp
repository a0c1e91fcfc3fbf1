#include "cpu/plan.h"

#include "cpu/blocks.h"
#include "cpu/emit/element.h"
#include "runtime/arena.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Whether an update writes each element of `v`, or what is computed of it, where it was.
bool stays_in_place(Value v, const Fusion& fusion) {
  return llvm::all_of(v.getUses(), [&](OpOperand& use) {
    Operation* user = use.getOwner();
    if (!fusion.roles.contains(user)) return true;
    return user == fusion.product ? use.getOperandNumber() == 1 : (is_elementwise(user) || isa<ReshapeOp>(user)) && stays_in_place(user->getResult(0), fusion);
  });
}

// Whether, of what an update overwrites, the kernel reads this slice before it does: it is beside what is written, or just that.
bool is_read_before(SliceOp slice, const Fusion& fusion) {
  auto update = dyn_cast<DynamicUpdateSliceOp>(fusion.product);
  auto starts = update ? constant_starts(update) : std::nullopt;
  if (!starts) return false;
  bool same = true;
  for (auto [from, size, begin, end, step] : llvm::zip(*starts, shaped(update.getUpdate()).getShape(), slice.getStartIndices(), slice.getLimitIndices(), slice.getStrides())) {
    if (end <= from || begin >= from + size) return true;
    same &= begin == from && end == from + size && step == 1;
  }
  return same && stays_in_place(slice, fusion);
}

// The kernel reads the input only where it writes the output.
bool reads_in_step(const Fusion& fusion, Value input) {
  if (fusion.in_place)
    return input == updated_by(fusion.product) && llvm::all_of(input.getUses(), [&](OpOperand& use) {
      auto slice = dyn_cast<SliceOp>(use.getOwner());
      return !fusion.roles.contains(use.getOwner()) || (use.getOwner() == fusion.product ? use.getOperandNumber() == 0 : slice && is_read_before(slice, fusion));
    });
  if ((fusion.kind != Fusion::Rows && !fusion.product) || cast<RankedTensorType>(input.getType()).getShape() != ArrayRef<int64_t>(fusion.shape)) return false;
  for (auto& [op, role] : fusion.roles) {
    if (isa<ReduceOp>(op)) return false;
    if (llvm::is_contained(op->getOperands(), input) && (role != Fusion::Element || !is_elementwise(op))) return false;
  }
  return true;
}

// See plan_buffers().
class Planner {
 public:
  Planner(func::FuncOp main, const std::vector<Fusion>& fusions, ArrayRef<int> aliased, size_t kept) : main_(main.getBody().front()), fusions_(fusions), aliased_(aliased), kept_(int(kept)) {}

  BufferPlan run() {
    place_what_is_given();
    place_results();
    for (auto [i, fusion] : llvm::enumerate(fusions_)) place_temporaries(int(i), fusion);
    plan_.arena_bytes = place_blocks(blocks_);
    for (auto& [v, block] : block_of_) plan_.places[v] = {Place::Arena, blocks_[block].offset};
    for (Copy& copy : plan_.copies) copy.from = plan_.places.lookup(main_.getTerminator()->getOperand(copy.output));
    return std::move(plan_);
  }

 private:
  void place_what_is_given() {
    for (auto [i, argument] : llvm::enumerate(main_.getArguments())) plan_.places[argument] = {Place::Input, int64_t(i)};
    for (auto [i, fusion] : llvm::enumerate(fusions_)) {
      for (Value v : fusion.outputs) made_[v] = int(i);
      for (Value v : fusion.inputs) {
        last_read_[v] = int(i);
        if (auto constant = v.getDefiningOp<ConstantOp>(); constant && !plan_.places.count(v)) {
          plan_.places[v] = {Place::Constant, int64_t(plan_.constants.size())};
          plan_.constants.push_back(v);
        }
      }
    }
  }

  // What is updated in place by kernel i, and needed by nobody afterwards, is made where the result belongs.
  Value updated_in_place(int i) {
    Value v = fusions_[i].in_place ? updated_by(fusions_[i].product) : Value();
    bool is_returned = v && llvm::any_of(v.getUsers(), [](Operation* user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    return v && !is_returned && made_.count(v) && made_[v] >= kept_ && last_read_[v] == i && reads_in_step(fusions_[i], v) ? v : Value();
  }
  int first_writer(int i) {
    while (Value v = updated_in_place(i)) i = made_[v];
    return i;
  }
  // Where the caller wants them, unless what is there is still read.
  void place_results() {
    for (auto [j, v] : llvm::enumerate(main_.getTerminator()->getOperands())) {
      bool direct = made_.count(v) && !plan_.places.count(v);
      if (direct && aliased_[j] >= 0) {
        Value input = main_.getArgument(aliased_[j]);
        int writer = first_writer(made_[v]), reader = last_read_.count(input) ? last_read_[input] : -1;
        direct = reader < writer || (reader == writer && reads_in_step(fusions_[writer], input));
      }
      if (direct) {
        plan_.places[v] = {Place::Output, int64_t(j)};
        for (Value from = v; (from = updated_in_place(made_[from]));) plan_.places[from] = plan_.places[v];
        if (aliased_[j] >= 0) plan_.donated_bytes += value_bytes(v);
      } else {
        copied_.insert(v);
        plan_.copies.push_back({{}, int(j), value_bytes(v)});
      }
    }
  }

  void place_temporaries(int i, const Fusion& fusion) {
    for (Value v : fusion.outputs) {
      if (plan_.places.count(v)) continue;
      int64_t bytes = std::max<int64_t>(round_up(value_bytes(v), 64), 64);
      int last = last_read_.count(v) ? std::max(last_read_[v], i) : i;
      if (i < kept_ && last >= kept_) {
        plan_.places[v] = {Place::Kept, plan_.kept_bytes};
        plan_.kept_bytes += bytes;
        continue;
      }
      plan_.temporary_bytes += bytes;
      const bool is_held = copied_.contains(v) || is_guarded();
      size_t block = overwritten_block(i, v).value_or(blocks_.size());
      if (block == blocks_.size()) blocks_.push_back({i, i, bytes});
      block_of_[v] = block;
      blocks_[block].end = is_held ? int(fusions_.size()) : last;
      if (!is_held) ending_[last].push_back(v);
    }
  }
  // What nobody else reads later may be overwritten by what is computed of it, element by element: a residual by the sum. Such memory is in the caches, and need not be read to be written.
  std::optional<size_t> overwritten_block(int i, Value v) {
    auto x = llvm::find_if(ending_[i], [&](Value x) {
      return made_[x] != i && value_bytes(x) == value_bytes(v) && shaped(v).getShape() == shaped(x).getShape() && reads_in_step(fusions_[i], x);
    });
    if (x == ending_[i].end()) return std::nullopt;
    size_t block = block_of_[*x];
    ending_[i].erase(x);
    return block;
  }

  mlir::Block& main_;
  const std::vector<Fusion>& fusions_;
  ArrayRef<int> aliased_;
  const int kept_;
  BufferPlan plan_;
  DenseMap<Value, int> made_, last_read_;
  llvm::DenseSet<Value> copied_;               // results, until after the last kernel
  std::vector<Block> blocks_;
  DenseMap<Value, size_t> block_of_;
  std::vector<std::vector<Value>> ending_{fusions_.size()};  // what kernels read last
};

}  // namespace

int64_t value_bytes(Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  return type.getNumElements() * element_bytes(type.getElementType());
}

BufferPlan plan_buffers(func::FuncOp main, const std::vector<Fusion>& fusions, ArrayRef<int> aliased, size_t kept) { return Planner(main, fusions, aliased, kept).run(); }

}  // namespace cresset::cpu
