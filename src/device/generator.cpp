#include "device/generator.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstring>

#include "trace/capture.h"

namespace cresset::device {

Generator::Generator(uint64_t seed)
    : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, 0), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), seed_(seed) {}

void Generator::set_current_seed(uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
}
uint64_t Generator::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom());
  return seed_;
}
void Generator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == 16, "cresset: a generator's state has 16 bytes (seed, offset), this one has ", state.numel());
  uint64_t words[2];
  std::memcpy(words, state.data(), 16);
  seed_ = words[0];
  offset_ = words[1];
}
c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const {
  auto t = at::empty({16}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
  uint64_t words[2] = {seed_, offset_};
  std::memcpy(t.data_ptr(), words, 16);
  return t.getIntrusivePtr();
}
Generator* Generator::clone_impl() const {
  auto* g = new Generator(seed_);
  g->offset_ = offset_;
  return g;
}
int64_t Generator::reserve(uint64_t blocks) {
  std::lock_guard lock(mutex_);
  uint64_t first = offset_;
  offset_ += blocks;
  return int64_t(first);
}

at::Generator& default_generator() {
  static auto* g = new at::Generator(at::make_generator<Generator>());
  return *g;
}

std::pair<int64_t, int64_t> next_random(const std::optional<at::Generator>& generator) {
  at::Generator g = generator && generator->defined() ? *generator : default_generator();
  TORCH_CHECK(g.device().type() == c10::DeviceType::PrivateUse1, "Expected a 'cresset' device type for generator but found '", g.device().type(), "'");
  auto* own = static_cast<Generator*>(g.unsafeGetGeneratorImpl());
  return {int64_t(own->current_seed()), own->reserve(trace::kRandomBlocks)};
}

static const bool registered = [] {
  trace::draw_random = [] { return next_random(std::nullopt); };
  return true;
}();

}  // namespace cresset::device
