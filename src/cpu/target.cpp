#include "cpu/target.h"

#include <cstdlib>
#include <cstring>

#include "llvm/TargetParser/Host.h"

namespace cresset::cpu {

llvm::Expected<Target> select_target(const std::string& name) {
  const char* variable = std::getenv("CRESSET_CPU");
  std::string wanted = !name.empty() ? name : variable ? variable : "";
  auto host = llvm::sys::getHostCPUFeatures();
  bool avx2 = host["avx2"] && host["fma"];
  bool avx512 = avx2 && host["avx512f"] && host["avx512bw"] && host["avx512dq"] && host["avx512vl"];
  if (wanted.empty()) wanted = avx512 ? "avx512" : avx2 ? "avx2" : "baseline";

  const char* emulate = std::getenv("CRESSET_BF16_DOT");
  auto bf16_dot = emulate && !std::strcmp(emulate, "emulate") ? Target::Emulated : Target::None;
  if (wanted == "avx512" && avx512) {
    std::string features = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+avx512f,+avx512bw,+avx512dq,+avx512vl,-prefer-256-bit";
    if (host["avx512bf16"]) features += ",+avx512bf16";
    if (host["avx512bf16"] && bf16_dot == Target::None) bf16_dot = Target::Native;
    return Target{wanted, llvm::sys::getHostCPUName().str(), features, 16, 32, bf16_dot};
  }
  if (wanted == "avx2" && avx2)
    return Target{wanted, avx512 ? "haswell" : llvm::sys::getHostCPUName().str(), "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,-avx512f", 8, 16, bf16_dot};
  if (wanted == "baseline") return Target{wanted, "x86-64", "", 4, 16, bf16_dot};
  return llvm::createStringError("CRESSET_CPU=%s: this machine has %s; choose avx512, avx2 or baseline among those", wanted.c_str(),
                                 avx512 ? "avx512, avx2 and baseline" : avx2 ? "avx2 and baseline" : "baseline only");
}

llvm::Expected<Target> describe_target(const std::string& name) {
  if (name == "avx512")
    return Target{name, "x86-64-v4", "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16,-prefer-256-bit", 16, 32, Target::Native};
  if (name == "avx2") return Target{name, "haswell", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,-avx512f", 8, 16};
  return select_target(name);
}

}  // namespace cresset::cpu
