#include "cpu/kept.h"

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/plan.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/xxhash.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr double kReadBytesPerSecond = 8e9;  // of weights, by one thread: memory is shared with others
constexpr double kLeastGain = 4;             // times as long as finding that no weight has changed
constexpr double kMostBytesPerSecond = 4e9;  // of what is kept, for the time that it saves
// Where writes are watched: what asking takes for each array and its bytes, of which the first and the last page are read.
constexpr double kSecondsToAsk = 0.5e-6, kWatchedBytesPerSecond = 1e12;
constexpr int64_t kReadOfWatched = 2 * int64_t(WriteWatch::kPage);

double seconds_to_compare(int64_t bytes) {
  if (!WriteWatch::is_available()) return double(bytes) / kReadBytesPerSecond;
  return kSecondsToAsk + double(std::min(bytes, kReadOfWatched)) / kReadBytesPerSecond + double(bytes) / kWatchedBytesPerSecond;
}

bool is_weight(func::FuncOp main, BlockArgument argument) {
  return main.getArgAttr(argument.getArgNumber(), kWeightAttribute) && !main.getArgAttr(argument.getArgNumber(), "tf.aliasing_output");
}

// Fusions that read one another's results are kept together, or not at all.
struct Group {
  double seconds = 0;
  int64_t kept_bytes = 0;
  llvm::SetVector<Value> weights;

  bool pays() const {
    const double least = WriteWatch::is_available() ? 10e-6 : 50e-6;
    double comparing = 0;
    for (Value v : weights) comparing += seconds_to_compare(value_bytes(v));
    return seconds >= least && seconds >= kLeastGain * comparing && double(kept_bytes) <= kMostBytesPerSecond * seconds;
  }
};

}  // namespace

Kept choose_kept(func::FuncOp main, const std::vector<Fusion>& fusions, ArrayRef<double> seconds) {
  Kept kept{std::vector<bool>(fusions.size()), {}};
  llvm::DenseSet<Value> weights, results(llvm::from_range, main.getBody().front().getTerminator()->getOperands());
  for (BlockArgument argument : main.getArguments())
    if (is_weight(main, argument)) weights.insert(argument);
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

namespace {

// What the right operand is read of, if it is a matrix of bf16 (or f32) for all rows, which are few. More of them for convolutions, whose weights are less memory for what they gain.
Value packed_by(const Fusion& fusion, bool also_f32) {
  constexpr int64_t kMostRows = 256, kMostPositions = 1024, kLeastElements = 1 << 14;
  Operation* op = fusion.product;
  auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op);
  if (!dot && !(isa_and_nonnull<stablehlo::ConvolutionOp>(op) && op->hasAttr(kChannelsLast))) return {};
  if (dot && !dot.getDotDimensionNumbers().getRhsBatchingDimensions().empty()) return {};
  Value v = op->getOperand(1);
  auto shape = product_shape(op);
  auto is_kept = [&](Type t) { return t.isBF16() || (also_f32 && t.isF32()); };
  if (!is_kept(element(op->getOperand(0))) || !is_kept(element(v)) || shaped(v).getNumElements() < kLeastElements || !shape || shape->rows > (dot ? kMostRows : kMostPositions)) return {};
  while (!fusion.inputs.contains(v) && v.getDefiningOp() && fusion.roles.contains(v.getDefiningOp()) && v.getDefiningOp()->getNumOperands() == 1) v = v.getDefiningOp()->getOperand(0);
  return fusion.inputs.contains(v) ? v : Value();
}

}  // namespace

