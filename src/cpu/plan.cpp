#include "cpu/plan.h"

#include <map>
#include <tuple>

#include "cpu/emit/element.h"
#include "runtime/arena.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// Free blocks by offset; first fit, neighbours merged.
class Arena {
 public:
  int64_t take(int64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes) {
        auto [offset, size] = *it;
        free_.erase(it);
        if (size > bytes) free_[offset + bytes] = size - bytes;
        return offset;
      }
    // The last free block may grow at the end.
    int64_t offset = end_;
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_) {
      offset = free_.rbegin()->first;
      free_.erase(offset);
    }
    end_ = offset + bytes;
    return offset;
  }
  void give(int64_t offset, int64_t bytes) {
    auto it = free_.emplace(offset, bytes).first;
    if (auto next = std::next(it); next != free_.end() && offset + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin())
      if (auto before = std::prev(it); before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
  }
  int64_t end() const { return end_; }

 private:
  std::map<int64_t, int64_t> free_;
  int64_t end_ = 0;
};

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

}  // namespace

int64_t value_bytes(Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  return type.getNumElements() * element_bytes(type.getElementType());
}

void delay_overwriting(func::FuncOp main, std::vector<Fusion>& fusions, ArrayRef<int> aliased) {
  DenseMap<Value, int> first_read, last_read;
  for (auto [i, fusion] : llvm::enumerate(fusions))
    for (Value v : fusion.inputs) first_read.insert({v, int(i)}), last_read[v] = int(i);
  Block& block = main.getBody().front();
  DenseMap<Value, Value> overwritten;
  for (auto [j, v] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (aliased[j] >= 0) overwritten[v] = block.getArgument(aliased[j]);
  // Right after the last reader, unless somebody up to there needs a result.
  std::vector<std::tuple<int, bool, int>> order;
  for (auto [i, fusion] : llvm::enumerate(fusions)) {
    int wait = int(i), needed = int(fusions.size());
    for (Value v : fusion.outputs) {
      if (Value input = overwritten.lookup(v)) wait = std::max(wait, last_read.lookup(input));
      if (auto it = first_read.find(v); it != first_read.end()) needed = std::min(needed, it->second);
    }
    if (needed <= wait) wait = int(i);
    order.push_back({wait, wait > int(i), int(i)});
  }
  llvm::sort(order);
  std::vector<Fusion> sorted;
  for (auto [after, waits, i] : order) sorted.push_back(std::move(fusions[i]));
  fusions = std::move(sorted);
}

BufferPlan plan_buffers(func::FuncOp main, const std::vector<Fusion>& fusions, ArrayRef<int> aliased, size_t kept) {
  BufferPlan plan;
  Block& block = main.getBody().front();
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) plan.places[argument] = {Place::Input, int64_t(i)};
  DenseMap<Value, int> made, last_read;
  for (auto [i, fusion] : llvm::enumerate(fusions)) {
    for (Value v : fusion.outputs) made[v] = int(i);
    for (Value v : fusion.inputs) {
      last_read[v] = int(i);
      if (auto constant = v.getDefiningOp<ConstantOp>(); constant && !plan.places.count(v)) {
        plan.places[v] = {Place::Constant, int64_t(plan.constants.size())};
        plan.constants.push_back(v);
      }
    }
  }
  // What is updated in place, and needed by nobody afterwards, is made where the result belongs.
  auto returned = [](Value v) { return llvm::any_of(v.getUsers(), [](Operation* user) { return user->hasTrait<OpTrait::IsTerminator>(); }); };
  auto overwritten = [&](int i) {
    Value v = fusions[i].in_place ? updated_by(fusions[i].product) : Value();
    return v && made.count(v) && made[v] >= int(kept) && last_read[v] == i && !returned(v) && reads_in_step(fusions[i], v) ? v : Value();
  };
  auto first_writer = [&](int i) {
    while (Value v = overwritten(i)) i = made[v];
    return i;
  };
  DenseMap<Value, int> held;  // until after the last kernel
  for (auto [j, v] : llvm::enumerate(block.getTerminator()->getOperands())) {
    bool direct = made.count(v) && !plan.places.count(v);
    if (direct && aliased[j] >= 0) {
      Value input = block.getArgument(aliased[j]);
      int writer = first_writer(made[v]), reader = last_read.count(input) ? last_read[input] : -1;
      direct = reader < writer || (reader == writer && reads_in_step(fusions[writer], input));
    }
    if (direct) {
      plan.places[v] = {Place::Output, int64_t(j)};
      for (Value from = v; (from = overwritten(made[from]));) plan.places[from] = plan.places[v];
      if (aliased[j] >= 0) plan.donated_bytes += value_bytes(v);
    } else {
      held[v] = 1;
      plan.copies.push_back({{}, int(j), value_bytes(v)});
    }
  }

  Arena arena;
  std::vector<std::vector<Value>> dying(fusions.size() + 1);
  auto rounded = [](int64_t bytes) { return std::max<int64_t>(round_up(bytes, 64), 64); };
  // What nobody else reads later may be overwritten by what is computed of it, element by element: a residual by the sum. Such memory is in the caches, and need not be read to be written.
  auto take = [&](int i, Value v, int64_t bytes) {
    const Fusion& fusion = fusions[i];
    auto is_overwritten = [&](Value x) {
      return made[x] != i && value_bytes(x) == value_bytes(v) && shaped(v).getShape() == shaped(x).getShape() && reads_in_step(fusion, x);
    };
    if (auto x = is_guarded() ? dying[i].end() : llvm::find_if(dying[i], is_overwritten); x != dying[i].end()) {
      Place place = plan.places[*x];
      dying[i].erase(x);
      return place;
    }
    return Place{Place::Arena, arena.take(bytes)};
  };
  for (auto [i, fusion] : llvm::enumerate(fusions)) {
    for (Value v : fusion.outputs) {
      if (plan.places.count(v)) continue;
      int64_t bytes = rounded(value_bytes(v));
      if (i < kept && last_read.count(v) && last_read[v] >= int(kept)) {
        plan.places[v] = {Place::Kept, plan.kept_bytes};
        plan.kept_bytes += bytes;
        continue;
      }
      plan.temporary_bytes += bytes;
      plan.places[v] = take(int(i), v, bytes);
      if (!held.count(v)) dying[last_read.count(v) ? std::max(last_read[v], int(i)) : int(i)].push_back(v);
    }
    if (is_guarded()) continue;
    for (Value v : dying[i]) arena.give(plan.places[v].index, rounded(value_bytes(v)));
  }
  plan.arena_bytes = arena.end();
  for (Copy& copy : plan.copies) copy.from = plan.places.lookup(block.getTerminator()->getOperand(copy.output));
  return plan;
}

}  // namespace cresset::cpu
