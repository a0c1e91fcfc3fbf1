#include "composite/selection.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "composite/catalogue.h"
#include "composite/decompose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::composite {
namespace {

using namespace mlir;

bool glob_matches(StringRef pattern, StringRef text) {
  auto glob = llvm::GlobPattern::create(pattern);
  if (glob) return glob->match(text);
  llvm::consumeError(glob.takeError());
  return pattern == text;
}

// An attribute as one writes it in a filter: tanh, true, 1, 0.5, 1x2.
std::string plain(Attribute a) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto s = dyn_cast<StringAttr>(a)) out << s.getValue();
  else if (auto b = dyn_cast<BoolAttr>(a)) out << (b.getValue() ? "true" : "false");
  else if (auto i = dyn_cast<IntegerAttr>(a)) out << i.getValue();
  else if (auto f = dyn_cast<FloatAttr>(a)) out << llvm::format("%g", f.getValueAsDouble());
  else if (auto is = dyn_cast<DenseI64ArrayAttr>(a)) llvm::interleave(is.asArrayRef(), out, "x");
  else out << a;
  return text;
}

std::string value_of(stablehlo::CompositeOp op, StringRef key) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto first = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : RankedTensorType();
  if (key == "version") out << op.getVersion();
  else if (key == "dtype" && first) out << first.getElementType();
  else if (key == "rank" && first) out << first.getRank();
  else if (key == "shape" && first) llvm::interleave(first.getShape(), out, "x");
  else if (Attribute a = op.getCompositeAttributes().get(key)) out << plain(a);
  return text;
}

// At commas outside braces.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) parts.emplace_back();
    else parts.back() += c;
  }
  std::vector<std::string> trimmed;
  for (const std::string& part : parts)
    if (StringRef t = StringRef(part).trim(); !t.empty()) trimmed.push_back(t.str());
  return trimmed;
}

// Values that nothing can have are mistakes.
void check_values(const std::string& filter, StringRef key, const std::vector<std::string>& values) {
  static const char* const dtypes[] = {"bf16", "f16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "ui8", "complex<f32>", "complex<f64>"};
  for (const std::string& value : values) {
    if (key == "dtype" && !llvm::is_contained(dtypes, StringRef(value)))
      throw std::invalid_argument("composite filter '" + filter + "': '" + value + "' is no dtype; write one of " + llvm::join(ArrayRef(dtypes), ", "));
    if ((key == "rank" || key == "version") && !llvm::all_of(value, llvm::isDigit))
      throw std::invalid_argument("composite filter '" + filter + "': " + key.str() + " is a number, not '" + value + "'");
  }
}

bool is_glob(StringRef name) { return name.find_first_of("*?[") != StringRef::npos; }

// The name that was probably meant, or "".
std::string nearest(StringRef name, const std::vector<std::string>& names) {
  std::string best;
  unsigned distance = std::max<unsigned>(2, unsigned(name.size()) / 4) + 1;
  for (const std::string& candidate : names) {
    StringRef shown = candidate;
    if (!name.contains('.')) shown.consume_front("aten.");
    if (unsigned d = name.edit_distance(shown, true, distance); d < distance) best = candidate, distance = d;
  }
  return best;
}

std::string signature(Operation* op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '(';
  llvm::interleaveComma(op->getOperandTypes(), out);
  out << ") -> (";
  llvm::interleaveComma(op->getResultTypes(), out);
  out << ')';
  return text;
}

// The catalogue's condition for keeping this composite, if it has one.
const Filter* own_condition(StringRef name) {
  static const auto* conditions = [] {
    auto* map = new std::map<std::string, Filter>;
    for (const Entry& e : catalogue())
      if (!e.when.empty()) map->emplace(e.name, Filter(e.name + "{" + e.when + "}"));
    return map;
  }();
  auto it = conditions->find(name.str());
  return it == conditions->end() ? nullptr : &it->second;
}

}  // namespace

