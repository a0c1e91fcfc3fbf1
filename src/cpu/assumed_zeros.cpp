#include "cpu/assumed_zeros.h"

#include <cstring>
#include <stdexcept>

#include "cpu/prepare/quantised.h"
#include "cresset/metrics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "stablehlo/chlo.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {
namespace {

bool is_zero(const void* data, size_t bytes) {
  auto* bytes_of = static_cast<const char*>(data);
  return bytes == 0 || (*bytes_of == 0 && std::memcmp(bytes_of, bytes_of + 1, bytes - 1) == 0);
}

class GuardedProgram final : public Program {
 public:
  GuardedProgram(std::unique_ptr<Program> program, std::vector<size_t> zeros, std::string module, CompileOptions options)
      : program_(std::move(program)), zeros_(std::move(zeros)), module_(std::move(module)), options_(std::move(options)) {
    inputs_ = program_->inputs(), outputs_ = program_->outputs(), stats_ = program_->stats(), composites_ = program_->composites();
  }

  void run(void* const* inputs, void* const* outputs) override { (holds(inputs) ? *program_ : general()).run(inputs, outputs); }

  std::unique_ptr<Program> twin() const override {
    auto program = program_->twin();
    return program ? std::make_unique<GuardedProgram>(std::move(program), zeros_, module_, options_) : nullptr;
  }

  void begin_loop() override {
    program_->begin_loop();
    if (general_) general_->begin_loop();
  }

  std::unique_ptr<EarlyRun> begin(EarlyInputs& inputs) override {
    auto early = program_->begin(inputs);
    return early ? std::make_unique<Early>(*this, std::move(early)) : nullptr;
  }

 private:
  class Early final : public EarlyRun {
   public:
    Early(GuardedProgram& program, std::unique_ptr<EarlyRun> run) : program_(program), run_(std::move(run)) {}
    void advance(const std::atomic<bool>& stop) override { run_->advance(stop); }
    BufferPtr output(size_t index) const override { return run_->output(index); }
    void finish(void* const* inputs, void* const* outputs) override { program_.holds(inputs) ? run_->finish(inputs, outputs) : program_.general().run(inputs, outputs); }

   private:
    GuardedProgram& program_;
    std::unique_ptr<EarlyRun> run_;
  };

  bool holds(void* const* inputs) const {
    return llvm::all_of(zeros_, [&](size_t i) { return is_zero(inputs[i], inputs_[i].bytes); });
  }
  Program& general() {
    if (general_) return *general_;
    static Counter undone("cresset.zeros_undone");
    undone.add();
    context_ = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context_->loadDialect<mlir::func::FuncDialect, mlir::stablehlo::StableHLODialect, mlir::chlo::CHLODialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(module_, context_.get());
    if (!module) throw std::runtime_error("a quantised program can't be read again");
    module->lookupSymbol<mlir::func::FuncOp>("main")->setAttr(kAssumesNothing, mlir::UnitAttr::get(context_.get()));
    auto program = compile(*module, options_);
    if (!program) throw std::runtime_error(llvm::toString(program.takeError()));
    return *(general_ = std::move(*program));
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  std::unique_ptr<Program> program_, general_;
  std::vector<size_t> zeros_;
  std::string module_;
  CompileOptions options_;
};

}  // namespace

std::unique_ptr<Program> guard_zeros(std::unique_ptr<Program> program, std::vector<size_t> zeros, std::string module, CompileOptions options) {
  return std::make_unique<GuardedProgram>(std::move(program), std::move(zeros), std::move(module), std::move(options));
}

}  // namespace cresset::cpu
