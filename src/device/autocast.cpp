// Autocast as on the CPU: the same operators in the same precision, so that results have the dtypes that they have there.
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "trace/schema.h"

// PyTorch's macros are written for this namespace.
namespace at::autocast {
namespace {

void in_f32(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
  for (size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i)
    cresset::trace::replace_tensors((*stack)[i], [](const Tensor& t) { return cached_cast(kFloat, t, c10::DeviceType::PrivateUse1); });
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

#define CRESSET_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define CRESSET_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  CRESSET_LOWER(_addmm_activation)
  CRESSET_LOWER(_convolution, deprecated)
  CRESSET_LOWER(_native_multi_head_attention)
  CRESSET_LOWER(addbmm)
  CRESSET_LOWER(addmm)
  CRESSET_LOWER(baddbmm)
  CRESSET_LOWER(bmm)
  CRESSET_LOWER(conv1d)
  CRESSET_LOWER(conv1d, padding)
  CRESSET_LOWER(conv2d)
  CRESSET_LOWER(conv2d, padding)
  CRESSET_LOWER(conv3d)
  CRESSET_LOWER(conv3d, padding)
  CRESSET_LOWER(conv_tbc)
  CRESSET_LOWER(conv_transpose1d)
  CRESSET_LOWER(conv_transpose2d, input)
  CRESSET_LOWER(conv_transpose3d, input)
  CRESSET_LOWER(linalg_vecdot)
  CRESSET_LOWER(linear)
  CRESSET_LOWER(matmul)
  CRESSET_LOWER(mkldnn_rnn_layer)
  CRESSET_LOWER(mm)
  CRESSET_LOWER(prelu)
  CRESSET_LOWER(scaled_dot_product_attention)
  CRESSET_PROMOTE(cat)
  CRESSET_PROMOTE(index_copy)
  CRESSET_PROMOTE(stack)
  // Whatever else the CPU's autocast knows computes in f32.
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::AutocastCPU))
    if (name.name.starts_with("aten::") && !dispatcher.findOp(name)->hasKernelForDispatchKey(c10::DispatchKey::AutocastPrivateUse1))
      m.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&in_f32>());
}

}  // namespace
}  // namespace at::autocast
