// Compiled kernels by content: equal kernels of any programs are compiled once, in this process and, through a directory,
// in later ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/emit/emitter.h"
#include "cpu/jit/jit.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

/// Code and how to launch it.
struct NativeKernel {
  std::shared_ptr<Code> code;
  Kernel kernel;
  bool shared = false;                  ///< whether it is a family's code (cpu/jit/family.h), for more sizes than its own
  std::vector<int64_t> arguments = {};  ///< of such: their address stands behind the buffers'
  KernelFunction entry() const { return reinterpret_cast<KernelFunction>(code->entry); }
};

/// The key of a kernel: a digest of what it computes (`content`), the instruction set, the number of threads that its
/// tasks are cut for, and this build of the compiler. Also the name of its function.
std::string kernel_key(const std::string& content, const Target& target);

/// From memory, or else from the directory; null if it is in neither. A file that is damaged counts as absent.
std::shared_ptr<NativeKernel> find_kernel(const std::string& key);

/// The kernel `kernel`, whose code another one brought; remembered in memory.
std::shared_ptr<NativeKernel> share_kernel(const Kernel& kernel, const std::shared_ptr<NativeKernel>& other, std::vector<int64_t> arguments);

/// What an earlier process, or this one, noted down in the directory under a key; "" if nothing.
std::string find_note(const std::string& key);
void keep_note(const std::string& key, llvm::StringRef note);

/// Links a fresh object file and remembers it: in memory as long as a program uses it, in the directory for later processes.
/// The directory is CRESSET_CACHE_DIR, by default "cresset" in the user's cache directory; CRESSET_CACHE_DIR="" keeps nothing. Several
/// processes may share it: files appear whole or not at all. It is pruned to 2 GiB, the least recently used first.
llvm::Expected<std::shared_ptr<NativeKernel>> add_kernel(const Kernel& kernel, std::unique_ptr<llvm::MemoryBuffer> object);

}  // namespace cresset::cpu
