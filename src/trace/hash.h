// Hashing for tables in memory (mix) and for names that last (Digest).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cresset::trace {

inline uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

/// 128 bits over values, not addresses: the same in every process.
class Digest {
 public:
  void add(uint64_t v) {
    a_ = mix(a_, v);
    b_ = mix(b_ ^ 0xc4ceb9fe1a85ec53ull, v * 0x9ddfea08eb382d69ull + 1);
  }
  void add(std::string_view text) {
    add(text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      for (size_t j = i; j < text.size() && j < i + 8; ++j) word = word << 8 | uint8_t(text[j]);
      add(word);
    }
  }
  std::string hex() const {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)a_, (unsigned long long)b_);
    return text;
  }

 private:
  uint64_t a_ = 0x243f6a8885a308d3ull, b_ = 0x13198a2e03707344ull;
};

}  // namespace cresset::trace
