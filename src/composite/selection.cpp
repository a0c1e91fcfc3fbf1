#include "composite/selection.h"

#include <algorithm>
#include <stdexcept>

#include "composite/decompose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

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

}  // namespace

Filter::Filter(const std::string& text) {
  auto [name, rest] = StringRef(text).trim().split('{');
  name_ = name.trim().str();
  if (name_.empty()) throw std::invalid_argument("composite filter '" + text + "' has no name; write as in aten.gelu{dtype=f32}");
  if (name_ == "all") name_ = "*";
  if (!rest.empty() && !rest.consume_back("}")) throw std::invalid_argument("composite filter '" + text + "' lacks its closing brace");
  for (const std::string& condition : split(rest.str())) {
    auto [key, values] = StringRef(condition).split('=');
    if (values.empty()) throw std::invalid_argument("composite filter '" + text + "': '" + condition + "' is no condition; write key=value or key=value|value");
    std::vector<std::string> all;
    SmallVector<StringRef> each;
    values.split(each, '|');
    for (StringRef v : each) all.push_back(v.trim().str());
    conditions_.push_back({key.trim().str(), std::move(all)});
  }
}

bool Filter::matches(stablehlo::CompositeOp op) const {
  StringRef name = op.getName();
  if (!glob_matches(name_, name) && !(name.consume_front("aten.") && glob_matches(name_, name))) return false;
  return llvm::all_of(conditions_, [&](const auto& c) { return llvm::is_contained(c.second, value_of(op, c.first)); });
}

Selection::Selection(const std::string& text) {
  for (const std::string& part : split(text.empty() ? "all" : text)) {
    bool keep = part[0] != '-' && part != "none";
    filters_.push_back({Filter(part == "none" ? "*" : part[0] == '-' ? part.substr(1) : part), keep});
    text_ += (text_.empty() ? "" : ",") + part;
  }
}
bool Selection::keeps(stablehlo::CompositeOp op) const {
  // Exclusions alone leave the rest.
  bool keep = !filters_.empty() && !filters_.front().second && text_.rfind("none", 0) != 0;
  for (const auto& [filter, keeps] : filters_)
    if (filter.matches(op)) keep = keeps;
  return keep;
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

LogicalResult select(ModuleOp module, const Selection& selection, Report& report) {
  bool any = false;
  module.walk([&](stablehlo::CompositeOp op) { any |= !selection.keeps(op); });
  if (!any) return success();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate()) continue;
    function.walk([&](stablehlo::CompositeOp op) {
      if (!selection.keeps(op)) report.add(op, "decomposed", "not among the composites that are kept (" + selection.text() + ")");
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
    op->replaceAllUsesWith(call);
    op.erase();
  }
  for (bool removed = true; removed;) {
    removed = false;
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module)) function.erase(), removed = true;
  }
}

}  // namespace cresset::composite
