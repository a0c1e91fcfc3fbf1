// The device's random state: a seed and a counter for Philox, both inputs of the compiled programs.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <optional>
#include <utility>

namespace cresset::device {

class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(uint64_t seed = c10::default_rng_seed_val);
  void set_current_seed(uint64_t seed) override;
  void set_offset(uint64_t offset) override { offset_ = offset; }
  uint64_t get_offset() const override { return offset_; }
  uint64_t current_seed() const override { return seed_; }
  uint64_t seed() override;
  /// 16 bytes: seed and offset.
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  /// Blocks of four words for one operator; the next one begins behind them.
  int64_t reserve(uint64_t blocks);

 private:
  Generator* clone_impl() const override;
  uint64_t seed_, offset_ = 0;
};

at::Generator& default_generator();

/// Seed and offset for one random operator of at most 2^32 elements.
std::pair<int64_t, int64_t> next_random(const std::optional<at::Generator>& generator);

}  // namespace cresset::device
