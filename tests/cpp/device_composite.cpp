#include "cresset/composite.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "cresset/metrics.h"

namespace cresset {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

Tensors swiglu(const Tensors& in, const Attributes& a) { return {at::silu(std::get<double>(a.at("beta")) * at::matmul(in[0], in[1])) * at::matmul(in[0], in[2])}; }

Tensors inputs(c10::Device device) {
  at::manual_seed(0);
  Tensors all;
  for (auto shape : {std::vector<int64_t>{3, 4}, {4, 5}, {4, 5}}) all.push_back(at::randn(shape, at::kDouble).to(device).requires_grad_());
  return all;
}

void check(const Composite& composite, double factor = 1) {
  Attributes attributes{{"beta", 0.5}};
  Tensors ours = inputs(kDevice), plain = inputs(at::kCPU);
  at::Tensor y = composite(ours, attributes)[0], expected = swiglu(plain, attributes)[0];
  EXPECT_TRUE(at::allclose(y.detach().cpu(), expected.detach()));
  Tensors gradients = torch::autograd::grad({y.sum()}, ours), wanted = torch::autograd::grad({expected.sum()}, plain);
  for (size_t i = 0; i < gradients.size(); ++i) EXPECT_TRUE(at::allclose(gradients[i].cpu(), wanted[i] * factor)) << i;
}

TEST(Composite, ForwardAndDerivedBackward) {
  reset_counters();
  check(Composite("acme.cpp_swiglu", 2, swiglu));
  EXPECT_EQ(counters()["cresset::acme.cpp_swiglu"], 1);
  EXPECT_EQ(counters()["cresset::acme.cpp_swiglu_backward"], 1);
}
TEST(Composite, AGradientOfOnesOwn) {
  check(Composite("acme.cpp_tripled", 1, swiglu,
                  [](const Tensors& gradients, const Tensors& in, const Attributes& a) {
                    at::AutoGradMode enabled(true);
                    Tensors leaves;
                    for (const at::Tensor& t : in) leaves.push_back(t.detach().requires_grad_());
                    Tensors found = torch::autograd::grad(swiglu(leaves, a), leaves, gradients);
                    for (at::Tensor& t : found) t = 3 * t;
                    return found;
                  }),
        3);
}
TEST(Composite, OnTheCpuTheFunctionRuns) {
  Tensors plain = inputs(at::kCPU);
  Attributes attributes{{"beta", 2.0}};
  EXPECT_TRUE(at::equal(Composite("acme.cpp_cpu", 1, swiglu)(plain, attributes)[0], swiglu(plain, attributes)[0]));
}
TEST(Composite, Mistakes) {
  EXPECT_THROW(Composite("swiglu", 1, swiglu), c10::ValueError);
  EXPECT_THROW(Composite("acme.swiglu", 0, swiglu), c10::ValueError);
  Composite in_place("acme.cpp_bad", 1, [](const Tensors& in, const Attributes&) -> Tensors { return {in[0].add_(1)}; });
  at::Tensor x = at::ones({2}).to(kDevice);
  EXPECT_THROW(in_place({x}), c10::Error);
  EXPECT_TRUE(at::equal((x + 1).cpu(), at::full({2}, 2.f)));
}

}  // namespace
}  // namespace cresset
