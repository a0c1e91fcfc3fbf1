// Autocast: the lists of operators that PyTorch keeps for every device.
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {
namespace {

#define CRESSET_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define CRESSET_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define CRESSET_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(CRESSET_LOWER)
  AT_FORALL_FP32(CRESSET_FP32)
  AT_FORALL_PROMOTE(CRESSET_PROMOTE)
}

}  // namespace
}  // namespace at::autocast
