#include "interpreter/interpreter.h"

#include <cmath>

#include "interpreter/evaluator.h"
#include "interpreter/scalar.h"

namespace cresset::interpreter {

using namespace mlir;
using namespace mlir::stablehlo;

void fail(Operation* op, const Twine& why) { throw Failure((op->getName().getStringRef() + ": " + why).str()); }

SmallVector<int64_t> values_or(std::optional<ArrayRef<int64_t>> values, size_t count, int64_t otherwise) {
  return values ? SmallVector<int64_t>(*values) : SmallVector<int64_t>(count, otherwise);
}
SmallVector<int64_t> low_padding(std::optional<DenseIntElementsAttr> padding, size_t count) {
  SmallVector<int64_t> low(count, 0);
  if (padding)
    for (auto [i, v] : llvm::enumerate(padding->getValues<int64_t>()))
      if (i % 2 == 0) low[i / 2] = v;
  return low;
}

Tensors Evaluator::run(Region& region, ArrayRef<Tensor> arguments) {
  Block& block = region.front();
  Operation* parent = region.getParentOp();
  if (block.getNumArguments() != arguments.size()) fail(parent, "its body takes " + Twine(block.getNumArguments()) + " values, not " + Twine(arguments.size()));
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments)) {
    if (argument.getType() != value.type) fail(parent, "argument " + Twine(argument.getArgNumber()) + " of its body has another type");
    values_.insert_or_assign(argument.getAsOpaquePointer(), value);
  }
  for (Operation& op : block.without_terminator()) {
    Tensors results = evaluate(&op);
    if (results.size() != op.getNumResults()) fail(&op, "its body returns " + Twine(results.size()) + " values, not " + Twine(op.getNumResults()));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results)) {
      if (result.getType() != value.type) fail(&op, "result " + Twine(result.getResultNumber()) + " of its body has another type");
      values_.insert_or_assign(result.getAsOpaquePointer(), std::move(value));
    }
  }
  Tensors results;
  for (Value v : block.getTerminator()->getOperands()) results.push_back((*this)[v]);
  return results;
}

void Evaluator::combine(Region& body, MutableArrayRef<Tensor> accumulators, ArrayRef<Tensor> elements) {
  Tensors arguments(accumulators.begin(), accumulators.end());
  arguments.append(elements.begin(), elements.end());
  Tensors results = run(body, arguments);
  if (results.size() != accumulators.size()) fail(body.getParentOp(), "its body returns " + Twine(results.size()) + " values, not " + Twine(accumulators.size()));
  for (auto [accumulator, result] : llvm::zip_equal(accumulators, results)) {
    if (accumulator.type != result.type) fail(body.getParentOp(), "its body returns another type than it takes");
    accumulator = std::move(result);
  }
}
bool Evaluator::holds(Region& region, ArrayRef<Tensor> arguments) {
  Tensors results = run(region, arguments);
  if (results.size() != 1 || results[0].rank() != 0 || !results[0].element().isInteger(1)) fail(region.getParentOp(), "its condition must return one tensor<i1>");
  return results[0].values[0].i;
}

Tensors Evaluator::call(func::FuncOp function, ArrayRef<Tensor> inputs) {
  if (function.isExternal()) fail(function, "@" + function.getName() + " has no body");
  if (depth_ > 100) fail(function, "@" + function.getName() + " is called too deeply: recursion can't be evaluated");
  if (!llvm::hasSingleElement(function.getBody())) fail(function, "@" + function.getName() + " has branches between blocks");
  if (inputs.size() != function.getNumArguments())
    fail(function, "@" + function.getName() + " takes " + Twine(function.getNumArguments()) + " inputs, not " + Twine(inputs.size()));
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (type != inputs[i].type) fail(function, "input " + Twine(i) + " of @" + function.getName() + " has another type");
  return run(function.getBody(), inputs);
}
Tensors Evaluator::evaluate_call(Operation* op, StringRef callee, ValueRange inputs) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, StringAttr::get(op->getContext(), callee));
  if (!function) fail(op, "there is no function @" + callee);
  Tensors values;
  for (Value v : inputs) values.push_back((*this)[v]);
  return Evaluator(depth_ + 1).call(function, values);
}

