// LLVM modules to machine code in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/target.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"

namespace cresset::cpu {

/// Owns the code of one program.
class Jit {
 public:
  virtual ~Jit() = default;
  /// The address of a function of one of the modules; an error if there is none.
  virtual llvm::Expected<void*> lookup(const std::string& name) = 0;
};

/// Optimises and compiles the modules, in parallel. With CRESSET_DUMP set and CRESSET_DUMP_LEVEL > 1 their LLVM IR and
/// assembly are written there under `label`.
llvm::Expected<std::unique_ptr<Jit>> compile_modules(std::vector<llvm::orc::ThreadSafeModule> modules, const Target& target,
                                                     const std::string& label);

}  // namespace cresset::cpu
