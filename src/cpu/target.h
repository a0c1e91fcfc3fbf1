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
  /// Products of pairs of bf16, summed in f32 (AVX512-BF16's vdpbf16ps): there, or made of other instructions to test what is around it.
  enum Bf16Dot { None, Native, Emulated } bf16_dot = None;
};

/// `name`: "avx512", "avx2", "baseline", or "" for CRESSET_CPU and else the best this machine has. An error if the
/// machine lacks what is asked for. CRESSET_BF16_DOT=emulate stands in for AVX512-BF16.
llvm::Expected<Target> select_target(const std::string& name);
/// The same for code that is only looked at: any of the names, whatever this machine has; "avx512" with AVX512-BF16.
llvm::Expected<Target> describe_target(const std::string& name);

}  // namespace cresset::cpu