Filter::Filter(const std::string& text) {
  auto [name, rest] = StringRef(text).trim().split('{');
  name_ = name.trim().str();
  if (name_.empty()) throw std::invalid_argument("composite filter '" + text + "' has no name; write as in aten.gelu{dtype=f32}");
  if (name_ == "all") name_ = "*";
  const Entry* entry = find_composite(name_);
  if (!entry && !StringRef(name_).contains('.')) entry = find_composite("aten." + name_);
  if (entry) name_ = entry->name;
  if (!rest.empty() && !rest.consume_back("}")) throw std::invalid_argument("composite filter '" + text + "' lacks its closing brace");
  for (const std::string& condition : split(rest.str())) {
    size_t at = condition.find_first_of("=!<>"), end = condition.find_first_not_of("=!<>", at);
    if (at == 0 || end == std::string::npos)
      throw std::invalid_argument("composite filter '" + text + "': '" + condition + "' is no condition; write key=value, key=value|value, key!=value or key<=value");
    Condition c{StringRef(condition).take_front(at).trim().str(), condition.substr(at, end - at), {}};
    if (!llvm::is_contained(ArrayRef<StringRef>{"=", "!=", "<", "<=", ">", ">="}, c.relation))
      throw std::invalid_argument("composite filter '" + text + "': '" + c.relation + "' is none of =, !=, <, <=, >, >=");
    SmallVector<StringRef> each;
    StringRef(condition).drop_front(end).split(each, '|');
    double number;
    for (StringRef v : each) {
      c.values.push_back(v.trim().str());
      if (c.relation.find_first_of("<>") != std::string::npos && (each.size() > 1 || v.trim().getAsDouble(number)))
        throw std::invalid_argument("composite filter '" + text + "': '" + condition + "' compares with no number");
    }
    check_values(text, c.key, c.values);
    conditions_.push_back(std::move(c));
  }
}

bool Filter::Condition::holds(const std::string& value) const {
  // 1e-5 is what prints as 1e-05.
  auto is_value = [&](StringRef v) {
    double a, b;
    return v == value || (!v.getAsDouble(a) && !StringRef(value).getAsDouble(b) && a == b);
  };
  if (relation == "=") return llvm::any_of(values, is_value);
  if (relation == "!=") return llvm::none_of(values, is_value);
  double x, bound;
  if (StringRef(value).getAsDouble(x) || StringRef(values[0]).getAsDouble(bound)) return false;
  return x == bound ? relation.size() == 2 : (x < bound) == (relation[0] == '<');
}

bool Filter::matches(stablehlo::CompositeOp op) const {
  StringRef name = op.getName();
  if (name_ == "default") {
    const Filter* own = own_condition(name);
    if (own && !own->matches(op)) return false;
  } else if (!glob_matches(name_, name) && !(name.consume_front("aten.") && glob_matches(name_, name))) return false;
  return llvm::all_of(conditions_, [&](const Condition& c) { return c.holds(value_of(op, c.key)); });
}

Selection::Selection(const std::string& text, const std::string& base) {
  auto parts = split(text);
  if (parts.empty() || parts[0][0] == '-') parts.insert(parts.begin(), base);
  for (const std::string& part : parts) {
    bool keep = part[0] != '-' && part != "none";
    filters_.push_back({Filter(part == "none" ? "*" : part[0] == '-' ? part.substr(1) : part), keep});
    text_ += (text_.empty() ? "" : ",") + part;
  }
}
void Filter::check_keys() const {
  static const std::vector<std::string> general{"version", "dtype", "rank", "shape", "absent_operands"};
  for (const Condition& condition : conditions_) {
    const std::string& key = condition.key;
    std::vector<std::string> known(general);
    bool any = false, all = false;
    for (const Entry& entry : catalogue()) {
      if (!glob_matches(name_, entry.name) && !glob_matches(name_, StringRef(entry.name).drop_front(5))) continue;
      any = true, all |= llvm::is_contained(entry.attributes, "*");
      known.insert(known.end(), entry.attributes.begin(), entry.attributes.end());
      for (const Constant& c : entry.fixed) known.push_back(c.name);
    }
    // A user's composite may have any.
    if (!any || all || llvm::is_contained(known, key) || (is_glob(name_) && !StringRef(name_).starts_with("aten."))) continue;
    std::string meant = nearest(key, known), text = "composite filter '" + name_ + "{" + key + "=…}': ";
    text += (is_glob(name_) ? "none of these composites has" : "it has no") + std::string(" attribute '") + key + "'";
    if (!meant.empty()) text += "; did you mean " + meant + "?";
    else text += "; it has " + llvm::join(known, ", ");
    throw std::invalid_argument(text);
  }
}

