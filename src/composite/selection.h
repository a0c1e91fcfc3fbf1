// Which composites stay whole, and what became of each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "runtime/program.h"
#include "stablehlo/dialect.h"

namespace cresset::composite {

/// A pattern of composites: a name with globs ("aten.gelu*"; "gelu" is "aten.gelu"), and conditions in braces:
/// "aten.gelu{version=1, dtype=f32|bf16, rank>=2, shape=4x8, approximate!=tanh}". dtype, rank and shape are the first operand's; any other key is an attribute.
/// "all" is "*"; "default" is every composite whose own condition holds (`when` in the catalogue).
class Filter {
 public:
  /// Throws std::invalid_argument that says what is wrong with the text.
  explicit Filter(const std::string& text);
  bool matches(mlir::stablehlo::CompositeOp op) const;
  const std::string& name() const { return name_; }
  /// Throws std::invalid_argument if a condition is on an attribute that no composite of the catalogue by this name has.
  void check_keys() const;

 private:
  struct Condition {
    std::string key, relation;
    std::vector<std::string> values;  // of which one must be, with = and !=
    bool holds(const std::string& value) const;
  };
  std::string name_;  ///< of the catalogue, if it was a foreign one of that
  std::vector<Condition> conditions_;
};

/// Filters separated by commas: "all", "none", "aten.gelu*,softmax", "all,-aten.addmm": the last that matches decides.
class Selection {
 public:
  /// `base` is what an empty text selects, and what exclusions alone take from. Throws std::invalid_argument.
  explicit Selection(const std::string& text = "", const std::string& base = "default");
  bool keeps(mlir::stablehlo::CompositeOp op) const;
  /// Looks for misspelt names among the filters without globs. Throws std::invalid_argument if one is ATen's by its namespace, or by having none, but neither in the catalogue nor a
  /// user's nor among `others`, or if it is on an attribute that its composite does not have. Returns what to warn of: names that may yet be defined, but are nearly one that is.
  std::vector<std::string> check_names(const std::vector<std::string>& others = {}) const;
  /// Equal for equal selections; part of a program's key.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::pair<Filter, bool>> filters_;
};

/// The names of a module's composites.
std::vector<std::string> names_in(mlir::ModuleOp module);

/// What became of the composites of a program.
class Report {
 public:
  void add(mlir::stablehlo::CompositeOp op, const std::string& became, const std::string& why = {});
  std::vector<CompositeFate> fates() const;

 private:
  std::map<std::string, CompositeFate> fates_;
};

/// Decomposes what the selection does not keep, and reports it.
mlir::LogicalResult select(mlir::ModuleOp module, const Selection& selection, Report& report);

/// Replaces every composite by a stablehlo.custom_call of its name with the attributes as its backend_config (API version 4, the typed FFI of XLA) and its version
/// as a frontend attribute, composite_version.
void to_custom_calls(mlir::ModuleOp module, const std::function<bool(mlir::stablehlo::CompositeOp)>& should);

}  // namespace cresset::composite
