#include "composite/reference.h"

#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "composite/decompose.h"
#include "composite/kernels.h"
#include "composite/selection.h"
#include "interpreter/interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace cresset::composite {
namespace {

using namespace mlir;

class ReferenceKernel final : public Kernel {
 public:
  ReferenceKernel(OwningOpRef<ModuleOp> module, StringRef function) : module_(std::move(module)), function_(module_->lookupSymbol<func::FuncOp>(function)) {}
  void run(const void* const* operands, void* const* results) override {
    interpreter::Tensors inputs;
    for (auto [i, type] : llvm::enumerate(function_.getArgumentTypes()))
      inputs.push_back(interpreter::from_memory(cast<RankedTensorType>(type), static_cast<const char*>(operands[i])));
    auto found = interpreter::interpret(function_, inputs);
    if (!found) throw std::runtime_error(llvm::toString(found.takeError()));
    for (auto [i, tensor] : llvm::enumerate(*found)) {
      auto bytes = interpreter::to_memory(tensor);
      std::memcpy(results[i], bytes.data(), bytes.size());
    }
  }

 private:
  OwningOpRef<ModuleOp> module_;
  func::FuncOp function_;
};

struct Interpreted {
  std::mutex mutex;
  std::optional<Selection> selection;
  int changes = 0;
};
Interpreted& interpreted() {
  static auto* i = new Interpreted;
  return *i;
}

}  // namespace

void interpret_composites(const std::string& selection) {
  std::optional<Selection> chosen;
  if (!selection.empty()) chosen.emplace(selection);
  std::lock_guard lock(interpreted().mutex);
  interpreted().selection = std::move(chosen);
  ++interpreted().changes;
}
int interpreted_changes() {
  std::lock_guard lock(interpreted().mutex);
  return interpreted().changes;
}
bool interprets() {
  std::lock_guard lock(interpreted().mutex);
  return interpreted().selection.has_value();
}
std::unique_ptr<Kernel> interpreted_kernel(stablehlo::CompositeOp op) { return std::make_unique<ReferenceKernel>(extract(op->getParentOfType<ModuleOp>(), op.getDecomposition()), op.getDecomposition()); }
std::unique_ptr<Kernel> reference_kernel(stablehlo::CompositeOp op) {
  std::lock_guard lock(interpreted().mutex);
  if (!interpreted().selection || !interpreted().selection->keeps(op)) return nullptr;
  return interpreted_kernel(op);
}

}  // namespace cresset::composite
