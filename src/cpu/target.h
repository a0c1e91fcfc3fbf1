// Which instructions the compiled code may use: the machine's own, or what CRESSET_CPU names.
#pragma once

#include <functional>
#include <string>

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace cresset::cpu {

struct Target {
  std::string name;       ///< "amx", "avx512", "avx2", "baseline" or "wide"
  std::string cpu;        ///< LLVM's name of the processor
  std::string features;   ///< LLVM's feature string
  int lanes = 4;          ///< f32 lanes of a vector register
  int registers = 16;     ///< vector registers
  /// Products of pairs of bf16, summed in f32 (AVX512-BF16's vdpbf16ps): there, or made of other instructions to test what is around it.
  enum Bf16Dot { None, Native, Emulated } bf16_dot = None;
  bool tiles = false;  ///< products of tiles of bf16 and of bytes (AMX), made of other instructions where `bf16_dot` is
  int64_t l1 = 32 << 10;  ///< bytes of a core's first data cache
  /// Multiplies and adds at once, rounding once.
  bool fused() const { return features.find("+fma") != std::string::npos; }
  bool avx2() const { return features.find("+avx2") != std::string::npos; }  ///< at least
  bool avx512() const { return name == "avx512" || name == "amx"; }
  /// Lanes of elements of so many bytes that are loaded and stored.
  bool can_mask(int64_t bytes) const { return lanes > 4 && bytes >= (avx512() ? 2 : 4); }
  /// Reads lanes of 32 and 64 bits at any addresses by one instruction, in less time than one by one: Intel from Sapphire Rapids on, which have AMX. Before, and on Zen, they are microcode.
  bool gathers() const { return name == "amx"; }
  /// Products of four bytes, summed in i32 (vpdpbusd of AVX512-VNNI, or of AVX-VNNI for registers of AVX2).
  bool byte_dot() const { return features.find(name == "avx2" ? "+avxvnni" : "+avx512vnni") != std::string::npos; }
};

/// What a target is chosen from.
struct Machine {
  std::string cpu;                     ///< LLVM's name of it
  llvm::StringMap<bool> features;      ///< and of its instruction sets
  std::function<bool()> grants_tiles;  ///< asks the operating system for the tiles' state, which not every process gets
  int64_t l1 = 32 << 10;               ///< bytes of a core's first data cache
};
/// This machine; Linux is asked for the tiles' state once, for all threads of the process.
const Machine& host();

/// `name`: "amx", "avx512", "avx2", "baseline", or "" for CRESSET_CPU and else the best the machine has. An error if it
/// lacks what is asked for. CRESSET_BF16_DOT=pairs stands in for AVX512-BF16, CRESSET_BF16_DOT=tiles for AMX, "wide" for "avx512":
/// vectors and tiles of its size, made of the instructions that any machine has, to test what is around them.
llvm::Expected<Target> select_target(const std::string& name, const Machine& machine = host());
/// The same for code that is only looked at: any of the names, whatever this machine has; "avx512" is that of Zen 5, with AVX512-BF16.
llvm::Expected<Target> describe_target(const std::string& name);

}  // namespace cresset::cpu
