#include "composite/catalogue.h"

#include <map>

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

const std::vector<Scalar>& scalar_references() {
  static const auto* references = new std::vector<Scalar>{
#include "generated/references.inc"
  };
  return *references;
}

}  // namespace cresset::composite
