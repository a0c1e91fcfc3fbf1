// One operator of each kind: its value against the CPU's, and the counter that says that it was lowered.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "cresset/metrics.h"

namespace cresset {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);
using Tensors = std::vector<at::Tensor>;

int64_t fallbacks() {
  int64_t n = 0;
  for (auto& [name, count] : counters()) n += name.rfind("aten::", 0) == 0 ? count : 0;
  return n;
}

// Runs `function` on both devices; `counter` must grow, and nothing may fall back.
void check(const char* counter, const Tensors& inputs, const std::function<Tensors(const Tensors&)>& function) {
  reset_counters();
  Tensors moved;
  for (const at::Tensor& t : inputs) moved.push_back(t.defined() ? t.to(kDevice) : at::Tensor());
  Tensors ours = function(moved), expected = function(inputs);
  EXPECT_GE(counters()[counter], 1) << counter;
  EXPECT_EQ(fallbacks(), 0);
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].device(), kDevice);
    EXPECT_EQ(ours[i].scalar_type(), expected[i].scalar_type());
    EXPECT_TRUE(at::allclose(ours[i].cpu(), expected[i], 1.3e-6, 1e-5)) << counter << " result " << i;
  }
}

TEST(Operators, Abs) { check("cresset::abs", {at::randn({3, 4})}, [](const Tensors& t) -> Tensors { return {at::abs(t[0])}; }); }
TEST(Operators, InPlace) {
  check("cresset::abs", {at::randn({3, 4})}, [](const Tensors& t) -> Tensors { return {t[0].clone().abs_()}; });
}
TEST(Operators, Out) {
  check("cresset::abs", {at::randn({3, 4})}, [](const Tensors& t) -> Tensors {
    at::Tensor out = at::empty({0}, t[0].options());
    return {at::abs_out(out, t[0])};
  });
}
TEST(Operators, BinaryWithBroadcastingAndPromotion) {
  check("cresset::add", {at::randn({3, 1}), at::arange(4)}, [](const Tensors& t) -> Tensors { return {at::add(t[0], t[1], 2)}; });
}
TEST(Operators, OptionalTensor) {
  Tensors inputs{at::rand({5}), at::rand({5}), at::rand({5})};
  check("cresset::binary_cross_entropy", inputs, [](const Tensors& t) -> Tensors { return {at::binary_cross_entropy(t[0], t[1]), at::binary_cross_entropy(t[0], t[1], t[2])}; });
}
TEST(Operators, Scalars) {
  check("cresset::addcdiv", {at::randn({6}), at::randn({6}), at::rand({6}) + 1}, [](const Tensors& t) -> Tensors { return {at::addcdiv(t[0], t[1], t[2], 0.5)}; });
}
TEST(Operators, DimensionsFromTheEnd) {
  check("cresset::amax", {at::randn({2, 3, 4})}, [](const Tensors& t) -> Tensors { return {at::amax(t[0], {-1, -3}), at::amax(t[0], {1}, true)}; });
}
TEST(Operators, SeveralResults) {
  check("cresset::native_layer_norm", {at::randn({2, 8}), at::randn({8}), at::randn({8})}, [](const Tensors& t) -> Tensors {
    auto [y, mean, rstd] = at::native_layer_norm(t[0], {8}, t[1], t[2], 1e-5);
    return {y, mean, rstd};
  });
}
TEST(Operators, AConditionThatIsNotMetFallsBack) {
  at::Tensor sequence = at::tensor({3., 1., 2.}, at::kFloat), values = at::tensor({0., 1.5, 2.}, at::kFloat), sorter = sequence.argsort();
  auto search = [](at::Tensor sequence, at::Tensor values, at::Tensor sorter) { return at::searchsorted(sequence, values, false, false, std::nullopt, sorter); };
  reset_counters();
  at::Tensor ours = search(sequence.to(kDevice), values.to(kDevice), sorter.to(kDevice));
  EXPECT_EQ(counters()["aten::searchsorted"] + counters()["aten::searchsorted.Tensor"], 1);
  EXPECT_EQ(counters()["cresset::searchsorted"], 0);
  EXPECT_TRUE(at::equal(ours.cpu(), search(sequence, values, sorter)));
}
TEST(Operators, ErrorsAreEagers) {
  at::Tensor a = at::ones({3}).to(kDevice), b = at::ones({4}).to(kDevice);
  EXPECT_THROW(at::add(a, b), c10::Error);
  EXPECT_THROW(at::mm(a, b), c10::Error);
  EXPECT_THROW(at::add(a, at::ones({3})), c10::Error);
  EXPECT_TRUE(at::equal((a + 1).cpu(), at::full({3}, 2.f)));
}

}  // namespace
}  // namespace cresset
