// Blocks that are alive together don't overlap, and take no more memory than they need where that is much.
#include <gtest/gtest.h>

#include <random>

#include "cpu/blocks.h"

namespace cresset::cpu {
namespace {

constexpr int64_t kMiB = 1 << 20;

int64_t most_alive(const std::vector<Block>& blocks) {
  int64_t most = 0;
  for (const Block& now : blocks) {
    int64_t bytes = 0;
    for (const Block& block : blocks) bytes += block.begin <= now.begin && now.begin <= block.end ? block.bytes : 0;
    most = std::max(most, bytes);
  }
  return most;
}

void expect_apart(const std::vector<Block>& blocks, int64_t bytes) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_GE(blocks[i].offset, 0);
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, bytes);
    for (size_t k = 0; k < i; ++k) {
      const Block &a = blocks[i], &b = blocks[k];
      bool together = a.begin <= b.end && b.begin <= a.end, overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(together && overlap) << "blocks " << k << " and " << i;
    }
  }
}

TEST(Blocks, OfAnyLives) {
  std::mt19937 random(0);
  for (int64_t unit : {int64_t(64), kMiB}) {
    std::vector<Block> blocks;
    for (int i = 0; i < 300; ++i) blocks.push_back({i / 3, i / 3 + int(random() % (random() % 7 ? 5 : 60)), unit * int64_t(1 + random() % 20)});
    int64_t bytes = place_blocks(blocks);
    expect_apart(blocks, bytes);
    EXPECT_GE(bytes, most_alive(blocks));
  }
}

// One is read long after the other, whose memory does not hold what comes then.
TEST(Blocks, GapsThatAreMuchMemoryAreClosed) {
  std::vector<Block> blocks = {{0, 1, 8 * kMiB}, {1, 9, 4 * kMiB}, {2, 3, 12 * kMiB}};
  EXPECT_EQ(place_blocks(blocks), 16 * kMiB);
  expect_apart(blocks, 16 * kMiB);
  for (Block& block : blocks) block.bytes /= 1024;
  EXPECT_EQ(place_blocks(blocks), 24 * 1024);
  EXPECT_EQ(blocks[0].offset, 0);
}

TEST(Blocks, WhatIsFreeAgainIsUsedNext) {
  std::vector<Block> blocks = {{0, 1, 256}, {1, 2, 128}, {2, 3, 64}, {2, 3, 192}};
  EXPECT_EQ(place_blocks(blocks), 384);
  EXPECT_EQ(blocks[2].offset, 0);
  EXPECT_EQ(blocks[3].offset, 64);
}

TEST(Blocks, None) { EXPECT_EQ(place_blocks({}), 0); }

}  // namespace
}  // namespace cresset::cpu
