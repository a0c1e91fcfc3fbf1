// Tensors of the device alias, convert and fail as the CPU's do.
#include "trace/cell.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "trace/step.h"

namespace cresset::trace {
namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

at::Tensor counting(at::IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return at::arange(n, at::kFloat).reshape(sizes);
}

// The function does to a device tensor what it does to a CPU tensor; it gives back what to compare.
template <class Function>
void same(at::Tensor cpu, Function&& function) {
  at::Tensor device = cpu.to(kDevice);
  at::Tensor expected = function(cpu.clone()), actual = function(device);
  ASSERT_EQ(actual.device(), kDevice);
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.strides(), expected.strides());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::equal(actual.cpu(), expected)) << actual.cpu() << expected;
}

template <class Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return "no error";
}

TEST(Cell, WritesThroughViews) {
  same(counting({4, 6}), [](at::Tensor x) { return x.t().mul_(2), x; });
  same(counting({4, 6}), [](at::Tensor x) { return x.slice(0, 1, 3).slice(1, 0, 6, 2).add_(1), x; });
  same(counting({4, 6}), [](at::Tensor x) { return x.select(1, 2).zero_(), x; });
  same(counting({4, 6}), [](at::Tensor x) { return x.diagonal().fill_(7), x; });
  same(counting({4, 6}), [](at::Tensor x) { return x.as_strided({3, 2}, {1, 3}, 2).mul_(3), x; });
  same(counting({4, 6}), [](at::Tensor x) { return x.view({2, 12}).select(0, 1).sub_(1), x; });
}

TEST(Cell, ReadsThroughWindows) {
  same(counting({4, 6}), [](at::Tensor x) { return x.t().contiguous(); });
  same(counting({4, 6}), [](at::Tensor x) { return x.unfold(1, 3, 1) + 0; });
  same(counting({4, 6}), [](at::Tensor x) { return x.as_strided({2, 3, 2}, {7, 2, 1}, 3) * 2; });
  same(counting({1, 6}), [](at::Tensor x) { return x.expand({4, 6}) + 1; });
  same(counting({4, 6}), [](at::Tensor x) { return x.slice(0, 2, 2) + 1; });
}

TEST(Cell, KeepsTheStridesOfResults) {
  same(counting({4, 6}), [](at::Tensor x) { return x.t() + 1; });
  same(counting({2, 3, 4, 5}), [](at::Tensor x) { return x.contiguous(at::MemoryFormat::ChannelsLast).mul(2); });
  same(counting({4, 6}), [](at::Tensor x) { return (x.t() + 1).t().select(0, 1).add_(5); });
}

TEST(Cell, SeesTheBytesOfAnotherType) {
  same(counting({4, 6}), [](at::Tensor x) { return x.view(at::kInt).bitwise_and(0x7f800000); });
}

TEST(Cell, ALaterWriteDoesNotReachAnEarlierRead) {
  at::Tensor x = counting({4}).to(kDevice), y = x + 1, z = x.clone();
  x.zero_();
  EXPECT_TRUE(at::equal(y.cpu(), counting({4}) + 1));
  EXPECT_TRUE(at::equal(z.cpu(), counting({4})));
  EXPECT_TRUE(at::equal(x.cpu(), at::zeros({4})));
}

TEST(Cell, RefusesToWriteWhereElementsOverlap) {
  at::Tensor x = at::ones({1, 3}).to(kDevice);
  EXPECT_NE(error_of([&] { x.expand({2, 3}).add_(1); }).find("refers to a single memory location"), std::string::npos);
}

TEST(Cell, NeverWrittenIsReadable) {
  at::Tensor x = at::empty({3}, at::TensorOptions().device(kDevice));
  EXPECT_EQ(x.cpu().numel(), 3);
  x.slice(0, 0, 2).fill_(4);
  EXPECT_TRUE(at::equal(x.slice(0, 0, 2).cpu(), at::full({2}, 4.f)));
}

TEST(Recorder, NamesTheDevicesThatDiffer) {
  at::Tensor x = at::ones({3}).to(kDevice);
  std::string text = error_of([&] { at::add(x, at::ones({3})); });
  EXPECT_NE(text.find("Expected all tensors to be on the same device, but found at least two devices, cresset:0 and cpu!"), std::string::npos) << text;
  EXPECT_NE(text.find("argument other in method aten::add"), std::string::npos) << text;
}

TEST(Recorder, TakesNumbersOnTheCpuAsTheCpuDoes) {
  same(counting({4}), [](at::Tensor x) { return x * at::scalar_tensor(2.5, at::kDouble); });
  same(counting({4}).to(at::kInt), [](at::Tensor x) { return x * 2.5; });
  same(counting({4}).to(at::kInt), [](at::Tensor x) { return x + at::scalar_tensor(2, at::kLong); });
  same(counting({4}).to(at::kBFloat16), [](at::Tensor x) { return x + 1.5; });
}

TEST(Recorder, InPlaceKeepsShapeAndType) {
  at::Tensor x = at::ones({3, 4}).to(kDevice), n = at::ones({3}, at::kInt).to(kDevice);
  EXPECT_NE(error_of([&] { x.add_(at::ones({2, 3, 4}).to(kDevice)); }).find("doesn't match the broadcast shape"), std::string::npos);
  EXPECT_NE(error_of([&] { n.mul_(1.5); }).find("can't be cast to the desired output type"), std::string::npos);
  EXPECT_TRUE(at::equal(x.cpu(), at::ones({3, 4})));
}

}  // namespace
}  // namespace cresset::trace
