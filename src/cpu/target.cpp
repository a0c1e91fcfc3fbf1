#include "cpu/target.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

namespace cresset::cpu {
namespace {

const std::string kAvx2 = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt";
const std::string kAvx512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,-prefer-256-bit";
const std::string kBytes = ",+avx512vnni", kShortBytes = ",+avxvnni", kPairs = ",+avx512bf16", kTiles = kPairs + ",+amx-tile,+amx-bf16,+amx-int8";

bool request_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

int64_t l1_of_host() {
  long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);  // 0 where the kernel hides it, -1 where the C library does not know
  return bytes > 0 ? bytes : Machine().l1;
}

bool has(const Machine& machine, llvm::StringRef features) {
  llvm::SmallVector<llvm::StringRef> each;
  features.split(each, ',', -1, false);
  return llvm::all_of(each, [&](llvm::StringRef f) { return !f.consume_front("+") || machine.features.lookup(f); });
}
// What others of the machine's name have and it lacks: virtual machines hide instructions.
std::string lacking(const Machine& machine) {
  llvm::SmallVector<std::string> features;
  for (const auto& feature : machine.features)
    if (!feature.second) features.push_back("-" + feature.first().str() + ",");
  llvm::sort(features);
  return llvm::join(features, "");
}

llvm::Expected<Target> select_instructions(const std::string& name, const Machine& machine) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string lacks = lacking(machine);
  bool avx2 = has(machine, kAvx2), avx512 = avx2 && has(machine, kAvx512);
  std::string wanted = !name.empty() ? name : variable("CRESSET_CPU");
  bool tiles = avx512 && has(machine, kTiles) && (wanted.empty() || wanted == "amx") && machine.grants_tiles();
  if (wanted.empty()) wanted = tiles ? "amx" : avx512 ? "avx512" : avx2 ? "avx2" : "baseline";

  std::string bytes = avx512 && has(machine, kBytes) ? kBytes : "";
  std::string emulated = variable("CRESSET_BF16_DOT");
  auto bf16_dot = emulated == "pairs" || emulated == "tiles" ? Target::Emulated : Target::None;
  if (wanted == "amx" && tiles) return Target{wanted, machine.cpu, lacks + kAvx2 + "," + kAvx512 + kTiles + bytes, 16, 32, Target::Native, true};
  if (wanted == "avx512" && avx512) {
    bool pairs = has(machine, kPairs) && bf16_dot == Target::None;
    return Target{wanted, machine.cpu, lacks + kAvx2 + "," + kAvx512 + (pairs ? kPairs : "") + bytes, 16, 32, pairs ? Target::Native : bf16_dot, emulated == "tiles"};
  }
  if (wanted == "avx2" && avx2) return Target{wanted, avx512 ? "haswell" : machine.cpu, lacks + kAvx2 + ",-avx512f" + (has(machine, kShortBytes) ? kShortBytes : ""), 8, 16, bf16_dot, emulated == "tiles"};
  if (wanted == "wide") return Target{wanted, avx512 ? "haswell" : machine.cpu, avx2 ? lacks + kAvx2 + ",-avx512f" : lacks, 16, 32, bf16_dot, emulated == "tiles"};
  if (wanted == "baseline") return Target{wanted, "x86-64", "", 4, 16, bf16_dot, emulated == "tiles"};
  return llvm::createStringError("CRESSET_CPU=%s: this machine has %s; choose among those", wanted.c_str(),
                                 tiles ? "amx, avx512, avx2 and baseline" : avx512 ? "avx512, avx2 and baseline" : avx2 ? "avx2 and baseline" : "baseline only");
}

}  // namespace

const Machine& host() {
  auto grants_tiles = [] {
    static const bool granted = request_tiles();
    return granted;
  };
  static const auto* machine = new Machine{llvm::sys::getHostCPUName().str(), llvm::sys::getHostCPUFeatures(), grants_tiles, l1_of_host()};
  return *machine;
}

llvm::Expected<Target> select_target(const std::string& name, const Machine& machine) {
  auto target = select_instructions(name, machine);
  if (target) target->l1 = machine.l1;
  return target;
}

llvm::Expected<Target> describe_target(const std::string& name) {
  constexpr int64_t kL1 = 48 << 10;  // of both
  if (name == "amx") return Target{name, "sapphirerapids", kAvx2 + "," + kAvx512 + kTiles + kBytes, 16, 32, Target::Native, true, kL1};
  if (name == "avx512") return Target{name, "znver5", kAvx2 + "," + kAvx512 + kPairs + kBytes, 16, 32, Target::Native, false, kL1};
  if (name == "avx2") return Target{name, "haswell", kAvx2 + ",-avx512f", 8, 16};
  return select_target(name);
}

}  // namespace cresset::cpu
