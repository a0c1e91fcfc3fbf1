// The catalogue of composites, from ops/composites.yaml.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "composite/dual.h"
#include "llvm/ADT/StringRef.h"

namespace cresset::composite {

/// An attribute and its value.
struct Constant {
  std::string name;
  std::variant<bool, int64_t, double, std::string> value;
};

struct Entry {
  std::string name;
  int version = 1;
  std::string backward;              ///< or ""
  std::vector<std::string> aliases;  ///< foreign names of the same operator
  std::vector<Constant> fixed;       ///< attributes that a raised one has besides the forward's
  std::vector<std::string> attributes;  ///< their names; "*", any, if the schema was not at hand
  double (*slope)(double) = nullptr; ///< of a gradient g · slope(y): given for those in terms of the forward's result
  std::string when;                  ///< conditions of a Filter under which it is kept by default, or ""
  std::string implicit;              ///< operator that PyTorch decomposes above the device and Python keeps whole, or ""
  bool piece = false;                ///< also a part of others' spellings
};
const std::vector<Entry>& catalogue();
/// By its name or a foreign one; null if it is neither.
const Entry* find_composite(llvm::StringRef name);
/// Whether a composite's results are kept for the backward; a piece is computed again there.
bool is_saved(std::string_view name);

/// Makes the name of a user's composite, and of its gradient, known to those who misspell it.
void define_composite(const std::string& name);
/// The names of the catalogue and of users, sorted.
std::vector<std::string> composite_names();

using Function = std::function<double(double)>;

/// What an element-wise composite computes.
struct Scalar {
  struct Recovered {
    std::string attribute;
    double (*solve)(const Function& f);
  };
  std::string name;
  std::vector<Constant> fixed;
  std::vector<Recovered> recover;               ///< the parameters
  Dual (*formula)(Dual x, const double* parameters);
};
const std::vector<Scalar>& scalar_references();

}  // namespace cresset::composite
