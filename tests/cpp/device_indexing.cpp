#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cresset/metrics.h"

namespace cresset {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

TEST(IndexCopy, IsWhatTheCpuDoesInEveryVariant) {
  reset_counters();
  at::Tensor self = at::arange(24.).view({2, 4, 3}), source = -at::arange(12.).view({2, 2, 3}) - 1, index = at::tensor({3, 0}, at::kLong);
  at::Tensor x = self.to(kDevice), s = source.to(kDevice), i = index.to(kDevice), expected = self.index_copy(1, index, source);
  EXPECT_TRUE(at::equal(x.index_copy(1, i, s).cpu(), expected));
  EXPECT_TRUE(at::equal(x.index_copy(-2, i, s).cpu(), expected));
  EXPECT_TRUE(at::equal(x.cpu(), self));
  at::Tensor out = at::empty({2, 4, 3}, x.options());
  at::index_copy_out(out, x, 1, i, s);
  EXPECT_TRUE(at::equal(out.cpu(), expected));
  at::Tensor whole = at::zeros({2, 5, 3}).to(kDevice);  // through a view
  whole.narrow(1, 1, 4).copy_(x);
  whole.narrow(1, 1, 4).index_copy_(1, i, s);
  EXPECT_TRUE(at::equal(whole.cpu(), at::constant_pad_nd(expected, {0, 0, 1, 0})));
  EXPECT_EQ(counters().count("aten::index_copy"), 0u);
  EXPECT_EQ(counters().count("aten::index_copy_"), 0u);
  EXPECT_GT(counters()["cresset::index_copy"] + counters()["cresset::index_copy_"], 0);
}

TEST(IndexCopy, ScalarsAndNothing) {
  at::Tensor zero = at::zeros({1}, at::kLong).to(kDevice), none = at::zeros({0}, at::kLong).to(kDevice);
  EXPECT_EQ(at::scalar_tensor(2.).to(kDevice).index_copy(0, zero, at::full({1}, 7.f).to(kDevice)).item<float>(), 7);
  EXPECT_EQ(at::ones({3}).to(kDevice).index_copy(0, zero.squeeze(), at::scalar_tensor(7.).to(kDevice)).sum().item<float>(), 9);
  EXPECT_TRUE(at::equal(at::ones({3, 2}).to(kDevice).index_copy(0, none, at::ones({0, 2}).to(kDevice)).cpu(), at::ones({3, 2})));
}

TEST(IndexCopy, RefusesIndicesOutsideAndNegativeOnes) {
  at::Tensor x = at::ones({4}).to(kDevice), s = at::zeros({2}).to(kDevice);
  for (int64_t wrong : {4, -1}) {
    at::Tensor i = at::tensor({int64_t(0), wrong}, at::kLong).to(kDevice);
    try {
      x.index_copy_(0, i, s);
      FAIL() << "accepted " << wrong;
    } catch (const c10::IndexError& error) {
      EXPECT_NE(std::string(error.what()).find("aten::index_copy: index " + std::to_string(wrong) + " lies outside [0, 4)"), std::string::npos) << error.what();
    }
    EXPECT_THROW(x.index_copy(0, i + 0, s).cpu(), c10::IndexError);  // not known yet when it is recorded
  }
  EXPECT_THROW(x.index_copy(0, at::zeros({2}, at::kLong).to(kDevice), at::zeros({3}).to(kDevice)), c10::Error);
  EXPECT_THROW(x.index_copy(0, at::zeros({2}, at::kLong).to(kDevice), at::zeros({2}, at::kDouble).to(kDevice)), c10::Error);
}

TEST(IndexCopy, Gradient) {
  auto gradients = [](c10::Device device) {
    at::Tensor x = at::arange(12., at::kDouble).view({4, 3}).to(device).requires_grad_(), s = at::arange(6., at::kDouble).view({2, 3}).to(device).requires_grad_();
    x.index_copy(0, at::tensor({2, 0}, at::kLong).to(device), s).pow(2).sum().backward();
    return std::pair(x.grad().cpu(), s.grad().cpu());
  };
  auto ours = gradients(kDevice), expected = gradients(at::kCPU);
  EXPECT_TRUE(at::equal(ours.first, expected.first));
  EXPECT_TRUE(at::equal(ours.second, expected.second));
}

}  // namespace
}  // namespace cresset
