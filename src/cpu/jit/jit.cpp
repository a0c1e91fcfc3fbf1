#include "cpu/jit/jit.h"

#include <cmath>
#include <mutex>

#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

extern "C" void cresset_stable_sort(int64_t* order, int64_t n, int64_t wanted, bool (*less)(void*, int64_t, int64_t), void* context);
extern "C" void cresset_sort_keys(uint64_t* entries, int64_t n, int64_t wanted, uint64_t* spare);
extern "C" void cresset_sort_wide_keys(uint64_t* entries, int64_t n, int64_t wanted, uint64_t* spare, const uint64_t* keys);

namespace cresset::cpu {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

// Conversions of f16 that machines without F16C call the compiler's library for, which no process is sure to export.
float extend_half(_Float16 x) { return float(x); }
_Float16 truncate_float(float x) { return _Float16(x); }
_Float16 truncate_double(double x) { return _Float16(x); }

void initialise_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

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

void dump(llvm::Module& module) {
  const char* directory = std::getenv("CRESSET_DUMP");
  const char* level = std::getenv("CRESSET_DUMP_LEVEL");
  if (!directory || !level || std::atoi(level) < 2) return;
  std::error_code error;
  llvm::raw_fd_ostream file(std::string(directory) + "/" + module.getName().str() + ".ll", error);
  if (!error) module.print(file, nullptr);
}

// The process's one linker. It is never destroyed: programs may be released after static destructors have begun.
llvm::Expected<llvm::orc::LLJIT*> linker() {
  static std::mutex mutex;
  static llvm::orc::LLJIT* jit = nullptr;
  std::lock_guard lock(mutex);
  if (jit) return jit;
  initialise_target();
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(kTriple)};
  machine.setRelocationModel(llvm::Reloc::PIC_);
  machine.setCodeModel(llvm::CodeModel::Small);
  auto created = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create();
  if (!created) return created.takeError();
  auto& dylib = (*created)->getMainJITDylib();
  auto generator = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*created)->getDataLayout().getGlobalPrefix());
  if (!generator) return generator.takeError();
  dylib.addGenerator(std::move(*generator));
  // What kernels call of ours is reached by address: our library may be loaded privately.
  auto flags = llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable;
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char* name, auto* function) { symbols[(*created)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), flags}; };
  define("cresset_stable_sort", &cresset_stable_sort);
  define("cresset_sort_keys", &cresset_sort_keys);
  define("cresset_sort_wide_keys", &cresset_sort_wide_keys);
  define("__extendhfsf2", &extend_half);
  define("__truncsfhf2", &truncate_float);
  define("__truncdfhf2", &truncate_double);
  if (auto error = dylib.define(llvm::orc::absoluteSymbols(std::move(symbols)))) return error;
  return jit = created->release();
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> make_machine(llvm::Module& module, const Target& target) {
  initialise_target();
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(kTriple)};
  builder.setCPU(target.cpu);
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',', -1, false);
  builder.addFeatures(std::vector<std::string>(features.begin(), features.end()));
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  auto machine = builder.createTargetMachine();
  if (!machine) return machine.takeError();
  module.setTargetTriple(llvm::Triple(kTriple));
  module.setDataLayout((*machine)->createDataLayout());
  return machine;
}

class LinkedCode final : public Code {
 public:
  LinkedCode(void* address, llvm::orc::ResourceTrackerSP tracker) : tracker_(std::move(tracker)) { entry = address; }
  ~LinkedCode() override { llvm::consumeError(tracker_->remove()); }

 private:
  llvm::orc::ResourceTrackerSP tracker_;
};

}  // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compile_object(llvm::Module& module, const Target& target) {
  auto machine = make_machine(module, target);
  if (!machine) return machine.takeError();
  optimise(module, machine->get());
  dump(module);
  return llvm::orc::SimpleCompiler(**machine)(module);
}

llvm::Expected<std::string> compile_assembly(llvm::Module& module, const Target& target) {
  auto machine = make_machine(module, target);
  if (!machine) return machine.takeError();
  optimise(module, machine->get());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return llvm::createStringError("this LLVM does not print assembly");
  passes.run(module);
  return std::string(text);
}

llvm::Expected<std::shared_ptr<Code>> link_object(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry) {
  auto jit = linker();
  if (!jit) return jit.takeError();
  auto tracker = (*jit)->getMainJITDylib().createResourceTracker();
  if (auto error = (*jit)->addObjectFile(tracker, std::move(object))) return error;
  auto address = (*jit)->lookup(entry);
  if (!address) {
    llvm::consumeError(tracker->remove());  // the name is free for another attempt
    return address.takeError();
  }
  return std::make_shared<LinkedCode>(address->toPtr<void*>(), std::move(tracker));
}

}  // namespace cresset::cpu
