// Trains a small network on the device without Python: loading the library registers it.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdio>

#include "cresset/metrics.h"

int main() {
  const c10::Device device(c10::DeviceType::PrivateUse1, 0);
  at::manual_seed(0);
  at::Tensor x = at::randn({64, 8}).to(device), target = (at::randn({64, 1}).to(device) * 0.1 + x.sum(1, true)).tanh();
  std::vector<at::Tensor> weights{(at::randn({8, 32}) * 0.3).to(device), (at::randn({32, 1}) * 0.3).to(device)};
  for (at::Tensor& w : weights) w.requires_grad_();

  double first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    at::Tensor loss = at::mse_loss(at::matmul(at::gelu(at::matmul(x, weights[0])), weights[1]), target);
    auto gradients = torch::autograd::grad({loss}, weights);
    at::NoGradGuard no_gradient;
    for (size_t i = 0; i < weights.size(); ++i) weights[i].sub_(gradients[i], 0.2);
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  auto counts = cresset::counters();
  std::printf("loss %.4f, then %.4f; %lld programs compiled\n", first, last, static_cast<long long>(counts["cresset.compile"]));
  for (const auto& [name, count] : counts)
    if (name.rfind("aten::", 0) == 0) std::printf("fell back: %s\n", name.c_str());
  return last < 0.5 * first && counts["cresset::gelu_backward"] > 0 ? 0 : 1;
}
