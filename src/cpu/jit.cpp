#include "cpu/jit.h"

#include <cmath>
#include <mutex>

#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/IRTransformLayer.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "runtime/thread_pool.h"

extern "C" void cresset_stable_sort(int64_t* order, int64_t n, bool (*less)(void*, int64_t, int64_t), void* context);

namespace cresset::cpu {
namespace {

// The code is already vectorised and tiled; what is left is to fold addresses, hoist invariants and clean up.
void optimise(llvm::Module& module, llvm::TargetMachine* machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callgraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = options.SLPVectorization = options.LoopUnrolling = false;
  options.LoopInterleaving = false;
  llvm::PassBuilder builder(machine, options);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callgraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callgraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(module, modules);
}

void dump(llvm::Module& module, const std::string& label) {
  const char* directory = std::getenv("CRESSET_DUMP");
  const char* level = std::getenv("CRESSET_DUMP_LEVEL");
  if (!directory || !level || std::atoi(level) < 2) return;
  std::error_code error;
  llvm::raw_fd_ostream file(std::string(directory) + "/" + label + "." + module.getName().str() + ".ll", error);
  if (!error) module.print(file, nullptr);
}

class LLJitProgram final : public Jit {
 public:
  explicit LLJitProgram(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  llvm::Expected<void*> lookup(const std::string& name) override {
    auto symbol = jit_->lookup(name);
    if (!symbol) return symbol.takeError();
    return symbol->toPtr<void*>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

llvm::Expected<std::unique_ptr<Jit>> compile_modules(std::vector<llvm::orc::ThreadSafeModule> modules, const Target& target,
                                                     const std::string& label) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });

  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.setCPU(target.cpu);
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',', -1, false);
  machine.addFeatures(std::vector<std::string>(features.begin(), features.end()));
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  machine.setRelocationModel(llvm::Reloc::PIC_);
  machine.setCodeModel(llvm::CodeModel::Small);

  auto created = llvm::orc::LLJITBuilder()
                     .setJITTargetMachineBuilder(machine)
                     .setNumCompileThreads(modules.size() > 1 ? std::max(1, num_threads()) : 0)
                     .create();
  if (!created) return created.takeError();
  auto jit = std::move(*created);
  auto generator = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (!generator) return generator.takeError();
  jit->getMainJITDylib().addGenerator(std::move(*generator));
  // What the kernels call is reached by address: our library may be loaded privately.
  llvm::orc::SymbolMap symbols;
  auto flags = llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable;
  symbols[jit->mangleAndIntern("cresset_parallel_for")] = {llvm::orc::ExecutorAddr::fromPtr(&parallel_for), flags};
  symbols[jit->mangleAndIntern("cresset_stable_sort")] = {llvm::orc::ExecutorAddr::fromPtr(&cresset_stable_sort), flags};
  if (auto error = jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)))) return error;

  jit->getIRTransformLayer().setTransform(
      [machine, label](llvm::orc::ThreadSafeModule module, auto&) mutable -> llvm::Expected<llvm::orc::ThreadSafeModule> {
        auto local = machine;
        auto target_machine = local.createTargetMachine();
        if (!target_machine) return target_machine.takeError();
        module.withModuleDo([&](llvm::Module& m) {
          optimise(m, target_machine->get());
          dump(m, label);
        });
        return std::move(module);
      });
  for (auto& module : modules) {
    module.withModuleDo([&](llvm::Module& m) { m.setDataLayout(jit->getDataLayout()); });
    if (auto error = jit->addIRModule(std::move(module))) return error;
  }
  return std::make_unique<LLJitProgram>(std::move(jit));
}

}  // namespace cresset::cpu
