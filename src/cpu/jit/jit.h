// LLVM modules to machine code.
#pragma once

#include <memory>
#include <string>

#include "cpu/target.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
class Module;
}

namespace cresset::cpu {

/// One linked object file; its code may be called as long as this lives.
class Code {
 public:
  virtual ~Code() = default;
  void* entry = nullptr;
};

/// Optimises `module` and compiles it to an object file. With CRESSET_DUMP set and CRESSET_DUMP_LEVEL > 1 its LLVM IR is
/// written there under the module's name. Different modules may be compiled at the same time.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compile_object(llvm::Module& module, const Target& target);

/// The same as text.
llvm::Expected<std::string> compile_assembly(llvm::Module& module, const Target& target);

/// Links an object file into this process; `entry` is the function it must define.
llvm::Expected<std::shared_ptr<Code>> link_object(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry);

}  // namespace cresset::cpu
