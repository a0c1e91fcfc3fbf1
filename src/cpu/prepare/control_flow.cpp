#include "cpu/prepare/control_flow.h"

#include <cstring>

#include "composite/decompose.h"
#include "cpu/emit/element.h"
#include "cpu/fusion.h"
#include "cpu/kept.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// A loop's values are two buffers each, read and written in turn; one that the body overwrites in place is one.
class Loop final : public composite::Kernel {
 public:
  Loop(std::unique_ptr<Program> condition, std::unique_ptr<Program> body) : condition_(std::move(condition)), body_(std::move(body)) {}

  void run(const void* const* operands, void* const* results) override {
    const auto& outputs = body_->outputs();
    size_t carried = outputs.size();
    void* const* given = const_cast<void* const*>(operands);
    now_.assign(given, given + carried);
    now_.insert(now_.end(), given, given + body_->inputs().size() - carried);
    next_.assign(results, results + carried);
    std::vector<BufferPtr> others(carried);
    for (size_t i = 0; i < carried; ++i)
      if (outputs[i].aliased >= 0) std::memcpy(results[i], operands[i], outputs[i].bytes), now_[i] = results[i];
    body_->begin_loop();
    for (bool first = true;; first = false) {
      uint8_t goes_on = 0;
      void* to = &goes_on;
      condition_->run(now_.data(), &to);
      if (!goes_on) break;
      body_->run(now_.data(), next_.data());
      for (size_t i = 0; i < carried; ++i) {
        if (outputs[i].aliased >= 0) continue;
        std::swap(now_[i], next_[i]);
        if (first) next_[i] = (others[i] = Buffer::allocate(outputs[i].bytes))->data();  // the operand stays as it is
      }
    }
    for (size_t i = 0; i < carried; ++i)
      if (now_[i] != results[i]) std::memcpy(results[i], now_[i], outputs[i].bytes);
  }

 private:
  std::unique_ptr<Program> condition_, body_;
  std::vector<void*> now_, next_;
};

// The first operand says which.
class Branches final : public composite::Kernel {
 public:
  Branches(std::vector<std::unique_ptr<Program>> programs, bool of_if) : programs_(std::move(programs)), of_if_(of_if) {}

  void run(const void* const* operands, void* const* results) override {
    size_t which = programs_.size() - 1;  // also for a number that no branch has
    if (of_if_) which = *static_cast<const uint8_t*>(operands[0]) ? 0 : 1;
    else if (int32_t index = *static_cast<const int32_t*>(operands[0]); index >= 0 && size_t(index) < programs_.size()) which = size_t(index);
    programs_[which]->run(const_cast<void* const*>(operands), results);
  }

 private:
  std::vector<std::unique_ptr<Program>> programs_;
  bool of_if_;
};

// Costs nothing to compute where it is needed, and tells whoever compiles that what it is.
bool is_cheap(Value v) {
  Operation* op = v.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) return isa<SplatElementsAttr>(constant.getValue()) || shaped(v).getNumElements() <= 16;
  return isa_and_nonnull<IotaOp, BroadcastInDimOp, ReshapeOp, ConvertOp>(op) && llvm::all_of(op->getOperands(), is_cheap);
}
void clone_cheap(Value v, OpBuilder& b, IRMapping& map) {
  if (map.contains(v)) return;
  for (Value operand : v.getDefiningOp()->getOperands()) clone_cheap(operand, b, map);
  b.clone(*v.getDefiningOp(), map);
}

// Those of a loop's values that its results or its end depend on.
llvm::BitVector needed_values(WhileOp loop) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  llvm::BitVector needed(body.getNumArguments());
  SmallVector<unsigned> work;
  auto need = [&](unsigned i) {
    if (!needed.test(i)) needed.set(i), work.push_back(i);
  };
  for (unsigned i = 0; i < needed.size(); ++i)
    if (!loop->getResult(i).use_empty() || !condition.getArgument(i).use_empty()) need(i);
  DenseSet<Operation*> seen;
  while (!work.empty()) {
    SmallVector<Value> values{body.getTerminator()->getOperand(work.pop_back_val())};
    while (!values.empty()) {
      Value v = values.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(v); argument && argument.getOwner() == &body) need(argument.getArgNumber());
      Operation* op = v.getDefiningOp();
      if (!op || !loop.getBody().isAncestor(op->getParentRegion()) || !seen.insert(op).second) continue;
      llvm::append_range(values, op->getOperands());
      llvm::SetVector<Value> inner;
      getUsedValuesDefinedAbove(op->getRegions(), inner);
      llvm::append_range(values, inner);
    }
  }
  return needed;
}

