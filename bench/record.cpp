// What recording costs, PyTorch's dispatch included: nanoseconds for one operator, best of several rounds. Every round's
// results are dropped unread, so that nothing is compiled.
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "trace/step.h"

namespace {

template <class Function>
void measure(const char* name, Function&& function) {
  constexpr int kRounds = 20, kOperators = 2000;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kOperators; ++i) function();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kOperators);
  }
  std::printf("%-28s %7.0f ns\n", name, best * 1e9);
}

}  // namespace

int main() {
  c10::InferenceMode guard;
  cresset::trace::begin_step();
  auto cpu = at::ones({64, 64});
  measure("eager CPU, ones(64, 64) + x", [&] { (void)(cpu + cpu); });
  auto options = at::TensorOptions().device(c10::Device(c10::DeviceType::PrivateUse1, 0));
  auto a = at::ones({64, 64}, options), b = at::ones({64, 64}, options);
  at::Tensor r;
  // A chain, so that no operator is the same as the one before.
  r = a;
  int i = 0;
  auto restart = [&] { if (++i % 1000 == 0) r = a; };
  measure("add(tensor, tensor)", [&] { r = at::add(r, b); restart(); });
  measure("mul(tensor, 0.5)", [&] { r = at::mul(r, 0.5); restart(); });
  measure("mul_(tensor, 0.5)", [&] { r.mul_(0.5); if (++i % 1000 == 0) r = at::add(a, 1); });
  r = a;
  measure("gelu", [&] { r = at::gelu(r); restart(); });
  measure("mm", [&] { r = at::mm(r, b); restart(); });
  measure("mm(x, w.t())", [&] { r = at::mm(r, b.t()); restart(); });
  r = a;
  measure("the same add (shared)", [&] { r = at::add(a, b); });
}
