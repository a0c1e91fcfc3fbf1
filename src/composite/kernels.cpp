#include "composite/kernels.h"

#include <mutex>

#include "composite/reference.h"

namespace cresset::composite {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<KernelProvider>> providers;
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

}  // namespace

void register_provider(std::unique_ptr<KernelProvider> provider) {
  std::lock_guard lock(registry().mutex);
  registry().providers.push_back(std::move(provider));
}
int registry_generation() {
  std::lock_guard lock(registry().mutex);
  return int(registry().providers.size()) + interpreted_changes();
}

bool has_own_kernels() {
  std::lock_guard lock(registry().mutex);
  return interprets() || llvm::any_of(registry().providers, [](auto& p) { return !p->is_pytorch(); });
}

Choice choose_kernel(mlir::stablehlo::CompositeOp op) {
  if (auto kernel = reference_kernel(op)) return {std::move(kernel), "reference interpreter", {}};
  std::vector<KernelProvider*> providers;  // a provider may register others while it is asked
  {
    std::lock_guard lock(registry().mutex);
    for (auto& p : registry().providers) providers.insert(providers.begin(), p.get());
  }
  Choice choice;
  for (KernelProvider* provider : providers) {
    std::string reason;
    if (!provider->offers(op.getName())) continue;
    if (auto kernel = provider->query(op, reason)) return {std::move(kernel), provider->name(), {}};
    choice.reason += (choice.reason.empty() ? "" : "; ") + provider->name() + " refused: " + (reason.empty() ? "no reason given" : reason);
  }
  if (choice.reason.empty()) choice.reason = "no kernel is registered";
  return choice;
}

}  // namespace cresset::composite
