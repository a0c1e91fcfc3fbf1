#include "trace/structure.h"

#include <gtest/gtest.h>

namespace cresset::trace {
namespace {

// Sizes of work 100: compiled 1 s, by PyTorch's kernels 3 s.
Costs known(double compile_seconds) {
  Costs costs;
  for (double slow : {5, 1}) costs.compiled.add(1 * slow, 100), costs.eager.add(3 * slow, 100);  // the first runs take longer
  costs.compile_seconds = compile_seconds;
  return costs;
}

TEST(Costs, TheFirstSizeIsCompiled) {
  Costs costs;
  EXPECT_TRUE(costs.pays_to_compile(100));
  costs.compile_seconds = 1;
  EXPECT_FALSE(costs.pays_to_compile(100));  // nothing is known of PyTorch's kernels
}

TEST(Costs, WhatGainsMoreThanCompilingTakesIsCompiled) {
  Costs costs = known(4);
  EXPECT_FALSE(costs.pays_to_compile(190));
  EXPECT_TRUE(costs.pays_to_compile(210));
}

TEST(Costs, WhatCompilingTakesIsSeenAgainWhenAsMuchIsLost) {
  Costs costs = known(4);
  costs.lost_seconds = 3.9;
  EXPECT_FALSE(costs.pays_to_compile(100));
  costs.lost_seconds = 4.1;
  EXPECT_TRUE(costs.pays_to_compile(100));
}

TEST(Costs, WhatPyTorchRefusesIsCompiled) {
  Costs costs = known(1000);
  costs.needs_compiler = true;
  EXPECT_TRUE(costs.pays_to_compile(100));
}

TEST(Pace, FollowsTheNewestRuns) {
  Pace pace;
  EXPECT_FALSE(pace.is_known());
  pace.add(9, 10);
  EXPECT_FALSE(pace.is_known());
  pace.add(1, 10);
  EXPECT_TRUE(pace.is_known());
  EXPECT_DOUBLE_EQ(pace.seconds(20), 2);
  for (int i = 0; i < 40; ++i) pace.add(3, 10);
  EXPECT_NEAR(pace.seconds(10), 3, 1e-4);
}

class Doubled final : public Program {
 public:
  explicit Doubled(bool compiled) { stats_.compiled = compiled; }
  void run(void* const* inputs, void* const* outputs) override { *static_cast<float*>(outputs[0]) = 2 * *static_cast<float*>(inputs[0]); }
};

TEST(Measured, RunsAreAddedToTheCosts) {
  auto costs = std::make_shared<Costs>();
  float x = 4, y = 0;
  void *in = &x, *out = &y;
  auto compiled = measured(std::make_shared<Doubled>(true), costs, 1);
  for (int i = 0; i < 2; ++i) compiled->run(&in, &out);
  EXPECT_EQ(y, 8);
  EXPECT_TRUE(costs->compiled.is_known());
  EXPECT_FALSE(costs->eager.is_known());
  auto eager = measured(std::make_shared<Doubled>(false), costs, 1);
  EXPECT_FALSE(eager->stats().compiled);
  for (int i = 0; i < 2; ++i) eager->run(&in, &out);
  EXPECT_TRUE(costs->eager.is_known());
}

}  // namespace
}  // namespace cresset::trace
