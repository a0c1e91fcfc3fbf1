#include "cpu/kept.h"

#include "cpu/plan.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/xxhash.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr double kReadBytesPerSecond = 8e9;  // of weights, by one thread: memory is shared with others
constexpr double kLeastGain = 4;             // times as long as reading the weights
constexpr double kLeastSeconds = 50e-6;
constexpr double kMostBytesPerSecond = 4e9;  // of what is kept, for the time that it saves

// Fusions that read one another's results are kept together, or not at all.
struct Group {
  double seconds = 0;
  int64_t kept_bytes = 0;
  llvm::SetVector<Value> weights;

  bool pays() const {
    double read = 0;
    for (Value v : weights) read += double(value_bytes(v)) / kReadBytesPerSecond;
    return seconds >= kLeastSeconds && seconds >= kLeastGain * read && double(kept_bytes) <= kMostBytesPerSecond * seconds;
  }
};

}  // namespace

Kept choose_kept(func::FuncOp main, const std::vector<Fusion>& fusions, ArrayRef<double> seconds) {
  Kept kept{std::vector<bool>(fusions.size()), {}};
  llvm::DenseSet<Value> weights, results(llvm::from_range, main.getBody().front().getTerminator()->getOperands());
  for (BlockArgument argument : main.getArguments())
    if (main.getArgAttr(argument.getArgNumber(), kWeightAttribute) && !main.getArgAttr(argument.getArgNumber(), "tf.aliasing_output")) weights.insert(argument);
  if (weights.empty()) return kept;
  llvm::DenseMap<Value, int> made;  // by a candidate
  llvm::EquivalenceClasses<int> together;
  for (auto [i, fusion] : llvm::enumerate(fusions)) {
    auto is_known = [&](Value v) { return weights.contains(v) || made.contains(v) || v.getDefiningOp<stablehlo::ConstantOp>(); };
    if (fusion.kind == Fusion::Composite || !llvm::all_of(fusion.inputs, is_known) || llvm::any_of(fusion.outputs, [&](Value v) { return results.contains(v); })) continue;
    together.insert(int(i));
    for (Value v : fusion.inputs)
      if (auto it = made.find(v); it != made.end()) together.unionSets(it->second, int(i));
    for (Value v : fusion.outputs) made[v] = int(i);
  }
  llvm::DenseSet<Value> read_later;
  for (auto [i, fusion] : llvm::enumerate(fusions))
    if (!together.contains(int(i))) read_later.insert_range(fusion.inputs);
  llvm::SetVector<Value> read;
  for (const auto* leader : together) {
    if (!leader->isLeader()) continue;
    Group group;
    for (int i : together.members(*leader)) {
      group.seconds += seconds[i];
      for (Value v : fusions[i].inputs)
        if (weights.contains(v)) group.weights.insert(v);
      for (Value v : fusions[i].outputs)
        if (read_later.contains(v)) group.kept_bytes += value_bytes(v);
    }
    if (!group.pays()) continue;
    for (int i : together.members(*leader)) kept.fusions[i] = true;
    read.insert_range(group.weights);
  }
  for (Value v : read) kept.weights.push_back(int64_t(cast<BlockArgument>(v).getArgNumber()));
  return kept;
}

Fingerprint::Fingerprint(ArrayRef<size_t> bytes) {
  constexpr size_t kPart = 128 << 10;
  for (auto [array, size] : llvm::enumerate(bytes))
    for (size_t offset = 0; offset < size; offset += kPart) parts_.push_back({array, offset, std::min(kPart, size - offset)});
  hashes_.resize(parts_.size());
}

void Fingerprint::hash_parts(void* const* buffers, int64_t begin, int64_t end, void*) {
  auto& self = *static_cast<Fingerprint*>(buffers[0]);
  auto* arrays = static_cast<const void* const*>(buffers[1]);
  for (int64_t i = begin; i < end; ++i) {
    const Part& part = self.parts_[i];
    self.hashes_[i] = llvm::xxh3_64bits({static_cast<const uint8_t*>(arrays[part.array]) + part.offset, part.bytes});
  }
}

uint64_t Fingerprint::of(ArrayRef<const void*> arrays) {
  void* buffers[] = {this, const_cast<const void**>(arrays.data())};
  if (are_together()) parallel_for(hash_parts, buffers, 0, int64_t(parts_.size()), 4, 0);
  else hash_parts(buffers, 0, int64_t(parts_.size()), nullptr);
  return llvm::xxh3_64bits({reinterpret_cast<const uint8_t*>(hashes_.data()), hashes_.size() * sizeof(uint64_t)});
}

}  // namespace cresset::cpu
