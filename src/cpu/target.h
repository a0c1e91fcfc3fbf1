// Which instructions the compiled code may use: the machine's own, or what CRESSET_CPU names.
#pragma once

#include <string>

#include "llvm/Support/Error.h"

namespace cresset::cpu {

struct Target {
  std::string name;       ///< "avx512", "avx2" or "baseline"
  std::string cpu;        ///< LLVM's name of the processor
  std::string features;   ///< LLVM's feature string
  int lanes = 4;          ///< f32 lanes of a vector register
  int registers = 16;     ///< vector registers
};

/// `name`: "avx512", "avx2", "baseline", or "" for CRESSET_CPU and else the best this machine has. An error if the
/// machine lacks what is asked for.
llvm::Expected<Target> select_target(const std::string& name);

}  // namespace cresset::cpu
