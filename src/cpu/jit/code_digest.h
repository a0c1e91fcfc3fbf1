// A digest of a kernel's code that leaves its numbers out. LLVM's structural hashes leave out more (flags, alignments), and bitcode takes several times as long to write.
#pragma once

#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"

namespace cresset::cpu {

/// Of all functions that a module defines, and what they read and call; 32 hexadecimal digits, the same in every process. Names of values, blocks and defined functions are not in it.
/// An operand for which `stand_in` gives anything but 0 counts as that and its type. It is asked in the order of the kernel's instructions and operands.
std::string digest_of_code(const llvm::Module& module, llvm::function_ref<int(const llvm::Use&)> stand_in);

}  // namespace cresset::cpu