llvm::DenseMap<Operation*, std::vector<int64_t>> mark_packed(func::FuncOp main, ArrayRef<Fusion> fusions, const Target& target) {
  constexpr int64_t kMostBytes = 256 << 20;
  llvm::DenseMap<Operation*, std::vector<int64_t>> marked;
  llvm::DenseMap<Value, llvm::SetVector<Value>> weights;  // that a value is made of, alone
  bool in_loop = false;
  for (BlockArgument argument : main.getArguments()) {
    if (is_weight(main, argument)) weights[argument].insert(argument);
    if (main.getArgAttr(argument.getArgNumber(), kConstantOfLoop)) in_loop = true, weights[argument];  // none to compare
  }
  if (weights.empty() || !(in_loop || (target.tiles && WriteWatch::is_available()))) return marked;
  int64_t bytes = 0;
  for (const Fusion& fusion : fusions) {
    if (fusion.kind == Fusion::Composite) continue;
    if (Value v = packed_by(fusion, in_loop); v && weights.contains(v)) {
      int64_t more = value_bytes(fusion.product->getOperand(1));
      if (bytes + more > kMostBytes) continue;
      bytes += more;
      fusion.product->setAttr(kPacked, UnitAttr::get(main.getContext()));
      for (Value w : weights[v]) marked[fusion.product].push_back(int64_t(cast<BlockArgument>(w).getArgNumber()));
    }
    llvm::SetVector<Value> all;
    bool known = llvm::all_of(fusion.inputs, [&](Value v) {
      if (auto it = weights.find(v); it != weights.end()) return all.insert_range(it->second), true;
      return v.getDefiningOp<stablehlo::ConstantOp>() != nullptr;
    });
    if (known)
      for (Value v : fusion.outputs) weights[v] = all;
  }
  return marked;
}

Fingerprint::Fingerprint(ArrayRef<size_t> bytes) {
  constexpr size_t kEdge = WriteWatch::kPage, kPart = 128 << 10;
  for (auto [array, size] : llvm::enumerate(bytes))
    for (size_t offset = 0, part; offset < size; offset += part) {
      bool is_edge = offset == 0 || offset + kEdge >= size;
      part = std::min(is_edge ? kEdge : std::min(kPart, size - kEdge - offset), size - offset);
      parts_.push_back({array, offset, part, is_edge});
    }
  hashes_.resize(parts_.size());
}

void Fingerprint::hash_parts(void* const* buffers, int64_t begin, int64_t end, void*) {
  auto& self = *static_cast<Fingerprint*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) {
    size_t at = self.unread_[i];
    self.hashes_[at] = llvm::xxh3_64bits({reinterpret_cast<const uint8_t*>(self.begin_of(self.parts_[at])), self.parts_[at].bytes});
  }
}

bool Fingerprint::begin_to_watch() {
  std::vector<WriteWatch::Range> pages;
  for (const Part& part : parts_) {
    if (part.is_edge) continue;
    uintptr_t begin = begin_of(part) / WriteWatch::kPage * WriteWatch::kPage, end = round_up(begin_of(part) + part.bytes, WriteWatch::kPage);
    if (!pages.empty() && pages.back().begin <= begin && begin <= pages.back().end) pages.back().end = end;
    else pages.push_back({begin, end});
  }
  return watch_.begin(std::move(pages));
}

uint64_t Fingerprint::of(ArrayRef<const void*> arrays) {
  std::optional<std::vector<WriteWatch::Range>> written;
  if (arrays != ArrayRef(arrays_)) {
    arrays_.assign(arrays.begin(), arrays.end()), is_watched_.reset();
  } else if (is_watched_ != false) {
    if (is_watched_) written = watch_.written();
    if (!written) is_watched_ = begin_to_watch();  // before they are read: what is written meanwhile is found next time
  }
  unread_.clear();
  for (auto [i, part] : llvm::enumerate(parts_)) {
    uintptr_t begin = begin_of(part), end = begin + part.bytes;
    if (!written || part.is_edge || llvm::any_of(*written, [&](auto& range) { return range.begin < end && begin < range.end; })) unread_.push_back(i);
  }
  void* buffers[] = {this};
  if (are_together()) parallel_for(hash_parts, buffers, 0, int64_t(unread_.size()), 4, 0);
  else hash_parts(buffers, 0, int64_t(unread_.size()), nullptr);
  return llvm::xxh3_64bits({reinterpret_cast<const uint8_t*>(hashes_.data()), hashes_.size() * sizeof(uint64_t)});
}

}  // namespace cresset::cpu
