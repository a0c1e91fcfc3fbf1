#include "cpu/blocks.h"

#include <map>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace cresset::cpu {
namespace {

using namespace llvm;

// Free memory by offset; first fit, neighbours merged.
class FreeMemory {
 public:
  int64_t take(int64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes) {
        auto [offset, size] = *it;
        free_.erase(it);
        if (size > bytes) free_[offset + bytes] = size - bytes;
        return offset;
      }
    // What is free at the end may grow.
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

struct Placed {
  int64_t bytes = 0, most_alive = 0;
};

Placed place_as_they_begin(MutableArrayRef<Block> blocks) {
  FreeMemory memory;
  std::multimap<int, const Block*> alive;  // by their end
  int64_t now = 0, most = 0;
  for (Block& block : blocks) {
    for (; !alive.empty() && alive.begin()->first < block.begin; alive.erase(alive.begin())) {
      const Block& ended = *alive.begin()->second;
      memory.give(ended.offset, ended.bytes), now -= ended.bytes;
    }
    block.offset = memory.take(block.bytes);
    alive.insert({block.end, &block});
    most = std::max(most, now += block.bytes);
  }
  return {memory.end(), most};
}

int64_t place_by_size(MutableArrayRef<Block> blocks) {
  auto by_size = map_to_vector(blocks, [](Block& block) { return &block; });
  stable_sort(by_size, [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  SmallVector<Block*> placed;  // by offset
  int64_t bytes = 0;
  for (Block* block : by_size) {
    int64_t free_from = 0;
    for (const Block* other : placed) {
      if (other->end < block->begin || block->end < other->begin) continue;
      if (other->offset - free_from >= block->bytes) break;
      free_from = std::max(free_from, other->offset + other->bytes);
    }
    block->offset = free_from;
    bytes = std::max(bytes, free_from + block->bytes);
    placed.insert(upper_bound(placed, block, [](const Block* a, const Block* b) { return a->offset < b->offset; }), block);
  }
  return bytes;
}

}  // namespace

int64_t place_blocks(MutableArrayRef<Block> blocks) {
  constexpr int64_t kMuch = 4 << 20;
  Placed first = place_as_they_begin(blocks);
  if (first.bytes < first.most_alive + kMuch) return first.bytes;
  SmallVector<Block> by_size(blocks);
  int64_t bytes = place_by_size(by_size);
  if (bytes + kMuch > first.bytes) return first.bytes;
  copy(by_size, blocks.begin());
  return bytes;
}

}  // namespace cresset::cpu