namespace {

std::optional<Tensors> evaluate_control(Evaluator& e, Operation* op) {
  if (auto branch = dyn_cast<IfOp>(op)) return e.run(e[branch.getPred()].values.at(0).i ? branch.getTrueBranch() : branch.getFalseBranch(), {});
  if (auto branch = dyn_cast<CaseOp>(op)) {
    int64_t index = e[branch.getIndex()].values[0].i, last = int64_t(branch.getBranches().size()) - 1;
    return e.run(branch.getBranches()[index < 0 || index > last ? last : index], {});
  }
  if (auto loop = dyn_cast<WhileOp>(op)) {
    Tensors state;
    for (Value v : op->getOperands()) state.push_back(e[v]);
    while (e.holds(loop.getCond(), state)) state = e.run(loop.getBody(), state);
    return state;
  }
  if (auto barrier = dyn_cast<OptimizationBarrierOp>(op)) {
    Tensors results;
    for (Value v : op->getOperands()) results.push_back(e[v]);
    return results;
  }
  return std::nullopt;
}

// Operands of rank 0 serve every element (select's and clamp's may).
std::optional<Tensors> evaluate_elementwise(Evaluator& e, Operation* op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0) return std::nullopt;
  Tensor result(type_of(op->getResult(0)));
  for (Value v : op->getOperands())
    if (type_of(v).getRank() != 0 && type_of(v).getShape() != result.shape()) return std::nullopt;
  Type from = type_of(op->getOperand(0)).getElementType();
  for (size_t i = 0; i < result.values.size(); ++i) {
    SmallVector<Number, 3> v;
    for (Value operand : op->getOperands()) v.push_back(e[operand].values[e[operand].rank() == 0 ? 0 : i]);
    auto element = isa<SelectOp>(op) ? std::optional(v[0].i ? v[1] : v[2]) : element_of(op, v, from, result.element());
    if (!element) return std::nullopt;
    result.values[i] = *element;
  }
  return Tensors{std::move(result)};
}

Tensors clamp(Evaluator& e, ClampOp op) {
  Tensor result = e[op.getOperand()];
  const Tensor &low = e[op.getMin()], &high = e[op.getMax()];
  bool is_integer = !is_float(result.element()), without_sign = is_unsigned(result.element());
  auto less = [&](const Number& x, const Number& y) { return !is_integer ? x.re < y.re : without_sign ? uint64_t(x.i) < uint64_t(y.i) : x.i < y.i; };
  for (size_t i = 0; i < result.values.size(); ++i) {
    Number &v = result.values[i], l = low.values[low.rank() ? i : 0], h = high.values[high.rank() ? i : 0];
    if (less(v, l) || l.re != l.re) v = l;
    if (less(h, v) || h.re != h.re) v = h;
  }
  return {std::move(result)};
}

}  // namespace

Tensors Evaluator::evaluate(Operation* op) {
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape()) fail(op, "only tensors of static shapes can be evaluated");
  }
  if (auto call = dyn_cast<func::CallOp>(op)) return evaluate_call(op, call.getCallee(), op->getOperands());
  if (auto composite = dyn_cast<CompositeOp>(op)) return evaluate_call(op, composite.getDecomposition(), op->getOperands());
  if (auto c = dyn_cast<ClampOp>(op)) return clamp(*this, c);
  if (auto map = dyn_cast<CustomCallOp>(op); map && map.getCallTargetName() == "mhlo.erf" && op->getNumOperands() == 1) {
    Tensor result = (*this)[op->getOperand(0)];
    for (Number& v : result.values) v = canonical({std::erf(v.re)}, result.element());
    return {std::move(result)};
  }
  for (auto family : {evaluate_control, evaluate_shape, evaluate_indexing, evaluate_reduction, evaluate_contraction, evaluate_elementwise})
    if (auto results = family(*this, op)) return std::move(*results);
  fail(op, "can't be evaluated");
}

llvm::Expected<Tensors> interpret(func::FuncOp function, ArrayRef<Tensor> inputs) {
  try {
    return Evaluator().call(function, inputs);
  } catch (const std::exception& failure) {
    return llvm::createStringError(failure.what());
  }
}
llvm::Expected<Tensors> interpret(ModuleOp module, ArrayRef<Tensor> inputs) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main")) return interpret(main, inputs);
  return llvm::createStringError("the module has no function @main");
}

}  // namespace cresset::interpreter
