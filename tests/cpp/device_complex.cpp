#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cresset/metrics.h"

namespace cresset {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

TEST(Complex, OperatorsAreRecordedOnPairs) {
  at::Tensor x = at::randn({3, 4, 2}), z = at::view_as_complex(x), ours = at::view_as_complex(x.to(kDevice));
  reset_counters();
  EXPECT_TRUE(at::allclose(at::view_as_real(ours * ours).cpu(), at::view_as_real(z * z)));
  EXPECT_EQ(counters()["aten::mul"], 0);
  EXPECT_EQ(counters()["cresset::mul"], 4);
  EXPECT_TRUE(at::allclose(ours.conj().cpu(), z.conj()));
  EXPECT_TRUE(at::allclose((at::imag(ours.conj()) + 1).cpu(), at::imag(z.conj()) + 1));
}
TEST(Complex, WhatHasNoDecompositionIsComputedOnTheCpuAndCounted) {
  at::Tensor z = at::view_as_complex(at::randn({3, 4, 2}));
  reset_counters();
  EXPECT_TRUE(at::allclose(z.to(kDevice).tan().cpu(), z.tan()));
  EXPECT_EQ(counters()["aten::tan"], 1);
}
TEST(Complex, AViewOfComplexNumbersIsAView) {
  at::Tensor x = at::ones({2, 2}).to(kDevice);
  at::view_as_complex(x).mul_(3);
  EXPECT_TRUE(at::equal(x.cpu(), at::full({2, 2}, 3.f)));
  at::Tensor z = at::view_as_complex(x);
  x.add_(1);
  EXPECT_TRUE(at::equal(at::real(z).cpu(), at::full({2}, 4.f)));
}

}  // namespace
}  // namespace cresset
