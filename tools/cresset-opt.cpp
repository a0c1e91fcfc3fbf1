// cresset-opt: reads StableHLO text, verifies it, runs passes over it, prints it.
#include "composite/decompose.h"
#include "cpu/simplify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "stablehlo/dialect.h"

using namespace mlir;
namespace {

struct DecomposeComposites final : PassWrapper<DecomposeComposites, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposeComposites)
  DecomposeComposites() = default;
  DecomposeComposites(const DecomposeComposites& other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "decompose-composites"; }
  StringRef getDescription() const override { return "Replaces composites (all, or those named) by their decompositions"; }
  void runOnOperation() override {
    auto selected = [&](stablehlo::CompositeOp op) { return names.empty() || llvm::is_contained(names, op.getName()); };
    if (failed(cresset::composite::decompose(getOperation(), selected))) signalPassFailure();
  }
  ListOption<std::string> names{*this, "names", llvm::cl::desc("composites to decompose; without it all")};
};

struct Simplify final : PassWrapper<Simplify, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Simplify)
  StringRef getArgument() const override { return "simplify"; }
  StringRef getDescription() const override { return "The CPU compiler's simplifications"; }
  void runOnOperation() override {
    if (failed(cresset::cpu::simplify(getOperation()))) signalPassFailure();
  }
};

}  // namespace

int main(int argc, char** argv) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, stablehlo::StableHLODialect>();
  PassRegistration<DecomposeComposites>();
  PassRegistration<Simplify>();
  return asMainReturnCode(MlirOptMain(argc, argv, "StableHLO optimizer of Cresset\n", registry));
}
