// ctc_loss: PyTorch gives a device the lengths as numbers. They are recorded as tensors, so that a batch of other lengths runs the same program, and the targets as a matrix.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <numeric>

#include "device/indices.h"
#include "device/shapes.h"
#include "generated/operators.h"
#include "trace/recorder.h"

namespace cresset {
namespace {

struct Targets {
  at::Tensor labels, input_lengths, target_lengths;
};

at::Tensor on_device(at::IntArrayRef values, const at::Tensor& like) { return at::tensor(values, at::kLong).to(like.device()); }

// [batch, labels]; what lies behind a target is class 0.
at::Tensor padded(const at::Tensor& targets, at::IntArrayRef lengths) {
  int64_t batch = int64_t(lengths.size()), longest = targets.dim() == 2 ? targets.size(1) : *std::max_element(lengths.begin(), lengths.end());
  at::Tensor outside = at::ones({batch, longest}, at::kBool), places = at::zeros({batch, longest}, at::kLong);
  int64_t place = 0;
  for (int64_t i = 0; i < batch; place += lengths[i++]) {
    outside[i].narrow(0, 0, lengths[i]).fill_(false);
    places[i].narrow(0, 0, lengths[i]).copy_(at::arange(place, place + lengths[i]));
  }
  if (targets.numel() == 0) return at::zeros({batch, longest}, targets.options().dtype(at::kLong));
  at::Tensor labels = targets.to(at::kLong);
  if (targets.dim() == 1) labels = labels.index_select(0, places.reshape({-1}).to(targets.device())).reshape({batch, longest});
  return labels.masked_fill(outside.to(targets.device()), 0);
}

Targets checked(const trace::Operator& op, const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, int64_t blank) {
  TORCH_CHECK_NOT_IMPLEMENTED(log_probs.scalar_type() == at::kFloat || log_probs.scalar_type() == at::kDouble, "ctc_loss: not implemented for log_probs of ", log_probs.scalar_type(),
                              "; convert it with .to(torch.float32)");
  TORCH_CHECK(log_probs.dim() == 3 && log_probs.numel() > 0, "ctc_loss: expected log_probs of [steps, batch, classes] that are not empty, but got ", log_probs.sizes());
  TORCH_CHECK(at::isIntegralType(targets.scalar_type(), false), "ctc_loss: expected targets of integers, but got ", targets.scalar_type());
  TORCH_CHECK(targets.dim() == 1 || targets.dim() == 2, "ctc_loss: expected targets of one or two dimensions, but got ", targets.sizes());
  int64_t steps = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  TORCH_CHECK(0 <= blank && blank < classes, "ctc_loss: blank must be in label range [0, ", classes, "), but is ", blank);
  TORCH_CHECK(int64_t(input_lengths.size()) == batch, "ctc_loss: input_lengths must be of size batch_size ", batch, ", but has ", input_lengths.size());
  TORCH_CHECK(int64_t(target_lengths.size()) == batch, "ctc_loss: target_lengths must be of size batch_size ", batch, ", but has ", target_lengths.size());
  for (int64_t n : input_lengths) TORCH_CHECK(0 <= n && n <= steps, "ctc_loss: Expected input_lengths to have value at least 0 and at most ", steps, ", but got value ", n);
  for (int64_t n : target_lengths) TORCH_CHECK(n >= 0, "ctc_loss: Expected target_lengths to have value at least 0, but got value ", n);
  if (targets.dim() == 1) {
    int64_t all = std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t(0));
    TORCH_CHECK(targets.size(0) == all, "ctc_loss: Expected targets of size ", all, ", the sum of target_lengths, but got ", targets.sizes());
  } else {
    int64_t longest = *std::max_element(target_lengths.begin(), target_lengths.end());
    TORCH_CHECK(targets.size(0) == batch && targets.size(1) >= longest, "ctc_loss: Expected targets to have ", batch, " rows of at least ", longest, " labels, but got ", targets.sizes());
  }
  at::Tensor labels = padded(targets, target_lengths);
  device::check_indices(op, labels, 0, classes, device::IndexFailure::RuntimeError);
  return {labels, on_device(input_lengths, log_probs), on_device(target_lengths, log_probs)};
}

std::tuple<at::Tensor, at::Tensor> ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, int64_t blank,
                                            bool zero_infinity) {
  auto [labels, steps, counts] = checked(op::_ctc_loss_Tensor, log_probs, targets, input_lengths, target_lengths, blank);
  trace::Recorder r(op::_ctc_loss_Tensor);
  r.tensor(log_probs, "log_probs");
  r.tensor(labels, "targets");
  r.tensor(steps, "input_lengths");
  r.tensor(counts, "target_lengths");
  r.attribute(trace::Attribute(blank));
  r.attribute(trace::Attribute(zero_infinity));
  r.infer_layouts([&, labels = labels] {
    int64_t batch = log_probs.size(1);
    return shapes::Layouts{shapes::contiguous({batch}, log_probs.scalar_type()), shapes::contiguous({batch, log_probs.size(0), 2 * labels.size(1) + 1}, log_probs.scalar_type())};
  });
  return r.results(std::make_index_sequence<2>());
}

at::Tensor ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths, at::IntArrayRef target_lengths,
                             const at::Tensor& neg_log_likelihood, const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  auto [labels, steps, counts] = checked(op::_ctc_loss_backward_Tensor, log_probs, targets, input_lengths, target_lengths, blank);
  trace::Recorder r(op::_ctc_loss_backward_Tensor);
  r.tensor(grad, "grad");
  r.tensor(log_probs, "log_probs");
  r.tensor(labels, "targets");
  r.tensor(steps, "input_lengths");
  r.tensor(counts, "target_lengths");
  r.tensor(neg_log_likelihood, "neg_log_likelihood");
  r.tensor(log_alpha, "log_alpha");
  r.attribute(trace::Attribute(blank));
  r.attribute(trace::Attribute(zero_infinity));
  r.infer_layouts([&] { return shapes::Layouts{shapes::contiguous(log_probs.sizes(), log_probs.scalar_type())}; });
  return r.result();
}

// Lengths in tensors are read, here as on the CPU.
struct Numbers {
  explicit Numbers(const at::Tensor& t) : values(t.to(at::kCPU, at::kLong).contiguous()) {}
  operator at::IntArrayRef() const { return {values.const_data_ptr<int64_t>(), size_t(values.numel())}; }
  at::Tensor values;
};
std::tuple<at::Tensor, at::Tensor> ctc_loss_of_tensors(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                                       int64_t blank, bool zero_infinity) {
  return ctc_loss(log_probs, targets, Numbers(input_lengths), Numbers(target_lengths), blank, zero_infinity);
}
at::Tensor ctc_loss_backward_of_tensors(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths,
                                        const at::Tensor& target_lengths, const at::Tensor& neg_log_likelihood, const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return ctc_loss_backward(grad, log_probs, targets, Numbers(input_lengths), Numbers(target_lengths), neg_log_likelihood, log_alpha, blank, zero_infinity);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_ctc_loss", TORCH_FN(ctc_loss));
  m.impl("_ctc_loss.Tensor", TORCH_FN(ctc_loss_of_tensors));
  m.impl("_ctc_loss_backward", TORCH_FN(ctc_loss_backward));
  m.impl("_ctc_loss_backward.Tensor", TORCH_FN(ctc_loss_backward_of_tensors));
}

}  // namespace
}  // namespace cresset
