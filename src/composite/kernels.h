// Who runs a composite whole: kernels that plugins, or rooms of our own, register.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stablehlo/dialect.h"

namespace cresset::composite {

/// Runs one composite of one program.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Dense row-major buffers; results overlap no operand. Throws std::runtime_error.
  virtual void run(const void* const* operands, void* const* results) = 0;
};

/// Offers kernels.
class KernelProvider {
 public:
  virtual ~KernelProvider() = default;
  virtual std::string name() const = 0;
  /// Whether there are kernels for composites of this name at all; who has none is not asked, and not heard of.
  virtual bool offers(llvm::StringRef composite) const { return true; }
  /// Whether it only calls PyTorch's own kernels.
  virtual bool is_pytorch() const { return false; }
  /// A kernel, or null and the reason.
  virtual std::unique_ptr<Kernel> query(mlir::stablehlo::CompositeOp op, std::string& reason) = 0;
};

/// The latest is asked first. Providers stay for the life of the process.
void register_provider(std::unique_ptr<KernelProvider> provider);
/// Grows with each registration, and when other composites are interpreted: programs compiled before may be compiled otherwise now.
int registry_generation();
/// Whether somebody has kernels of their own, or leaves composites to the interpreter: graphs have to be compiled then.
bool has_own_kernels();

/// The reference interpreter's (composite/reference.h): null for a composite that is not left to it.
std::unique_ptr<Kernel> reference_kernel(mlir::stablehlo::CompositeOp op);
/// Runs any composite's decomposition in the interpreter.
std::unique_ptr<Kernel> interpreted_kernel(mlir::stablehlo::CompositeOp op);

struct Choice {
  std::unique_ptr<Kernel> kernel;  ///< null: nobody takes it
  std::string provider;
  std::string reason;              ///< why not, from each that refused
};
Choice choose_kernel(mlir::stablehlo::CompositeOp op);

/// The plugins in CRESSET_PLUGINS, once; called by whoever compiles.
void load_plugins_from_environment();

}  // namespace cresset::composite