std::vector<std::string> Selection::check_names(const std::vector<std::string>& others) const {
  std::vector<std::string> names = composite_names(), warnings;
  names.insert(names.end(), others.begin(), others.end());
  for (const auto& [filter, keep] : filters_) {
    filter.check_keys();
    StringRef name = filter.name();
    if (name == "default" || is_glob(name) || llvm::is_contained(names, filter.name())) continue;
    std::string meant = nearest(name, names), text = "composite filter '" + filter.name() + "': there is no such composite";
    if (!meant.empty()) text += "; did you mean " + meant + "?";
    if (name.starts_with("aten.") || !name.contains('.')) throw std::invalid_argument(meant.empty() ? text + "; docs/composites.md lists those of ATen" : text);
    if (!meant.empty()) warnings.push_back(text);
  }
  return warnings;
}

bool Selection::keeps(stablehlo::CompositeOp op) const {
  bool keep = false;
  for (const auto& [filter, keeps] : filters_)
    if (filter.matches(op)) keep = keeps;
  return keep;
}

std::vector<std::string> names_in(ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](stablehlo::CompositeOp op) { names.push_back(op.getName().str()); });
  return names;
}

void Report::add(stablehlo::CompositeOp op, const std::string& became, const std::string& why) {
  CompositeFate fate{op.getName().str(), {}, signature(op), became, why, int64_t(op.getVersion()), 0};
  llvm::raw_string_ostream(fate.attributes) << op.getCompositeAttributes();
  CompositeFate& known = fates_[fate.name + '|' + fate.attributes + '|' + fate.types + '|' + became + '|' + why];
  if (known.count == 0) known = std::move(fate);
  ++known.count;
}
std::vector<CompositeFate> Report::fates() const {
  std::vector<CompositeFate> all;
  for (const auto& [key, fate] : fates_) all.push_back(fate);
  return all;
}

// What the catalogue says of keeping it, for the report.
static std::string condition_text(StringRef name) {
  const Entry* entry = find_composite(name);
  return entry && !entry->when.empty() ? "; by default when " + entry->when : "";
}

LogicalResult select(ModuleOp module, const Selection& selection, Report& report) {
  bool any = false;
  module.walk([&](stablehlo::CompositeOp op) { any |= !selection.keeps(op); });
  if (!any) return success();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate()) continue;
    function.walk([&](stablehlo::CompositeOp op) {
      if (!selection.keeps(op)) report.add(op, "decomposed", "not among the composites that are kept (" + selection.text() + ")" + condition_text(op.getName()));
    });
  }
  return decompose(module, [&](stablehlo::CompositeOp op) { return !selection.keeps(op); }, Reach::Everywhere);
}

void to_custom_calls(ModuleOp module, const std::function<bool(stablehlo::CompositeOp)>& should) {
  SmallVector<stablehlo::CompositeOp> selected;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate()) function.walk([&](stablehlo::CompositeOp op) { if (should(op)) selected.push_back(op); });
  for (auto op : selected) {
    OpBuilder b(op);
    auto call = stablehlo::CustomCallOp::create(b, op.getLoc(), op.getResultTypes(), op.getOperands(), b.getStringAttr(op.getName()), BoolAttr(),
                                                op.getCompositeAttributes(), b.getI32IntegerAttr(4), ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr());
    // Beside the attributes: XLA's handlers take as many of those as they declare.
    call->setAttr("mhlo.frontend_attributes", b.getDictionaryAttr({b.getNamedAttr("composite_version", b.getStringAttr(std::to_string(op.getVersion())))}));
    op->replaceAllUsesWith(call);
    op.erase();
  }
  erase_unreachable(module);
}

}  // namespace cresset::composite