// Without the values that each round leaves as they are, and those that nobody needs.
WhileOp simplified(WhileOp loop) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  Operation* end = body.getTerminator();
  llvm::BitVector left_out = needed_values(loop).flip();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    if (end->getOperand(i) != argument) continue;
    left_out.set(i);
    Value constant = loop->getOperand(i);
    argument.replaceUsesWithIf(constant, [&, i = i](OpOperand& use) { return use.getOwner() != end || use.getOperandNumber() != i; });
    condition.getArgument(i).replaceAllUsesWith(constant);
    loop->getResult(i).replaceAllUsesWith(constant);
  }
  if (left_out.none()) return loop;
  SmallVector<Value> first, results;
  for (auto [i, v] : llvm::enumerate(loop->getOperands()))
    if (!left_out[i]) first.push_back(v), results.push_back(loop->getResult(i));
  OpBuilder b(loop);
  auto smaller = WhileOp::create(b, loop.getLoc(), ValueRange(first).getTypes(), first);
  end->eraseOperands(left_out);
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>()) op.erase();
  body.eraseArguments(left_out);
  condition.eraseArguments(left_out);
  smaller.getCond().takeBody(loop.getCond());
  smaller.getBody().takeBody(loop.getBody());
  for (auto [from, to] : llvm::zip(results, smaller->getResults())) from.replaceAllUsesWith(to);
  loop->erase();
  return smaller;
}

// Computes before the loop what each round would compute again; not what only moves elements, which costs nothing where it is used but memory here.
void hoist_constants(WhileOp loop) {
  auto is_outside = [&](Value v, Region* region) { return v.getParentRegion()->isProperAncestor(region) || is_cheap(v); };
  auto should_move = [&](Operation* op, Region*) {
    if (op->getNumResults() != 1 || is_cheap(op->getResult(0)) || isa<ConstantOp>(op)) return false;
    if (!isa<DotGeneralOp, ConvolutionOp, ReduceOp, ReduceWindowOp, SortOp>(op) && !is_elementwise(op) && !composite_kind(op)) return false;  // not what only a plugin runs
    return llvm::any_of(op->getOperands(), [&](Value v) { return shaped(v).getNumElements() >= shaped(op->getResult(0)).getNumElements(); });
  };
  auto move = [&](Operation* op, Region*) {
    OpBuilder b(loop);
    IRMapping map;
    for (OpOperand& operand : op->getOpOperands())
      if (is_cheap(operand.get())) clone_cheap(operand.get(), b, map), operand.set(map.lookup(operand.get()));
    op->moveBefore(loop);
  };
  moveLoopInvariantCode({&loop.getCond(), &loop.getBody()}, is_outside, should_move, move);
}

// Moves the operation into a function, of its operands and of what else its regions read, as whose composite it is from now on.
CompositeOp outline(ModuleOp module, Operation* op, const std::string& name) {
  llvm::SetVector<Value> read;
  getUsedValuesDefinedAbove(op->getRegions(), read);
  SmallVector<Value> inputs(op->getOperands());
  for (Value v : read)
    if (!is_cheap(v) && !llvm::is_contained(inputs, v)) inputs.push_back(v);
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(b, op->getLoc(), name, b.getFunctionType(ValueRange(inputs).getTypes(), op->getResultTypes()));
  function.setPrivate();
  Block* block = function.addEntryBlock();
  b.setInsertionPointToEnd(block);
  IRMapping map;
  map.map(inputs, block->getArguments());
  for (Value v : read)
    if (is_cheap(v)) map.erase(v), clone_cheap(v, b, map);
  Operation* inner = b.clone(*op, map);
  inner->setOperands(block->getArguments().take_front(op->getNumOperands()));
  func::ReturnOp::create(b, op->getLoc(), inner->getResults());
  b.setInsertionPoint(op);
  auto stands_for = CompositeOp::create(b, op->getLoc(), op->getResultTypes(), inputs, op->getName().getStringRef(), b.getDictionaryAttr({}), function.getName(), 0u);
  op->replaceAllUsesWith(stands_for->getResults());
  op->erase();
  return stands_for;
}

