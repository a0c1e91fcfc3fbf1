#include "composite/region.h"

#include <set>

#include "mlir/IR/IRMapping.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

constexpr size_t kMaxCuts = 32;

Program::Program(ModuleOp module, func::FuncOp function) : module(module), block(function.getBody().front()), symbols_(module) { renumber(); }

void Program::renumber() {
  positions_.clear();
  for (auto [i, op] : llvm::enumerate(block)) positions_[&op] = int64_t(i);
}

int64_t Program::position(Value v) const {
  Operation* op = v.getDefiningOp();
  return op ? positions_.lookup(op) : -1;
}

DictionaryAttr Program::attributes(ArrayRef<Constant> constants) {
  OpBuilder b(module.getContext());
  SmallVector<NamedAttribute> all;
  for (const Constant& c : constants)
    all.push_back(b.getNamedAttr(c.name, std::visit(
                                             [&](const auto& v) -> Attribute {
                                               using T = std::decay_t<decltype(v)>;
                                               if constexpr (std::is_same_v<T, bool>) return b.getBoolAttr(v);
                                               else if constexpr (std::is_same_v<T, int64_t>) return b.getI64IntegerAttr(v);
                                               else if constexpr (std::is_same_v<T, double>) return b.getF64FloatAttr(v);
                                               else return b.getStringAttr(v);
                                             },
                                             c.value)));
  return b.getDictionaryAttr(all);
}

CompositeOp Program::outline(const Entry& entry, DictionaryAttr attributes, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                             const std::function<void(OpBuilder&, SmallVectorImpl<Value>&)>& extend) {
  // The operations between inputs and outputs, in program order.
  llvm::SetVector<Operation*> found_operations;
  SmallVector<Value> work(outputs);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation* op = v.getDefiningOp();
    if (!op || llvm::is_contained(inputs, v) || !found_operations.insert(op)) continue;
    work.append(op->operand_begin(), op->operand_end());
  }
  SmallVector<Operation*> region = found_operations.takeVector();
  llvm::sort(region, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
  SmallVector<bool> same;  // results that are what was found: `extend` may return something else
  auto composite = insert(entry, attributes, inputs, outputs[0].getLoc(), [&](OpBuilder& b, ArrayRef<Value> arguments) {
    IRMapping map;
    for (auto [input, argument] : llvm::zip(inputs, arguments)) map.map(input, argument);
    for (Operation* op : region) b.clone(*op, map);
    SmallVector<Value> returned;
    for (Value v : outputs) returned.push_back(map.lookup(v));
    SmallVector<Value> found(returned);
    if (extend) extend(b, returned);
    for (size_t i = 0; i < found.size(); ++i) same.push_back(returned[i] == found[i]);
    return returned;
  });
  // Between its inputs and what it replaces, as far as order matters.
  positions_[composite] = positions_.lookup(outputs[0].getDefiningOp());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value output = outputs[i], result = composite->getResult(unsigned(i));
    if (same[i]) output.replaceAllUsesWith(result);
  }
  for (Operation* op : llvm::reverse(region))
    if (op->use_empty()) {
      positions_.erase(op);
      op->erase();
    }
  return composite;
}

CompositeOp Program::insert(const Entry& entry, DictionaryAttr attributes, ArrayRef<Value> inputs, Location loc,
                            const std::function<SmallVector<Value>(OpBuilder&, ArrayRef<Value>)>& body) {
  OpBuilder b(module.getContext());
  SmallVector<Type> input_types, result_types;
  for (Value v : inputs) input_types.push_back(v.getType());
  b.setInsertionPointToEnd(module.getBody());
  std::string name;
  do name = entry.name + ".raised_" + std::to_string(counts_[entry.name]++);
  while (symbols_.lookup(name));
  auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(input_types, {}));
  function.setPrivate();
  Block* inside = function.addEntryBlock();
  b.setInsertionPointToEnd(inside);
  SmallVector<Value> returned = body(b, SmallVector<Value>(inside->getArguments()));
  b.setInsertionPointToEnd(inside);
  func::ReturnOp::create(b, loc, returned);
  for (Value v : returned) result_types.push_back(v.getType());
  function.setType(b.getFunctionType(input_types, result_types));
  symbols_.insert(function);

  Operation* last = nullptr;
  for (Value v : inputs)
    if (Operation* op = v.getDefiningOp(); op && (!last || last->isBeforeInBlock(op))) last = op;
  if (last) b.setInsertionPointAfter(last);
  else b.setInsertionPointToStart(&block);
  auto composite = CompositeOp::create(b, loc, result_types, inputs, entry.name, attributes, name, uint32_t(entry.version));
  positions_[composite] = last ? positions_.lookup(last) : -1;
  return composite;
}

