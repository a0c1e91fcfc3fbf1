#include "composite/decompose.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace cresset::composite {
namespace {

using namespace mlir;

// Clones the body of `callee` before `op` and lets its results stand for op's.
void inline_call(Operation* op, func::FuncOp callee, SmallVectorImpl<Operation*>& created) {
  OpBuilder b(op);
  IRMapping map;
  Block& body = callee.getBody().front();
  map.map(body.getArguments(), op->getOperands());
  for (Operation& inner : body.without_terminator()) created.push_back(b.clone(inner, map));
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands()) results.push_back(map.lookupOrDefault(v));
  op->replaceAllUsesWith(results);
  op->erase();
}

}  // namespace

LogicalResult decompose(ModuleOp module, const std::function<bool(stablehlo::CompositeOp)>& should, Reach reach) {
  SymbolTable symbols(module);
  auto callee_of = [&](Operation* op) -> func::FuncOp {
    StringRef name;
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
      if (!should(composite)) return {};
      name = composite.getDecomposition();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      name = call.getCallee();
    } else {
      return {};
    }
    auto function = symbols.lookup<func::FuncOp>(name);
    return function && !function.isDeclaration() ? function : func::FuncOp();
  };

  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration() || (function.isPrivate() && reach == Reach::Public)) continue;
    SmallVector<std::pair<Operation*, int>> work;  // with nesting depth
    function.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (isa<stablehlo::CompositeOp, func::CallOp>(op)) work.push_back({op, 0});
    });
    while (!work.empty()) {
      auto [op, depth] = work.pop_back_val();
      func::FuncOp callee = callee_of(op);
      if (!callee) continue;
      if (depth > 64) return op->emitOpError("decomposes without end: its decomposition refers to itself");
      SmallVector<Operation*> created;
      inline_call(op, callee, created);
      for (Operation* inner : created)
        inner->walk([&](Operation* nested) {
          if (isa<stablehlo::CompositeOp, func::CallOp>(nested)) work.push_back({nested, depth + 1});
        });
    }
  }

  erase_unreachable(module);
  return success();
}

// In one pass: asking of each function whether anybody uses it walks the module every time.
void erase_unreachable(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<func::FuncOp> work;
  DenseSet<Operation*> reached;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate()) work.push_back(function);
  while (!work.empty())
    if (auto uses = SymbolTable::getSymbolUses(work.pop_back_val().getOperation()))
      for (SymbolTable::SymbolUse use : *uses)
        if (auto callee = symbols.lookup<func::FuncOp>(use.getSymbolRef().getRootReference()); callee && callee.isPrivate() && reached.insert(callee).second) work.push_back(callee);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && !reached.contains(function)) function.erase();
}

OwningOpRef<ModuleOp> extract(ModuleOp from, StringRef function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(from.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<StringRef> names{function};
  while (!names.empty()) {
    StringRef name = names.pop_back_val();
    auto found = from.lookupSymbol<func::FuncOp>(name);
    if (!found || module->lookupSymbol(name)) continue;
    b.clone(*found);
    auto uses = SymbolTable::getSymbolUses(&found.getBody());
    for (const SymbolTable::SymbolUse& use : *uses) names.push_back(use.getSymbolRef().getLeafReference());
  }
  return module;
}

}  // namespace cresset::composite