// What one region computes, as @main of a module: of the region's arguments and the function's.
OwningOpRef<ModuleOp> program_of(ModuleOp from, StringRef name, unsigned region) {
  OwningOpRef<ModuleOp> module = composite::extract(from, name);
  auto function = module->lookupSymbol<func::FuncOp>(name);
  Operation* end = function.getBody().front().getTerminator();
  Operation* op = end->getPrevNode();
  Block& body = op->getRegion(region).front();
  SmallVector<Type> types(body.getArgumentTypes());
  llvm::append_range(types, function.getArgumentTypes());
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  auto main = func::FuncOp::create(b, op->getLoc(), "main", b.getFunctionType(types, body.getTerminator()->getOperandTypes()));
  Block* block = main.addEntryBlock();
  b.setInsertionPointToEnd(block);
  IRMapping map;
  map.map(body.getArguments(), block->getArguments().take_front(body.getNumArguments()));
  map.map(function.getArguments(), block->getArguments().drop_front(body.getNumArguments()));
  for (Operation& inner : function.getBody().front())
    if (&inner != op && &inner != end) b.clone(inner, map);
  for (Operation& inner : body.without_terminator()) b.clone(inner, map);
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands()) results.push_back(map.lookupOrDefault(v));
  func::ReturnOp::create(b, op->getLoc(), results);
  function.erase();
  return module;
}

// Arrays of which each round writes a part are one buffer throughout, and what a round is given beside the loop's values is the same in all.
void mark_arguments(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = main.getNumResults(); i < main.getNumArguments(); ++i) main.setArgAttr(i, kConstantOfLoop, UnitAttr::get(main.getContext()));
  for (OpOperand& result : main.getBody().front().getTerminator()->getOpOperands()) {
    Operation* update = result.get().getDefiningOp();
    if (update && overwritten_by(update) == main.getArgument(result.getOperandNumber()))
      main.setArgAttr(result.getOperandNumber(), "tf.aliasing_output", OpBuilder(main).getI32IntegerAttr(int32_t(result.getOperandNumber())));
  }
}

void merge_equal(func::FuncOp main) {
  IRRewriter rewriter(main.getContext());
  DominanceInfo dominance(main);
  eliminateCommonSubExpressions(rewriter, dominance, main);
}

// The kernel of an operation that was outlined.
llvm::Expected<std::unique_ptr<composite::Kernel>> kernel_of(CompositeOp stands_for, CompileRegion compile, ProgramStats& stats) {
  auto module = stands_for->getParentOfType<ModuleOp>();
  StringRef name = stands_for.getDecomposition();
  Operation* op = module.lookupSymbol<func::FuncOp>(name).getBody().front().getTerminator()->getPrevNode();
  bool loops = isa<WhileOp>(op);
  std::vector<std::unique_ptr<Program>> programs;
  for (unsigned i = 0; i < op->getNumRegions(); ++i) {
    auto region = program_of(module, name, i);
    if (loops && i == 1) mark_arguments(*region);
    auto program = compile(*region);
    if (!program) return program.takeError();
    stats.kernels += (*program)->stats().kernels, stats.unique_kernels += (*program)->stats().unique_kernels;
    stats.temporary_bytes += (*program)->stats().temporary_bytes, stats.kept_bytes += (*program)->stats().kept_bytes;
    programs.push_back(std::move(*program));
  }
  if (loops) return std::make_unique<Loop>(std::move(programs[0]), std::move(programs[1]));
  return std::make_unique<Branches>(std::move(programs), isa<IfOp>(op));
}

}  // namespace

void compile_control_flow(ModuleOp module, func::FuncOp main, CompileRegion compile, ForeignKernels& kernels, composite::Report& report, ProgramStats& stats) {
  auto is_control = [](Operation& op) { return isa<WhileOp, IfOp, CaseOp>(op); };
  if (llvm::none_of(main.getBody().front(), is_control)) return;
  merge_equal(main);  // a loop of a gradient may be that of the result itself
  for (auto [i, op] : llvm::enumerate(llvm::map_to_vector(llvm::make_filter_range(main.getBody().front(), is_control), [](Operation& op) { return &op; }))) {
    op->walk([&](Operation* inner) { kernels.erase(inner); });  // a region's own are chosen when it is compiled
    if (auto loop = dyn_cast<WhileOp>(op)) op = loop = simplified(loop), hoist_constants(loop);
    auto stands_for = outline(module, op, "cresset.region." + std::to_string(i));
    auto kernel = kernel_of(stands_for, compile, stats);
    if (!kernel) report.add(stands_for, "interpreted", llvm::toString(kernel.takeError()));
    kernels[stands_for] = kernel ? std::move(*kernel) : composite::interpreted_kernel(stands_for);
  }
}

bool is_control_flow(Operation* op) {
  auto composite = dyn_cast<CompositeOp>(op);
  return composite && llvm::is_contained({WhileOp::getOperationName(), IfOp::getOperationName(), CaseOp::getOperationName()}, composite.getName());
}

}  // namespace cresset::cpu
