#include "composite/catalogue.h"

#include <map>
#include <mutex>
#include <set>

namespace cresset::composite {

const std::vector<Entry>& catalogue() {
  static const auto* entries = new std::vector<Entry>{
#include "generated/catalogue.inc"
  };
  return *entries;
}

const Entry* find_composite(llvm::StringRef name) {
  static const auto* by_name = [] {
    auto* map = new std::map<std::string, const Entry*>;
    for (const Entry& e : catalogue()) {
      for (const std::string& alias : e.aliases) map->insert({alias, &e});
    }
    for (const Entry& e : catalogue()) (*map)[e.name] = &e;
    return map;
  }();
  auto it = by_name->find(name.str());
  return it == by_name->end() ? nullptr : it->second;
}
bool is_saved(std::string_view name) {
  const Entry* entry = find_composite(name);
  return entry && !entry->piece;
}

namespace {
struct Defined {
  std::mutex mutex;
  std::set<std::string> names;
};
Defined& defined() {
  static auto* d = new Defined;
  return *d;
}
}  // namespace

void define_composite(const std::string& name) {
  std::lock_guard lock(defined().mutex);
  defined().names.insert({name, name + "_backward"});
}
std::vector<std::string> composite_names() {
  std::lock_guard lock(defined().mutex);
  std::set<std::string> all = defined().names;
  for (const Entry& e : catalogue()) all.insert(e.name);
  return {all.begin(), all.end()};
}

const std::vector<Scalar>& scalar_references() {
  static const auto* references = new std::vector<Scalar>{
#include "generated/references.inc"
  };
  return *references;
}

}  // namespace cresset::composite
