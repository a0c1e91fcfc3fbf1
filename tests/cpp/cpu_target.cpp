// Which target is chosen on which machine, and where the system keeps the tiles to itself.
#include "cpu/target.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cresset::cpu {
namespace {

Machine machine(std::initializer_list<const char*> features, bool grants = true, int* asked = nullptr) {
  Machine m{"sapphirerapids", {}, [=] { return asked ? ++*asked, grants : grants; }};
  for (const char* f : features) m.features[f] = true;
  return m;
}
const auto kAvx2 = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt"};
const auto kAvx512 = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512dq", "avx512vl"};
const auto kPairs = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"};
const auto kTiles = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16", "amx-tile", "amx-bf16", "amx-int8"};

Target chosen(const std::string& name, const Machine& m) { return llvm::cantFail(select_target(name, m)); }

class CpuTarget : public testing::Test {
 protected:
  void SetUp() override { unsetenv("CRESSET_CPU"), unsetenv("CRESSET_BF16_DOT"); }
  void TearDown() override { SetUp(); }
};

TEST_F(CpuTarget, TheBestThatTheMachineHas) {
  EXPECT_EQ(chosen("", machine({})).name, "baseline");
  EXPECT_EQ(chosen("", machine(kAvx2)).name, "avx2");
  EXPECT_EQ(chosen("", machine(kAvx512)).bf16_dot, Target::None);
  EXPECT_EQ(chosen("", machine(kPairs)).name, "avx512");
  EXPECT_EQ(chosen("", machine(kPairs)).bf16_dot, Target::Native);
  Target tiles = chosen("", machine(kTiles));
  EXPECT_EQ(tiles.name, "amx");
  EXPECT_TRUE(tiles.tiles);
  EXPECT_NE(tiles.features.find("+amx-bf16"), std::string::npos);
}

TEST_F(CpuTarget, TilesThatTheSystemRefuses) {
  Target t = chosen("", machine(kTiles, false));
  EXPECT_EQ(t.name, "avx512");
  EXPECT_EQ(t.bf16_dot, Target::Native);
  EXPECT_FALSE(t.tiles);
  EXPECT_EQ(t.features.find("amx"), std::string::npos);
  auto forced = select_target("amx", machine(kTiles, false));
  ASSERT_FALSE(forced);
  EXPECT_EQ(llvm::toString(forced.takeError()), "CRESSET_CPU=amx: this machine has avx512, avx2 and baseline; choose among those");
}

TEST_F(CpuTarget, TheSystemIsAskedOnlyWhereTilesAreUsed) {
  int asked = 0;
  chosen("avx2", machine(kTiles, true, &asked));
  EXPECT_FALSE(chosen("avx512", machine(kTiles, true, &asked)).tiles);
  chosen("", machine(kPairs, true, &asked));
  EXPECT_EQ(asked, 0);
  chosen("", machine(kTiles, true, &asked));
  EXPECT_EQ(asked, 1);
}

TEST_F(CpuTarget, ByName) {
  setenv("CRESSET_CPU", "avx2", 1);
  EXPECT_EQ(chosen("", machine(kTiles)).name, "avx2");
  EXPECT_EQ(chosen("amx", machine(kTiles)).name, "amx");
  setenv("CRESSET_CPU", "avx1024", 1);
  auto unknown = select_target("", machine(kTiles));
  ASSERT_FALSE(unknown);
  llvm::consumeError(unknown.takeError());
}

TEST_F(CpuTarget, WideVectorsOfAnyMachine) {
  for (const Machine& m : {machine({}), machine(kAvx2), machine(kTiles)}) {
    Target wide = chosen("wide", m), real = chosen("avx512", machine(kAvx512));
    EXPECT_EQ(wide.lanes, real.lanes);
    EXPECT_EQ(wide.registers, real.registers);
    EXPECT_EQ(wide.features.find("+avx512"), std::string::npos);
    EXPECT_EQ(wide.bf16_dot, Target::None);
  }
}

TEST_F(CpuTarget, TheCacheIsTheMachines) {
  Machine m = machine(kPairs);
  m.l1 = 48 << 10;
  for (const char* name : {"", "avx2", "wide", "baseline"}) EXPECT_EQ(chosen(name, m).l1, 48 << 10) << name;
  EXPECT_GE(host().l1, 16 << 10);
}

TEST_F(CpuTarget, WhatAVirtualMachineHides) {
  Machine m = machine(kTiles);
  m.features["avx512fp16"] = m.features["gfni"] = false;
  for (const char* name : {"amx", "avx512"}) {
    std::string features = "," + chosen(name, m).features + ",";
    EXPECT_NE(features.find(",-avx512fp16,"), std::string::npos) << features;
    EXPECT_NE(features.find(",-gfni,"), std::string::npos) << features;
  }
  m.features["bmi2"] = false;
  EXPECT_EQ(chosen("", m).name, "baseline");
}

TEST_F(CpuTarget, ProductsOfBytes) {
  Machine m = machine(kAvx2);
  EXPECT_FALSE(chosen("", m).byte_dot());
  m.features["avxvnni"] = true;
  EXPECT_TRUE(chosen("", m).byte_dot());
  EXPECT_FALSE(chosen("wide", m).byte_dot());  // whose vectors are no registers
  m = machine(kAvx512);
  m.features["avxvnni"] = true;
  EXPECT_FALSE(chosen("", m).byte_dot());
  EXPECT_TRUE(chosen("avx2", m).byte_dot());
  m.features["avx512vnni"] = true;
  EXPECT_TRUE(chosen("", m).byte_dot());
}

TEST_F(CpuTarget, EmulatedTiles) {
  setenv("CRESSET_BF16_DOT", "tiles", 1);
  Target t = chosen("", machine(kAvx2));
  EXPECT_EQ(t.bf16_dot, Target::Emulated);
  EXPECT_TRUE(t.tiles);
  setenv("CRESSET_BF16_DOT", "pairs", 1);
  EXPECT_FALSE(chosen("", machine(kAvx2)).tiles);
}

}  // namespace
}  // namespace cresset::cpu
