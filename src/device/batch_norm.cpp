// native_batch_norm: its schema says functional, but training also moves the running statistics in place.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "device/shapes.h"
#include "generated/operators.h"
#include "trace/recorder.h"

namespace cresset {
namespace {

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                                                                 const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
                                                                 bool training, double momentum, double eps) {
  trace::Recorder r(op::native_batch_norm);
  r.tensor(input, "input");
  r.tensor(weight, "weight");
  r.tensor(bias, "bias");
  r.tensor(running_mean, "running_mean");
  r.tensor(running_var, "running_var");
  r.attribute(trace::Attribute(training));
  r.attribute(trace::Attribute(momentum));
  r.attribute(trace::Attribute(eps));
  bool moves = training && running_mean && running_mean->defined() && running_var && running_var->defined();
  r.infer_layouts([&] {
    TORCH_CHECK(input.dim() >= 2, "batch_norm: expected an input of at least 2 dimensions, got ", input.sizes());
    auto saved = shapes::contiguous({training ? input.size(1) : 0}, shapes::statistics_type(input));
    shapes::Layouts layouts{shapes::like(input), saved, saved};
    if (moves) {
      layouts.push_back(shapes::like(*running_mean));
      layouts.push_back(shapes::like(*running_var));
    }
    return layouts;
  });
  if (moves) {
    r.write(*running_mean, 3);
    r.write(*running_var, 4);
  }
  return r.results(std::make_index_sequence<3>());
}

// What torch.compile makes of it where no statistics are moved: the same composite with all of its attributes.
std::tuple<at::Tensor, at::Tensor, at::Tensor> no_training(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                                                           const at::Tensor& running_mean, const at::Tensor& running_var, double momentum, double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
}
std::tuple<at::Tensor, at::Tensor, at::Tensor> no_statistics(const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                                                             bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_batch_norm", TORCH_FN(batch_norm));
  m.impl("_native_batch_norm_legit_no_training", TORCH_FN(no_training));
  m.impl("_native_batch_norm_legit.no_stats", TORCH_FN(no_statistics));
}

}  // namespace
}  // namespace cresset
