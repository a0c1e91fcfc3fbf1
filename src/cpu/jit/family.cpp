#include "cpu/jit/family.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

namespace cresset::cpu {
namespace {

constexpr size_t kMostFamilies = 8192;

// Numbers of channels are seldom anything but powers of two, or code is hardly slower that doesn't know them. Bits of floats are larger.
bool is_likely_a_size(int64_t v) {
  constexpr int64_t kSmall = 16, kLarge = 1 << 28;
  return v > kSmall && v < kLarge && !llvm::isPowerOf2_64(uint64_t(v));
}

std::unordered_map<std::string, Family>& families() {
  static auto* all = new std::unordered_map<std::string, Family>;
  return *all;
}

std::string note_key(const std::string& digest, const Target& target) { return kernel_key("numbers " + digest, target); }

}  // namespace

Family::Family(std::string digest, const Target& target) : digest_(std::move(digest)), target_(target) {
  std::istringstream note(find_note(note_key(digest_, target)));
  int64_t number;
  for (int known; note >> number >> known;) first_.push_back(number), classes_.push_back(known);
}

void Family::add(const std::vector<int64_t>& numbers, bool sizes) {
  const bool is_first = first_.size() != numbers.size();
  if (is_first) {
    first_ = numbers, classes_.assign(numbers.size(), 0);
    for (size_t i = 0; sizes && i < numbers.size(); ++i) classes_[i] = is_likely_a_size(numbers[i]);
  }
  // Classes fall apart where their numbers do. Those that were alike in all kernels are told apart by what they were, too. They are numbered by where they begin.
  std::map<std::tuple<int, int64_t, int64_t>, int> parts;
  const int before = classes_.empty() ? 0 : *std::max_element(classes_.begin(), classes_.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!classes_[i] && numbers[i] == first_[i]) continue;
    std::tuple part(classes_[i], classes_[i] ? 0 : first_[i], numbers[i]);
    classes_[i] = parts.insert({part, int(parts.size()) + 1}).first->second;
  }
  if (!is_first && int(parts.size()) == before) return;
  key_.clear(), code.reset();
  std::string note;
  for (size_t i = 0; i < numbers.size(); ++i) note += std::to_string(first_[i]) + ' ' + std::to_string(classes_[i]) + ' ';
  keep_note(note_key(digest_, target_), note);
}

const std::string& Family::key() {
  if (!key_.empty()) return key_;
  std::string content = "family " + digest_;
  for (size_t i = 0; i < classes_.size(); ++i) content += classes_[i] ? " ?" + std::to_string(classes_[i]) : ' ' + std::to_string(first_[i]);
  code = find_kernel(key_ = kernel_key(content, target_));
  return key_;
}

std::vector<int64_t> Family::arguments(const std::vector<int64_t>& numbers) const {
  std::vector<int64_t> result;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (classes_[i] > int(result.size())) result.push_back(numbers[i]);
  return result;
}

Family& family_of(const std::string& digest, const Target& target) { return families().try_emplace(digest, digest, target).first->second; }
void forget_families() {
  if (families().size() > kMostFamilies) families().clear();
}

}  // namespace cresset::cpu