void Program::replace(Value v, Value by) {
  v.replaceAllUsesWith(by);
  remove(v.getDefiningOp());
}

void Program::remove(Operation* unused) {
  SmallVector<Operation*> work{unused};
  while (!work.empty()) {
    Operation* op = work.pop_back_val();
    if (!op || !op->use_empty() || op->getBlock() != &block || !isMemoryEffectFree(op)) continue;
    for (Value operand : op->getOperands())
      if (Operation* above = operand.getDefiningOp(); above && !llvm::is_contained(work, above)) work.push_back(above);
    llvm::erase(work, op);
    positions_.erase(op);
    op->erase();
  }
}

bool narrows(Value v, ArrayRef<Value> inputs) {
  auto width = [](Value u) {
    auto type = dyn_cast<RankedTensorType>(u.getType());
    return type && isa<FloatType>(type.getElementType()) ? type.getElementType().getIntOrFloatBitWidth() : 64u;
  };
  SmallVector<Value> work{v};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value u = work.pop_back_val();
    if (llvm::is_contained(inputs, u) || constant_number(u) || !seen.insert(u).second) continue;
    if (width(u) < width(v)) return true;
    if (Operation* op = u.getDefiningOp()) work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

std::vector<SmallVector<Value, 2>> cuts(const Program& program, Value v, const std::function<bool(Operation*)>& step, const std::function<bool(Value)>& stop, size_t width,
                                        size_t limit) {
  std::vector<SmallVector<Value, 2>> found;
  auto later = [&](Value a, Value b) {
    int64_t pa = program.position(a), pb = program.position(b);
    return pa != pb ? pa > pb : a.getAsOpaquePointer() < b.getAsOpaquePointer();
  };
  std::set<Value, decltype(later)> frontier(later);
  frontier.insert(v);
  DenseSet<Value> leaves;
  for (size_t steps = 0; steps < limit && !frontier.empty(); ++steps) {
    Value u = *frontier.begin();
    Operation* op = u.getDefiningOp();
    frontier.erase(frontier.begin());
    if (!op || !step(op)) {
      leaves.insert(u);
      if (leaves.size() > width) break;
    } else {
      for (Value operand : op->getOperands())
        if (!stop(operand)) frontier.insert(operand);
    }
    if (frontier.size() + leaves.size() > 0 && frontier.size() + leaves.size() <= width) {
      SmallVector<Value, 2> cut(leaves.begin(), leaves.end());
      cut.append(frontier.begin(), frontier.end());
      if (found.empty() || found.back() != cut) found.push_back(cut);
      if (found.size() >= kMaxCuts) break;
    }
  }
  return found;
}

DenseSet<Value> computed_from(Block& block, llvm::function_ref<bool(Value)> source, llvm::function_ref<bool(Operation*)> step) {
  DenseSet<Value> found;
  auto is_source = [&](Value u) { return source(u) && (!u.getDefiningOp() || !step(u.getDefiningOp())); };
  for (Operation& op : block)
    if (op.getNumResults() == 1 && step(&op) && llvm::any_of(op.getOperands(), [&](Value u) { return found.contains(u) || is_source(u); })) found.insert(op.getResult(0));
  return found;
}

}  // namespace cresset::composite
