#include "trace/step.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "cresset/metrics.h"
#include "trace/capture.h"
#include "trace/cell.h"

namespace cresset::trace {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

class Step : public ::testing::Test {
 protected:
  void SetUp() override {
    sync();
    reset_counters();
  }
  static int64_t compiled() { return counter("cresset.compile"); }
  static int64_t executed() { return counter("cresset.execute"); }
  static int64_t counter(const char* name) {
    auto all = counters();
    return all.count(name) ? all[name] : 0;
  }
};

TEST_F(Step, NothingRunsBeforeARead) {
  at::Tensor x = at::ones({5}).to(kDevice), y = x * 3 + 1;
  EXPECT_EQ(executed(), 0);
  EXPECT_TRUE(at::equal(y.cpu(), at::full({5}, 4.f)));
  EXPECT_EQ(executed(), 1);
  y.cpu();
  EXPECT_EQ(executed(), 1);
}

TEST_F(Step, TheSameGraphIsCompiledOnce) {
  for (int i = 0; i < 4; ++i) {
    at::Tensor x = at::full({7}, float(i)).to(kDevice);
    EXPECT_TRUE(at::equal((x.exp() - x).cpu(), at::full({7}, float(i)).exp() - float(i)) || i > 0);
  }
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(counter("cresset.cache_hit"), 3);
}

TEST_F(Step, ANumberThatChangesBecomesAnInput) {
  at::Tensor x = at::ones({11}).to(kDevice);
  for (int i = 1; i <= 6; ++i) EXPECT_TRUE(at::equal((x * (0.5 * i)).cpu(), at::full({11}, 0.5f * float(i))));
  EXPECT_EQ(compiled(), 2);
}

TEST_F(Step, AnOptimizersNumberIsAnInputAtOnce) {
  at::NoGradGuard guard;
  at::Tensor x = at::zeros({13}).to(kDevice), g = at::ones({13}).to(kDevice);
  sync();
  double sum = 0;
  for (int i = 1; i <= 5; ++i) {
    x.add_(g, -0.25 * i);
    sum -= 0.25 * i;
    end_optimizer_step();
  }
  EXPECT_EQ(compiled(), 1);
  EXPECT_TRUE(at::equal(x.cpu(), at::full({13}, float(sum))));
}

TEST_F(Step, OverwritesABufferNobodyElseSees) {
  at::Tensor x = at::zeros({1 << 20}).to(kDevice), other = x.clone();
  sync();
  void* before = bytes(x)->data();
  x.add_(1);
  EXPECT_EQ(bytes(x)->data(), before);
  EXPECT_EQ(other.sum().item<float>(), 0);
  at::Tensor copy = x.detach().clone();
  x.add_(1);
  EXPECT_EQ(copy.select(0, 5).item<float>(), 1);
  EXPECT_EQ(x.select(0, 5).item<float>(), 2);
}

TEST_F(Step, AScopeJoinsUntilItsEnd) {
  at::Tensor x = at::ones({3}).to(kDevice);
  begin_step();
  x.add_(1);
  end_optimizer_step();
  EXPECT_EQ(executed(), 0);
  end_step();
  EXPECT_EQ(executed(), 1);
}

TEST_F(Step, TheReportSaysWhyAProgramIsNew) {
  at::Tensor x = at::ones({17}).to(kDevice);
  x.tanh().cpu();
  (x.tanh() + x.view({17, 1}).sum()).cpu();
  auto records = compile_records();
  ASSERT_GE(records.size(), 2u);
  EXPECT_NE(records.back().why.find("differs from"), std::string::npos) << records.back().why;
  EXPECT_NE(metrics_report().find("Programs compiled"), std::string::npos);
}

class Capture : public Step {
 protected:
  void TearDown() override { abort_capture(); }
  static std::shared_ptr<CapturedProgram> end_capture(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    auto program = captured_program(inputs, outputs);
    abort_capture();
    return program;
  }
};

TEST_F(Capture, RunsOnOtherTensors) {
  at::Tensor x = at::randn({3, 4}), w = at::randn({4, 5});
  begin_capture();
  at::Tensor a = stand_in(x), b = stand_in(w);
  auto program = end_capture({a, b}, {at::tanh(at::mm(a, b))});
  at::Tensor large = at::randn({9, 4}), x2 = large.slice(0, 4, 7);
  EXPECT_TRUE(at::allclose((*program->run({x2, w}))[0], at::tanh(at::mm(x2, w)), 1e-5, 1e-6));
  auto on_device = *program->run({large.to(kDevice).slice(0, 4, 7), w.to(kDevice)});
  EXPECT_EQ(on_device[0].device(), kDevice);
  EXPECT_TRUE(at::allclose(on_device[0].cpu(), at::tanh(at::mm(x2, w)), 1e-5, 1e-6));
}

TEST_F(Capture, WritesInputsBackWithinTheirWindow) {
  for (bool device : {false, true}) {
    at::Tensor whole = at::arange(12, at::kFloat), expected = whole.clone();
    if (device) whole = whole.to(kDevice);
    at::Tensor x = whole.slice(0, 3, 7);
    begin_capture();
    at::Tensor a = stand_in(x);
    a.mul_(10);
    auto program = end_capture({a}, {a.sum()});
    EXPECT_TRUE(at::equal(whole.cpu(), expected));
    at::Tensor sum = (*program->run({x}))[0];
    expected.slice(0, 3, 7).mul_(10);
    EXPECT_TRUE(at::equal(whole.cpu(), expected));
    EXPECT_EQ(sum.item<float>(), expected.slice(0, 3, 7).sum().item<float>());
  }
}

TEST_F(Capture, AReadRaisesAndLeavesTheInputsAlone) {
  at::Tensor x = at::ones({4});
  begin_capture();
  at::Tensor a = stand_in(x);
  EXPECT_THROW(a.cpu(), c10::Error);
  a.add_(1);
  EXPECT_THROW(a.cpu(), c10::Error);
  abort_capture();
  sync();
  EXPECT_TRUE(at::equal(x, at::ones({4})));
}

TEST_F(Capture, RefusesOtherShapes) {
  at::Tensor x = at::ones({4});
  begin_capture();
  at::Tensor a = stand_in(x);
  auto program = end_capture({a}, {a + 1});
  EXPECT_FALSE(program->run({at::ones({5})}));  // captured for other sizes
  EXPECT_THROW(program->run({}), c10::Error);
  EXPECT_TRUE(at::equal((*program->run({at::full({4}, 2.f)}))[0], at::full({4}, 3.f)));
}

}  // namespace
}  // namespace cresset::trace
