// cresset-opt: reads StableHLO text, verifies it, runs passes over it, prints it.
#include "composite/decompose.h"
#include "composite/raise.h"
#include "composite/selection.h"
#include "cpu/prepare/simplify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "stablehlo/chlo.h"
#include "stablehlo/chlo_legalize.h"

using namespace mlir;
using namespace cresset;
namespace {

// Passes that take a selection of composites ("aten.gelu*,softmax{dtype=f32}", see composite/selection.h).
template <class Pass>
struct SelectingPass : PassWrapper<Pass, OperationPass<ModuleOp>> {
  SelectingPass() = default;
  SelectingPass(const SelectingPass& other) : PassWrapper<Pass, OperationPass<ModuleOp>>(other) {}
  void runOnOperation() override {
    try {
      composite::Selection selection(filter, "all");
      for (const std::string& warning : selection.check_names(composite::names_in(this->getOperation()))) this->getOperation().emitWarning(warning);
      if (failed(static_cast<Pass*>(this)->run(this->getOperation(), [&](stablehlo::CompositeOp op) { return selection.keeps(op); }))) this->signalPassFailure();
    } catch (const std::invalid_argument& error) {
      this->getOperation().emitError(error.what());
      this->signalPassFailure();
    }
  }
  typename SelectingPass::template Option<std::string> filter{*this, "filter", llvm::cl::desc("which composites, as in aten.gelu*,softmax{dtype=f32}; without it all"), llvm::cl::init("all")};
};

struct DecomposeComposites final : SelectingPass<DecomposeComposites> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposeComposites)
  StringRef getArgument() const override { return "decompose-composites"; }
  StringRef getDescription() const override { return "Replaces composites by their decompositions"; }
  LogicalResult run(ModuleOp module, const std::function<bool(stablehlo::CompositeOp)>& should) { return composite::decompose(module, should, composite::Reach::Everywhere); }
};

struct CompositesToCustomCalls final : SelectingPass<CompositesToCustomCalls> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompositesToCustomCalls)
  StringRef getArgument() const override { return "composites-to-custom-calls"; }
  StringRef getDescription() const override { return "Makes composites custom_calls with the attributes as backend_config"; }
  LogicalResult run(ModuleOp module, const std::function<bool(stablehlo::CompositeOp)>& should) {
    composite::to_custom_calls(module, should);
    return success();
  }
};

llvm::cl::opt<bool> raise_report("raise-report", llvm::cl::desc("With --raise-composites: says on stderr what was raised, and what nearly was"));

llvm::cl::opt<std::string> raise_library("raise-library", llvm::cl::desc("With --raise-composites: a module whose composites, or functions with names like acme.swiglu, are raised too"));

struct RaiseComposites final : PassWrapper<RaiseComposites, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RaiseComposites)
  RaiseComposites() = default;
  RaiseComposites(const RaiseComposites& other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "raise-composites"; }
  StringRef getDescription() const override { return "Finds what decomposed operations compute and makes composites of them again"; }
  void runOnOperation() override {
    composite::RaiseReport found;
    OwningOpRef<ModuleOp> library;
    std::vector<composite::Reference> references;
    if (!raise_library.empty()) {
      library = parseSourceFile<ModuleOp>(raise_library, &getContext());
      if (!library) return signalPassFailure();
      references = composite::read_library(*library);
    }
    composite::raise(getOperation(), &found, references);
    if (!raise_report) return;
    for (const std::string& line : found.raised) llvm::errs() << "raised  " << line << "\n";
    for (const std::string& line : found.missed) llvm::errs() << "missed  " << line << "\n";
  }
};

struct LegalizeChlo final : PassWrapper<LegalizeChlo, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegalizeChlo)
  StringRef getArgument() const override { return "chlo-legalize-to-stablehlo"; }
  StringRef getDescription() const override { return "Makes StableHLO of CHLO"; }
  void runOnOperation() override { chlo::legalize(getOperation()); }
};

struct Simplify final : PassWrapper<Simplify, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Simplify)
  StringRef getArgument() const override { return "simplify"; }
  StringRef getDescription() const override { return "The CPU compiler's simplifications"; }
  Simplify() = default;
  Simplify(const Simplify& other) : PassWrapper(other) {}
  Option<bool> tiles{*this, "tiles", llvm::cl::desc("for a target that multiplies tiles of bf16"), llvm::cl::init(false)};
  void runOnOperation() override { cresset::cpu::simplify(getOperation(), tiles); }
};

}  // namespace

int main(int argc, char** argv) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, stablehlo::StableHLODialect, chlo::CHLODialect>();
  PassRegistration<DecomposeComposites>();
  PassRegistration<CompositesToCustomCalls>();
  PassRegistration<RaiseComposites>();
  PassRegistration<LegalizeChlo>();
  PassRegistration<Simplify>();
  return asMainReturnCode(MlirOptMain(argc, argv, "StableHLO optimizer of Cresset\n", registry));
}
